package plan

import (
	"cmp"
	"context"
	"maps"
	"slices"

	"github.com/google/cel-go/common/types"
	"google.golang.org/protobuf/types/known/structpb"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/crossplane-contrib/function-export/input/v1beta1"
	"github.com/crossplane-contrib/function-export/internal/budget"
	"github.com/crossplane-contrib/function-export/internal/expression"
	"github.com/crossplane-contrib/function-export/internal/limits"
	"github.com/crossplane-contrib/function-export/internal/schema"
	"github.com/crossplane-contrib/function-export/internal/suggest"
	"github.com/crossplane-contrib/function-export/internal/wire"
)

// Known is what is known of the objects that an input reads. All of it is optional:
// of what is not known nothing is refused.
type Known struct {
	// Composite is its kind. ClusterScoped says that it has no namespace, and no claim.
	Composite     Kind
	ClusterScoped bool

	// Resources are what the other steps of the pipeline compose, by name, with the kind
	// of each, which is not known where it is zero. Closed says that they compose no
	// others.
	Resources map[string]Kind
	Closed    bool

	// Required are the names of the Composition's own required resources for the step;
	// nil if they are not known.
	Required []string

	// Environment is what expressions see of it, null where a value is not known; nil if
	// it may have any field. See EnvironmentAfter.
	Environment *structpb.Struct

	// ConnectionKeys are the keys of connection details, by the name of the composed
	// resource, or composite.
	ConnectionKeys map[string][]string

	// Schema finds the OpenAPI v3 schema of a kind, or nil. It may be nil.
	Schema func(Kind) *structpb.Struct

	stopped error // why a schema is not known that there is
}

// A Kind of objects.
type Kind = schema.Kind

// A compiled expression, and what it was compiled in.
type compiled struct {
	*expression.Expression

	env *expression.Environment
	own Kind // of the generation that it is about, or zero
}

// A compositePath is a literal field of the input that holds a path of the composite.
type compositePath struct{ at, path string }

// compositePaths of the input.
func compositePaths(in *v1beta1.Exports) []compositePath {
	var out []compositePath
	if in.Environment != nil {
		list := environmentPath().Child("environmentConfigs")
		for i, e := range in.Environment.EnvironmentConfigs {
			if e.Selector == nil {
				continue
			}
			for j, l := range e.Selector.MatchLabels {
				if l.Type == v1beta1.EnvironmentLabelFromComposite || l.Type == "" {
					out = append(out, compositePath{list.Index(i).Child("selector", "matchLabels").Index(j).Child("valueFromFieldPath").String(), l.ValueFromFieldPath})
				}
			}
		}
	}
	if in.FromComposite != nil {
		out = append(out, compositePath{field.NewPath("fromComposite", "fieldPath").String(), in.FromComposite.FieldPath})
	}
	return out
}

// kinds that the input reads, beside those of composed resources, in the order of
// their first use.
func (p *Plan) kinds() []Kind {
	var out []Kind
	add := func(k Kind) {
		if k.Kind != "" && !slices.Contains(out, k) {
			out = append(out, k)
		}
	}
	for _, s := range p.declared {
		if !isSecret(s) {
			add(Kind{APIVersion: s.APIVersion, Kind: s.Kind})
		}
	}
	for _, m := range p.makers {
		if m.manifest != nil {
			add(Kind{APIVersion: m.manifest.apiVersion, Kind: m.manifest.kind})
		}
	}
	return out
}

// Check finds the faults of an input that Compile and CheckTypes find, both at once:
// those of types also in what is right of an input that is not. known says what is
// known of a plan, of which a part may be missing.
func Check(ctx context.Context, env *expression.Environment, input *structpb.Struct, known func(*Plan) *Known) (faults, typed field.ErrorList) {
	if _, size := digestOf(wire.Of(input)); size > limits.InputBytes {
		return tooLarge(size), nil
	}
	p, faults := compile(ctx, env, input)
	if p == nil {
		return faults, nil
	}
	return faults, p.CheckTypes(known(p))
}

// CheckTypes finds what can never work in the input, given what is known of the
// objects that it reads: a field that they do not have, a string where a number is,
// a comparison that cannot hold, a key that no connection detail has. They are in
// the order of the input.
func (p *Plan) CheckTypes(known *Known) field.ErrorList {
	faults, _ := p.checkTypes(nil, known)
	return faults
}

// checkTypes is CheckTypes as far as the budget pays for it, or without an end if there is
// none.
func (p *Plan) checkTypes(b *budget.Budget, known *Known) (field.ErrorList, error) {
	c := &typeCheck{
		Known: known, plan: p, types: schema.NewTypes(), composed: maps.Clone(known.Resources),
		variables: map[string]*types.Type{}, results: map[*expression.Expression]*types.Type{},
	}
	c.composite = c.kind(known.Composite)
	c.names()
	c.containers()
	var spent error
	for _, x := range p.expressions {
		if spent = pay(b, x); spent != nil {
			break
		}
		before := len(c.faults)
		c.expression(x)
		if b != nil {
			b.Take(suggest.Fuel * int64(len(c.faults)-before))
		}
	}
	for _, e := range p.exports {
		if e.from != "" {
			c.isComposed(e.at("from").String(), e.from)
		}
	}
	for _, s := range p.status {
		c.status(s)
	}
	for _, m := range p.makers {
		c.manifest(m)
	}
	for _, f := range p.compositePaths {
		c.compositePath(f)
	}
	sortFaults(c.faults)
	return slices.CompactFunc(c.faults, func(a, b *field.Error) bool { return *a == *b }), cmp.Or(spent, known.stopped)
}

// pay for the check of one expression, which grows with the square of it at worst.
func pay(b *budget.Budget, x compiled) error {
	if b == nil {
		return nil
	}
	n := int64(len(x.Source().Text))
	const least, most = 200, 90_000
	return b.Spend(min(least+2*n+n*n/200, most))
}
