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

// A Read is one input that an expression can read.
type Read struct {
	Reference

	// Text is the input as it is written in CEL. It contains the name of the composed resource that
	// resource, self and secret stand for.
	Text string

	// Branched is set if all positions that read the input are in branches. The need is the strongest of theirs.
	Branched bool
}

// Reads returns the inputs that the expression can read, over all branches, each once, in the order of
// the source. The path that leads to an optional step, or to the field that has() tests, is a separate
// input unless another input already requires it: without it, the expression waits.
func (x *Expression) Reads() []Read {
	var out reads
	var leading []Read
	for _, r := range x.references {
		out.add(Read{Reference: r, Text: x.name(r), Branched: r.branch})
		if l, ok := x.leading(r); ok {
			leading = append(leading, l)
		}
	}
	for _, l := range leading {
		if !out.needs(l) {
			out.add(l)
		}
	}
	return out
}

// ReadsBelow reports whether the expression reads an optional step directly below an input.
func (x *Expression) ReadsBelow(input string) bool {
	return slices.ContainsFunc(x.references, func(r Reference) bool {
		return !r.tested && r.mayLack() && x.name(r.upTo(r.must)) == input
	})
}

// leading returns the part of an optional reference that must exist.
func (x *Expression) leading(r Reference) (Read, bool) {
	if !r.mayLack() {
		return Read{}, false
	}
	local := r.Variable == Resource || r.Variable == Self || r.Variable == Secret
	switch {
	case r.must > 0:
		r = r.upTo(r.must)
	case local && x.source.From != "" && !x.source.Own:
		r.Variable, r.Path = Resources, []Step{{Key: x.source.From}}
		r.must = len(r.Path)
	default:
		return Read{}, false
	}
	r.Need = x.needOf(r)
	return Read{Reference: r, Text: x.name(r), Branched: r.branch}, true
}

// reads is a list of reads without duplicates.
type reads []Read

func (l *reads) add(r Read) {
	i := slices.IndexFunc(*l, func(o Read) bool { return o.Text == r.Text })
	if i < 0 {
		*l = append(*l, r)
		return
	}
	same := &(*l)[i]
	same.Need, same.Branched = max(same.Need, r.Need), same.Branched && r.Branched
}

// needs reports whether something below r has at least the same need.
func (l *reads) needs(r Read) bool {
	return slices.ContainsFunc(*l, func(o Read) bool {
		rest, below := strings.CutPrefix(o.Text, r.Text)
		if r.Variable == Resources && len(r.Path) == 1 && !below {
			name, _ := r.Path[0].Key.(string)
			rest, below = strings.CutPrefix(o.Text, PathText(Secrets, name))
		}
		return below && (rest == "" || rest[0] == '.' || rest[0] == '[') && o.Need >= r.Need
	})
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
