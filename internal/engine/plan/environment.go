package plan

import (
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/crossplane-contrib/function-export/input/v1beta1"
	"github.com/crossplane-contrib/function-export/internal/engine/environment"
	"github.com/crossplane-contrib/function-export/internal/engine/expression"
)

// Each version of Crossplane since 1.18 serves this version of EnvironmentConfig.
const (
	EnvironmentConfigAPIVersion = "apiextensions.crossplane.io/v1beta1"
	EnvironmentConfigKind       = "EnvironmentConfig"
)

// EnvironmentPath is the path of the environment in the input.
func EnvironmentPath() *field.Path { return field.NewPath(expression.Env) }

// An EnvironmentField is a field of the environment to write.
type EnvironmentField struct {
	At       environment.Path
	Path     string // of the entry
	Optional bool
	Value    *expression.Expression
}

// environment compiles the lookup and the fields to set.
func (c *compiler) environment(p *Plan, in *v1beta1.Environment) {
	if in == nil {
		return
	}
	lookup, wrong := environment.Compile(EnvironmentPath(), in)
	p.Lookup, c.diagnostics = lookup, append(c.diagnostics, wrong...)
	list, before := EnvironmentPath().Child("set"), make([]environment.Path, 0, len(in.Set))
	for i, s := range in.Set {
		at := list.Index(i)
		out := EnvironmentField{Path: at.String(), Optional: s.Optional, At: c.settable(list, before, s.FieldPath)}
		before = append(before, out.At)
		c.optional = s.Optional
		out.Value = c.output(source(at.Child("value"), s.Value, expression.WantJSON))
		c.optional = false
		c.refuseGenerated(out.Value, "the environment is complete before generators run, because generators may use it")
		c.refuseUses(notGenerated(c.usesOf(out.Value)), s.NonSensitive)
		p.Set = append(p.Set, out)
	}
}
