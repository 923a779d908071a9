// Package decode reads the fields of a decoded object whose types are not known. It reports the path of
// each field that does not have the requested type, and never shows a value.
package decode

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// A Path leads to a value: a string is a field or a key, and an int is an index.
type Path []any

// String returns the path as it is written, for example spec.pipeline[0].step. A field that contains
// dots is quoted. Otherwise its end would be unclear.
func (p Path) String() string {
	var b strings.Builder
	for _, step := range p {
		switch s := step.(type) {
		case int:
			fmt.Fprintf(&b, "[%d]", s)
		case string:
			if strings.ContainsAny(s, ".[]\"\n") {
				fmt.Fprintf(&b, "[%q]", s)
				continue
			}
			if b.Len() > 0 {
				b.WriteByte('.')
			}
			b.WriteString(s)
		}
	}
	return b.String()
}

// A Value is a part of an object as encoding/json decodes it. An absent value is empty. A value below
// an absent value, or below a value of another type, is also empty.
type Value struct {
	Raw    any
	Path   Path
	Report func(at Path, message string)

	lost bool // a value above it has another type, and that is already reported
}

// Refuse reports what is wrong with the value.
func (v Value) Refuse(format string, args ...any) {
	if !v.lost {
		v.Report(v.Path, fmt.Sprintf(format, args...))
	}
}

// Exists reports whether the value is set. Null is not.
func (v Value) Exists() bool { return v.Raw != nil }

// Required returns the value itself, which must be set.
func (v Value) Required() Value {
	if !v.Exists() {
		v.Refuse("must be set")
	}
	return v
}

// Get returns the field at the end of the names.
func (v Value) Get(names ...string) Value {
	for _, name := range names {
		v = v.below(name, v.Object()[name])
	}
	return v
}

func (v Value) below(step, raw any) Value {
	_, isObject := v.Raw.(map[string]any)
	_, isIndex := step.(int)
	return Value{raw, append(slices.Clip(v.Path), step), v.Report, v.lost || v.Exists() && !isObject && !isIndex}
}

// Object returns the fields of an object.
func (v Value) Object() map[string]any { return as[map[string]any](v, "an object") }

// Keys returns the keys of an object, sorted.
func (v Value) Keys() []string { return slices.Sorted(maps.Keys(v.Object())) }

// List returns the items of a list.
func (v Value) List() []Value {
	items := as[[]any](v, "a list")
	out := make([]Value, len(items))
	for i, item := range items {
		out[i] = v.below(i, item)
	}
	return out
}

// Text returns a string.
func (v Value) Text() string { return as[string](v, "a string") }

// Bool returns a boolean.
func (v Value) Bool() bool { return as[bool](v, "true or false") }

func as[T any](v Value, kind string) T {
	t, ok := v.Raw.(T)
	if !ok && v.Exists() {
		v.Refuse("must be %s", kind)
	}
	return t
}

// First keeps the first report as an error.
type First struct{ Err error }

// Report is the Report of a [Value].
func (f *First) Report(at Path, message string) {
	if f.Err == nil {
		f.Err = &Error{at, message}
	}
}

// An Error says what is wrong with the value at a path.
type Error struct {
	Path    Path
	Message string
}

// Error returns the path and the message.
func (e *Error) Error() string { return fmt.Sprintf("cannot read %s: %s", e.Path, e.Message) }

// At returns the path of the error as keys and indices, or nil if err has no path.
func At(err error) []any {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Path
	}
	return nil
}
