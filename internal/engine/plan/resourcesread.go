package plan

import "github.com/crossplane-contrib/function-export/internal/engine/expression"

// ResourcesRead returns the names of the composed resources of which a reference reads a field, directly or through a
// variable, with an empty name for the composite. A reference to a whole object reads no field.
func (p *Plan) ResourcesRead(x *expression.Expression, ref expression.Reference) []string {
	name, path := x.Source().From, ref.Path
	switch ref.Variable {
	case expression.Composite:
		name = ""
	case expression.Resource, expression.Self:
	case expression.Resources, expression.Variables:
		if len(path) == 0 {
			return nil
		}
		name, path = StepName(ref, 0), path[1:]
	default:
		return nil
	}
	switch {
	case len(path) == 0:
		return nil
	case ref.Variable == expression.Variables:
		return p.resourcesOfVariable(name)
	}
	return []string{name}
}

func (p *Plan) resourcesOfVariable(name string) (out []string) {
	for _, v := range p.Variables {
		if v.Name == name {
			for _, ref := range v.Value.References() {
				out = append(out, p.ResourcesRead(v.Value, ref)...)
			}
		}
	}
	return out
}
