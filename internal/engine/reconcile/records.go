package reconcile

import (
	"encoding/json"
	"slices"
	"time"

	"google.golang.org/protobuf/types/known/structpb"

	"github.com/crossplane-contrib/function-export/internal/engine/credential"
	"github.com/crossplane-contrib/function-export/internal/engine/limits"
	"github.com/crossplane-contrib/function-export/internal/engine/object"
	"github.com/crossplane-contrib/function-export/internal/engine/plan"
	"github.com/crossplane-contrib/function-export/internal/engine/rotation"
	"github.com/crossplane-contrib/function-export/internal/engine/seal"
	"github.com/crossplane-contrib/function-export/internal/engine/wire"
)

// An exportRecord is what an export stores in the only annotation that is read from it.
type exportRecord struct {
	Generators map[string]generatorRecord `json:"generators,omitempty"`

	// Export is the name of the export if the export took the object over, or if it is that of a composite author. Kept
	// are the keys that only an object has that was taken over.
	Export string   `json:"export,omitempty"`
	Kept   []string `json:"keptKeys,omitempty"`
}

// A generatorRecord is what an export stores about the generations of one generator.
type generatorRecord struct {
	Holds     string             `json:"holds,omitempty"`     // the UID of the generation whose value it has
	Code      string             `json:"code,omitempty"`      // of the data of that generation, keyed with the export's data
	Candidate string             `json:"candidate,omitempty"` // the UID of the candidate whose value it has
	Known     []recordedInExport `json:"known,omitempty"`     // by number
}

// A recordedInExport is a copy of the state of one generation. A part of the reference is left out if it is the usual one.
type recordedInExport struct {
	reference

	State rotation.State `json:"state"`
	Left  string         `json:"left,omitempty"` // when the export let go of its value
}

// A reference identifies a generation, even after it is deleted.
type reference struct {
	UID        string `json:"uid"`
	Number     int    `json:"generation"`
	APIVersion string `json:"apiVersion,omitempty"`
	Kind       string `json:"kind,omitempty"`
	Namespace  string `json:"namespace,omitempty"`
	Name       string `json:"name,omitempty"`
}

// target returns the target of the object, which has the kinds of all groups.
func (r reference) target() target { return target{object.Kind(r.Kind), r.Namespace, r.Name} }

// usual returns the reference that a generation has unless its record says something else.
func (c composite) usual(generator string, number int) reference {
	return reference{APIVersion: "v1", Kind: string(object.Secret), Namespace: c.namespace, Name: c.defaultName(generator, number)}
}

// short leaves out what is usual, because one export can have values of many generators. The namespace of another kind
// stays, because a kind can have none.
func (r reference) short(usual reference) reference {
	if r.APIVersion == usual.APIVersion && r.Kind == usual.Kind {
		r.APIVersion, r.Kind = "", ""
		if r.Namespace == usual.Namespace {
			r.Namespace = ""
		}
	}
	if r.Name == usual.Name {
		r.Name = ""
	}
	return r
}

// long is the inverse of short.
func (r reference) long(usual reference) reference {
	if r.APIVersion == "" && r.Kind == "" {
		r.APIVersion, r.Kind = usual.APIVersion, usual.Kind
		if r.Namespace == "" {
			r.Namespace = usual.Namespace
		}
	}
	if r.Name == "" {
		r.Name = usual.Name
	}
	return r
}

// requirement returns the requirement for the generation.
func (r reference) requirement() Requirement {
	return Requirement{APIVersion: r.APIVersion, Kind: r.Kind, Namespace: r.Namespace, Name: r.Name}
}

// readRecord reads the record of an export. A record whose seal does not fit is lost.
func readRecord(o wire.Struct) (out exportRecord, lost bool) {
	text := plan.MetadataOf(o).At("annotations", rotation.AnnotationRecord)
	if !text.Exists() {
		return exportRecord{}, false
	}
	if !seal.Fits(rotation.AnnotationRecord, ownData(o), text.Text()) || json.Unmarshal([]byte(text.Text()), &out) != nil {
		return exportRecord{}, true
	}
	return out, false
}

// sealed returns the annotation with a record. One that is large leaves out the generations whose values the export does
// not have: an export that cannot be written would keep its values, and thereby the generations, for ever.
func (r exportRecord) sealed(data credential.Outputs) string {
	text, _ := json.Marshal(r) //nolint:errchkjson // it has only strings, numbers and truth values
	if len(text) > limits.RecordBytes {
		short := exportRecord{Generators: map[string]generatorRecord{}, Export: r.Export, Kept: r.Kept}
		for name, one := range r.Generators {
			one.Known = slices.DeleteFunc(slices.Clone(one.Known), func(k recordedInExport) bool {
				return k.UID != one.Holds && k.UID != one.Candidate
			})
			short.Generators[name] = one
		}
		text, _ = json.Marshal(short) //nolint:errchkjson // as before
	}
	return seal.Add(rotation.AnnotationRecord, data, string(text))
}

// ownData returns the data of a Secret as this function wrote it, without keys that others added.
func ownData(o wire.Struct) credential.Outputs {
	data, _ := object.DataOf(wire.Of(object.Held(o))) // nil on an error
	return data
}

// An exportView is what one export shows about one generator.
type exportView struct {
	rotation.Record

	composed string             // the composition resource name of the export's object
	unlisted bool               // the composite does not list it
	code     string             // of the generation whose value it has
	known    []recordedInExport // with whole references
	data     credential.Outputs // the export's own
	own      bool               // it is an export of this step
}

// viewOf returns what an export shows about a generator. The record of a ConfigMap only keeps the generations that it
// names, because any client could seal it.
func (c composite) viewOf(composed, generator string, o wire.Struct, r generatorRecord) exportView {
	out := exportView{composed: composed, code: r.Code, data: ownData(o)}
	out.Holds, out.Candidate, out.Known = r.Holds, r.Candidate, map[string]rotation.Copy{}
	if !isV1Secret(o) {
		return out
	}
	for _, k := range r.Known {
		if k.UID == "" || !plan.IsNumber(k.Number) {
			continue
		}
		k.reference = k.long(c.usual(generator, k.Number))
		out.known = append(out.known, k)
		out.Known[k.UID] = rotation.Copy{State: k.State, Left: rotation.ParseTime(k.Left)}
	}
	return out
}

// holder returns the generation whose value the export has.
func (v *exportView) holder() (out recordedInExport) {
	if i := slices.IndexFunc(v.known, func(k recordedInExport) bool { return k.UID == v.Holds }); i >= 0 {
		return v.known[i]
	}
	return recordedInExport{}
}

// alias gives a restored generation the place of the one that the export recorded: it has another UID, and the same data.
func (v *exportView) alias(k *generation) {
	was := v.holder()
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

// recordOf returns the record that an export stores together with data of the generations in use.
func (g *generations) recordOf(e plan.Export, composed string, data credential.Outputs, now time.Time) (out map[string]generatorRecord) {
	for _, name := range slices.Concat(e.Generators, e.Candidates) {
		c, ok := g.credentials[name]
		if _, written := out[name]; written || !ok {
			continue
		}
		if r := c.recordOf(e, composed, data, now); r.Holds+r.Candidate != "" || len(r.Known) > 0 {
			out = with(out, name, r)
		}
	}
	return out
}

func (c *credentialState) recordOf(e plan.Export, composed string, data credential.Outputs, now time.Time) generatorRecord {
	before := c.view(composed)
	before.Uses, before.Sets = slices.Contains(e.Generators, c.name), slices.Contains(e.Candidates, c.name)
	next := before.Record
	if c.step != nil {
		next = before.Next(*c.step, now)
	}
	return c.stored(next, data)
}

// stored returns a record as an export with this data stores it.
func (c *credentialState) stored(next rotation.Record, data credential.Outputs) generatorRecord {
	out := generatorRecord{Holds: next.Holds, Candidate: next.Candidate}
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
		ref := k.reference().short(c.composite.usual(c.name, k.Number))
		out.Known = append(out.Known, recordedInExport{ref, copied.State, rotation.FormatTime(copied.Left)})
	}
	return out
}

// again writes new copies of the states of generations into the record of an export that keeps its data. A record that is
// lost stays as it is: it is not known whose values the export has.
func (g *generations) again(at placement, kept *structpb.Struct, now time.Time) *structpb.Struct {
	rec, lost := readRecord(at.observed)
	if lost || len(rec.Generators) == 0 || at.unlisted || !isV1Secret(at.observed) {
		return kept
	}
	data := ownData(at.observed)
	for name := range rec.Generators {
		if c := g.credentials[name]; c != nil && c.step != nil {
			again := c.stored(c.view(at.resource).Again(*c.step, now), data)
			rec.Generators[name] = again.withDeleted(rec.Generators[name])
		}
	}
	annotations := plan.Texts(wire.OfValue(metadataFields(kept)["annotations"]))
	annotations[rotation.AnnotationRecord] = rec.sealed(data)
	return withMetadata(kept, map[string]*structpb.Value{"annotations": textsValue(annotations)})
}

// withDeleted keeps what the record before says about the generation whose value the export has, if that generation does
// not exist anymore: it can be restored from a backup, and later steps still refer to it.
func (r generatorRecord) withDeleted(before generatorRecord) generatorRecord {
	for _, k := range before.Known {
		isSame := func(o recordedInExport) bool { return o.UID == k.UID }
		if (k.UID != r.Holds && k.UID != r.Candidate) || slices.ContainsFunc(r.Known, isSame) {
			continue
		}
		r.Known = append(r.Known, k)
		if k.UID == r.Holds {
			r.Code = before.Code
		}
	}
	slices.SortStableFunc(r.Known, func(a, b recordedInExport) int { return a.Number - b.Number })
	return r
}

// view returns what an export shows about the generator.
func (c *credentialState) view(composed string) exportView {
	if i := slices.IndexFunc(c.exports, func(v exportView) bool { return v.composed == composed }); i >= 0 {
		return c.exports[i]
	}
	return exportView{}
}

// holding returns the state of the generation whose value the export has.
func (r generatorRecord) holding() rotation.State {
	if i := slices.IndexFunc(r.Known, func(k recordedInExport) bool { return k.UID == r.Holds }); i >= 0 {
		return r.Known[i].State
	}
	return rotation.State{}
}
