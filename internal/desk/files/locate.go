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
	if exact && whole && !d.Key && isScalar(s.doc, path) {
		return location{place.Value, false}
	}
	return location{place.Key, false}
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

func isScalar(d *document.Document, path []any) bool {
	switch d.At(path...).(type) {
	case map[string]any, []any:
		return false
	}
	return true
}
