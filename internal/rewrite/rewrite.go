// Package rewrite gives keys other names: regexp, merge and transform rules,
// then the conversion of what no object can have in a key, and at last the
// decoding of values. It is External Secrets' dataFrom without its store.
//
// Rules come in once, as [Options], and are compiled; keys come in with their
// values and with the [Origin] of each, and go out renamed, sorted by name. The
// order in which they come in changes nothing, not even an error.
//
// No key is ever lost or overwritten on the way: two that end on one name, at
// whatever step and even with equal values, are an error that names both
// originals. (A merge with the conflictPolicy Ignore overwrites members, for
// that is what it asks for.) No text made here holds a value, a member of one,
// or a name that was computed: all of these may be secret data. Keys are called
// by their origins.
//
// Whether an object can have the keys that go out is judged where objects are
// made.
package rewrite

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/crossplane-contrib/function-export/internal/budget"
	"github.com/crossplane-contrib/function-export/internal/diagnostic"
	"github.com/crossplane-contrib/function-export/internal/limits"
	"github.com/crossplane-contrib/function-export/internal/sensitive"
)

const (
	// maxKeys of one rewrite, after any step. The keys of a 1 MiB object would have
	// to be shorter than 100 bytes, values and all, to be more.
	maxKeys = 10_000

	// maxBytes of names and values together, after any step: a source of the
	// size that fits into an object, and what a merge makes of it beside it.
	maxBytes = 2 * limits.ResultBytes

	// maxName is how long a name may be on its way, in bytes. A key has 253 at
	// most; what a store calls it, with its path, may be longer.
	maxName = 4 << 10
)

// Options are what one entry of dataFrom asks for.
type Options struct {
	// Rules are applied in their order.
	Rules []Rule

	// Conversion of the names after the last rule: Default, Unicode or None. Empty
	// is Default.
	Conversion string

	// Decoding of the values, at the end: a merge sees them as they came. None,
	// Base64, Base64URL or Auto. Empty is None.
	Decoding string
}

// A Rule has exactly one of the fields.
type Rule struct {
	Regexp    *Regexp
	Merge     *Merge
	Transform *Transform
}

// An Origin is a key as it was before all rules.
type Origin struct {
	// Input that gave the key, for example a composed resource's name.
	Input string

	// Key in that input. Errors show it, so it must not hold data of a secret: what
	// was a member of a value has the key of that value here.
	Key string
}

// A Key is a name, its value and where both came from.
type Key struct {
	// Name of the key.
	Name string

	// Value is never shown.
	Value sensitive.Bytes

	// Origins are sorted, and at least one. Several keys may have the same ones.
	// They are shared between keys: do not modify them.
	Origins []Origin
}

// Failed is the error of a step that cannot be done. It holds no value.
type Failed struct {
	// Path of the rule below the options, for example rewrite[1].regexp, or empty
	// for what is wrong with the keys that came in.
	Path string

	// Reason, and a hint what to do.
	Reason string

	// Missing is set if a key that a rule wants is not there: it may still come.
	Missing bool

	// Cause is the error of a [Transform.Key], or nil.
	Cause error
}

// Error names the step and the reason.
func (f *Failed) Error() string {
	text := f.Reason
	if f.Path != "" {
		text = f.Path + ": " + text
	}
	if f.Cause != nil {
		text += ": " + f.Cause.Error()
	}
	return text
}

// Unwrap returns the cause.
func (f *Failed) Unwrap() error { return f.Cause }

// A Rewriter is compiled options. It is immutable, and safe for concurrent use.
type Rewriter struct{ steps []step }

// A step makes keys of keys. It gets a slice of its own, sorted by name, and may
// change it; the order in which it returns them is free.
type step struct {
	path string
	run  apply
}

// What a step does is paid for by the budget of the request.
type apply func(*budget.Budget, []Key) ([]Key, *Failed)

// Compile compiles the options, or returns all their diagnostics in the order of the
// fields. Their paths begin below the options, as in rewrite[1].regexp.source.
func Compile(o Options) (*Rewriter, diagnostic.List) {
	r := &Rewriter{}
	var all diagnostic.List
	add := func(path string, run apply, wrong diagnostic.List) {
		all = append(all, wrong...)
		r.steps = append(r.steps, step{path, run})
	}
	for i, rule := range o.Rules {
		add(rule.compile(fmt.Sprintf("rewrite[%d]", i)))
	}
	add(compileConversion("conversionStrategy", o.Conversion))
	add(compileDecoding("decodingStrategy", o.Decoding))
	if len(all) > 0 {
		return nil, all
	}
	return r, nil
}

func (r Rule) compile(at string) (path string, run apply, all diagnostic.List) {
	switch re, merge, transform := r.Regexp != nil, r.Merge != nil, r.Transform != nil; {
	case re && !merge && !transform:
		path = at + ".regexp"
		run, all = r.Regexp.compile(path)
	case merge && !re && !transform:
		path = at + ".merge"
		run, all = r.Merge.compile(path)
	case transform && !re && !merge:
		path = at + ".transform"
		run, all = r.Transform.compile(path)
	default:
		return at, nil, diagnostic.List{wrong(at, "must have exactly one of regexp, merge and transform")}
	}
	return path, run, all
}

// Apply renames the keys that come in. It does not change them, and returns all
// of them or an error, which is a [*Failed]. What the budget does not pay for is not
// done.
func (r *Rewriter) Apply(b *budget.Budget, in []Key) ([]Key, error) {
	keys := slices.Clone(in)
	if f := check(b, "", keys); f != nil {
		return nil, f
	}
	for _, s := range r.steps {
		var f *Failed
		if keys, f = s.run(b, keys); f == nil {
			f = check(b, s.path, keys)
		}
		if f != nil {
			return nil, f
		}
	}
	return keys, nil
}

// check sorts the keys that a step made, and refuses too many or too large ones,
// empty names, and a name that several of them have.
func check(b *budget.Budget, path string, keys []Key) *Failed {
	if len(keys) > maxKeys {
		return failed(path, "gives %d keys, over the limit of %d: export fewer", len(keys), maxKeys)
	}
	size := 0
	for _, k := range keys {
		size += len(k.Name) + k.Value.Len()
	}
	if size > maxBytes {
		return failed(path, "gives %d bytes of keys and values, over the limit of %d: export fewer", size, maxBytes)
	}
	if err := b.Spend(budget.Counted(len(keys), 0)); err != nil {
		return spent(path, err)
	}
	slices.SortFunc(keys, compareKeys)

	var empty, long, shared []string
	for i := 0; i < len(keys); {
		n := 1
		for i+n < len(keys) && keys[i+n].Name == keys[i].Name {
			n++
		}
		same := keys[i : i+n]
		switch {
		case same[0].Name == "":
			empty = append(empty, describe(same))
		case len(same[0].Name) > maxName:
			long = append(long, describe(same))
		case n > 1:
			shared = append(shared, describe(same))
		}
		i += n
	}
	switch { // the worst first
	case len(empty) > 0:
		return failed(path, "gives an empty name to %s: a key needs a name of at least one character", several(empty, "; "))
	case len(long) > 0:
		return failed(path, "gives a name over the limit of %d bytes to %s", maxName, several(long, "; "))
	case len(shared) > 0:
		hint := "keep them apart"
		if path == "conversionStrategy" {
			hint = "rename one of them, or use Unicode"
		}
		return failed(path, "gives one name to %s: %s", several(shared, "; and one to "), hint)
	}
	return nil
}

func compareKeys(a, b Key) int {
	return cmp.Or(strings.Compare(a.Name, b.Name), slices.CompareFunc(a.Origins, b.Origins, compareOrigins))
}

// rename is the step that gives each key the name that f makes of its name. It
// stops as soon as the names are too large: all of them may become longer.
func rename(path string, f func(b *budget.Budget, k Key) (string, *Failed)) apply {
	return func(b *budget.Budget, keys []Key) ([]Key, *Failed) {
		size := 0
		for i, k := range keys {
			name, err := f(b, k)
			if err != nil {
				return nil, err
			}
			if size += len(name); size > maxBytes {
				return nil, failed(path, "gives keys of more than %d bytes together: export fewer", maxBytes)
			}
			keys[i].Name = name
		}
		return keys, nil
	}
}

// spent says that the budget does not pay for a step.
func spent(path string, err error) *Failed {
	return failed(path, "was stopped: %s: export fewer keys, or use fewer and simpler rules", err)
}

func failed(path, format string, args ...any) *Failed {
	return &Failed{Path: path, Reason: fmt.Sprintf(format, args...)}
}
