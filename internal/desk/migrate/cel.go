package migrate

import (
	"errors"
	"fmt"
	"strings"

	"github.com/crossplane-contrib/function-export/internal/desk/migrate/celtext"
	"github.com/crossplane-contrib/function-export/internal/engine/fieldpath"
	"github.com/crossplane-contrib/function-export/internal/engine/lazy"
)

// celPath returns the CEL of a field path below a variable.
func celPath(variable, path string, optional bool) (string, error) {
	list, err := parsePath(path)
	return celtext.Path(variable, list, optional), err
}

// parsePath parses a field path to one value, as Crossplane does. Its error does not quote the path.
func parsePath(path string) ([]any, error) {
	segments, err := fieldpath.Parse(path)
	if err != nil {
		return nil, fmt.Errorf("cannot be parsed as a field path: %w", err)
	}
	if len(segments) == 0 {
		return nil, errors.New("must name a field")
	}
	list := make([]any, len(segments))
	for i, s := range segments {
		if s.Type == fieldpath.SegmentField && s.Field == "*" {
			return nil, errors.New("has a wildcard, which matches nothing here: name one element")
		}
		list[i] = pathStep(s)
	}
	return list, nil
}

// pathStep returns the name of a field, or an index.
func pathStep(s fieldpath.Segment) any {
	if s.Type == fieldpath.SegmentField {
		return s.Field
	}
	return int(s.Index)
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
