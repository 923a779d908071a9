package expression

import (
	"slices"
	"strconv"
	"strings"

	"cel.dev/cel-go/common/ast"

	"github.com/crossplane-contrib/function-export/internal/engine/celast"
	"github.com/crossplane-contrib/function-export/internal/engine/lazy"
)

// A Reference is one use of a variable by an expression: the path below the variable that it reads, as
// far as it is known from the source.
type Reference struct {
	// Variable that is read, for example resources.
	Variable string

	// Path below the variable.
	Path []Step

	// Need says what the expression does if the path is missing.
	Need Need

	must   int   // the number of steps without which the expression waits
	tested bool  // has() or hasValue() tests the path, and its value is not read
	branch bool  // only read under a condition
	node   int64 // the outermost node of the path
}

// A Step is one step of a path.
type Step struct {
	// Key is a string, or an index as int64. It is nil if it is not known from the source: a computed
	// index, or the element of an iteration.
	Key any

	// ItemKey is set if the index is the variable [Key].
	ItemKey bool

	optional bool
	parts    []part // of a computed index; nil if a message may not name it
}

// A part of a computed index is a text, or a value of a variable.
type part struct {
	text string
	read Reference // if it has a variable
}

// nameable are the variables without secrets. Lists may not use secrets, so an item has none.
var nameable = []string{Composite, Resource, Self, Resources, Env, Item, Key} //nolint:gochecknoglobals // a table

// Any reports whether the key or index is not known from the source.
func (s Step) Any() bool { return s.Key == nil }

// Branched reports whether the path is only read under a condition.
func (r Reference) Branched() bool { return r.branch }

// mayLack reports whether the expression evaluates without the last step of the path.
func (r Reference) mayLack() bool { return r.must < len(r.Path) }

// needs sets the need of each reference. A branch does not need a path that another part of the expression may lack,
// because a test usually chooses the branch: has(a.b) ? a.b : 'none'.
func (x *Expression) needs() {
	for _, r := range x.references {
		if r.mayLack() {
			x.mayLack[x.TextOf(r)] = true
		}
	}
	for i, r := range x.references {
		x.references[i].Need = x.needOf(r)
	}
}

func (x *Expression) needOf(r Reference) Need {
	switch {
	case r.mayLack(), r.branch && x.mayLack[x.TextOf(r)]:
		return Optional
	case r.branch:
		return Conditional
	}
	return Required
}

// text returns the reference as it is written in CEL. It uses from for the variables that refer to a
// different input in each export.
func (r Reference) text(from string) string {
	var b strings.Builder
	switch {
	case from == own:
		b.WriteString(r.Variable)
	case from != "" && (r.Variable == Resource || r.Variable == Self):
		b.WriteString(Resources)
		writeKey(&b, from)
	case from != "" && r.Variable == Secret:
		b.WriteString(Secrets)
		writeKey(&b, from)
	case r.Variable == Resource || r.Variable == Self:
		b.WriteString(Composite)
	default:
		b.WriteString(r.Variable)
	}
	for _, s := range r.Path {
		switch k := s.Key.(type) {
		case nil:
			if s.ItemKey {
				b.WriteString("[" + Key + "]")
			} else {
				b.WriteString("[*]")
			}
		case string:
			writeKey(&b, k)
		case int64:
			b.WriteString("[" + strconv.FormatInt(k, 10) + "]")
		}
	}
	return b.String()
}

// String returns the reference as it is written in the source.
func (r Reference) String() string { return r.text(own) }

func writeKey(b *strings.Builder, key string) {
	if isIdentifier(key) {
		b.WriteString("." + key)
		return
	}
	b.WriteString("['" + strings.ReplaceAll(strings.ReplaceAll(key, `\`, `\\`), `'`, `\'`) + "']")
}

func isIdentifier(s string) bool {
	for i, r := range s {
		letter := r == '_' || (r >= 'a' && r <= 'z') || (r >= 'A' && r <= 'Z')
		if !letter && (i == 0 || r < '0' || r > '9') {
			return false
		}
	}
	return s != ""
}

// References returns the references of the expression, over all branches, in the order of the source.
// Variables that comprehensions and cel.bind declare are followed to their values. They are never
// confused with a variable of the same name.
func (x *Expression) References() []Reference { return x.references }

// PathText returns a path below a variable as it is written in CEL, for example secrets.db['ca.crt'].
func PathText(variable string, keys ...string) string {
	r := Reference{Variable: variable}
	for _, k := range keys {
		r.Path = append(r.Path, Step{Key: k})
	}
	return r.text("")
}

// firstStep is the first step of a path below a variable.
var firstStep = lazy.MustCompile(`^(?:\.([A-Za-z_]\w*)|\['((?:[^'\\]|\\.)*)'\])`)

// CutStep returns the first key of a path below a variable, as [PathText] writes it, and the path below this key. It is
// false if the path does not begin with a key.
func CutStep(path string) (key, rest string, ok bool) {
	m := firstStep().FindStringSubmatch(path)
	if m == nil {
		return "", path, false
	}
	return m[1] + strings.NewReplacer(`\\`, `\`, `\'`, `'`).Replace(m[2]), path[len(m[0]):], true
}

// Place returns the position of a reference.
func (x *Expression) Place(r Reference) Place {
	line, column := x.position(r.node)
	return Place{x.source.Path, line, column}
}

// Dynamic reports whether a part of the path of a reference is wrapped in dyn(). Then the types are not
// checked.
func (x *Expression) Dynamic(r Reference) bool { return celast.HasDyn(x.node(r.node)) }

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
