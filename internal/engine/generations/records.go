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
	"github.com/crossplane-contrib/function-export/internal/engine/wire"
)

// An exportView is what one export shows about one generator: its record, which says whose value it has. From the
// records comes which generations count, and which must not be deleted. So an export that keeps its data still writes
// new copies of the states of its generations.
type exportView struct {
	rotation.Record

	composed string          // the composition resource name of the export's object
	unlisted bool            // the composite does not list it, so that its record does not count
	recorded []rotation.Copy // also then
}

// viewOf returns what an export shows about a generator. The record of a ConfigMap only keeps the generations that it
// names, because any client could seal it.
func viewOf(composed string, o wire.Struct, r rotation.Record) exportView {
	if !object.IsSecret(o) {
		r.Known = nil
	}
	return exportView{Record: r, composed: composed, recorded: r.Known}
}

// RecordOf returns the record that an export stores together with data of the generations in use.
func (all Credentials) RecordOf(e *Export, now time.Time) (out map[string]rotation.Record) {
	for _, name := range slices.Concat(e.Generators, e.Candidates) {
		c, ok := all[name]
		if _, written := out[name]; written || !ok {
			continue
		}
		next := c.view(e.Composed).Record
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
			rec.Generators[name] = c.view(at.Composed).Again(*c.step, now)
		}
	}
	annotations := plan.Texts(wire.OfValue(object.Metadata(kept)["annotations"]))
	annotations[rotation.AnnotationRecord] = rec.Text(seal.OwnData(at.Observed))
	return object.WithMetadata(kept, map[string]*structpb.Value{"annotations": object.Texts(annotations)})
}

// view returns what an export shows about the generator.
func (c *credentialState) view(composed string) exportView {
	if i := slices.IndexFunc(c.exports, func(v exportView) bool { return v.composed == composed }); i >= 0 {
		return c.exports[i]
	}
	return exportView{}
}

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
		k := c.byUID[next.UID]
		entry := stateReference(k.composed, k.Reference, map[string]string{
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

// lastInUse returns the generation that was last in use: as exports recorded it, or as it says itself.
func (c *credentialState) lastInUse() (out rotation.Reference) {
	for _, v := range c.exports {
		for _, k := range v.recorded {
			if k.UID == v.Holds && k.Number > out.Number {
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

func flaggedText(k rotation.Generation) string {
	if k.Stage == rotation.Pending {
		return ""
	}
	return timeText(k.Since)
}

func stateReference(composed string, ref rotation.Reference, texts map[string]string) *structpb.Value {
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
