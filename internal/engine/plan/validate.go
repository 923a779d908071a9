package plan

import (
	"errors"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/api/validation/path"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/crossplane-contrib/function-export/input/v1beta1"
	"github.com/crossplane-contrib/function-export/internal/engine/environment"
	"github.com/crossplane-contrib/function-export/internal/engine/fieldpath"
	"github.com/crossplane-contrib/function-export/internal/engine/lazy"
)

// identifier of CEL.
var identifier = lazy.MustCompile(`^[_a-zA-Z][_a-zA-Z0-9]*$`)

// refuse adds a diagnostic of a field.
func (c *compiler) refuse(at *field.Path, format string, args ...any) {
	c.report(at.String(), format, args...)
}

// refuseErr adds a diagnostic of a field for each error that is not nil.
func (c *compiler) refuseErr(at *field.Path, errs ...error) {
	for _, err := range errs {
		if err != nil {
			c.report(at.String(), "%s", err.Error())
		}
	}
}

func (c *compiler) refuseKind(in *v1beta1.Exports) {
	if in.APIVersion != v1beta1.APIVersion {
		c.report("apiVersion", "must be "+v1beta1.APIVersion)
	}
	if in.Kind != v1beta1.Kind {
		c.report("kind", "must be "+v1beta1.Kind)
	}
}

// ValidateObjectName refuses a name that is invalid for objects of all kinds.
func ValidateObjectName(name string) error {
	if diagnostics := path.IsValidPathSegmentName(name); len(diagnostics) > 0 {
		return fmt.Errorf("is not a valid name of an object: it %s", diagnostics[0])
	}
	return nil
}

// settable returns the path of the next field in a list. It refuses a field that cannot be written, and a field that
// replaces a value that an earlier entry writes.
func (c *compiler) settable(list *field.Path, before []environment.Path, text string) environment.Path {
	at := list.Index(len(before)).Child("fieldPath")
	p, err := environment.ParsePath(text)
	if err != nil {
		c.refuseErr(at, err)
		return p
	}
	if i := slices.IndexFunc(before, p.Covers); i >= 0 {
		c.refuse(at, "replaces the value that %s writes: remove one of them, or move this one before it", list.Index(i))
	}
	return p
}

// statusSegments returns the field names of a path below status. Crossplane itself writes
// conditions.
func statusSegments(p string) ([]string, error) {
	segments, err := fieldpath.Parse(p)
	if err != nil {
		return nil, fmt.Errorf("cannot be parsed as a field path: %w", err)
	}
	if len(segments) == 0 {
		return nil, errors.New("must name a field")
	}
	out := make([]string, 0, len(segments))
	for _, s := range segments {
		if s.Type != fieldpath.SegmentField || s.Field == "*" {
			return nil, errors.New("must contain only field names: write a list as a whole")
		}
		out = append(out, s.Field)
	}
	if out[0] == "conditions" || out[0] == "crossplane" {
		return nil, fmt.Errorf("must not be %s, which Crossplane writes: write a field of your own", out[0])
	}
	return out, nil
}

// SortedKeys of a map, with one allocation.
func SortedKeys[V any](m map[string]V) []string {
	out := make([]string, 0, len(m))
	for k := range m {
		out = append(out, k)
	}
	slices.Sort(out)
	return out
}
