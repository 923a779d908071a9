package reconcile

import (
	"cmp"
	"fmt"
	"maps"
	"strings"

	"github.com/crossplane-contrib/function-export/internal/generator"
	"github.com/crossplane-contrib/function-export/internal/limits"
	"github.com/crossplane-contrib/function-export/internal/object"
	"github.com/crossplane-contrib/function-export/internal/observation"
	"github.com/crossplane-contrib/function-export/internal/plan"
	"github.com/crossplane-contrib/function-export/internal/wire"
)

// A history holds what is known about one generator, which may have left the input.
type history struct {
	name        string
	generator   *plan.Generator // nil if it left the input
	generations []*generation   // objects that look like one
	numbers     map[int]bool    // of these: there may be thousands
	used        int             // the highest known number
	record      *recorded       // what exports recorded
	unlisted    wire.Struct     // an export with its values that the composite does not list
	unrecorded  bool            // an export may have a value of any generation

	unknownCandidate bool           // an export may have any pending generation as its candidate
	setters          int            // exports that use the candidate
	offered          map[string]int // how many of them were observed with it, by UID
}

// histories holds the histories of all generators, and everything else that is known about generations.
type histories struct {
	reply

	byGenerator    map[string]*history
	wanted         map[string]*wantedGeneration // by generator in the input
	missingLookUps []string                     // lookups that every step needs
	named          map[string]bool              // UIDs of the generations that exports name
	accepted       map[string]bool              // UIDs that the owner of the composite accepts
	refs           map[resourceRef]bool         // by the composite
}

// A historyReader finds the generations of all generators.
type historyReader struct {
	verifier

	plan     *plan.Plan
	asked    map[string]bool      // the keys of all requirements
	observed map[resourceRef]bool // the objects of generations that Crossplane shows
	shown    map[string]bool      // their UIDs
	placed   map[string]bool      // the composition resource names of exports and of the objects that they take over
}

// readHistories finds the generations that the composite lists. It looks up generations that Crossplane does not
// return, and objects that have the name of a next generation. The requirements depend only on observed objects, and
// on exports that are looked up. So they are the same from the second call of a reconcile.
func readHistories(
	s *session, p *plan.Plan, req *request, seen composedResources, placed placements, asked []Requirement,
) *histories {
	all := &histories{
		byGenerator: map[string]*history{}, wanted: map[string]*wantedGeneration{}, named: map[string]bool{},
		refs: resourceRefs(s.object), accepted: accepted(s.object),
	}
	h := &historyReader{
		verifier: verifier{s, all, req}, plan: p, asked: map[string]bool{}, observed: map[resourceRef]bool{},
		shown: map[string]bool{}, placed: placed.names(),
	}
	for _, r := range asked {
		h.asked[r.Key()] = true
	}
	for name, rec := range seen.records {
		h.history(name).record = rec
	}
	for i, at := range placed.at {
		h.readExport(placed.exports[i], at)
	}
	for _, one := range h.byGenerator {
		if one.record != nil {
			one.used = max(one.record.highest().Generation, one.record.number)
		}
	}
	for i := range p.Generators {
		m := &p.Generators[i]
		for number := range s.listedNumbers(m, h.refs) {
			one := h.history(m.Name)
			one.used = max(one.used, number-1) // the API server may have refused it
		}
	}
	for _, composed := range plan.SortedKeys(seen.generations) {
		h.readObserved(composed, seen.generations[composed])
	}
	tokens, wrong := readTokens(s, p, h.has)
	if wrong != "" {
		h.report(Outcome{Message: wrong, Warn: true, Author: true})
	}
	for i := range p.Generators {
		m := &p.Generators[i]
		list, _, _ := plan.SplitItem(m.Name)
		h.wanted[m.Name] = h.wantedOf(m, cmp.Or(tokens[m.Name], tokens[list]))
	}
	h.lookUpRecorded()
	h.lookUpAccepted()
	h.lookUpListed()
	h.lookUpCandidates()
	return h.histories
}

// accepted returns the UIDs of objects that the owner of the composite accepts as generations.
func accepted(xr wire.Struct) map[string]bool {
	out := map[string]bool{}
	for uid := range strings.FieldsFuncSeq(plan.MetadataOf(xr).At("annotations", acceptAnnotation).Text(), isSeparator) {
		out[uid] = true
	}
	return out
}

func isSeparator(c rune) bool { return c == ',' || c == ' ' || c == '\n' }

func (h *historyReader) history(name string) *history {
	if h.byGenerator[name] == nil {
		h.byGenerator[name] = &history{
			name: name, generator: h.plan.Generator(name), numbers: map[int]bool{}, offered: map[string]int{},
		}
	}
	return h.byGenerator[name]
}

// readExport reads which generations an export has values of.
func (h *historyReader) readExport(e plan.Export, at placement) {
	rec, lost := readRecord(at.observed)
	from, said := readGenerated(at.observed), rec.Generators // that of a ConfigMap only keeps the generations that it names
	if lost && !at.unlisted && len(e.Generators)+len(e.Candidates) > 0 {
		h.report(lostRecord(e, at))
	}
	if at.observed.Exists() {
		h.warnOfRotate(at.observed)
		for _, name := range e.Generators {
			switch f, ok := said[name]; {
			case h.plan.Generator(name) == nil: // an item that its list does not have
			case !ok && !at.unlisted:
				h.history(name).unrecorded = true
			default: // also while the composite does not list the export
				h.named[f.UID] = true
			}
		}
		h.readCandidates(e, said, at.unlisted)
	}
	for _, name := range e.Candidates {
		h.history(name).setters++
	}
	if at.lookUp != nil && !h.req.answer(*at.lookUp).read {
		h.missingLookUps = append(h.missingLookUps, at.lookUp.String())
	}
	for name, f := range from {
		switch one := h.history(name); {
		case at.unlisted:
			one.unlisted = at.observed
		case at.lookUp != nil: // the composite lists it, and another object has its composition resource name
			one.record = one.record.clone().with(f, ownData(at.observed))
		}
	}
}

// readCandidates counts which generations an export has as its candidates.
func (h *historyReader) readCandidates(e plan.Export, said map[string]generatedFrom, unlisted bool) {
	for _, name := range e.Candidates {
		switch ref := said[name].Candidate; {
		case ref != nil:
			h.history(name).offered[ref.UID]++
		case !unlisted:
			h.history(name).unknownCandidate = true
		}
	}
}

func (r *recorded) clone() *recorded {
	if r == nil {
		return nil
	}
	return &recorded{
		used: maps.Clone(r.used), former: maps.Clone(r.former), states: maps.Clone(r.states),
		candidates: maps.Clone(r.candidates), keys: maps.Clone(r.keys), number: r.number,
	}
}

// highest is the used generation with the highest number.
func (r *recorded) highest() (out generator.Reference) {
	if r == nil {
		return generator.Reference{}
	}
	for _, uid := range plan.SortedKeys(r.used) {
		if ref := r.used[uid]; ref.Generation > out.Generation {
			out = ref
		}
	}
	return out
}

// listedNumbers returns the generations of a generator that the composite lists: the names of their
// objects by their numbers.
func (c composite) listedNumbers(m *plan.Generator, list map[resourceRef]bool) map[int]string {
	out := map[int]string{}
	prefix, kind := c.namePrefix(m), m.Makes.Object().Kind
	for ref := range list {
		if number, ok := numberOf(prefix, ref.name); ok && ref.kind == kind {
			if was := out[number]; was == "" || ref.name < was {
				out[number] = ref.name
			}
		}
	}
	return out
}

// readObserved reads a generation that Crossplane returns.
func (h *historyReader) readObserved(composed string, id identified) {
	if h.elsewhere(id.generator) || id.claimed && h.placed[composed] { // it is the object of an export
		return
	}
	k := readGeneration(h.plan.Generator(id.generator), id.generator, id.number, id.Resource, true)
	_, kind, _, name := object.Identity(k.object)
	h.observed[resourceRef{kind, name}], h.shown[k.id()] = true, true
	if !h.composes(composed) {
		k.composed = composed
	} else if h.placed[composed] {
		k.hides = composed
	}
	h.add(k)
}

// elsewhere reports whether only another step of the pipeline has the generator.
func (h *historyReader) elsewhere(name string) bool {
	return h.plan.Generator(name) == nil && h.req.Elsewhere[name]
}

// readGeneration reads its state and its outputs. State whose seal does not match was changed, and is lost. The
// generator is nil if the input does not have it.
func readGeneration(m *plan.Generator, name string, number int, res observation.Resource, listed bool) *generation {
	text := stateText(res.Object)
	k := &generation{
		Record: generator.ReadRecord(text), object: res.Object, details: res.Details,
		composed: plan.GenerationName(name, number), listed: listed, withheld: res.Withheld,
	}
	k.sealed = isV1Secret(res.Object) && object.IsImmutable(res.Object) && (m == nil || m.IsComputed())
	if apiVersion, kind, _, _ := object.Identity(res.Object); plan.HasData(apiVersion, kind) {
		data, _ := object.DataOf(res.Object) // an API server returns no invalid object
		k.details = revealed(data)
		k.salt = k.details[generator.SaltKey]
		delete(k.details, generator.SaltKey)
		if (k.sealed || k.Kind != plan.KindResource) && !generator.Sealed(generator.AnnotationState, data, text) {
			k.changed = true
		}
	}
	if k.changed = k.changed || k.Generator != name || k.Number != number; k.changed { // or it is the state of another one
		k.Record = generator.Record{}
	}
	if !k.sealed && max(k.Highest, k.Failure.Number) > number+limits.HiddenGenerations { // exports record the real ones
		k.Highest, k.Failure = 0, generator.Failure{}
	}
	k.Generator, k.Number, k.Unlisted = name, number, !listed
	k.lost, k.madeFrom = k.Made.IsZero(), k.SpecHash
	return k
}

// composes reports whether an export or an earlier step needs a composition resource name. If a generation
// has that name because its annotation was changed, it is composed under its own name again.
func (h *historyReader) composes(composed string) bool {
	_, desired := h.req.Desired[composed]
	return desired || h.placed[composed]
}

// add adds a generation to its history. If it is being deleted, only its number counts.
func (h *historyReader) add(k *generation) {
	one := h.history(k.Generator)
	h.warnOfRotate(k.object)
	switch {
	case one.numbers[k.Number]:
	case isDeleted(k.object):
		one.used = max(one.used, k.Number)
	default:
		k.recall(one.record)
		one.generations, one.numbers[k.Number] = append(one.generations, k), true
	}
}

// recall adds what exports recorded to the state of a generation.
func (k *generation) recall(r *recorded) {
	if r == nil {
		return
	}
	was, ok := r.states[k.id()]
	if !ok {
		return
	}
	k.Generation = k.Recall(was)
	if k.lost {
		k.madeFrom = k.SpecHash
	}
	if k.lost && k.Adopted {
		k.Made = createdAt(k.object)
	}
}

// isDeleted reports whether an object is being deleted: its credentials may be revoked.
func isDeleted(o wire.Struct) bool {
	return plan.MetadataOf(o).Get("deletionTimestamp").Text() != ""
}

// readTokens reads the composite's annotation: by generator, the token that requests another generation. The
// result wrong is its first error. An error does not affect other generators.
func readTokens(s *session, p *plan.Plan, has func(name string) bool) (tokens map[string]string, wrong string) {
	tokens = map[string]string{}
	text := plan.MetadataOf(s.object).At("annotations", plan.RotateAnnotation).Text()
	refuse := func(format string, args ...any) {
		if wrong == "" {
			wrong = fmt.Sprintf("the composite's annotation "+plan.RotateAnnotation+" "+format, args...)
		}
	}
	for pair := range strings.FieldsFuncSeq(text, isSeparator) {
		name, token, _ := strings.Cut(pair, "=")
		m := p.Generator(name)
		if m == nil && !isItem(name) {
			m = p.List(name)
		}
		switch {
		case m != nil && token != "":
			tokens[name] = generator.Hash(s.salt(), name, token)
		case token == "":
			example := "admin"
			if len(p.Generators) > 0 {
				example = p.Generators[0].Name
			}
			refuse("must be <generator>=<anything new>, for example %s=1", example)
		case len(p.Generators) > 0 && !has(name):
			refuse("names a generator that this step does not have. This step has: %s",
				plan.Shorten(plan.NamesOf(p.Generators), ", "))
		}
	}
	return tokens, wrong
}

// salt returns the salt of hashes, which is the composite's name. It stays the same after a restore
// from a backup, and with another version of the API.
func (c composite) salt() string {
	apiVersion, kind, ns, name := object.Identity(c.object)
	return strings.Join([]string{groupOf(apiVersion), kind, ns, name}, "/")
}

// has reports whether a generator has a generation, or an earlier step has the generator.
func (h *historyReader) has(name string) bool {
	return h.req.Elsewhere[name] || h.byGenerator[name] != nil && len(h.byGenerator[name].generations) > 0
}
