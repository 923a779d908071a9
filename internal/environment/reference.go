package environment

import (
	"k8s.io/apimachinery/pkg/api/validation/path"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/crossplane-contrib/function-export/input/v1beta1"
	"github.com/crossplane-contrib/function-export/internal/wire"
)

// A reference finds an EnvironmentConfig by its name.
type reference struct {
	at       *field.Path // of the name
	name     string
	optional bool
	policy   *field.Path // that makes it optional
}

func (c *compiler) reference(at *field.Path, in *v1beta1.EnvironmentRef) finder {
	if in == nil {
		c.missing(at, "must be set for type Reference: name an EnvironmentConfig, or set type to Selector")
		return nil
	}
	at = at.Child("name")
	if in.Name == "" {
		c.missing(at, "must be set")
	}
	for _, why := range path.IsValidPathSegmentName(in.Name) {
		c.fault(at, "is no name of an object: it %s", why)
	}
	return reference{at, in.Name, c.optional, c.policy}
}

func (r reference) selector(_, _ wire.Struct) (*Selector, field.ErrorList) {
	return &Selector{Name: r.name}, nil
}

func (r reference) choose(_ *Selector, found []wire.Struct) ([]wire.Struct, *field.Error) {
	switch {
	case len(found) == 0 && !r.optional:
		return nil, invalid(r.at, "EnvironmentConfig %q does not exist: create it, or set %s to Optional", r.name, r.policy)
	case len(found) > 1:
		return nil, invalid(r.at, "Crossplane found %d EnvironmentConfigs of the name %q, where there can be one only", len(found), r.name)
	}
	return found, nil
}
