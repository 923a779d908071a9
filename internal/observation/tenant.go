package observation

import (
	"slices"

	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"

	"github.com/crossplane-contrib/function-export/internal/expression"
)

// A Tenant is how much of an observation the expressions of the composite's
// author see: the composite, and what is listed here.
type Tenant struct {
	// Secret is the composed resource whose connection details are secret. There is
	// no such variable if it is empty.
	Secret string

	// Secrets are the composed resources whose connection details are in secrets.
	Secrets []string

	// Resources are the composed resources that are in resources.
	Resources []string

	// Environment is set if there is one.
	Environment bool
}

// TenantScope returns the variables of the expressions of the composite's author.
func (o *Observation) TenantScope(t *Tenant) Scope { return Scope{observation: o, tenant: t} }

// resolve knows no name but these: what is not listed cannot be reached, not even
// by a computed name.
func (t *Tenant) resolve(o *Observation, name string) (any, bool) {
	switch name {
	case expression.Composite, expression.Resource, expression.Self:
		return object(o.Composite.Object), true
	case expression.Secret:
		if t.Secret == "" {
			return nil, false
		}
		if r, ok := o.Resources[t.Secret]; ok {
			return r.details(), true
		}
		whose := expression.PathText(expression.Secrets, t.Secret)
		return types.WrapErr(expression.NewWaiting(expression.Secret + " (" + whose + ")")), true
	case expression.Secrets:
		return o.some(t.Secrets, Resource.details), true
	case expression.Resources:
		return o.some(t.Resources, func(r Resource) ref.Val { return object(r.Object) }), true
	case expression.Env:
		if t.Environment {
			return o.environment(), true
		}
	}
	return nil, false
}

// some of the composed resources, those with one of the names.
func (o *Observation) some(names []string, value func(Resource) ref.Val) ref.Val {
	return &named{
		find: func(name string) (ref.Val, bool) {
			r, ok := o.Resources[name]
			if !ok || !slices.Contains(names, name) {
				return nil, false
			}
			v := value(r)
			return v, !types.IsError(v)
		},
		keys: func() []string {
			return slices.DeleteFunc(o.resourceNames(), func(n string) bool { return !slices.Contains(names, n) })
		},
	}
}
