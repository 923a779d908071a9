package main

import (
	"go/ast"
	"go/token"
	"go/types"
	"slices"
	"strings"
)

// comparisons has the neighbor and the negation of each comparison.
var comparisons = map[token.Token][]token.Token{
	token.LSS: {token.LEQ, token.GEQ},
	token.LEQ: {token.LSS, token.GTR},
	token.GTR: {token.GEQ, token.LEQ},
	token.GEQ: {token.GTR, token.LSS},
	token.EQL: {token.NEQ},
	token.NEQ: {token.EQL},
}

// operators has another operator for each one that computes. None of them can panic if the first one does not.
var operators = map[token.Token]token.Token{
	token.ADD: token.SUB,
	token.SUB: token.ADD,
	token.MUL: token.ADD,
	token.QUO: token.MUL,
	token.REM: token.MUL,
	token.AND: token.OR,
	token.OR:  token.AND,
	token.XOR: token.AND,
	token.SHL: token.SHR,
	token.SHR: token.SHL,

	token.AND_NOT: token.AND,
}

func (f *finder) binary(e *ast.BinaryExpr) {
	x, y := f.text(e.X), f.text(e.Y)
	if f.info.Types[e].Value != nil {
		return
	}
	for _, op := range comparisons[e.Op] {
		f.boolean(e, x+" "+op.String()+" "+y, op.String())
	}
	switch e.Op {
	case token.LAND:
		f.boolean(e, x+" || "+y, "||")
		f.boolean(e, y, "only the right side")
		f.boolean(e, x, "only the left side")
	case token.LOR:
		f.boolean(e, "("+x+") && ("+y+")", "&&")
		f.boolean(e, y, "only the right side")
		f.boolean(e, x, "only the left side")
	default:
		f.arithmetic(e, x, y)
	}
}

func (f *finder) arithmetic(e *ast.BinaryExpr, x, y string) {
	op, ok := operators[e.Op]
	kind, named := f.kind(f.info.TypeOf(e))
	if !ok || !named || !pure(e) {
		return
	}
	basic, isBasic := f.info.TypeOf(e).Underlying().(*types.Basic)
	if isBasic && basic.Info()&types.IsString != 0 {
		f.value(e, kind, x, "only the left side")
		f.value(e, kind, y, "only the right side")
		return
	}
	f.value(e, kind, "("+x+") "+op.String()+" ("+y+")", op.String())
}

// pure returns whether an expression has no effects, so that it can be evaluated twice.
func pure(e ast.Expr) bool {
	ok := true
	ast.Inspect(e, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.CallExpr:
			id, isIdent := n.Fun.(*ast.Ident)
			ok = ok && isIdent && (types.Universe.Lookup(id.Name) != nil && id.Name != "append" && id.Name != "copy")
		case *ast.FuncLit:
			ok = false
		case *ast.UnaryExpr:
			ok = ok && n.Op != token.ARROW
		}
		return ok
	})
	return ok
}

func (f *finder) literal(lit *ast.BasicLit) {
	kind, ok := f.kind(f.constantType(lit))
	if !ok || f.inMessage() || f.isCapacity(lit) {
		return
	}
	switch lit.Kind {
	case token.INT, token.CHAR, token.FLOAT:
		f.value(lit, kind, lit.Value+"+1", "+1")
		if lit.Value != "0" {
			f.value(lit, kind, lit.Value+"-1", "-1")
		}
	case token.STRING:
		if lit.Value == `""` {
			f.value(lit, kind, `"mutant"`, "another text")
			return
		}
		f.value(lit, kind, `""`, "empty")
	}
}

// constantType returns the type of a literal. A literal in a larger constant has the type of the whole constant.
func (f *finder) constantType(lit *ast.BasicLit) types.Type {
	t := f.info.TypeOf(lit)
	for _, n := range slices.Backward(f.stack) {
		e, ok := n.(ast.Expr)
		if !ok || f.info.Types[e].Value == nil || f.info.Types[e].IsType() {
			return t
		}
		if _, isCall := e.(*ast.CallExpr); isCall {
			return t
		}
		t = f.info.TypeOf(e)
	}
	return t
}

// constant adds a mutant of true or false.
func (f *finder) constant(id *ast.Ident) {
	if f.info.Uses[id] == types.Universe.Lookup("true") {
		f.add(id, "false", "(mutantOn("+number+") != ", ")")
	}
	if f.info.Uses[id] == types.Universe.Lookup("false") {
		f.add(id, "true", "(mutantOn("+number+") != ", ")")
	}
}

// inMessage returns whether the current node is in the arguments of a function that builds a message.
func (f *finder) inMessage() bool {
	for _, n := range f.stack {
		call, ok := n.(*ast.CallExpr)
		if !ok {
			continue
		}
		switch fun := f.text(call.Fun); {
		case strings.HasPrefix(fun, "errors."), fun == "fmt.Errorf", fun == "panic":
			return true
		}
	}
	return false
}

// isCapacity returns whether a literal is a size that changes only how much memory is allocated.
func (f *finder) isCapacity(lit *ast.BasicLit) bool {
	call, ok := f.stack[len(f.stack)-1].(*ast.CallExpr)
	if !ok || f.text(call.Fun) != "make" {
		return false
	}
	_, isSlice := f.info.TypeOf(call).Underlying().(*types.Slice)
	return !isSlice || len(call.Args) > 2 && call.Args[2] == lit
}

// kind returns a type as the file can write it.
func (f *finder) kind(t types.Type) (string, bool) {
	if t == nil {
		return "", false
	}
	ok := true
	text := types.TypeString(types.Default(t), func(p *types.Package) string {
		if p == f.file.types {
			return ""
		}
		name, imported := f.file.imports[p.Path()]
		ok = ok && imported
		return name
	})
	_, isBasic := t.Underlying().(*types.Basic)
	return text, ok && isBasic
}

func (f *finder) text(n ast.Node) string { return f.file.text(n) }
