package reconcile

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/crossplane-contrib/function-export/internal/generator"
	"github.com/crossplane-contrib/function-export/internal/object"
	"github.com/crossplane-contrib/function-export/internal/observation"
	"github.com/crossplane-contrib/function-export/internal/plan"
	"github.com/crossplane-contrib/function-export/internal/wire"
)

// A composite is the composite resource of a request.
type composite struct {
	object    wire.Struct
	name, uid string
	namespace string // a legacy composite has the namespace of its claim
	cluster   bool   // it is cluster scoped
}

// compositeOf reads the composite. Only a legacy composite has a claim. In any other composite, which
// has spec.crossplane, the composite author can write a claimRef.
func compositeOf(xr wire.Struct) composite {
	_, _, ns, name := object.Identity(xr)
	out := composite{object: xr, name: name, uid: plan.UIDOf(xr), namespace: ns, cluster: ns == ""}
	if isLegacy(xr) {
		out.namespace = xr.At("spec", "claimRef", "namespace").Text()
	}
	return out
}

// A ClaimError says why the claim that a composite names is not its own.
type ClaimError struct{ Message string }

// Error returns the message.
func (e *ClaimError) Error() string { return e.Message }

// checkClaim refuses a composite whose claim is not its own. Its author could otherwise write the claim of another
// namespace into it, and read and write there. Until the claim is looked up, nothing is applied: Crossplane calls again
// with it.
func (c composite) checkClaim(req *request) (reply, error) {
	var out reply
	if !c.cluster || c.namespace == "" || c.uid == "" { // without a UID, it is in a file
		return out, nil
	}
	ref := c.object.At("spec", "claimRef").Struct()
	apiVersion, _, _, _ := object.Identity(c.object)
	claim := Requirement{
		APIVersion: ref.Get("apiVersion").Text(), Kind: ref.Get("kind").Text(), Namespace: c.namespace,
		Name: ref.Get("name").Text(),
	}
	if !strings.HasPrefix(claim.APIVersion, groupOf(apiVersion)+"/") || claim.Kind == "" || claim.Name == "" {
		return out, &ClaimError{"the composite's spec.claimRef does not name a claim of this composite: " +
			"remove it, or correct it"}
	}
	out.require(claim)
	if a := req.answer(claim); a.read && (len(a.objects) != 1 || !isClaimOf(a.objects[0], c.object)) {
		return out, &ClaimError{claim.String() + ", which the composite's spec.claimRef names, is not its claim"}
	}
	return out, nil
}

// isClaimOf reports whether a claim names a composite. Composites of different kinds can have the same name.
func isClaimOf(claim, xr wire.Struct) bool {
	ref := claim.At("spec", "resourceRef").Struct()
	apiVersion, kind, _, name := object.Identity(xr)
	return ref.Get("kind").Is(kind) && ref.Get("name").Is(name) &&
		groupOf(ref.Get("apiVersion").Text()) == groupOf(apiVersion)
}

// isLegacy reports whether a composite has the v1 style, the only one with connection details.
func isLegacy(xr wire.Struct) bool {
	_, _, ns, _ := object.Identity(xr)
	return ns == "" && !xr.At("spec", "crossplane").Exists()
}

// An identified is a composed resource that looks like a generation.
type identified struct {
	observation.Resource

	generator string
	number    int

	// claimed is set if only annotations and labels say so: neither an export, nor its own name, nor its seal.
	claimed bool
}

// split groups the composed resources. Expressions cannot read generations, and only those of the
// composite author can read the author's objects.
func split(p *plan.Plan, req *request, xr composite) composedResources {
	all := req.Observation.Resources
	out := composedResources{
		resources: all, authors: map[string]observation.Resource{}, generations: map[string]identified{},
		records: readRecords(all),
	}
	byUID := recordedGenerations(out.records)
	for name, res := range all {
		if plan.IsAuthors(name) {
			out.authors[name] = res
		} else if id, ok := identify(p, req, xr, byUID, name, res); ok {
			out.generations[name] = id
		}
	}
	rest := len(all) - len(out.authors) - len(out.generations)
	if rest == len(all) { // there may be many, and a copy takes memory
		return out
	}
	out.resources = make(map[string]observation.Resource, rest)
	for name, res := range all {
		if _, ok := out.generations[name]; !ok && !plan.IsAuthors(name) {
			out.resources[name] = res
		}
	}
	return out
}

// A recorded holds what exports recorded about one generator: the generations of their values.
type recorded struct {
	used   map[string]generator.Reference  // by UID
	former map[string]generator.Reference  // and candidates
	states map[string]generator.Generation // of both, by UID: as far as exports store it

	candidates map[string]bool                // by UID
	number     int                            // the highest number that was ever used, or 0
	keys       map[string][]generator.Outputs // the data of the exports that use a generation, by its UID
}

// readRecords reads what listed exports recorded, by generator.
func readRecords(resources map[string]observation.Resource) map[string]*recorded {
	out := map[string]*recorded{}
	for _, name := range plan.SortedKeys(resources) {
		if plan.IsAuthors(name) {
			continue
		}
		o := resources[name].Object
		for generator, from := range readGenerated(o) {
			out[generator] = out[generator].with(from, ownData(o))
		}
	}
	return out
}

// An exportRecord is what an export stores in the only annotation that is read from it.
type exportRecord struct {
	Generators map[string]generatedFrom `json:"generators,omitempty"`

	// Export is the name of the export if the export took the object over, or if it is that of a composite author. Kept
	// are the keys that only an object has that was taken over.
	Export string   `json:"export,omitempty"`
	Kept   []string `json:"keptKeys,omitempty"`
}

// A generatedFrom is the generation of an export's values, and its former generations.
type generatedFrom struct {
	recordedGeneration

	Former []recordedGeneration `json:"former,omitempty"`

	// Candidate is the generation of the export's candidate values. It is not in use for that.
	Candidate *recordedGeneration `json:"candidate,omitempty"`
}

// A recordedGeneration is a generation with a copy of a part of its state. The generation also stores it, but another
// client can remove its annotation, or write an earlier one back.
type recordedGeneration struct {
	generator.Reference

	State generator.State `json:"state,omitzero"`
}

// readRecord reads the record of an export. A record whose seal does not match was changed, and is ignored.
func readRecord(o wire.Struct) (out exportRecord, lost bool) {
	text := plan.MetadataOf(o).At("annotations", generator.AnnotationRecord)
	if !text.Exists() {
		return exportRecord{}, false
	}
	if !generator.Sealed(generator.AnnotationRecord, ownData(o), text.Text()) || json.Unmarshal([]byte(text.Text()), &out) != nil {
		return exportRecord{}, true
	}
	return out, false
}

// readGenerated reads the generations in the record of an export, by generator. Those in a ConfigMap are ignored,
// because any client could seal them.
func readGenerated(o wire.Struct) map[string]generatedFrom {
	if !isV1Secret(o) {
		return nil
	}
	out, _ := readRecord(o)
	return out.Generators
}

// ownData returns the data of a Secret as this function wrote it, without keys that others added.
func ownData(o wire.Struct) generator.Outputs {
	data, _ := object.DataOf(wire.Of(object.Held(o))) // nil on an error
	return data
}

// with adds the record of an export.
func (r *recorded) with(from generatedFrom, data generator.Outputs) *recorded {
	if r == nil {
		r = &recorded{
			used: map[string]generator.Reference{}, former: map[string]generator.Reference{},
			states:     map[string]generator.Generation{},
			candidates: map[string]bool{}, keys: map[string][]generator.Outputs{},
		}
	}
	if plan.IsNumber(from.Generation) && from.UID != "" {
		r.used[from.UID] = from.Reference
		from.State.Adopted = true
		r.learn(from.recordedGeneration)
		r.number = max(r.number, from.State.Read().Highest)
		r.keys[from.UID] = append(r.keys[from.UID], data)
	}
	former := from.Former
	if from.Candidate != nil {
		former = append(slices.Clip(former), *from.Candidate)
		r.candidates[from.Candidate.UID] = true
	}
	for _, ref := range former {
		if plan.IsNumber(ref.Generation) && ref.UID != "" {
			r.former[ref.UID] = ref.Reference
			r.learn(ref)
		}
	}
	return r
}

// learn merges what two exports recorded about a generation.
func (r *recorded) learn(k recordedGeneration) {
	if k.State != (generator.State{}) {
		r.states[k.UID] = r.states[k.UID].Recall(k.State.Read())
	}
}

// recordedGenerations returns the generations that exports recorded, by UID.
func recordedGenerations(records map[string]*recorded) map[string]identified {
	out := map[string]identified{}
	add := func(name string, refs map[string]generator.Reference) {
		for uid, ref := range refs {
			if _, ok := out[uid]; !ok {
				out[uid] = identified{generator: name, number: ref.Generation}
			}
		}
	}
	for _, name := range plan.SortedKeys(records) {
		add(name, records[name].used)
		add(name, records[name].former)
	}
	return out
}

// identify finds out which generation a composed resource is: by its UID, if an export recorded it, or by
// the object's own name. Annotations can be changed, including the one with the composition resource
// name. Any other resource must be marked as a generation.
func identify(
	p *plan.Plan, req *request, xr composite, byUID map[string]identified, composed string, res observation.Resource,
) (identified, bool) {
	meta := plan.MetadataOf(res.Object)
	if id, ok := byUID[meta.Get("uid").Text()]; ok {
		return identified{Resource: res, generator: id.generator, number: id.number}, true
	}
	stated := statedGenerator(res.Object)
	name, number, named := plan.ParseGeneration(composed)
	_, desired := req.Desired[composed]
	own := !desired && xr.controls(res.Object)
	for i := range p.Generators {
		of, n, ok := xr.generationOf(&p.Generators[i], res.Object)
		if ok && (named || stated == of || own && object.IsImmutable(res.Object)) {
			return identified{Resource: res, generator: of, number: n}, true
		}
	}
	if name, number, ok := sealedGeneration(res.Object); ok {
		return identified{Resource: res, generator: name, number: number}, true
	}
	return identified{res, name, number, true}, named && (p.Declares(name) || stated == name || own)
}

// isGeneration reports whether the own name of an object, or its seal, says that it is a generation.
func isGeneration(p *plan.Plan, xr composite, o wire.Struct) bool {
	_, _, sealed := sealedGeneration(o)
	return sealed || slices.ContainsFunc(p.Generators, func(m plan.Generator) bool {
		_, _, ok := xr.generationOf(&m, o)
		return ok
	})
}

// statedGenerator returns the name of the generator in the state of an object, which any client can have written.
func statedGenerator(o wire.Struct) string { return generator.ReadRecord(stateText(o)).Generator }

func stateText(o wire.Struct) string {
	return plan.MetadataOf(o).At("annotations", generator.AnnotationState).Text()
}

// sealedGeneration returns the generation that a Secret names, if its seal matches.
func sealedGeneration(o wire.Struct) (name string, number int, ok bool) {
	if apiVersion, kind, _, _ := object.Identity(o); !plan.HasData(apiVersion, kind) {
		return "", 0, false
	}
	data, err := object.DataOf(o)
	if err != nil || !generator.Sealed(generator.AnnotationState, data, stateText(o)) {
		return "", 0, false
	}
	rec := generator.ReadRecord(stateText(o))
	return plan.ParseGeneration(plan.GenerationName(rec.Generator, rec.Number))
}

// requirement returns the requirement for the generation of a generator that has a name.
func (c composite) requirement(m *plan.Generator, name string) Requirement {
	object, ns := m.Makes.Object(), m.Namespace
	if ns == "" && (m.Kind != plan.KindResource || !c.cluster) {
		ns = c.namespace
	}
	return Requirement{APIVersion: object.APIVersion, Kind: object.Kind, Namespace: ns, Name: name}
}

// pausedAt returns when the composite was paused, if Crossplane has not changed its status since then, or zero.
func (c composite) pausedAt() time.Time {
	for _, v := range c.object.At("status", "conditions").List().All() {
		if s := v.Struct(); s.Get("type").Is("Synced") && s.Get("reason").Is("ReconcilePaused") {
			at, _ := time.Parse(time.RFC3339, s.Get("lastTransitionTime").Text()) // zero if it is not a time
			return at.UTC()
		}
	}
	return time.Time{}
}

func (c composite) controls(o wire.Struct) bool {
	uid, _, _, _ := object.ControllerOf(o) // empty without a controller
	return uid == c.uid && uid != ""
}

// namePrefix returns the prefix of the names of generations. It is empty if the input chooses their names.
func (c composite) namePrefix(m *plan.Generator) string {
	if m.Makes.Names() {
		return ""
	}
	return c.name + "-" + plan.ObjectName(m.Name) + "-"
}

// idDigits of an ID in a name: 40 bits.
const idDigits = 10

// numberOf returns the number of a generation from the name of its object.
func numberOf(prefix, name string) (int, bool) {
	rest, ok := strings.CutPrefix(name, prefix)
	if !ok || prefix == "" {
		return 0, false
	}
	text, suffix, suffixed := strings.Cut(rest, "-")
	number, _ := strconv.Atoi(text) // 0 or too large on an error
	return number, plan.IsNumber(number) && text == strconv.Itoa(number) &&
		(!suffixed || len(suffix) == idDigits && !strings.Contains(suffix, "-")) // the key of an item can contain '-'
}

func isV1Secret(o wire.Struct) bool {
	apiVersion, kind, _, _ := object.Identity(o)
	return apiVersion == "v1" && kind == string(object.Secret)
}

func groupOf(apiVersion string) string {
	group, _, _ := strings.Cut(apiVersion, "/")
	return group
}
