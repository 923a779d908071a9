package files

import (
	"slices"

	"github.com/crossplane-contrib/function-export/internal/desk/document"
	"github.com/crossplane-contrib/function-export/internal/engine/diagnostic"
	"github.com/crossplane-contrib/function-export/internal/engine/fieldpath"
	"github.com/crossplane-contrib/function-export/internal/engine/lazy"
	"github.com/crossplane-contrib/function-export/internal/engine/suggest"
)

// This file turns the edits of an input into edits of its file. A diagnostic brings its edits, except for a name that
// is spelled wrong, which is found here.

// editsInFile returns the edits of the file that correct a mistake, or nothing if one of them is not possible.
func (s Step) editsInFile(d *diagnostic.Diagnostic) (out []document.Edit) {
	if len(d.Edits) == 0 {
		return s.respelled(d)
	}
	for _, e := range d.Edits {
		path, whole := s.pathOf(e.Path)
		if !whole && e.Action == diagnostic.SetValue {
			path, whole = s.withMissing(path, e.Path)
		}
		edit, ok := s.edit(e, path)
		if !ok || !whole {
			return nil
		}
		out = append(out, edit)
	}
	return out
}

// Lines returns the first and the last line of the input, if they contain nothing else.
func (s Step) Lines() (first, last int) {
	if !s.hasOwnLines() {
		return 0, -1
	}
	return s.doc.Lines(s.at...)
}

func (s Step) edit(e diagnostic.Edit, path []any) (document.Edit, bool) {
	switch e.Action {
	case diagnostic.SetValue:
		return s.doc.SetValue(e.Text, path...)
	case diagnostic.Quote:
		return s.doc.Quote(path...)
	case diagnostic.Rename:
		return s.doc.Rename(e.Text, path...)
	case diagnostic.Remove:
		return s.doc.Remove(path...)
	case diagnostic.SetText:
	}
	return s.doc.SetText(e.Text, path...)
}

// withMissing adds the last step of a field's path to the path of the object that lacks it.
func (s Step) withMissing(path []any, field string) ([]any, bool) {
	segments, err := fieldpath.Parse(field)
	if err != nil || len(path) != len(s.at)+len(segments)-1 {
		return path, false
	}
	return append(path, segments[len(segments)-1].Field), true
}

var (
	// suggested matches the end of a message that suggests a name, or a path.
	suggested = lazy.MustCompile(`: did you mean (?:([\w.-]+)\.)?([\w-]+)\?$`)

	path = lazy.MustCompile(`^[\w.?\[\]'"-]+`)
	word = lazy.MustCompile(`[\w-]+`)
)

// respelled returns the edit of the name that is spelled wrong, if a message suggests another one: the key, or a word of
// the text, which is a step of the path at the position in an expression.
func (s Step) respelled(d *diagnostic.Diagnostic) []document.Edit {
	m := suggested().FindStringSubmatch(d.Message)
	at, whole := s.pathOf(d.Path)
	if m == nil || !whole || d.Key && m[1] != "" {
		return nil
	}
	name, text, from := m[2], "", 0
	edit := diagnostic.Edit{Path: d.Path, Text: name, Action: diagnostic.Rename}
	if !d.Key {
		text, _ = s.doc.At(at...).(string)
		if d.Line > 0 {
			from = max(0, document.Index(text, d.Line, d.Column))
		}
		chain := path().FindString(text[from:])
		words := word().FindAllStringIndex(chain, -1)
		i := slices.IndexFunc(words, func(w []int) bool {
			wrong := chain[w[0]:w[1]]
			return wrong != name && suggest.Nearest(wrong, []string{name}) != ""
		})
		if i < 0 || d.Line > 0 && !isIdentifier().MatchString(name) {
			return nil
		}
		w := words[i]
		edit.Action, edit.Text = diagnostic.SetText, text[:from+w[0]]+name+text[from+w[1]:]
	}
	out, ok := s.edit(edit, at)
	if !ok {
		return nil
	}
	return []document.Edit{out}
}

var isIdentifier = lazy.MustCompile(`^[A-Za-z_]\w*$`)
