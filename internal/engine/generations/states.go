package generations

import (
	"maps"
	"slices"
	"time"

	"google.golang.org/protobuf/types/known/structpb"

	"github.com/crossplane-contrib/function-export/internal/engine/object"
	"github.com/crossplane-contrib/function-export/internal/engine/plan"
	"github.com/crossplane-contrib/function-export/internal/engine/rotation"
	"github.com/crossplane-contrib/function-export/internal/engine/seal"
)

// saveStates saves the state of all generators for later steps.
func (g *rotator) saveStates() {
	for _, name := range plan.SortedKeys(g.found) {
		switch c := g.found[name]; {
		case c.generator != nil:
			g.saveState(c, g.in.ID)
		case c.step != nil: // its generator left the input
			g.saveState(c, "")
		}
	}
}

// saveState saves the state of a generator: latest is the generation in use, and pending
// the next one. If latest were absent, a step that refers to it would leave out its resource, and
// Crossplane would delete that resource. So latest stays while its generation is missing, until another
// generation is in use.
func (g *rotator) saveState(c *credentialState, input string) {
	fields := map[string]*structpb.Value{}
	if input != "" {
		fields["input"] = structpb.NewStringValue(input)
	}
	gc := map[string]*structpb.Value{}
	step := c.step
	if step == nil {
		step = &rotation.Step{}
	}
	for _, next := range step.Keep {
		k := c.find(next.UID)
		entry := stateReference(k.composed, k.reference(), map[string]string{
			"generatedAt": timeText(k.Created), "specHash": k.State.Origin.Spec, "keepersHash": k.State.Origin.Keepers,
			"flaggedForGCTime": flaggedText(next),
		})
		switch k.UID {
		case step.Current:
			fields["latest"] = entry
		case step.Pending:
			fields["pending"] = entry
		default:
			gc[k.gcKey()] = entry
		}
	}
	if len(gc) > 0 {
		fields["gc"] = structpb.NewStructValue(&structpb.Struct{Fields: gc})
	}
	if ref := c.lastInUse(); fields["latest"] == nil && input != "" && ref.Name != "" {
		fields["latest"] = stateReference(plan.GenerationName(c.name, ref.Number), ref, nil)
	}
	state := structpb.NewStructValue(&structpb.Struct{Fields: fields})
	g.out.GeneratorState = plan.With(g.out.GeneratorState, c.name, state)
}

// lastInUse returns the generation that was last in use: as exports recorded it, as it says itself, or as the composite
// lists it.
func (c *credentialState) lastInUse() (out seal.Reference) {
	for _, v := range c.exports {
		if k := seal.Holding(v.Holds, v.known); k.Number > out.Number {
			out = k.Reference
		}
	}
	for _, k := range c.have {
		if k.Number > out.Number && (k.Stage == rotation.Current || k.Stage == rotation.Retired || k.Lost()) {
			out = k.reference()
		}
	}
	if m := c.generator; out.Number == 0 && m != nil {
		for _, number := range c.owner.listedNumbers(m, c.owner.Refs()) {
			if slices.ContainsFunc(c.have, func(k *generation) bool { return k.Number == number }) {
				continue
			}
			at := c.owner.requirement(m, c.owner.defaultName(c.name, number))
			out = seal.Reference{
				Number: number, APIVersion: at.APIVersion, Kind: at.Kind, Namespace: at.Namespace, Name: at.Name,
			}
		}
	}
	return out
}

func flaggedText(k rotation.Generation) string {
	if k.Stage == rotation.Pending {
		return ""
	}
	return timeText(k.Since)
}

func stateReference(composed string, ref seal.Reference, texts map[string]string) *structpb.Value {
	all := map[string]string{
		"apiVersion": ref.APIVersion, "kind": ref.Kind, "namespace": ref.Namespace, "name": ref.Name,
		"resourceName": composed,
	}
	maps.Copy(all, texts)
	maps.DeleteFunc(all, func(_, text string) bool { return text == "" })
	out := object.Texts(all)
	out.GetStructValue().Fields["generation"] = structpb.NewNumberValue(float64(ref.Number))
	return out
}

func timeText(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(time.RFC3339)
}
