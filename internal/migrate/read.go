package migrate

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

// A Fault is why a document cannot be migrated. It quotes no value of the document.
type Fault struct {
	Document string // as the caller calls it, or the place in it; empty for all of them
	Path     string // of the field; empty for the document as a whole
	Message  string
}

// Error is the fault in one line.
func (f Fault) Error() string {
	text := f.Message
	for _, where := range []string{f.Path, f.Document} {
		if where != "" {
			text = where + ": " + text
		}
	}
	return text
}

// A cursor is a value of a document, or none, and where it stands.
type cursor struct {
	value  any
	at     *field.Path // nil for the document itself
	steps  []any       // the same, as keys and indices
	faults *faults
	beyond bool // it is inside of what has a fault, which says enough
}

// faults of one document.
type faults struct {
	document Document
	list     []Fault
}

func (c cursor) fault(format string, args ...any) {
	if c.beyond {
		return
	}
	path, where := "", c.faults.document.Name
	if c.at != nil {
		path = c.at.String()
	}
	if at := c.faults.document.At; at != nil {
		where = at(c.steps...)
	}
	c.faults.list = append(c.faults.list, Fault{where, path, fmt.Sprintf(format, args...)})
}

// there reports whether the field is set. Null is not.
func (c cursor) there() bool { return c.value != nil }

// get the field at the end of the names. Of what is not there every field is not
// there, either; of what is no object it is a fault to ask for one.
func (c cursor) get(names ...string) cursor {
	for _, name := range names {
		at := field.NewPath(name)
		if c.at != nil {
			at = c.at.Child(name)
		}
		c = c.below(at, name, c.members()[name])
	}
	return c
}

// member is get for a name that the author of the document chose.
func (c cursor) member(name string) cursor {
	return c.below(c.at.Key(name), name, c.members()[name])
}

func (c cursor) below(at *field.Path, name string, value any) cursor {
	_, isObject := c.value.(map[string]any)
	return cursor{value, at, append(slices.Clone(c.steps), name), c.faults, c.beyond || c.there() && !isObject}
}

func (c cursor) members() map[string]any {
	m, ok := c.value.(map[string]any)
	if !ok && c.there() {
		c.fault("must be an object")
	}
	return m
}

// names of the members, sorted.
func (c cursor) names() []string {
	var out []string
	for name := range c.members() {
		out = append(out, name)
	}
	slices.Sort(out)
	return out
}

// items of a list.
func (c cursor) items() []cursor {
	list, ok := c.value.([]any)
	if !ok && c.there() {
		c.fault("must be a list")
	}
	out := make([]cursor, 0, len(list))
	for i, v := range list {
		at := cursor{v, c.at.Index(i), append(slices.Clone(c.steps), i), c.faults, c.beyond}
		if v == nil {
			at.fault("must not be null")
			continue
		}
		out = append(out, at)
	}
	return out
}

// text of a string; the empty one if it is not there.
func (c cursor) text() string {
	s, ok := c.value.(string)
	if !ok && c.there() {
		c.fault("must be a string")
	}
	return s
}

// needed is the text of a field that must be set.
func (c cursor) needed() string {
	if !c.there() {
		c.fault("must be set")
	}
	s := c.text()
	if _, isText := c.value.(string); isText && s == "" {
		c.fault("must not be empty")
	}
	return s
}

// yes reports whether a boolean is true.
func (c cursor) yes() bool {
	b, ok := c.value.(bool)
	if !ok && c.there() {
		c.fault("must be true or false")
	}
	return b
}

// longestName that YAML can have for a key is 1024 characters, as it is printed. One of
// a label has 317.
const longestName = 1000

// texts of an object whose values are strings.
func (c cursor) texts() map[string]string {
	out := map[string]string{}
	for _, name := range c.names() {
		if len(quote(name)) > longestName {
			c.fault("has a name that is too long to be printed")
			continue
		}
		out[name] = c.member(name).text()
	}
	return out
}
