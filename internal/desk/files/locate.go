package files

import (
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/crossplane-contrib/function-export/internal/desk/document"
	"github.com/crossplane-contrib/function-export/internal/desk/rules"
	"github.com/crossplane-contrib/function-export/internal/engine/diagnostic"
	"github.com/crossplane-contrib/function-export/internal/engine/fieldpath"
	"github.com/crossplane-contrib/function-export/internal/engine/lazy"
	"github.com/crossplane-contrib/function-export/internal/engine/suggest"
)

// A location is the range of a diagnostic in a file.
type location struct {
	document.Range

	expression bool // it is inside of an expression
}

// locate finds the range that a diagnostic is about. The range of a missing field is the key of the nearest parent.
func (s Step) locate(d *diagnostic.Diagnostic) location {
	path, whole := s.pathOf(d.Path)
	if text, isText := s.doc.At(path...).(string); d.Line > 0 && whole && isText {
		if r, ok := s.within(text, d.Line, d.Column, path); ok {
			return location{r, true}
		}
	}
	place, exact := s.doc.Find(path...)
	_, isMap := s.doc.At(path...).(map[string]any)
	_, isList := s.doc.At(path...).([]any)
	if !exact || !whole || d.Key || isMap || isList {
		return location{place.Key, false}
	}
	return location{place.Value, false}
}

// pathOf returns the path in the document of a field of the input, as far as it exists. It also says whether all of it
// exists.
func (s Step) pathOf(field string) (path []any, whole bool) {
	if field == rules.FunctionRef {
		return append(slices.Clone(s.at[:len(s.at)-1]), "functionRef", "name"), true
	}
	steps, whole := follow(any(s.Input), field)
	return append(slices.Clone(s.at), steps...), whole || field == "input" // the input itself
}

// marked matches what a diagnostic in an expression is about. In CEL, the position of a selection is that of its dot.
var marked = lazy.MustCompile(`^((?:\.\??\s*)?)(?:\w+|'[^'\n]*'|"[^"\n]*"|[^\n])`)

// within returns the range of the word, the text or the character at a position of an expression, or that of a line.
func (s Step) within(text string, line, column int, path []any) (document.Range, bool) {
	lines := strings.Split(text, "\n")
	if line > len(lines) {
		return document.Range{}, false
	}
	rest := []rune(lines[line-1])
	before, length := 0, len(rest)
	if column > 0 {
		rest = rest[min(column-1, len(rest)):]
		m := marked().FindStringSubmatch(string(rest) + " ")
		before, length = utf8.RuneCountInString(m[1]), min(utf8.RuneCountInString(m[0]), len(rest))
	}
	first := max(column, 1)
	start, ok := s.doc.Within(line, first+before, path...)
	end, _ := s.doc.Within(line, first+length, path...)
	return document.Range{Position: start, End: end}, ok
}

// follow follows a path of the input through its values, as far as they exist. It also says whether all of it exists.
func follow(v any, path string) (steps []any, whole bool) {
	segments, err := fieldpath.Parse(path)
	for i, segment := range segments {
		switch c := v.(type) {
		case []any:
			at := int(segment.Index)
			if segment.Type != fieldpath.SegmentIndex || at >= len(c) {
				return steps, false
			}
			steps, v = append(steps, at), c[at]
		case map[string]any:
			name := strings.Trim(segments[i:i+1].String(), "[]")
			rest := segments[i:].String() // an unknown field may have dots
			if _, ok := c[rest]; ok {
				return append(steps, rest), true
			}
			value, ok := c[name]
			if !ok {
				return steps, false
			}
			steps, v = append(steps, name), value
		default:
			return steps, false
		}
	}
	return steps, err == nil
}

// editsInFile returns the edits of the file that correct a mistake, or nothing if one of them is not possible. A
// diagnostic brings its edits, except for a name that is spelled wrong.
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

// respelled returns the edit of the name that is spelled wrong, if a message suggests another one: the key, or a word
// of the text, which is a step of the path at the position in an expression.
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
