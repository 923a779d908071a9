package expression

import (
	"cmp"
	"slices"
	"strings"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/types"

	"github.com/crossplane-contrib/function-export/internal/engine/diagnostic"
	"github.com/crossplane-contrib/function-export/internal/engine/suggest"
)

// An Adviser writes the messages about expressions for people. This package knows only what is wrong. It asks the
// adviser once for each source, because an explanation can take longer than a compilation, and plans are cached.
type Adviser interface {
	// Explain returns the diagnostics of an expression that cannot be used.
	Explain(*Errors) diagnostic.List

	// Review returns the diagnostics of parts of an expression that compiles but can never work, and warnings about
	// parts that probably do not do what is meant.
	Review(*Expression) diagnostic.List

	// Reason returns why an evaluation failed, and what to write instead. It contains no data.
	Reason(*Failure) string
}

// A Class says which rule an expression breaks.
type Class int

// The classes. The comments name the fields of [Error] that belong to each.
const (
	Limit      Class = iota // a limit of the source: Text
	Syntax                  // CEL's parser refuses the source: Text
	Checked                 // CEL's checker or a validator refuses a node for another reason: Text
	NoVariable              // Name does not exist, only Names
	NoItem                  // only expressions of an item have Name
	NoFunction              // the called function does not exist
	NoField                 // Types[0] has no field Name: Text, if its schema knows more
	NoOverload              // a call does not accept operands of Types
	NoOptional              // an entry with ? whose value has Types[0]
	NoBool                  // a condition has Types[0]
	NoRange                 // a comprehension iterates over Types[0]
	Result                  // a result, or the part Node of it, has Types[0]
	Misfit                  // the result has Types[0], but the field Name has Types[1]
)

// An Error is one reason why an expression cannot be used.
type Error struct {
	Class        Class
	Line, Column int           // in the source; 0 for the whole source
	Node         ast.Expr      // may be nil; in a tree that parses, it is an ast.NavigableExpr
	Text         string        // the message of CEL or of a schema, or a part of the message
	Name         string        // of what does not exist
	Names        []string      // that exist instead of it
	Types        []*types.Type // of the operands
	Part         *Part         // of the result

	id int64 // of the node
}

// Nearest returns the existing name that is probably meant, or an empty text.
func (e *Error) Nearest() string { return suggest.Nearest(e.Name, e.Names) }

// Errors are why a source cannot be used, in the order of their positions.
type Errors struct {
	Source      Source
	Environment *Environment
	Typing      Typing
	Tree        *ast.AST // with types; nil if it does not parse, or is too long to be explained
	All         []*Error

	// Declared returns how an expression refers to the declaration of the input with a name, or an empty text.
	Declared func(name string) string
}

// Diagnostics returns the messages of the adviser.
func (e *Errors) Diagnostics() diagnostic.List {
	if len(e.All) == 0 {
		return nil
	}
	return e.Environment.adviser.Explain(e)
}

// At returns a diagnostic at a position in the source.
func (s Source) At(line, column int, message string) *diagnostic.Diagnostic {
	return Place{s.Path, line, column}.Wrong(message)
}

// errorsOf returns the errors of CEL's checker in the order of the source, with their positions.
func (s Source) errorsOf(class Class, errs []*cel.Error) (out []*Error) {
	errs = slices.Clone(errs)
	slices.SortStableFunc(errs, func(a, b *cel.Error) int {
		return cmp.Or(a.Location.Line()-b.Location.Line(), a.Location.Column()-b.Location.Column())
	})
	for _, e := range errs {
		err := &Error{Class: class, Text: e.Message, id: e.ExprID}
		if e.Location.Line() > 0 {
			err.Line, err.Column = s.atName(e.Location.Line(), e.Location.Column())
		}
		out = append(out, err)
	}
	return out
}

// atName returns the position of the name of a call, which CEL places at its bracket. All other positions are
// unchanged. Columns of CEL begin with 0.
func (s Source) atName(line, column int) (int, int) {
	lines := strings.Split(s.Text, "\n")
	if line > len(lines) {
		return line, column + 1
	}
	if text := []rune(lines[line-1]); column >= 0 && column < len(text) && text[column] == '(' {
		for column > 0 && isIdentifier("_"+string(text[column-1])) {
			column--
		}
	}
	return line, column + 1
}

// startOf returns the position where the text of a node begins.
func (s Source) startOf(tree *ast.AST, e ast.Expr) (line, column int) {
	info, first, id := tree.SourceInfo(), int32(-1), e.ID()
	ast.PostOrderVisit(e, ast.NewExprVisitor(func(n ast.Expr) {
		if r, ok := info.GetOffsetRange(n.ID()); ok && (first < 0 || r.Start < first) {
			first, id = r.Start, n.ID()
		}
	}))
	l := info.GetStartLocation(id)
	return s.atName(l.Line(), l.Column())
}

// A Place is a position in the text of an expression. Line and Column are 0 for the whole expression.
type Place struct {
	Path         string
	Line, Column int
}

// Wrong returns a diagnostic at the place.
func (p Place) Wrong(message string) *diagnostic.Diagnostic {
	d := &diagnostic.Diagnostic{
		Path: p.Path, Line: p.Line, Column: p.Column, Rule: diagnostic.Expression, Message: message,
	}
	if p.Line == 0 {
		d.Rule = diagnostic.Input // it is about the field
	}
	return d
}

// String returns the path with the line and the column.
func (p Place) String() string { return p.Wrong("").Place() }
