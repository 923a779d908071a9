package generations

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/crossplane-contrib/function-export/internal/engine/composite"
	"github.com/crossplane-contrib/function-export/internal/engine/evaluate"
	"github.com/crossplane-contrib/function-export/internal/engine/lifecycle"
	"github.com/crossplane-contrib/function-export/internal/engine/limits"
	"github.com/crossplane-contrib/function-export/internal/engine/lookup"
	"github.com/crossplane-contrib/function-export/internal/engine/object"
	"github.com/crossplane-contrib/function-export/internal/engine/observation"
	"github.com/crossplane-contrib/function-export/internal/engine/outcome"
	"github.com/crossplane-contrib/function-export/internal/engine/plan"
	"github.com/crossplane-contrib/function-export/internal/engine/rotation"
	"github.com/crossplane-contrib/function-export/internal/engine/seal"
	"github.com/crossplane-contrib/function-export/internal/engine/wire"
)

// A credentialState is what is known about the credential of one generator, which may have left the input.
type credentialState struct {
	name      string
	generator *plan.Generator // nil if it left the input
	have      []*generation   // by number
	byUID     map[string]*generation
	exports   map[string]rotation.Record // what each export recorded, by the name of its composed resource
	taken     int                        // objects may have the numbers up to it
	unlisted  wire.Struct                // an export with its values that the composite does not list
	wanted    *wantedGeneration
	step      *rotation.Step              // nil while nothing may change
	unready   map[string]evaluate.Reasons // why generations are not ready, by UID
}

// Credentials are the credentials of all generators, by generator.
type Credentials map[string]*credentialState

// A credentialReader finds the generations of all generators: those that Crossplane shows, and those that exports
// recorded or the composite lists and Crossplane does not show, because another object has their composition resource
// name. The requirements depend only on observed objects and on those that are looked up first, so they are the same
// from the second call of a reconcile on.
type credentialReader struct {
	outcome.Reply

	in       *Request
	found    Credentials
	shown    map[lifecycle.Place]bool // the objects of generations
	accepted map[string]bool          // the UIDs of objects that the owner of the composite accepts after a restore
	unread   []string                 // lookups that each step needs
}

// notOfInput precedes the names of composed resources that are not those of exports of the input.
const notOfInput = "/"

// acceptAnnotation of a composite lists the UIDs of objects that its owner accepts as generations, although the
// composite does not list them.
const acceptAnnotation = object.StatePrefix + "accept-generation"

// read reads the credentials.
func (in *Request) read(exports []*Export, taken map[string]bool) *credentialReader {
	r := &credentialReader{
		in: in, found: Credentials{}, shown: map[lifecycle.Place]bool{}, accepted: map[string]bool{},
	}
	accepted := plan.MetadataOf(in.Owner.Object).At("annotations", acceptAnnotation).Text()
	for uid := range strings.FieldsFuncSeq(accepted, isSeparator) {
		if len(r.accepted) < limits.Generations {
			r.accepted[uid] = true
		}
	}
	r.readExports(exports)
	for _, name := range plan.SortedKeys(in.Identified) {
		id := in.Identified[name]
		if id.Claimed && taken[name] || in.Generators.Named(id.Generator) == nil && in.Elsewhere[id.Generator] {
			continue // it is the object of an export, or of another step
		}
		k := readGeneration(in.Generators.Named(id.Generator), id.Generator, id.Number, id.Resource)
		k.composed, k.Listed = name, true
		r.add(k)
	}
	r.lookUpHidden()
	for _, c := range r.found {
		c.link(len(r.unread) == 0)
	}
	requests := r.readRequests()
	for i := range in.Generators {
		m := &in.Generators[i]
		list, _, _ := plan.SplitItem(m.Name)
		c := r.of(m.Name)
		c.wanted = in.want(c, m, cmp.Or(requests[m.Name], requests[list]))
		if at := c.wanted.place; at != nil {
			r.require(*at)
		}
	}
	return r
}

// link sorts the generations, and finds out which codes link them. Once all records of exports are read, it also finds
// their states.
func (c *credentialState) link(isComplete bool) {
	slices.SortFunc(c.have, func(a, b *generation) int {
		return cmp.Or(a.Number-b.Number, strings.Compare(a.UID, b.UID))
	})
	records := c.records()
	for i, k := range c.have {
		if isComplete {
			k.Restore(records)
		}
		k.follow(c.have[max(0, i-2*limits.Generations):i])
	}
}

func isSeparator(c rune) bool { return c == ',' || c == ' ' || c == '\n' }

// of returns the credential of a generator.
func (r *credentialReader) of(name string) *credentialState {
	if r.found[name] == nil {
		r.found[name] = &credentialState{
			name: name, generator: r.in.Generators.Named(name),
			exports: map[string]rotation.Record{}, unready: map[string]evaluate.Reasons{}, byUID: map[string]*generation{},
			wanted: &wantedGeneration{rotation: rotation.Wanted{Input: rotation.Removed}},
		}
	}
	return r.found[name]
}

// readExports reads what exports recorded: those of the input, and those that left it and still exist.
func (r *credentialReader) readExports(exports []*Export) {
	read := map[string]bool{}
	for _, e := range exports {
		if e.Observed.Exists() {
			read[e.Composed] = true
		}
		if e.Unread != "" {
			r.unread = append(r.unread, e.Unread)
		}
		r.readExport(e)
	}
	for name, res := range r.in.Session.Sees.Resources {
		if read[name] {
			continue
		}
		rec, _ := seal.ReadRecord(res.Object)
		for generator, one := range rec.Generators {
			r.of(generator).exports[notOfInput+name] = one
		}
	}
}

// readExport reads the record of an export of the input. Until the composite lists its object, anyone may have created
// it, so it only keeps generations.
func (r *credentialReader) readExport(e *Export) {
	rec, lost := seal.ReadRecord(e.Observed)
	names := slices.AppendSeq(slices.Concat(e.Generators, e.Candidates), maps.Keys(rec.Generators))
	for _, name := range names {
		c, one := r.of(name), rec.Generators[name]
		one.Lost = e.Observed.Exists() && (lost || !seal.HasRecord(e.Observed))
		if !e.Unlisted {
			one.Uses, one.Sets = slices.Contains(e.Generators, name), slices.Contains(e.Candidates, name)
		} else if one.Known, one.Unlisted = nil, one.Known; object.IsSecret(e.Observed) && one.Holds != "" {
			c.unlisted = e.Observed
		}
		c.exports[e.Composed] = one
	}
	if lost && !e.Unlisted && len(names) > 0 {
		r.Report(lostRecord(e))
	}
}

// add adds a generation. If it is being deleted, only its number counts.
func (r *credentialReader) add(k *generation) {
	c := r.of(k.generator)
	if c.taken = max(c.taken, k.Number); composite.IsDeleted(k.object) || c.byUID[k.UID] != nil {
		return
	}
	if r.accepted[k.UID] {
		k.Listed = true
		c.exports[notOfInput+acceptAnnotation+k.UID] = rotation.Record{Known: []rotation.Copy{{Reference: k.Reference}}}
	}
	c.have, c.byUID[k.UID] = append(c.have, k), k
	r.shown[r.in.Owner.PlaceOf(k.object)] = true
}

// lookUpHidden looks up generations that Crossplane does not show, because another object has their composition
// resource name: those that exports recorded, and as many next ones as the owner of the composite accepts objects,
// because Crossplane calls only a few times with further requirements. The record of an export that the composite does
// not list counts once its owner accepts objects.
func (r *credentialReader) lookUpHidden() {
	for _, name := range plan.SortedKeys(r.found) {
		c := r.found[name]
		if c.generator == nil && r.in.Elsewhere[name] {
			continue
		}
		for _, one := range c.records() {
			for _, k := range slices.Concat(one.Known, one.Unlisted) {
				at := lookup.Requirement{APIVersion: k.APIVersion, Kind: k.Kind, Namespace: k.Namespace, Name: k.Name}
				if len(one.Unlisted) == 0 || len(r.accepted) > 0 {
					c.taken = max(c.taken, k.Number)
					r.lookUp(c, k.Number, k.UID, at)
				}
			}
		}
	}
	for i := range r.in.Generators {
		m := &r.in.Generators[i]
		c := r.of(m.Name)
		next := c.taken + 1 // what is found must not change it
		for n := next; n < next+len(r.accepted) && !m.Manifest.Names(); n++ {
			r.lookUp(c, n, "", r.in.requirement(m, r.in.defaultName(m.Name, n)))
		}
	}
}

// lookUp looks up a generation, unless Crossplane shows it or it was found before. The object is the generation that an
// export recorded, or that the owner of the composite accepts.
func (r *credentialReader) lookUp(c *credentialState, number int, recorded string, at lookup.Requirement) {
	ns := r.in.Owner.Namespace
	if c.generator != nil {
		ns = r.in.requirement(c.generator, "").Namespace
	}
	place := lifecycle.PlaceOf(at.APIVersion, at.Kind, at.Namespace, at.Name)
	if at.Name == "" || r.shown[place] || at.APIVersion == "v1" && at.Namespace != ns {
		return
	}
	for _, o := range r.require(at) {
		accepted := r.accepted[idOf(o)]
		if !accepted && (idOf(o) != recorded || !r.in.Owner.Controls(o)) ||
			plan.IsAuthors(object.CompositionResourceName(o)) {
			continue
		}
		k := readGeneration(c.generator, c.name, number, observation.Resource{Object: o})
		k.Listed = r.in.Owner.Lists(r.in.Owner.PlaceOf(o))
		r.add(k)
	}
}

// require looks up objects, without which no step is performed.
func (r *credentialReader) require(at lookup.Requirement) []wire.Struct {
	r.Require(at)
	a := r.in.Answers.To(at)
	if !a.Read && !slices.Contains(r.unread, at.String()) {
		r.unread = append(r.unread, at.String())
	}
	return a.Objects
}

// readRequests reads the composite's annotation: by generator, a hash of what requests another generation. An error
// does not affect other generators.
func (r *credentialReader) readRequests() map[string]string {
	out := map[string]string{}
	text := plan.MetadataOf(r.in.Owner.Object).At("annotations", plan.RotateAnnotation).Text()
	wrong := ""
	for pair := range strings.FieldsFuncSeq(text, isSeparator) {
		name, token, _ := strings.Cut(pair, "=")
		m := r.in.Generators.Named(name)
		if _, _, isItem := plan.SplitItem(name); m == nil && !isItem {
			m = r.in.Declared.List(name)
		}
		switch c := r.found[name]; {
		case m != nil && token != "":
			out[name] = seal.Hash(r.in.Owner.Salt(), name, token)
		case token == "":
			wrong = cmp.Or(wrong, "must be <generator>=<anything new>, for example admin=1")
		case len(r.in.Generators) > 0 && !r.in.Elsewhere[name] && (c == nil || len(c.have) == 0):
			wrong = cmp.Or(wrong, "names a generator that this step does not have. This step has: "+
				plan.Shorten(plan.NamesOf(r.in.Generators), ", "))
		}
	}
	if wrong != "" {
		wrong = "the composite's annotation " + plan.RotateAnnotation + " " + wrong
		r.Report(outcome.Outcome{Message: wrong, Warn: true, Author: true})
	}
	return out
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
	for _, name := range plan.SortedKeys(c.exports) {
		out = append(out, c.exports[name])
	}
	return out
}

// current returns the generation in use, or nil.
func (c *credentialState) current() *generation {
	if c == nil || c.step == nil {
		return nil
	}
	return c.byUID[c.step.Current]
}
