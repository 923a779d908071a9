package expression

import (
	"fmt"

	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/operators"
	"cel.dev/cel-go/common/types"

	"github.com/crossplane-contrib/function-export/internal/engine/celast"
	"github.com/crossplane-contrib/function-export/internal/engine/kubernetes"
)

// A Want is the purpose of the result of an expression.
type Want int

// The purposes of results. Each accepts some static types. A dyn is checked after the evaluation.
const (
	WantAny     Want = iota // a variable: anything
	WantText                // a value: string or bytes
	WantTextMap             // a value map: map(string, string) or map(string, bytes)
	WantString              // a name: string
	WantLabels              // labels: map(string, string)
	WantJSON                // a status field: a value that JSON can represent
	WantBool                // a condition: bool
	WantList                // the list of items: a list
)

// String returns what messages call the purpose.
func (w Want) String() string {
	return [...]string{"anything", "a string", "a map(string, string)", "a string", "a map(string, string)",
		"a value that JSON can represent", "true or false", "a list"}[w]
}

// IsMap reports whether the result must be a map of texts.
func (w Want) IsMap() bool { return w == WantTextMap || w == WantLabels }

// accepts reports whether a value of a static type can be used.
func (w Want) accepts(t *types.Type) bool {
	if celast.IsKind(t, types.DynKind, types.AnyKind) {
		return true
	}
	switch w {
	case WantText:
		return celast.IsKind(t, types.StringKind, types.BytesKind)
	case WantString:
		return celast.IsKind(t, types.StringKind)
	case WantTextMap, WantLabels:
		return isTextMap(t, w == WantTextMap)
	case WantJSON:
		return !celast.IsKind(t, types.BytesKind, types.DurationKind, types.TimestampKind, types.TypeKind,
			types.OpaqueKind) && kubernetes.Instead(t) == ""
	case WantBool:
		return celast.IsKind(t, types.BoolKind)
	case WantList:
		return celast.IsKind(t, types.ListKind)
	case WantAny:
	}
	return true
}

func isTextMap(t *types.Type, bytes bool) bool {
	if !celast.IsKind(t, types.MapKind) || len(t.Parameters()) != 2 {
		return false
	}
	isText := func(t *types.Type) bool {
		return celast.IsKind(t, types.DynKind, types.AnyKind, types.StringKind, types.TypeParamKind)
	}
	key, value := t.Parameters()[0], celast.WithoutOptional(t.Parameters()[1])
	return isText(key) && (isText(value) || bytes && celast.IsKind(value, types.BytesKind))
}

// A Part is an expression whose value may be the result, or an entry of a resulting map.
type Part struct {
	ast.Expr

	Want  Want
	Entry string // what messages call the entry, or empty for a whole result
}

// Parts returns each part of a tree whose value may be the result: the branches of a condition, a value and its
// default, and the entries of a map.
func (s Source) Parts(tree *ast.AST) []Part { return Part{Expr: tree.Expr(), Want: s.Want}.parts() }

func (p Part) parts() (out []Part) {
	inner := p.entries()
	add := func(e ast.Expr) { inner = append(inner, Part{e, p.Want, p.Entry}) }
	switch {
	case celast.IsCall(p, operators.Conditional):
		add(p.AsCall().Args()[1])
		add(p.AsCall().Args()[2])
	case celast.IsCall(p, "orValue") || celast.IsCall(p, "or"):
		add(p.AsCall().Target())
		add(p.AsCall().Args()[0])
	case p.Kind() == ast.ComprehensionKind && celast.IsBind(p.AsComprehension()):
		add(p.AsComprehension().Result())
	}
	if len(inner) == 0 {
		return []Part{p}
	}
	for _, i := range inner {
		out = append(out, i.parts()...)
	}
	return out
}

// entries returns the entries of a map literal, if the result must be a map.
func (p Part) entries() (out []Part) {
	if p.Kind() != ast.MapKind || !p.Want.IsMap() {
		return nil
	}
	inner := map[Want]Want{WantTextMap: WantText, WantLabels: WantString}[p.Want]
	for _, e := range p.AsMap().Entries() {
		entry := "a value of the map"
		if key, ok := celast.Text(e.AsMapEntry().Key()); ok {
			entry = valueOfKey(key)
		}
		out = append(out, Part{e.AsMapEntry().Value(), inner, entry})
	}
	return out
}

func valueOfKey(key string) string { return fmt.Sprintf("the value of key %q", key) }

// Results returns the errors of the values that an expression can return. If all of them are refused, it is about the
// expression.
func (c *Errors) Results() (out []*Error) {
	all, root := c.Source.Parts(c.Tree), Part{Expr: c.Tree.Expr(), Want: c.Source.Want}
	for _, p := range all {
		if err := c.result(p, c.typeOf(p)); err != nil {
			out = append(out, err)
		}
	}
	whole := c.result(root, c.typeOf(root))
	if len(all) > 1 && len(out) == len(all) && !root.Want.IsMap() {
		whole, out = c.result(root, celast.WithoutOptional(c.typeOf(all[0]))), nil
	}
	if whole == nil || len(out) > 0 && all[0].ID() != root.ID() {
		return out
	}
	whole.Line, whole.Column = 1, 1
	return []*Error{whole}
}

// result returns the error of a part whose value has a type that cannot be used, or nil.
func (c *Errors) result(p Part, of *types.Type) *Error {
	of = c.Typing.Plain(of)
	plain := of
	for celast.IsOptional(plain) {
		plain = celast.WithoutOptional(plain) // an optional inside another optional
	}
	if p.Want.accepts(plain) {
		return nil
	}
	line, column := c.Source.startOf(c.Tree, p)
	return &Error{Class: Result, Line: line, Column: column, Node: p.Expr, Types: []*types.Type{of}, Part: &p}
}
