package main

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"strings"
)

// A Mutant is one small mistake in a package.
type Mutant struct {
	Name

	id            int // in the order of the source
	line          int
	file          *file
	start, end    int    // what it surrounds in the source
	before, after string // what it inserts there; number stands for its number
}

// A Name identifies a mutant. It contains no line number, so it stays valid when other lines change.
type Name struct {
	File     string `json:"file"`
	Function string `json:"function"`
	Source   string `json:"source"`
	Change   string `json:"change"`
	Ordinal  int    `json:"ordinal,omitempty"` // among mutants that are otherwise equal
}

// String returns the name on one line.
func (n Name) String() string {
	text := fmt.Sprintf("%s: %s: %s: %s", n.File, n.Function, n.Source, n.Change)
	if n.Ordinal > 0 {
		text += fmt.Sprintf(" #%d", n.Ordinal)
	}
	return text
}

// A finder finds the mutants of one file.
type finder struct {
	file  *file
	info  *types.Info
	stack []ast.Node // the nodes around the current one, the outermost first
	found []*Mutant
}

// find returns the mutants of a file, in the order of its source.
func find(f *file, info *types.Info) []*Mutant {
	finder := &finder{file: f, info: info}
	ast.Inspect(f.syntax, func(n ast.Node) bool {
		if n == nil {
			finder.stack = finder.stack[:len(finder.stack)-1]
			return true
		}
		if skipped(n) {
			return false
		}
		finder.visit(n)
		finder.stack = append(finder.stack, n)
		return true
	})
	return finder.found
}

// skipped returns whether nothing within a node can change when the program runs.
func skipped(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.GenDecl:
		return n.Tok != token.VAR
	case *ast.FieldList, *ast.ArrayType, *ast.MapType, *ast.ChanType:
		return true
	}
	return false
}

func (f *finder) visit(n ast.Node) {
	switch n := n.(type) {
	case *ast.IfStmt:
		f.condition(n.Cond, true)
	case *ast.ForStmt:
		f.condition(n.Cond, false) // always true would not end
		if n.Cond != nil {
			f.body(n.Body)
		}
	case *ast.RangeStmt:
		f.body(n.Body)
	case *ast.SwitchStmt:
		f.cases(n)
	case *ast.BlockStmt:
		f.statements(n.List)
	case *ast.CaseClause:
		f.statements(n.Body)
		f.caseBody(n)
	case *ast.CommClause:
		f.statements(n.Body)
	case *ast.ReturnStmt:
		f.returned(n)
	case *ast.KeyValueExpr:
		f.field(n)
	case *ast.BinaryExpr:
		f.binary(n)
	case *ast.UnaryExpr:
		if n.Op == token.NOT {
			f.boolean(n, f.text(n.X), "without !")
		}
	case *ast.BasicLit:
		f.literal(n)
	case *ast.Ident:
		f.constant(n)
	}
}

// add adds a mutant that surrounds a node with texts.
func (f *finder) add(n ast.Node, change, before, after string) {
	f.file.add(f, n, change, before, after)
}

// boolean adds a mutant that evaluates another expression instead of a boolean one.
func (f *finder) boolean(n ast.Expr, instead, change string) {
	f.add(n, change, "(mutantOn("+number+") && ("+instead+") || !mutantOn("+number+") && (", "))")
}

// value adds a mutant that has another value. Both values are evaluated, so they must not have effects.
func (f *finder) value(n ast.Expr, kind, instead, change string) {
	f.add(n, change, "mutantPick["+kind+"]("+number+", ", ", "+instead+")")
}

func (f *finder) condition(cond ast.Expr, both bool) {
	if cond == nil {
		return
	}
	if both {
		f.boolean(cond, "true", "true")
	}
	f.boolean(cond, "false", "false")
}

// body adds a mutant whose loop ends before its first round. A body of one statement is removed as that statement.
func (f *finder) body(b *ast.BlockStmt) {
	if len(b.List) > 1 || len(b.List) == 1 && !removable(b.List[0]) {
		f.add(b.List[0], "no round", "if mutantOn("+number+") { break }; ", "")
	}
}

// caseBody adds a mutant whose case does nothing. A body that ends with a return is left to the mutants of the case.
func (f *finder) caseBody(c *ast.CaseClause) {
	if len(c.Body) == 0 || len(c.Body) == 1 && removable(c.Body[0]) {
		return
	}
	switch last := c.Body[len(c.Body)-1].(type) {
	case *ast.ReturnStmt, *ast.BranchStmt, *ast.BlockStmt, *ast.IfStmt, *ast.ForStmt, *ast.SwitchStmt, *ast.TypeSwitchStmt,
		*ast.SelectStmt, *ast.LabeledStmt:
		return
	case *ast.ExprStmt:
		if call, ok := last.X.(*ast.CallExpr); ok && f.text(call.Fun) == "panic" {
			return
		}
	}
	f.add(c.Body[0], "no body of the case", "if mutantOn("+number+") { break }; ", "")
}

// cases adds mutants whose cases do not match.
func (f *finder) cases(s *ast.SwitchStmt) {
	for _, clause := range s.Body.List {
		for _, e := range clause.(*ast.CaseClause).List {
			if s.Tag == nil {
				f.boolean(e, "true", "true")
				f.boolean(e, "false", "false")
				continue
			}
			f.neverMatches(e)
		}
	}
}

func (f *finder) neverMatches(e ast.Expr) {
	tv := f.info.Types[e]
	if _, isLit := e.(*ast.BasicLit); isLit || tv.Type == nil {
		return
	}
	kind, ok := f.kind(tv.Type)
	basic, isBasic := tv.Type.Underlying().(*types.Basic)
	switch {
	case !ok || !isBasic:
	case basic.Info()&types.IsString != 0:
		f.value(e, kind, `"\x00"`, "never matches")
	case basic.Info()&types.IsInteger != 0:
		f.value(e, kind, "99", "never matches")
	}
}

// removable returns whether a statement can be left out.
func removable(s ast.Stmt) bool {
	switch s := s.(type) {
	case *ast.AssignStmt:
		return s.Tok != token.DEFINE
	case *ast.BranchStmt:
		return s.Tok == token.BREAK || s.Tok == token.CONTINUE
	case *ast.ExprStmt, *ast.IncDecStmt, *ast.SendStmt, *ast.GoStmt, *ast.DeferStmt:
		return true
	}
	return false
}

func (f *finder) statements(list []ast.Stmt) {
	for _, s := range list {
		if removable(s) && !isPanic(s) && !onlyBlank(s) {
			f.add(s, "removed", "if !mutantOn("+number+") { ", " }")
		}
	}
}

func isPanic(s ast.Stmt) bool {
	e, ok := s.(*ast.ExprStmt)
	if !ok {
		return false
	}
	call, ok := e.X.(*ast.CallExpr)
	if !ok {
		return false
	}
	id, ok := call.Fun.(*ast.Ident)
	return ok && id.Name == "panic"
}

// onlyBlank returns whether a statement assigns only to the blank identifier.
func onlyBlank(s ast.Stmt) bool {
	a, ok := s.(*ast.AssignStmt)
	if !ok {
		return false
	}
	for _, e := range a.Lhs {
		if id, ok := e.(*ast.Ident); !ok || id.Name != "_" {
			return false
		}
	}
	return true
}

// returned adds mutants that return the zero value of one result, and one that returns only zero values.
func (f *finder) returned(r *ast.ReturnStmt) {
	results := f.results()
	if len(results) == 0 || len(r.Results) == 0 {
		return
	}
	zeros := make([]string, len(results))
	for i, t := range results {
		zeros[i] = "*new(" + t + ")"
	}
	if len(r.Results) == 1 && len(results) > 1 {
		f.add(r, "zero values", "if mutantOn("+number+") { return "+strings.Join(zeros, ", ")+" }; ", "")
		return
	}
	for i, e := range r.Results {
		if f.isZero(e) || f.mutatedOtherwise(e) {
			continue
		}
		values := make([]string, len(results))
		for j, other := range r.Results {
			values[j] = f.text(other)
		}
		values[i] = zeros[i]
		change := "zero value"
		if len(results) > 1 {
			change = fmt.Sprintf("zero value of result %d", i+1)
		}
		f.add(r, change, "if mutantOn("+number+") { return "+strings.Join(values, ", ")+" }; ", "")
		if results[i] == "bool" {
			f.boolean(e, "true", "true")
		}
	}
}

// mutatedOtherwise returns whether an expression has mutants that are as good as its zero value.
func (f *finder) mutatedOtherwise(e ast.Expr) bool {
	switch e := e.(type) {
	case *ast.BinaryExpr:
		return e.Op.Precedence() <= token.EQL.Precedence()
	case *ast.BasicLit:
		return true
	case *ast.Ident:
		return e.Name == "true"
	}
	return false
}

func (f *finder) isZero(e ast.Expr) bool {
	switch f.text(e) {
	case "nil", "false", "0", `""`:
		return true
	}
	if lit, ok := e.(*ast.CompositeLit); ok {
		_, isStruct := f.info.TypeOf(lit).Underlying().(*types.Struct)
		return isStruct && len(lit.Elts) == 0
	}
	return false
}

// results returns the types of the results of the innermost function, as its source writes them.
func (f *finder) results() []string {
	var list *ast.FieldList
	for _, n := range f.stack {
		switch n := n.(type) {
		case *ast.FuncDecl:
			list = n.Type.Results
		case *ast.FuncLit:
			list = n.Type.Results
		}
	}
	if list == nil {
		return nil
	}
	var texts []string
	for _, field := range list.List {
		for range max(1, len(field.Names)) {
			texts = append(texts, f.text(field.Type))
		}
	}
	return texts
}

// field adds a mutant with the zero value in a field of a struct.
func (f *finder) field(kv *ast.KeyValueExpr) {
	lit, ok := f.stack[len(f.stack)-1].(*ast.CompositeLit)
	if !ok || f.isZero(kv.Value) || f.mutatedOtherwise(kv.Value) {
		return
	}
	t := f.info.TypeOf(lit)
	if p, ok := t.Underlying().(*types.Pointer); ok {
		t = p.Elem()
	}
	if _, ok := t.Underlying().(*types.Struct); ok {
		f.add(kv.Value, "zero value of "+f.text(kv.Key), "mutantZero("+number+", ", ")")
	}
}
