package migrate

import (
	"errors"
	"fmt"
	"strings"

	"github.com/crossplane-contrib/function-export/internal/desk/migrate/celtext"
	"github.com/crossplane-contrib/function-export/internal/engine/fieldpath"
	"github.com/crossplane-contrib/function-export/internal/engine/lazy"
)

// celStep returns a step into an object or a list, in CEL. An optional one has a question mark.
func celStep(s fieldpath.Segment, optional bool) string {
	if s.Type == fieldpath.SegmentField {
		return celtext.Step(s.Field, optional)
	}
	return celtext.Step(s.Index, optional)
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
var percent = lazy.MustCompile(`^([^%]|%s|%%)*$`)

// formatted returns the CEL of a format of Go with these values.
func formatted(text string, values []string) (string, error) {
	n := strings.Count(strings.ReplaceAll(text, "%%", ""), "%s")
	if !percent.MatchString(text) || n != len(values) {
		return "", errors.New("has a format other than one %s for each value")
	}
	return celtext.Format(text, values), nil
}
