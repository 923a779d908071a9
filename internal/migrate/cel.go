package migrate

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/crossplane/crossplane-runtime/v2/pkg/fieldpath"

	"github.com/crossplane-contrib/function-export/internal/plan"
)

// literal returns a text as a CEL string, in the quotes that need the fewest escapes. The object that
// is migrated also uses a placeholder in the text as it is, so the text is raw.
func literal(s string) string {
	quote := '\''
	if strings.Contains(s, "'") && !strings.Contains(s, `"`) {
		quote = '"'
	}
	text := quotedIn(quote, s)
	if plan.HasPlaceholder(s) && !strings.Contains(text, `\`) {
		return "r" + text
	}
	return text
}

var identifier = regexp.MustCompile(`^[_a-zA-Z][_a-zA-Z0-9]*$`)

// isSelector reports whether CEL can select the field by a dot.
func isSelector(name string) bool {
	return identifier.MatchString(name) && !slices.Contains([]string{"in", "true", "false", "null"}, name)
}

// celStep returns a step into an object or a list, in CEL. An optional one has a question mark.
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

// selected returns the CEL of a field below a variable.
func selected(variable string, names ...string) string {
	for _, n := range names {
		variable += celStep(fieldpath.Field(n), false)
	}
	return variable
}

// celPath returns the CEL of a field path below a variable.
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

// parsePath parses a field path to one value, as Crossplane does. Its error does not quote the path.
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
			return nil, errors.New("has a wildcard, which matches nothing here: name one element")
		}
	}
	return segments, nil
}

// percent matches a format that only inserts strings. Such formats are the same in CEL and Go.
var percent = regexp.MustCompile(`^([^%]|%s|%%)*$`)

// formatted returns the CEL of a format of Go with these values.
func formatted(text string, values []string) (string, error) {
	n := strings.Count(strings.ReplaceAll(text, "%%", ""), "%s")
	if !percent.MatchString(text) || n != len(values) {
		return "", errors.New("has a format other than one %s for each value")
	}
	return format(text, values), nil
}

func format(text string, values []string) string {
	return literal(text) + ".format([" + strings.Join(values, ", ") + "])"
}
