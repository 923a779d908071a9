package migrate

import (
	"slices"

	"github.com/crossplane-contrib/function-export/internal/engine/decode"
)

// A Document is an object of a file.
type Document struct {
	Name  string // for messages: the file, and the position of the document in it
	Value any    // as decoded from JSON
}

// A Diagnostic says why a document cannot be migrated. It quotes no value of the document.
type Diagnostic struct {
	Document string // the name from the caller, or the position in it; empty for all documents
	Path     string // of the field; empty for the whole document
	Message  string
}

// Error returns the diagnostic in one line.
func (d Diagnostic) Error() string {
	text := d.Message
	for _, where := range []string{d.Path, d.Document} {
		if where != "" {
			text = where + ": " + text
		}
	}
	return text
}

// A reading is a document with its diagnostics.
type reading struct {
	Document
	list []Diagnostic
}

func (r *reading) root() decode.Value { return decode.Value{Raw: r.Value, Report: r.report} }

// report adds a diagnostic once, because a field may be read more than once.
func (r *reading) report(path decode.Path, message string) {
	if d := (Diagnostic{r.Name, path.String(), message}); !slices.Contains(r.list, d) {
		r.list = append(r.list, d)
	}
}

// refuse reports an error of the whole document.
func (r *reading) refuse(message string) {
	r.list = append(r.list, Diagnostic{Document: r.Name, Message: message})
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
