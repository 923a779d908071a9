package composition

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

var errNoComposition = errors.New("cannot read the object: it is no Composition of " + APIVersion)

// A reader keeps the first fault, so that what is read needs no look at each field.
type reader struct{ err error }

// A value of a Composition, and its path. One that is absent, or below something
// that is of another type, is empty.
type value struct {
	*reader
	v    any
	path []any
}

// fault never shows the value: it may be anything.
func (v value) fault(want string) {
	if v.err == nil {
		v.err = fmt.Errorf("cannot read %s: must be %s", location(v.path), want)
	}
}

// at is a value below this one.
func (v value) at(child any, step any) value {
	return value{reader: v.reader, v: child, path: append(slices.Clip(v.path), step)}
}

// there reports whether it is neither absent nor null.
func (v value) there() bool { return v.v != nil }

func (v value) field(name string) value { return v.at(v.object()[name], name) }

func (v value) object() map[string]any {
	o, ok := v.v.(map[string]any)
	if !ok && v.there() {
		v.fault("an object")
	}
	return o
}

func (v value) list() []value {
	l, ok := v.v.([]any)
	if !ok && v.there() {
		v.fault("a list")
	}
	out := make([]value, len(l))
	for i := range l {
		out[i] = v.at(l[i], i)
	}
	return out
}

func (v value) text() string {
	s, ok := v.v.(string)
	if !ok && v.there() {
		v.fault("a string")
	}
	return s
}

// location is a path as it is written, for example spec.pipeline[0].step. A name with dots is quoted, for
// it is no longer clear where it ends otherwise.
func location(path []any) string {
	if len(path) == 0 {
		return "the Composition"
	}
	var b strings.Builder
	for i, step := range path {
		switch s := step.(type) {
		case int:
			fmt.Fprintf(&b, "[%d]", s)
		case string:
			if strings.ContainsAny(s, ".[]\"\n") {
				fmt.Fprintf(&b, "[%q]", s)
				continue
			}
			if i > 0 {
				b.WriteByte('.')
			}
			b.WriteString(s)
		}
	}
	return b.String()
}
