package expression

import (
	"fmt"

	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/operators"
	"cel.dev/cel-go/common/types"

	"github.com/crossplane-contrib/function-export/internal/engine/diagnostic"
)

// A resultPart is an expression whose value may be the result, or an entry of a resulting map.
type resultPart struct {
	ast.Expr

	want  Want
	entry string // what messages call the entry
}

func (c *typeCheck) root() resultPart { return resultPart{Expr: c.Expr(), want: c.source.Want} }

// results returns the diagnostics of the values that an expression can return: the branches of a condition,
// a value and its default, and the entries of a map. If all of them are refused, it is about the expression.
func (c *typeCheck) results() diagnostic.List {
	root := c.root()
	all := root.parts()
	out := c.refused(all)
	whole := c.result(root, c.typeOf(root))
	if len(all) > 1 && len(out) == len(all) && !root.want.isMap() {
		whole = c.result(root, withoutOptional(c.typeOf(all[0])))
		out = nil
	}
	if whole == nil || len(out) > 0 && all[0].ID() != root.ID() {
		return out
	}
	whole.Line, whole.Column = 1, 1
	return diagnostic.List{whole}
}

// parts returns each part whose value may be the result.
func (p resultPart) parts() (out []resultPart) {
	inner := p.entries()
	add := func(e ast.Expr) { inner = append(inner, resultPart{e, p.want, p.entry}) }
	switch {
	case isCall(p, operators.Conditional):
		add(p.AsCall().Args()[1])
		add(p.AsCall().Args()[2])
	case isMember(p, "orValue") || isMember(p, "or"):
		add(p.AsCall().Target())
		add(p.AsCall().Args()[0])
	case p.Kind() == ast.ComprehensionKind && isBind(p.AsComprehension()):
		add(p.AsComprehension().Result())
	}
	if len(inner) == 0 {
		return []resultPart{p}
	}
	for _, i := range inner {
		out = append(out, i.parts()...)
	}
	return out
}

// entries returns the entries of a map literal, if the result must be a map.
func (p resultPart) entries() (out []resultPart) {
	if p.Kind() != ast.MapKind || !p.want.isMap() {
		return nil
	}
	inner := map[Want]Want{WantTextMap: WantText, WantLabels: WantString}[p.want]
	for _, e := range p.AsMap().Entries() {
		entry := "a value of the map"
		if key, ok := literalString(e.AsMapEntry().Key()); ok {
			entry = valueOfKey(key)
		}
		out = append(out, resultPart{e.AsMapEntry().Value(), inner, entry})
	}
	return out
}

func valueOfKey(key string) string { return fmt.Sprintf("the value of key %q", key) }

func isMember(e ast.Expr, name string) bool {
	return isCall(e, name) && e.AsCall().IsMemberFunction() && len(e.AsCall().Args()) == 1
}

// refused returns the diagnostics of some parts.
func (c *typeCheck) refused(parts []resultPart) (out diagnostic.List) {
	for _, p := range parts {
		if d := c.result(p, c.typeOf(p)); d != nil {
			out = append(out, d)
		}
	}
	return out
}

// result returns the diagnostic of a part whose value has a type that cannot be used, or nil.
func (c *typeCheck) result(p resultPart, of *types.Type) *diagnostic.Diagnostic {
	of = c.plain(of)
	plain := of
	for plain != withoutOptional(plain) {
		plain = withoutOptional(plain) // an optional inside another optional
	}
	several := c.env.several
	if p.entry != "" {
		several = ""
	}
	wanted, hint := p.want.refuse(plain, several)
	if wanted == "" {
		return nil
	}
	message := mustReturn(wanted, c.typeText(plain))
	switch {
	case p.entry != "" && isKind(plain, types.NullTypeKind):
		message, hint = p.entry+" must be "+wanted+", but is null", ": write '' for an empty text, or leave the key out"
	case p.entry != "":
		message = fmt.Sprintf("%s must be %s, but is %s", p.entry, wanted, c.aType(plain))
	}
	line, column := c.start(p)
	return c.source.wrongAt(line, column, message+convertedResult(hint, p, plain, plain != of))
}

// convertedResult returns the hint for a part, which can be more exact than the hint for its type.
func convertedResult(hint string, p resultPart, plain *types.Type, optional bool) string {
	switch {
	case hint == valuesHint && p.Kind() != ast.MapKind:
		convert := "string(v)"
		if isKind(plain.Parameters()[1], types.ListKind, types.MapKind) {
			convert = "json.encode(v)"
		}
		return ": convert its values with .transformMap(k, v, " + convert + ")"
	case hint != stringHint:
		return hint
	case isHash(p.Expr):
		return hashHint
	case p.Kind() == ast.LiteralKind && isKind(plain, types.IntKind, types.DoubleKind, types.BoolKind):
		return fmt.Sprintf(": write it in quotes, '%v'", p.AsLiteral().Value())
	case optional:
		return ": convert the optional value with .optMap(v, string(v))"
	}
	return hint
}

// start returns the position where the text of an expression begins.
func (c *typeCheck) start(e ast.Expr) (line, column int) {
	info, first, id := c.SourceInfo(), int32(-1), e.ID()
	ast.PostOrderVisit(e, ast.NewExprVisitor(func(n ast.Expr) {
		if r, ok := info.GetOffsetRange(n.ID()); ok && (first < 0 || r.Start < first) {
			first, id = r.Start, n.ID()
		}
	}))
	l := info.GetStartLocation(id)
	return c.text.position(c.text.nameBefore(c.text.offset(l.Line(), l.Column())))
}
