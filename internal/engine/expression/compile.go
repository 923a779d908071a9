package expression

import (
	"cmp"
	"fmt"
	"slices"
	"sync"
	"unicode/utf8"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common"
	"cel.dev/cel-go/common/ast"

	"github.com/crossplane-contrib/function-export/internal/engine/celast"
	"github.com/crossplane-contrib/function-export/internal/engine/diagnostic"
	"github.com/crossplane-contrib/function-export/internal/engine/limits"
)

// A Source is the text of an expression, and where it is in the input.
type Source struct {
	// Text of the expression.
	Text string

	// Path of the field in the input, for example secrets[0].data[2].value.
	Path string

	// From is the name of the composed resource that resource, self and secret stand for. If it is
	// empty, they stand for the composite.
	From string

	// Own is set if they stand for the generation that the expression belongs to.
	Own bool

	// Scope and Items say which variables the expression sees.
	Scope Scope
	Items Items

	// Want is the purpose of the result.
	Want Want

	// Note is added in parentheses to a diagnostic about the type of the result.
	Note string
}

// own replaces From in messages.
const own = "\x00own"

func (s Source) from() string {
	if s.Own {
		return own
	}
	return s.From
}

// An Expression is a compiled source. It is immutable, and safe for concurrent
// use.
type Expression struct {
	source     Source
	env        *Environment
	checked    *cel.Ast
	ast        *ast.AST // of checked
	references []Reference
	idents     []ast.Expr      // of variables
	byNode     map[int64][]int // node id -> indices of the references that its value may be
	mayLack    map[string]bool // the paths that some part of the expression reads as optional
	plain      map[int64]bool  // the nodes that need an optional, and have a part of the data instead
	programs   sync.Pool       // of *program
	warnings   diagnostic.List
}

// Compile returns an expression, or all diagnostics that one pass finds, in the order of their
// positions. It returns only the first syntax error. For a variable that does not exist, the adviser
// calls declared, which returns how an expression refers to the declaration with this name, or an
// empty text.
func (e *Environment) Compile(s Source, declared ...func(name string) string) (*Expression, diagnostic.List) {
	x, wrong := e.compile(s)
	if wrong != nil {
		wrong.Declared = func(name string) string {
			if len(declared) == 0 {
				return ""
			}
			return declared[0](name)
		}
		return nil, wrong.Diagnostics()
	}
	x.warnings = e.adviser.Review(x)
	if slices.ContainsFunc(x.warnings, func(d *diagnostic.Diagnostic) bool { return !d.Warning }) {
		return nil, x.warnings
	}
	return x.plan()
}

// Suspicions returns warnings about parts that are valid, but probably do not do what is meant.
func (x *Expression) Suspicions() diagnostic.List { return x.warnings }

// compile parses and checks a source. It checks the limits of the source before its types, because checking types
// takes most of the time and cannot be interrupted.
func (e *Environment) compile(s Source) (*Expression, *Errors) {
	if n := utf8.RuneCountInString(s.Text); n > limits.ExpressionCharacters {
		return nil, e.exceeds(s, "has %d characters, over the limit of %d", n, limits.ExpressionCharacters)
	}
	parsed, iss := e.env.ParseSource(common.NewStringSource(s.Text, s.Path))
	if len(iss.Errors()) > 0 { // printing all errors, as Err does, takes longer than finding them
		first := s.errorsOf(Syntax, iss.Errors())[:1] // the others follow from it
		return nil, &Errors{Source: s, Environment: e, All: first}
	}
	if wrong := e.checkSize(s, parsed.NativeRep()); wrong != nil {
		return nil, wrong
	}
	orderRanges(parsed.NativeRep())
	checked, iss := e.env.Check(parsed)
	if len(iss.Errors()) > 0 {
		return nil, e.refused(s, s.errorsOf(Checked, iss.Errors()))
	}
	x := e.expression(s, checked)
	if wrong := x.unseen(); len(wrong) > 0 {
		return nil, e.refused(s, wrong)
	}
	errs := &Errors{Source: s, Environment: e, Tree: x.ast, Typing: Typing{Objects: noObjects{}}}
	if errs.All = errs.Results(); len(errs.All) > 0 {
		return nil, errs
	}
	return x, nil
}

// refused returns the errors of a source that CEL's checker refuses. It checks the source again, because the checker
// does not keep the types of a tree that it refuses. Literals that a validator refuses have valid types.
func (e *Environment) refused(s Source, errs []*Error) *Errors {
	if len(s.Text) <= limits.ExplainedCharacters {
		if parsed, iss := e.env.ParseSource(common.NewStringSource(s.Text, s.Path)); iss.Err() == nil {
			out := e.CheckTree(s, parsed.NativeRep(), Typing{Objects: noObjects{}})
			for _, err := range out.All {
				switch {
				case err.Class == NoVariable && s.lacksItem(err.Name):
					err.Class = NoItem
				case err.Class == NoVariable:
					err.Names = e.Names(s)
				}
			}
			if len(out.All) == 0 {
				out.All = errs
			}
			return out
		}
	}
	return &Errors{Source: s, Environment: e, Typing: Typing{Objects: noObjects{}}, All: errs}
}

func (e *Environment) exceeds(s Source, format string, n, limit int) *Errors {
	return &Errors{Source: s, Environment: e, All: []*Error{{Text: fmt.Sprintf(format, n, limit)}}}
}

// expression returns an expression that has no program yet.
func (e *Environment) expression(s Source, checked *cel.Ast) *Expression {
	x := &Expression{
		source: s, env: e, checked: checked, ast: checked.NativeRep(),
		byNode: map[int64][]int{}, mayLack: map[string]bool{}, plain: map[int64]bool{},
	}
	(&tracer{Expression: x, types: x.ast.TypeMap()}).use(x.ast.Expr(), nil)
	x.needs()
	for i, r := range x.references {
		x.byNode[r.node] = append(x.byNode[r.node], i)
	}
	return x
}

// plan a program now, so that a failure is a diagnostic of the input.
func (x *Expression) plan() (*Expression, diagnostic.List) {
	first, err := x.env.guards.program(x.env.env, x.checked)
	if err != nil {
		return nil, diagnostic.List{x.source.At(0, 0, "cannot be planned: the CEL compiler failed on it")}
	}
	x.programs.New = func() any {
		p, _ := x.env.guards.program(x.env.env, x.checked) // as it did the first time
		return p
	}
	x.programs.Put(first)
	return x, nil
}

// TextOf returns a reference as it is written in CEL. It contains the name of the composed resource that resource, self
// and secret stand for.
func (x *Expression) TextOf(r Reference) string { return r.text(x.source.from()) }

// Source the expression was compiled from.
func (x *Expression) Source() Source { return x.source }

// Tree is the checked tree of the expression. Its nodes must not be changed.
func (x *Expression) Tree() *ast.AST { return x.ast }

// Environment the expression was compiled in.
func (x *Expression) Environment() *Environment { return x.env }

// Reading returns the reference whose value is the value of a node, and whether some part of the expression reads it
// as optional. It returns nil for a node that is no reference, or can be one of several.
func (x *Expression) Reading(e ast.Expr) (r *Reference, optional bool) {
	refs := x.byNode[e.ID()]
	if len(refs) != 1 {
		return nil, false
	}
	r = &x.references[refs[0]]
	return r, x.mayLack[x.TextOf(*r)]
}

// LacksOptional reports whether a node is a method of optionals or an optional entry whose operand is a part of the
// data that is never an optional.
func (x *Expression) LacksOptional(e ast.Expr) bool { return x.plain[e.ID()] }

// checkSize refuses an expression that would take too long to check.
func (e *Environment) checkSize(s Source, a *ast.AST) *Errors {
	n := celast.SizeOf(a)
	for _, size := range []struct {
		n, limit int
		text     string
	}{
		{n.Nodes, limits.ExpressionNodes, "has %d nodes, over the limit of %d"},
		{n.Loops, limits.ComprehensionNesting, "nests %d comprehensions, over the limit of %d"},
		{n.Binds, limits.BindNesting, "nests %d cel.bind, over the limit of %d"},
		{n.CheckingCost, limits.ExpressionCheckingCost, "has local variables that expand too much, " +
			"because each use of a variable counts everything in it: %d parts, over the limit of %d"},
	} {
		if size.n > size.limit {
			return e.exceeds(s, size.text, size.n, size.limit)
		}
	}
	return nil
}

// orderRanges wraps the range of each comprehension of a parsed tree, and each value that must be an
// optional. It changes the tree. The call is a new node at the same position. The wrapped node keeps its
// ID.
func orderRanges(a *ast.AST) {
	next, fac, info := ast.MaxID(a), ast.NewExprFactory(), a.SourceInfo()
	wrap := func(function string, e ast.Expr) {
		next++
		if r, ok := info.GetOffsetRange(e.ID()); ok {
			info.SetOffsetRange(next, r)
		}
		e.SetKindCase(fac.NewCall(0, function, fac.CopyExpr(e)))
		call := next
		e.RenumberIDs(func(id int64) int64 { // begins with the call
			id, call = cmp.Or(call, id), 0
			return id
		})
	}
	ast.PostOrderVisit(a.Expr(), ast.NewExprVisitor(func(e ast.Expr) {
		switch e.Kind() { //nolint:exhaustive // the others contain neither
		case ast.ComprehensionKind:
			if c := e.AsComprehension(); !celast.IsBind(c) {
				wrap(celast.OrderedCall, c.IterRange())
			}
		case ast.ListKind:
			for _, i := range e.AsList().OptionalIndices() {
				wrap(celast.OptionalCall, e.AsList().Elements()[i])
			}
		case ast.MapKind:
			for _, entry := range e.AsMap().Entries() {
				if m := entry.AsMapEntry(); m.IsOptional() {
					wrap(celast.OptionalCall, m.Value())
				}
			}
		}
	}))
}
