package generations

import (
	"maps"
	"slices"
	"time"

	"google.golang.org/protobuf/types/known/structpb"

	"github.com/crossplane-contrib/function-export/internal/engine/credential"
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

	composed string             // the composition resource name of the export's object
	unlisted bool               // the composite does not list it
	code     string             // of the generation whose value it has
	known    []seal.Recorded    // with whole references
	data     credential.Outputs // the export's own
	own      bool               // it is an export of this step
}

// viewOf returns what an export shows about a generator. The record of a ConfigMap only keeps the generations that it
// names, because any client could seal it.
func (c Owner) viewOf(composed, generator string, o wire.Struct, r seal.GeneratorRecord) exportView {
	out := exportView{composed: composed, code: r.Code, data: seal.OwnData(o)}
	out.Holds, out.Candidate, out.Known = r.Holds, r.Candidate, map[string]rotation.Copy{}
	if !object.IsSecret(o) {
		return out
	}
	for _, k := range r.Known {
		if !k.IsValid() {
			continue
		}
		k.Reference = k.Long(c.usual(generator, k.Number))
		out.known = append(out.known, k)
		out.Known[k.UID] = rotation.Copy{State: k.State, Left: rotation.ParseTime(k.Left)}
	}
	return out
}

// alias gives a restored generation the place of the one that the export recorded: it has another UID, and the same
// data.
func (v *exportView) alias(k *generation) {
	was := seal.Holding(v.Holds, v.known)
	if was.UID == k.UID || was.Number != k.Number || v.code == "" ||
		!seal.Equal(v.code, seal.NextCode(v.data, k.Number, k.data())) {
		return
	}
	v.Holds = k.UID
	if copied, ok := v.Known[was.UID]; ok {
		v.Known[k.UID] = copied
		delete(v.Known, was.UID)
	}
}

// RecordOf returns the record that an export stores together with data of the generations in use.
func (all Credentials) RecordOf(
	e *Export, data credential.Outputs, now time.Time,
) (out map[string]seal.GeneratorRecord) {
	for _, name := range slices.Concat(e.Generators, e.Candidates) {
		c, ok := all[name]
		if _, written := out[name]; written || !ok {
			continue
		}
		before := c.view(e.Composed)
		before.Uses, before.Sets = slices.Contains(e.Generators, name), slices.Contains(e.Candidates, name)
		next := before.Record
		if c.step != nil {
			next = before.Next(*c.step, now)
		}
		if r := c.stored(next, data); r.Holds+r.Candidate != "" || len(r.Known) > 0 {
			out = plan.With(out, name, r)
		}
	}
	return out
}

// stored returns a record as an export with this data stores it.
func (c *credentialState) stored(next rotation.Record, data credential.Outputs) seal.GeneratorRecord {
	out := seal.GeneratorRecord{Holds: next.Holds, Candidate: next.Candidate}
	for _, k := range c.have {
		copied, ok := next.Known[k.UID]
		if !ok {
			continue
		}
		if k.UID == next.Holds && k.Coded {
			out.Code = seal.NextCode(data, k.Number, k.data())
		}
		if copied.Stage == rotation.Previous { // what it was made from does not matter anymore
			copied.Origin, copied.Request = rotation.Origin{}, ""
		}
		ref := k.reference().Short(c.owner.usual(c.name, k.Number))
		left := rotation.FormatTime(copied.Left)
		out.Known = append(out.Known, seal.Recorded{Reference: ref, State: copied.State, Left: left})
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
	data := seal.OwnData(at.Observed)
	for name := range rec.Generators {
		if c := all[name]; c != nil && c.step != nil {
			again := c.stored(c.view(at.Composed).Again(*c.step, now), data)
			rec.Generators[name] = again.WithDeleted(rec.Generators[name])
		}
	}
	annotations := plan.Texts(wire.OfValue(object.Metadata(kept)["annotations"]))
	annotations[rotation.AnnotationRecord] = rec.Text(data)
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
		if k.Number > out.Number && (k.Stage == rotation.Current || k.Stage == rotation.Retired || k.Lost) {
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
