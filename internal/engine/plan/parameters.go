package plan

import (
	"encoding/json"
	"slices"
	"strings"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/crossplane-contrib/function-export/input/v1beta1"
	"github.com/crossplane-contrib/function-export/internal/engine/definition"
	"github.com/crossplane-contrib/function-export/internal/engine/diagnostic"
	"github.com/crossplane-contrib/function-export/internal/engine/expression"
	"github.com/crossplane-contrib/function-export/internal/engine/object"
	"github.com/crossplane-contrib/function-export/internal/engine/strict"
)

// A Parameter is a field of a generator whose value an expression returns. In the input it is the field …Expression
// beside the literal field.
type Parameter struct {
	Value   *expression.Expression
	literal []string // the path of the literal field, below the generator
}

const expressionSuffix = "Expression"

func generatorSchema() *definition.Schema { return definition.Exports().Properties["generators"].Items }

// wantOf returns what the expression for a field must return.
func wantOf(literal *definition.Schema) expression.Want {
	switch literal.Type {
	case "array":
		return expression.WantList
	case "string":
		return expression.WantString
	case "object":
		return expression.WantLabels
	}
	return expression.WantJSON
}

// parameters compiles the expressions of the parameters of a generator, of which in is a part with a schema of its own.
// They may use what keepersExpression may use.
func (c *compiler) parameters(m *Generator, s *definition.Schema, in *structpb.Struct, above ...string) {
	for _, name := range s.Names {
		literal, isExpression := strings.CutSuffix(name, expressionSuffix)
		path, below, v := slices.Concat(above, []string{literal}), s.Properties[name], in.GetFields()[name]
		switch {
		case v == nil:
		case isExpression && s.Properties[literal] != nil:
			at := field.NewPath(m.Path.String(), append(slices.Clone(above), name)...)
			if x := c.parameter(m, source(at, v.GetStringValue(), wantOf(s.Properties[literal]))); x != nil {
				m.Parameters = append(m.Parameters, Parameter{x, path})
			}
		case below.Properties != nil:
			c.parameters(m, below, v.GetStructValue(), path...)
		}
	}
}

// With returns the generator with the values of its parameters, in their order. They are valid as if they were
// literals, or there are diagnostics.
func (m *Generator) With(values []*structpb.Value) (*Generator, diagnostic.List) {
	in := proto.Clone(m.input).(*structpb.Struct) //nolint:forcetypeassert // a clone
	for i, p := range m.Parameters {
		set(in, p.literal, values[i])
	}
	out, diagnostics := m.literal(in)
	if len(diagnostics) > 0 {
		for _, d := range diagnostics {
			m.locate(d)
		}
		return nil, diagnostics
	}
	if !slices.ContainsFunc(m.Parameters, func(p Parameter) bool { return p.literal[0] == m.Kind }) {
		out.Computed, out.Manifest = m.Computed, m.Manifest
		out.Keys, out.Namespace = m.Keys, m.Namespace // with its own expressions
	}
	return out, nil
}

// set replaces an expression by its value.
func set(in *structpb.Struct, literal []string, v *structpb.Value) {
	name := literal[0]
	if len(literal) > 1 {
		set(in.GetFields()[name].GetStructValue(), literal[1:], v)
		return
	}
	fields := in.GetFields()
	delete(fields, name+expressionSuffix)
	fields[name] = v
}

// literal returns the generator with the literals of another input.
func (m *Generator) literal(in *structpb.Struct) (*Generator, diagnostic.List) {
	v := structpb.NewStructValue(in)
	if wrong := strict.Fields(generatorSchema(), m.Path, v, nil); len(wrong) > 0 {
		return nil, wrong
	}
	out, c, g := *m, &compiler{}, v1beta1.Generator{}
	if raw, err := v.MarshalJSON(); err != nil || json.Unmarshal(raw, &g) != nil {
		c.refuse(m.Path, "cannot be read as a generator")
		return nil, c.diagnostics
	}
	c.literals(&out, g)
	return &out, c.diagnostics
}

// locate changes a diagnostic of a literal into one of the expression that returned it.
func (m *Generator) locate(d *diagnostic.Diagnostic) {
	for _, p := range m.Parameters {
		literal := m.Path.String() + "." + strings.Join(p.literal, ".")
		rest, ok := strings.CutPrefix(d.Path, literal)
		switch {
		case ok && rest == "":
			d.Path, d.Message = p.Value.Source().Path, "its value: "+d.Message
		case ok && strings.HasPrefix(rest, "["):
			d.Path, d.Message = p.Value.Source().Path, "item "+strings.Trim(rest, "[]")+" of its value: "+d.Message
		}
	}
}

// literals sets what the literal fields of a generator say.
func (c *compiler) literals(m *Generator, g v1beta1.Generator) {
	m.Labels = g.Labels
	c.refuseErr(m.Path.Child("labels"), object.ValidateLabels(g.Labels)...)
	m.Interval, m.Grace, m.AbandonAfter = orZero(g.RefreshInterval), orZero(g.GracePeriod), orZero(g.AbandonAfter)
	if w := g.RotationWindow; w != nil && w.Schedule != "" {
		m.Window = c.window(m.Path.Child("rotationWindow"), w)
	}
	m.compile(c, g)
}

// orZero returns a duration, or 0 if it is not set.
func orZero(d *v1beta1.Duration) time.Duration {
	if d == nil {
		return 0
	}
	return d.Duration
}

// withoutDependent returns the generator without the literals whose validity depends on a parameter. They are checked
// once its value is known.
func withoutDependent(g v1beta1.Generator) v1beta1.Generator {
	if p := g.Password; p != nil && p.LengthExpression != "" {
		one := *p
		one.Digits, one.Symbols = nil, nil
		g.Password = &one
	}
	if k := g.Certificate; k != nil && k.DurationExpression != "" {
		one := *k
		one.RenewBefore = nil
		g.Certificate = &one
	}
	return g
}
