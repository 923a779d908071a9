package migrate

import (
	"errors"
	"slices"
	"strings"

	"github.com/crossplane-contrib/function-export/internal/engine/decode"
)

// A Document is an object of a file.
type Document struct {
	Name  string // for messages: the file, and the position of the document in it
	Value any    // as decoded from JSON
}

// A reading is a document with the reasons why it cannot be migrated. They quote no value of the document.
type reading struct {
	Document
	wrong []error
}

func (r *reading) root() decode.Value { return decode.Value{Raw: r.Value, Report: r.report} }

// report adds a reason once, because a field may be read more than once.
func (r *reading) report(path decode.Path, message string) {
	err := errors.New(r.Name + ": " + strings.TrimPrefix(path.String()+": "+message, ": "))
	if !slices.ContainsFunc(r.wrong, func(other error) bool { return other.Error() == err.Error() }) {
		r.wrong = append(r.wrong, err)
	}
}

// items returns the items of a list that are not null.
func items(v decode.Value) []decode.Value {
	list := v.List()
	out := make([]decode.Value, 0, len(list))
	for _, item := range list {
		if !item.Exists() {
			item.Refuse("must not be null")
			continue
		}
		out = append(out, item)
	}
	return out
}

// needed returns the text of a required field.
func needed(v decode.Value) string {
	text := v.Required().Text()
	if v.Raw == "" {
		v.Refuse("must not be empty")
	}
	return text
}

// texts returns the values of an object whose values are strings.
func texts(v decode.Value) map[string]string {
	out := map[string]string{}
	for _, name := range v.Keys() {
		out[name] = v.Get(name).Text()
	}
	return out
}
