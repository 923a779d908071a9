package generations

import (
	"cmp"
	"slices"
	"strconv"
	"time"

	"google.golang.org/protobuf/types/known/structpb"

	"github.com/crossplane-contrib/function-export/internal/engine/object"
	"github.com/crossplane-contrib/function-export/internal/engine/plan"
	"github.com/crossplane-contrib/function-export/internal/engine/rotation"
	"github.com/crossplane-contrib/function-export/internal/engine/seal"
	"github.com/crossplane-contrib/function-export/internal/engine/wire"
)

// RecordOf returns the record that an export stores together with data of the generations in use.
func (all Credentials) RecordOf(e *Export, now time.Time) (out map[string]rotation.Record) {
	for _, name := range slices.Concat(e.Generators, e.Candidates) {
		c, ok := all[name]
		if _, written := out[name]; written || !ok {
			continue
		}
		next := c.exports[e.Composed]
		next.Uses, next.Sets = slices.Contains(e.Generators, name), slices.Contains(e.Candidates, name)
		if c.step != nil {
			next = next.Next(*c.step, now)
		}
		if next.Holds+next.Candidate != "" || len(next.Known) > 0 {
			out = plan.With(out, name, next)
		}
	}
	return out
}

// Again writes new copies of the states of generations into the record of an export that keeps its data. A record that
// is lost stays as it is: it is not known whose values the export has.
func (all Credentials) Again(at *Export, kept *structpb.Struct, now time.Time) *structpb.Struct {
	if len(all) == 0 || at.Unlisted || !object.IsSecret(at.Observed) {
		return kept
	}
	rec, lost := seal.ReadRecord(at.Observed)
	if lost || len(rec.Generators) == 0 {
		return kept
	}
	for name := range rec.Generators {
		if c := all[name]; c != nil && c.step != nil {
			rec.Generators[name] = c.exports[at.Composed].Again(*c.step, now)
		}
	}
	annotations := plan.Texts(wire.OfValue(object.Metadata(kept)["annotations"]))
	annotations[rotation.AnnotationRecord] = rec.Text(seal.OwnData(at.Observed))
	return object.WithMetadata(kept, map[string]*structpb.Value{"annotations": object.Texts(annotations)})
}

// saveStates saves the state of all generators for later steps: latest is the generation in use, and pending the next
// one. If latest were absent, a step that refers to it would leave out its resource, and Crossplane would delete that
// resource. So latest stays while its generation is missing, until another generation is in use.
func (g *rotator) saveStates() {
	for name, c := range g.found {
		fields, gc, step := map[string]any{}, map[string]any{}, cmp.Or(c.step, &rotation.Step{})
		if c.generator != nil {
			fields["input"] = g.in.ID
		} else if c.step == nil {
			continue
		}
		for _, next := range step.Keep {
			k := c.byUID[next.UID]
			entry := stateReference(k.composed, k.Reference)
			put(entry, "generatedAt", timeText(k.Created))
			put(entry, "specHash", k.State.Origin.Spec)
			put(entry, "keepersHash", k.State.Origin.Keepers)
			switch k.UID {
			case step.Current:
				fields["latest"] = entry
			case step.Pending:
				fields["pending"] = entry
			default:
				key := seal.Hash(string(k.resource), k.State.Origin.Kind, strconv.Itoa(k.Number), timeText(k.Created))
				gc[key] = entry // by a hash of its state and of what it was made from, as in External Secrets
			}
			if next.Stage != rotation.Pending {
				put(entry, "flaggedForGCTime", timeText(next.Since))
			}
		}
		if len(gc) > 0 {
			fields["gc"] = gc
		}
		if ref := c.lastInUse(); fields["latest"] == nil && c.generator != nil && ref.Name != "" {
			fields["latest"] = stateReference(plan.GenerationName(name, ref.Number), ref)
		}
		state, _ := structpb.NewStruct(fields) // it only has texts and numbers
		g.out.GeneratorState = plan.With(g.out.GeneratorState, name, structpb.NewStructValue(state))
	}
}

// lastInUse returns the generation that was last in use: as exports recorded it, or as it says itself.
func (c *credentialState) lastInUse() (out rotation.Reference) {
	for _, one := range c.exports {
		for _, k := range slices.Concat(one.Known, one.Unlisted) {
			if k.UID == one.Holds && k.Number > out.Number {
				out = k.Reference
			}
		}
	}
	for _, k := range c.have {
		if k.Number > out.Number && (k.Stage == rotation.Current || k.Stage == rotation.Retired || k.Lost) {
			out = k.Reference
		}
	}
	return out
}

func stateReference(composed string, ref rotation.Reference) map[string]any {
	out := map[string]any{"generation": float64(ref.Number)}
	put(out, "apiVersion", ref.APIVersion)
	put(out, "kind", ref.Kind)
	put(out, "namespace", ref.Namespace)
	put(out, "name", ref.Name)
	put(out, "resourceName", composed)
	return out
}

// put sets a text that is not empty.
func put(to map[string]any, name, text string) {
	if text != "" {
		to[name] = text
	}
}

func timeText(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(time.RFC3339)
}
