// Package rewrite renames keys: it applies regexp, merge and transform rules, then converts characters that
// are invalid in a key, and finally decodes values. It implements External Secrets' dataFrom without its
// stores.
//
// [Compile] compiles the rules of an entry once. [Rewriter.Apply] renames keys with their values and their
// [Origin], and returns them sorted by name. The order of its arguments changes neither results nor errors.
//
// No key is ever lost or overwritten: if two keys have the same name after any step, even with equal values,
// the error names both original keys. (Only a merge with the conflictPolicy Ignore overwrites members.) No
// text of this package contains a value, a member of a value, or a computed name, because all of these may be
// secret data. Messages name keys by their origins.
//
// This package does not check whether the resulting keys are valid in an object.
package rewrite

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/crossplane-contrib/function-export/input/v1beta1"
	"github.com/crossplane-contrib/function-export/internal/engine/budget"
	"github.com/crossplane-contrib/function-export/internal/engine/diagnostic"
	"github.com/crossplane-contrib/function-export/internal/engine/limits"
	"github.com/crossplane-contrib/function-export/internal/engine/sensitive"
)

const (
	// maxKeys of one rewrite, after any step. A 1 MiB object can only have more keys if each key with its value
	// is shorter than 100 bytes.
	maxKeys = 10_000

	// maxBytes of names and values together, after any step: a source of the size of an object, together with the
	// result of a merge.
	maxBytes = 2 * limits.ResultBytes

	// maxName is the maximum length of a name between steps, in bytes. A key has at most 253 bytes, but the name
	// of a find, with its path, may be longer.
	maxName = 4 << 10
)

// An Origin is a key as it was before all rules.
type Origin struct {
	// Input of the key, for example the name of a composed resource.
	Input string

	// Key in that input. Errors show it, so it must not contain data of a secret: for a member of a value, it is
	// the key of that value.
	Key string
}

// String describes the origin.
func (o Origin) String() string {
	if o.Input == "" {
		return fmt.Sprintf("%q", o.Key)
	}
	return fmt.Sprintf("%q of %q", o.Key, o.Input)
}

// A Key is a name with its value and the origins of both.
type Key struct {
	// Name of the key.
	Name string

	// Value is never shown.
	Value sensitive.Bytes

	// Origins are sorted. There is at least one. Several keys may have the same origins.
	// They are shared between keys: do not modify them.
	Origins []Origin
}

// String describes the key by its origins, never by its name or value.
func (k Key) String() string {
	names := make([]string, len(k.Origins))
	for i, o := range k.Origins {
		names[i] = o.String()
	}
	if len(names) == 1 {
		return names[0]
	}
	return "(" + several(names, " + ") + ")"
}

// describe lists the descriptions of keys, sorted. Members of one key have equal descriptions.
func describe(keys []Key) string {
	names := make([]string, len(keys))
	for i, k := range keys {
		names[i] = k.String()
	}
	slices.Sort(names)
	names = slices.Compact(names)
	if len(names) == 1 && len(keys) > 1 {
		return "members of " + names[0]
	}
	return several(names, " and ")
}

// several joins names, and counts the names that exceed the limit of a message.
func several(names []string, sep string) string {
	if more := len(names) - limits.MessageItems; more > 0 {
		names = append(slices.Clone(names[:limits.MessageItems]), fmt.Sprintf("%d more", more))
	}
	return strings.Join(names, sep)
}

// Failed is the error of a step. It contains no value.
type Failed struct {
	// Path of the rule below the entry, for example rewrite[1].regexp. It is empty for an error of the original
	// keys.
	Path string

	// Reason, and a hint what to do.
	Reason string

	// Missing is set if a key that a rule requires does not exist yet.
	Missing bool

	// Cause is the error of a key expression, or nil.
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

func failed(path, format string, args ...any) *Failed {
	return &Failed{Path: path, Reason: fmt.Sprintf(format, args...)}
}

// spent returns the error of a step that exceeds the budget.
func spent(path string) *Failed {
	return failed(path, "was stopped: %s: export fewer keys, or use fewer and simpler rules", budget.ErrSpent)
}

// wrong returns a diagnostic about a field.
func wrong(path, format string, args ...any) diagnostic.List {
	return diagnostic.List{{Path: path, Rule: diagnostic.Expression, Message: fmt.Sprintf(format, args...)}}
}

// A Rewriter is the result of compiling options. It is immutable, and safe for concurrent use.
type Rewriter struct{ steps []step }

// A step computes keys from keys. Its argument is sorted by name. The step may change the slice, and return keys in
// any order.
type step struct {
	path string
	run  apply

	// What to write instead of a rule that produces an empty name, or one name for several keys. Both may be empty.
	ifEmpty, ifShared string
}

// Each step spends the budget of the request.
type apply func(*budget.Budget, []Key) ([]Key, *Failed)

// A Renamer returns the new name of a key. It is deterministic, its errors contain no data, and it spends the budget.
type Renamer func(b *budget.Budget, name string) (string, error)

// Compile compiles the rules and strategies of an entry, which follow the rules of the input's definition, or returns
// the diagnostics of regular expressions and templates in the order of the fields. Their paths begin below the entry,
// as in rewrite[1].regexp.source. The argument key compiles a key expression at such a path.
func Compile(d v1beta1.DataFrom, key func(path, text string) Renamer) (*Rewriter, diagnostic.List) {
	r := &Rewriter{}
	var all diagnostic.List
	for i, rule := range d.Rewrite {
		s, wrong := compile(fmt.Sprintf("rewrite[%d]", i), rule, key)
		all = append(all, wrong...)
		r.steps = append(r.steps, s)
	}
	r.steps = append(r.steps, conversion("conversionStrategy", d.ConversionStrategy),
		decoding("decodingStrategy", d.DecodingStrategy))
	if len(all) > 0 {
		return nil, all
	}
	return r, nil
}

func compile(at string, r v1beta1.Rewrite, key func(path, text string) Renamer) (s step, wrong diagnostic.List) {
	var f Renamer
	switch t := r.Transform; {
	case r.RegExp != nil:
		s.path = at + ".regexp"
		s.ifEmpty = "write a source and a target that leave at least one character, for example (.+) in place of (.*)"
		s.ifShared = "write a target that contains what differs in them, for example a group such as $1"
		f, wrong = compileRegexp(s.path, r.RegExp)
		s.run = rename(s.path, f)
	case r.Merge != nil:
		s.path = at + ".merge"
		s.run = merge{r.Merge, s.path}.run
	case t.KeyExpression != "":
		s.path = at + ".transform"
		s.run = rename(s.path, key(s.path+".keyExpression", t.KeyExpression))
	default:
		s.path = at + ".transform"
		f, wrong = compileTemplate(s.path+".template", t.Template)
		s.run = rename(s.path+".template", f)
	}
	return s, wrong
}

// Apply renames keys. It does not change its argument. It returns all keys, or an error, which is a [*Failed]. It
// stops if the budget is spent.
func (r *Rewriter) Apply(b *budget.Budget, in []Key) ([]Key, error) {
	keys := slices.Clone(in)
	if f := (step{}).check(b, keys); f != nil {
		return nil, f
	}
	for _, s := range r.steps {
		var f *Failed
		if keys, f = s.run(b, keys); f == nil {
			f = s.check(b, keys)
		}
		if f != nil {
			return nil, f
		}
	}
	return keys, nil
}

// check sorts the keys that a step returns. It refuses too many or too large keys, empty names, and names that several
// keys have. It reports the first one.
func (s step) check(b *budget.Budget, keys []Key) *Failed {
	if len(keys) > maxKeys {
		return failed(s.path, "produces %d keys, over the limit of %d: export fewer", len(keys), maxKeys)
	}
	size := 0
	for _, k := range keys {
		size += len(k.Name) + k.Value.Len()
	}
	if size > maxBytes {
		const text = "produces %d bytes of keys and values, over the limit of %d: export fewer"
		return failed(s.path, text, size, maxBytes)
	}
	if b.Spend(budget.Counted(len(keys), 0)) != nil {
		return spent(s.path)
	}
	slices.SortFunc(keys, func(a, b Key) int {
		return cmp.Or(strings.Compare(a.Name, b.Name), slices.CompareFunc(a.Origins, b.Origins, compareOrigins))
	})
	for n, rest := 0, keys; len(rest) > 0; rest = rest[n:] {
		if n = slices.IndexFunc(rest, func(k Key) bool { return k.Name != rest[0].Name }); n < 0 {
			n = len(rest)
		}
		switch same := describe(rest[:n]); {
		case rest[0].Name == "":
			return failed(s.path, "produces an empty name for %s: %s", same,
				cmp.Or(s.ifEmpty, "a key needs a name of at least one character"))
		case len(rest[0].Name) > maxName:
			return failed(s.path, "produces a name over the limit of %d bytes for %s", maxName, same)
		case n > 1:
			return failed(s.path, "produces the same name for %s: %s", same,
				cmp.Or(s.ifShared, "give them different names"))
		}
	}
	return nil
}

func compareOrigins(a, b Origin) int {
	return cmp.Or(strings.Compare(a.Input, b.Input), strings.Compare(a.Key, b.Key))
}

// rename returns the step that renames each key with f.
func rename(path string, f Renamer) apply {
	return func(b *budget.Budget, keys []Key) ([]Key, *Failed) {
		for i, k := range keys {
			name, err := f(b, k.Name)
			var own callError
			switch {
			case isSpent(b, err):
				return nil, spent(path)
			case errors.As(err, &own):
				return nil, failed(path, "cannot rename %s: %s", k, own.reason)
			case err != nil:
				return nil, &Failed{Path: path, Reason: "cannot rename " + k.String(), Cause: err}
			}
			keys[i].Name = name
		}
		return keys, nil
	}
}

func isSpent(b *budget.Budget, err error) bool {
	return b.Context().Err() != nil || errors.Is(err, budget.ErrSpent)
}
