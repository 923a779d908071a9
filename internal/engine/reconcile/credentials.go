package reconcile

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/crossplane-contrib/function-export/internal/engine/limits"
	"github.com/crossplane-contrib/function-export/internal/engine/object"
	"github.com/crossplane-contrib/function-export/internal/engine/observation"
	"github.com/crossplane-contrib/function-export/internal/engine/plan"
	"github.com/crossplane-contrib/function-export/internal/engine/rotation"
	"github.com/crossplane-contrib/function-export/internal/engine/seal"
	"github.com/crossplane-contrib/function-export/internal/engine/wire"
)

// A credentialState is what is known about the credential of one generator, which may have left the input.
type credentialState struct {
	composite composite
	name      string
	generator *plan.Generator // nil if it left the input
	have      []*generation   // by number
	byUID     map[string]*generation
	exports   []exportView
	taken     int         // objects may have the numbers up to it
	unlisted  wire.Struct // an export with its values that the composite does not list
	wanted    *wantedGeneration
	step      *rotation.Step     // nil while nothing may change
	unready   map[string]reasons // why generations are not ready, by UID
}

// credentials are the credentials of all generators, by generator.
type credentials map[string]*credentialState

// A credentialReader finds the generations of all generators: those that Crossplane shows, and those that exports
// recorded or the composite lists and Crossplane does not show, because another object has their composition resource
// name. The requirements depend only on observed objects and on those that are looked up first, so they are the same from
// the second call of a reconcile on.
type credentialReader struct {
	reply

	session  *session
	plan     *plan.Plan
	req      *request
	found    credentials
	shown    map[target]bool // the objects of generations
	required map[string]bool // the keys of all requirements
	lists    map[resourceRef]bool
	accepted map[string]bool // the UIDs of objects that the owner of the composite accepts after a restore
	unread   []string        // lookups that each step needs
}

// acceptAnnotation of a composite lists the UIDs of objects that its owner accepts as generations, although the composite
// does not list them.
const acceptAnnotation = object.StatePrefix + "accept-generation"

func readCredentials(
	s *session, p *plan.Plan, req *request, composed composedResources, placed placements, before []Requirement,
) *credentialReader {
	r := &credentialReader{
		session: s, plan: p, req: req, found: credentials{}, shown: map[target]bool{}, required: map[string]bool{}, lists: resourceRefs(s.object),
		accepted: map[string]bool{},
	}
	for uid := range strings.FieldsFuncSeq(plan.MetadataOf(s.object).At("annotations", acceptAnnotation).Text(), isSeparator) {
		r.accepted[uid] = true
	}
	for _, q := range before {
		r.required[q.Key()] = true
	}
	r.readExports(composed, placed)
	for _, name := range plan.SortedKeys(composed.generations) {
		id := composed.generations[name]
		if id.claimed && placed.names()[name] || p.Generator(id.generator) == nil && req.Elsewhere[id.generator] {
			continue // it is the object of an export, or of another step
		}
		k := readGeneration(p.Generator(id.generator), id.generator, id.number, id.Resource)
		k.composed, k.Listed = name, true
		r.add(k)
	}
	r.lookUpRecorded()
	r.lookUpListed()
	r.lookUpAccepted()
	for _, c := range r.found {
		c.link()
	}
	requests := r.readRequests()
	for i := range p.Generators {
		m := &p.Generators[i]
		list, _, _ := plan.SplitItem(m.Name)
		c := r.of(m.Name)
		c.wanted = s.want(c, m, cmp.Or(requests[m.Name], requests[list]), req.Now)
		for r.acceptNext(c) { // then another one may be the next
			c.wanted = s.want(c, m, c.wanted.rotation.Request, req.Now)
		}
	}
	return r
}

// acceptNext looks up the place of the next generation. It reports whether the owner of the composite accepts the object
// there as a generation.
func (r *credentialReader) acceptNext(c *credentialState) bool {
	at := c.wanted.place
	if at == nil {
		return false
	}
	r.require(*at)
	a := r.req.answer(*at)
	if !a.read {
		r.unread = append(r.unread, at.String())
	}
	if len(a.objects) == 0 || !r.accepted[idOf(a.objects[0])] || c.find(idOf(a.objects[0])) != nil {
		return false
	}
	r.addHidden(c.name, c.wanted.number, a.objects[0])
	c.link()
	return c.find(idOf(a.objects[0])) != nil
}

// link sorts the generations, and finds out which codes link them.
func (c *credentialState) link() {
	slices.SortFunc(c.have, func(a, b *generation) int { return cmp.Or(a.Number-b.Number, strings.Compare(a.UID, b.UID)) })
	for i, k := range c.have {
		k.follow(c.have[max(0, i-2*limits.Generations):i])
		for i := range c.exports {
			c.exports[i].alias(k)
		}
	}
}

func isSeparator(c rune) bool { return c == ',' || c == ' ' || c == '\n' }

// of returns the credential of a generator.
func (r *credentialReader) of(name string) *credentialState {
	if r.found[name] == nil {
		r.found[name] = &credentialState{
			composite: r.session.composite, name: name, generator: r.plan.Generator(name), unready: map[string]reasons{},
			byUID: map[string]*generation{},
		}
	}
	return r.found[name]
}

// readExports reads what exports recorded: those of the input, and those that left it and still exist.
func (r *credentialReader) readExports(composed composedResources, placed placements) {
	read := map[string]bool{}
	for i, at := range placed.at {
		if at.observed.Exists() {
			read[at.resource] = true
			r.warnOfRotate(at.observed)
		}
		if at.lookUp != nil && !r.req.answer(*at.lookUp).read {
			r.unread = append(r.unread, at.lookUp.String())
		}
		r.readExport(placed.exports[i], at)
	}
	for _, name := range plan.SortedKeys(composed.resources) {
		if read[name] {
			continue
		}
		o := composed.resources[name].Object
		rec, lost := readRecord(o)
		for generator, one := range rec.Generators {
			if !lost {
				c := r.of(generator)
				c.exports = append(c.exports, r.session.viewOf(name, generator, o, one))
			}
		}
	}
}

// readExport reads the record of an export of the input. Until the composite lists its object, anyone may have created it,
// so it only keeps generations.
func (r *credentialReader) readExport(e plan.Export, at placement) {
	rec, lost := readRecord(at.observed)
	exists := plan.MetadataOf(at.observed).At("annotations", rotation.AnnotationRecord).Exists()
	names := slices.Concat(e.Generators, e.Candidates)
	for name := range rec.Generators {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		if !r.plan.Declares(name) && rec.Generators[name].Holds == "" && rec.Generators[name].Candidate == "" {
			continue
		}
		c, one := r.of(name), rec.Generators[name]
		v := r.session.viewOf(at.resource, name, at.observed, one)
		v.Lost = at.observed.Exists() && (lost || !exists)
		if v.unlisted = at.unlisted; v.unlisted {
			if v.Known = map[string]rotation.Copy{}; isV1Secret(at.observed) && v.Holds != "" {
				c.unlisted = at.observed
			}
		} else {
			v.Uses, v.Sets = slices.Contains(e.Generators, name), slices.Contains(e.Candidates, name)
		}
		v.own = true
		c.exports = append(c.exports, v)
	}
	if lost && !at.unlisted && len(names) > 0 {
		r.report(lostRecord(e, at))
	}
}

// add adds a generation. If it is being deleted, only its number counts.
func (r *credentialReader) add(k *generation) {
	c := r.of(k.generator)
	r.warnOfRotate(k.object)
	if c.taken = max(c.taken, k.Number); isDeleted(k.object) || c.byUID[k.UID] != nil {
		return
	}
	if r.accepted[k.UID] {
		k.Listed = true
		c.exports = append(c.exports, exportView{Record: rotation.Record{Known: map[string]rotation.Copy{k.UID: {}}}})
	}
	c.have, c.byUID[k.UID] = append(c.have, k), k
	r.shown[k.reference().target()] = true
}

// lookUpRecorded looks up generations that exports recorded. Those of an export that the composite does not list count
// once the owner of the composite accepts them.
func (r *credentialReader) lookUpRecorded() {
	for _, name := range plan.SortedKeys(r.found) {
		c := r.found[name]
		if c.generator == nil && r.req.Elsewhere[name] {
			continue
		}
		var known []recordedInExport
		for _, v := range c.exports {
			if !v.unlisted || len(r.accepted) > 0 {
				known = append(known, v.known...)
			}
		}
		for _, ref := range known {
			c.taken = max(c.taken, ref.Number)
			if r.shown[ref.target()] || ref.APIVersion == "v1" && ref.Namespace != c.namespaceOf() {
				continue
			}
			r.lookUp(ref.requirement(), func(o wire.Struct) {
				if uid := idOf(o); uid == ref.UID || r.accepted[uid] || r.lists[resourceRef{ref.Kind, ref.Name}] {
					r.addHidden(name, ref.Number, o)
				}
			})
		}
	}
}

// namespaceOf returns the namespace of the generations.
func (c *credentialState) namespaceOf() string {
	if c.generator == nil {
		return c.composite.namespace
	}
	return c.composite.requirement(c.generator, "").Namespace
}

// addHidden adds an object that Crossplane does not show.
func (r *credentialReader) addHidden(name string, number int, o wire.Struct) {
	_, kind, _, n := object.Identity(o)
	if !r.session.controls(o) && !r.accepted[idOf(o)] || plan.IsAuthors(object.CompositionResourceName(o)) {
		return
	}
	k := readGeneration(r.plan.Generator(name), name, number, observation.Resource{Object: o})
	k.Listed = r.lists[resourceRef{kind, n}]
	r.add(k)
}

// lookUpListed looks up generations by the names that the composite lists.
func (r *credentialReader) lookUpListed() {
	for i := range r.plan.Generators {
		m := &r.plan.Generators[i]
		for _, number := range r.session.listedNumbers(m, r.lists) {
			ref := reference{Number: number, Name: r.session.defaultName(m.Name, number)}
			at := r.session.requirement(m, ref.Name)
			ref.Kind, ref.Namespace = at.Kind, at.Namespace
			if !r.shown[ref.target()] && len(r.required) < limits.HiddenGenerations {
				r.lookUp(at, func(o wire.Struct) { r.addHidden(m.Name, number, o) })
			}
		}
	}
}

// lookUpAccepted looks up as many next generations at once as the owner of the composite accepts objects: Crossplane
// calls only a few times with further requirements.
func (r *credentialReader) lookUpAccepted() {
	for i := range r.plan.Generators {
		m := &r.plan.Generators[i]
		first := r.of(m.Name).taken + 1
		last := first + min(len(r.accepted), limits.HiddenGenerations-len(r.required))
		for number := first; number < last && !m.Makes.Names(); number++ {
			r.lookUp(r.session.requirement(m, r.session.defaultName(m.Name, number)), func(o wire.Struct) {
				if r.accepted[idOf(o)] {
					r.addHidden(m.Name, number, o)
				}
			})
		}
	}
}

// listedNumbers returns the generations of a generator that the composite lists, sorted.
func (c composite) listedNumbers(m *plan.Generator, lists map[resourceRef]bool) (out []int) {
	kind := m.Makes.Object().Kind
	for ref := range lists {
		if _, number, ok := c.generationNamed(m, ref.name); ok && ref.kind == kind {
			out = append(out, number)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// lookUp looks up a generation, unless it was required before.
func (r *credentialReader) lookUp(req Requirement, take func(o wire.Struct)) {
	key := req.Key()
	if r.required[key] {
		return
	}
	r.required[key] = true
	r.require(req)
	a := r.req.answer(req)
	if !a.read {
		r.unread = append(r.unread, req.String())
	}
	for _, o := range a.objects {
		take(o)
	}
}

// readRequests reads the composite's annotation: by generator, a hash of what requests another generation. An error does
// not affect other generators.
func (r *credentialReader) readRequests() map[string]string {
	out := map[string]string{}
	text := plan.MetadataOf(r.session.object).At("annotations", plan.RotateAnnotation).Text()
	wrong := ""
	refuse := func(format string, args ...any) {
		wrong = cmp.Or(wrong, fmt.Sprintf("the composite's annotation "+plan.RotateAnnotation+" "+format, args...))
	}
	for pair := range strings.FieldsFuncSeq(text, isSeparator) {
		name, token, _ := strings.Cut(pair, "=")
		m := r.plan.Generator(name)
		if m == nil && !isItem(name) {
			m = r.plan.List(name)
		}
		switch c := r.found[name]; {
		case m != nil && token != "":
			out[name] = seal.Hash(r.session.salt(), name, token)
		case token == "":
			example := "admin"
			if len(r.plan.Generators) > 0 {
				example = r.plan.Generators[0].Name
			}
			refuse("must be <generator>=<anything new>, for example %s=1", example)
		case len(r.plan.Generators) > 0 && !r.req.Elsewhere[name] && (c == nil || len(c.have) == 0):
			refuse("names a generator that this step does not have. This step has: %s",
				plan.Shorten(plan.NamesOf(r.plan.Generators), ", "))
		}
	}
	if wrong != "" {
		r.report(Outcome{Message: wrong, Warn: true, Author: true})
	}
	return out
}

func isItem(name string) bool {
	_, _, ok := plan.SplitItem(name)
	return ok
}

// salt returns the salt of hashes, which is the composite's name. It stays the same after a restore
// from a backup, and with another version of the API.
func (c composite) salt() string {
	apiVersion, kind, ns, name := object.Identity(c.object)
	return strings.Join([]string{groupOf(apiVersion), kind, ns, name}, "/")
}

// warnOfRotate warns of a request for a rotation on an object of the composite.
func (r *credentialReader) warnOfRotate(o wire.Struct) {
	if !plan.MetadataOf(o).At("annotations", plan.RotateAnnotation).Exists() {
		return
	}
	_, kind, ns, name := object.Identity(o)
	_, of, _, xr := object.Identity(r.session.object)
	r.report(Outcome{Warn: true, Message: fmt.Sprintf("%s %s/%s has the annotation %s, which has no effect there: set it on %s %s",
		kind, ns, name, plan.RotateAnnotation, of, xr)})
}

// generations returns the facts from which the rotation decides.
func (c *credentialState) generations() []rotation.Generation {
	out := make([]rotation.Generation, 0, len(c.have))
	for _, k := range c.have {
		out = append(out, k.Generation)
	}
	return out
}

// records returns what exports recorded.
func (c *credentialState) records() []rotation.Record {
	out := make([]rotation.Record, 0, len(c.exports))
	for _, v := range c.exports {
		out = append(out, v.Record)
	}
	return out
}

// find returns the generation with a UID, or nil.
func (c *credentialState) find(uid string) *generation { return c.byUID[uid] }

// current returns the generation in use, or nil.
func (c *credentialState) current() *generation {
	if c == nil || c.step == nil {
		return nil
	}
	return c.find(c.step.Current)
}
