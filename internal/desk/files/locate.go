package files

import (
	"slices"
	"strings"

	"github.com/crossplane-contrib/function-export/internal/desk/document"
	"github.com/crossplane-contrib/function-export/internal/desk/rules"
	"github.com/crossplane-contrib/function-export/internal/engine/diagnostic"
	"github.com/crossplane-contrib/function-export/internal/engine/fieldpath"
)

// A location is the position of a diagnostic in a file.
type location struct {
	document.Position

	expression bool // it is inside of an expression
}

// locate finds the position that a diagnostic is about. The position of a missing field is the key
// of the nearest parent.
func (s Step) locate(d *diagnostic.Diagnostic) location {
	if d.Path == rules.FunctionRef {
		place, _ := s.doc.Find(append(slices.Clone(s.at[:len(s.at)-1]), "functionRef", "name")...)
		return location{place.Value, false}
	}
	steps, whole := follow(any(s.Input), d.Path)
	whole = whole || d.Path == "input" // the input itself
	path := append(append([]any{}, s.at...), steps...)
	if d.Line > 0 && whole {
		if p, ok := s.doc.Within(d.Line, max(d.Column, 1), path...); ok {
			return location{p, true}
		}
	}
	place, exact := s.doc.Find(path...)
	if exact && whole && !d.Key && isScalar(s.doc, path) {
		return location{place.Value, false}
	}
	return location{place.Key, false}
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
