package expression

import (
	"slices"
	"strings"

	"cel.dev/cel-go/common/ast"

	"github.com/crossplane-contrib/function-export/internal/engine/celast"
)

// A Need is what an expression does if an input is missing.
type Need int

// The needs, from the weakest to the strongest.
const (
	// Optional: the expression does not need the input.
	Optional Need = iota
	// Conditional: the expression waits if it evaluates the branch that reads the input.
	Conditional
	// Required: the expression waits.
	Required
)

// String returns the need in one word.
func (n Need) String() string { return [...]string{"optional", "conditional", "required"}[n] }

// MarshalText returns String.
func (n Need) MarshalText() ([]byte, error) { return []byte(n.String()), nil }

// Reads returns the inputs that the expression can read, over all branches, each once, in the order of
// the source. The need of an input is the strongest of the positions that read it, and it is branched if all of these
// are in branches. The path that leads to an optional step, or to the field that has() tests, is a separate
// input unless another input already requires it: without it, the expression waits.
func (x *Expression) Reads() (out []Reference) {
	index := map[string]int{} // by the text
	add := func(r Reference) {
		text := x.TextOf(r)
		i, ok := index[text]
		if !ok {
			index[text] = len(out)
			out = append(out, r)
			return
		}
		out[i].Need, out[i].branch = max(out[i].Need, r.Need), out[i].branch && r.branch
	}
	var leading []Reference
	for _, r := range x.references {
		add(r)
		if l, ok := x.leading(r); ok {
			leading = append(leading, l)
		}
	}
	for _, l := range leading {
		if !slices.ContainsFunc(out, func(r Reference) bool { return r.Need >= l.Need && x.leadsTo(l, r) }) {
			add(l)
		}
	}
	return out
}

// ReadsBelow reports whether the expression reads an optional step directly below an input.
func (x *Expression) ReadsBelow(input string) bool {
	return slices.ContainsFunc(x.references, func(r Reference) bool {
		return !r.tested && r.mayLack() && x.TextOf(r.upTo(r.must)) == input
	})
}

// leading returns the part of an optional reference that must exist.
func (x *Expression) leading(r Reference) (Reference, bool) {
	if !r.mayLack() {
		return r, false
	}
	local := r.Variable == Resource || r.Variable == Self || r.Variable == Secret
	switch {
	case r.must > 0:
		r = r.upTo(r.must)
	case local && x.source.From != "" && !x.source.Own:
		r.Variable, r.Path = Resources, []Step{{Key: x.source.From}}
		r.must = len(r.Path)
	default:
		return r, false
	}
	r.Need = x.needOf(r)
	return r, true
}

// leadsTo reports whether a reference is another one or above it. A composed resource is above its connection details.
func (x *Expression) leadsTo(l, r Reference) bool {
	rest, below := strings.CutPrefix(x.TextOf(r), x.TextOf(l))
	if l.Variable == Resources && len(l.Path) == 1 && !below {
		name, _ := l.Path[0].Key.(string)
		rest, below = strings.CutPrefix(x.TextOf(r), PathText(Secrets, name))
	}
	return below && (rest == "" || rest[0] == '.' || rest[0] == '[')
}

// A SpelledKey is a key of a map literal.
type SpelledKey struct {
	Name string

	// Optional is set if the entry may be left out.
	Optional bool
}

// Spelled returns the keys of the expression in order, if it is a map literal. all reports whether the
// result has no other keys.
func (x *Expression) Spelled() (keys []SpelledKey, all bool) {
	if x.ast.Expr().Kind() != ast.MapKind {
		return nil, false
	}
	all = true
	for _, e := range x.ast.Expr().AsMap().Entries() {
		k, ok := celast.Text(e.AsMapEntry().Key())
		all = all && ok
		if ok {
			keys = append(keys, SpelledKey{k, e.AsMapEntry().IsOptional()})
		}
	}
	return keys, all
}

// Keys returns the literal keys that are certainly in the result of the expression.
func (x *Expression) Keys() []string {
	var out []string
	spelled, _ := x.Spelled()
	for _, k := range spelled {
		if !k.Optional {
			out = append(out, k.Name)
		}
	}
	return out
}
