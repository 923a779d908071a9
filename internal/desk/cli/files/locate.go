package files

import (
	"slices"
	"strconv"
	"strings"

	"github.com/crossplane-contrib/function-export/internal/desk/document"
	"github.com/crossplane-contrib/function-export/internal/desk/rules"
	"github.com/crossplane-contrib/function-export/internal/engine/diagnostic"
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
	steps, rest := follow(any(s.Input), d.Path)
	if d.Path == "input" { // the input itself
		rest = ""
	}
	path := append(append([]any{}, s.at...), steps...)
	if d.Line > 0 && rest == "" {
		if p, ok := s.doc.Within(d.Line, max(d.Column, 1), path...); ok {
			return location{p, true}
		}
	}
	place, exact := s.doc.Find(path...)
	if exact && rest == "" && !d.Key && isScalar(s.doc, path) {
		return location{place.Value, false}
	}
	return location{place.Key, false}
}

// follow follows a path of the input through its values, as far as they exist. It also returns the
// rest of the path. Keys come from the values, because a key may contain a dot.
func follow(v any, path string) (steps []any, rest string) {
	for path != "" {
		step, after, ok := followOne(v, path)
		if !ok {
			return steps, path
		}
		steps, path = append(steps, step), after
		switch c := v.(type) {
		case map[string]any:
			v = c[step.(string)] //nolint:forcetypeassert // of a map
		case []any:
			v = c[step.(int)] //nolint:forcetypeassert // of a list
		}
	}
	return steps, ""
}

func followOne(v any, path string) (step any, after string, ok bool) {
	path = strings.TrimPrefix(path, ".")
	switch c := v.(type) {
	case []any:
		text, after, closed := strings.Cut(strings.TrimPrefix(path, "["), "]")
		i, err := strconv.Atoi(text)
		return i, after, closed && err == nil && i >= 0 && i < len(c)
	case map[string]any:
		return followKey(c, path)
	}
	return nil, path, false
}

// longestKey is the length of the longest key that is looked up. A field after a longer one is shown at its parent.
const longestKey = 1024

// followKey returns the longest key that a path begins with. Its cost does not depend on the number of keys, because an
// input with many unknown fields has many diagnostics.
func followKey(c map[string]any, path string) (key, after string, ok bool) {
	bracketed, isBracketed := strings.CutPrefix(path, "[")
	for end := min(len(path), longestKey); end > 0; end-- {
		after = path[end:]
		if after != "" && after[0] != '.' && after[0] != '[' {
			continue
		}
		if _, ok := c[path[:end]]; ok {
			return path[:end], after, true
		}
		if key, closed := strings.CutSuffix(bracketed[:max(end-1, 0)], "]"); isBracketed && closed {
			if _, ok := c[key]; ok && key != "" {
				return key, after, true
			}
		}
	}
	return "", path, false
}

func isScalar(d *document.Document, path []any) bool {
	switch d.At(path...).(type) {
	case map[string]any, []any:
		return false
	}
	return true
}
