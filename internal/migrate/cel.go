package migrate

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/crossplane/crossplane-runtime/v2/pkg/fieldpath"
)

// literal is a text as a CEL string, in the quotes that need the least escaping.
func literal(s string) string {
	quotes := '\''
	if strings.Contains(s, "'") && !strings.Contains(s, `"`) {
		quotes = '"'
	}
	var b strings.Builder
	b.WriteRune(quotes)
	for _, r := range s {
		switch r {
		case quotes, '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case '\n':
			b.WriteString(`\n`)
		default:
			b.WriteString(escaped(r))
		}
	}
	b.WriteRune(quotes)
	return b.String()
}

var identifier = regexp.MustCompile(`^[_a-zA-Z][_a-zA-Z0-9]*$`)

// isSelector reports whether CEL can select the field by a dot.
func isSelector(name string) bool {
	switch name {
	case "in", "true", "false", "null":
		return false
	}
	return identifier.MatchString(name)
}

// celStep is a step into an object or a list, in CEL. One that may find nothing
// has a question mark.
func celStep(s fieldpath.Segment, optional bool) string {
	mark := ""
	if optional {
		mark = "?"
	}
	switch {
	case s.Type == fieldpath.SegmentIndex:
		return "[" + mark + strconv.FormatUint(uint64(s.Index), 10) + "]"
	case isSelector(s.Field):
		return "." + mark + s.Field
	}
	return "[" + mark + literal(s.Field) + "]"
}

// selected is the CEL of a field below a variable, whatever its name is.
func selected(variable string, names ...string) string {
	path := make(fieldpath.Segments, 0, len(names))
	for _, n := range names {
		path = append(path, fieldpath.Segment{Type: fieldpath.SegmentField, Field: n})
	}
	return celSteps(variable, path, false)
}

// celPath is the CEL of a field path below a variable.
func celPath(variable, path string, optional bool) (string, error) {
	segments, err := parsePath(path)
	return celSteps(variable, segments, optional), err
}

func celSteps(variable string, path fieldpath.Segments, optional bool) string {
	for _, s := range path {
		variable += celStep(s, optional)
	}
	return variable
}

// parsePath reads a field path as Crossplane does. It leads to one value, or it is
// an error, which does not quote it.
func parsePath(path string) (fieldpath.Segments, error) {
	segments, err := fieldpath.Parse(path)
	if err != nil {
		return nil, fmt.Errorf("cannot be parsed as a field path: %w", err)
	}
	if len(segments) == 0 {
		return nil, errors.New("must name a field")
	}
	for _, s := range segments {
		if s.Type == fieldpath.SegmentField && s.Field == "*" {
			return nil, errors.New("has a wildcard, which finds nothing here: name one element")
		}
	}
	return segments, nil
}

// percent is a format that fills in nothing but strings, as CEL and Go do alike.
var percent = regexp.MustCompile(`^([^%]|%s|%%)*$`)

// formatted is the CEL that fills the values into a format of Go's.
func formatted(format string, values []string) (string, error) {
	n := strings.Count(strings.ReplaceAll(format, "%%", ""), "%s")
	if !percent.MatchString(format) || n != len(values) {
		return "", errors.New("has a format other than one %s for each value")
	}
	return literal(format) + ".format([" + strings.Join(values, ", ") + "])", nil
}
