package plan

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"google.golang.org/protobuf/types/known/structpb"

	"github.com/crossplane-contrib/function-export/internal/generator"
	"github.com/crossplane-contrib/function-export/internal/limits"
	"github.com/crossplane-contrib/function-export/internal/object"
	"github.com/crossplane-contrib/function-export/internal/observation"
	"github.com/crossplane-contrib/function-export/internal/wire"
)

// A stepping is one generator in one request.
type stepping struct {
	*maker

	want       generator.Want
	why        reasons // why something that it is made from is not known
	candidates []candidate
	step       *generator.Step // that was taken
}

// A candidate is a number and a name that the next generation may have.
type candidate struct {
	number int
	at     Requirement
	object *structpb.Struct // the manifest of that generation
}

// lookUpAll looks up generations that Crossplane does not show, and what may have the name
// of a next one. What is required depends on what is observed only: it is the same on each
// call of a reconcile.
func (g *generating) lookUpAll(ctx context.Context) map[string]*stepping {
	steps := map[string]*stepping{}
	for i := range g.plan.makers {
		m := &g.plan.makers[i]
		if m.totp != nil {
			continue
		}
		s := &stepping{maker: m}
		steps[m.name] = s
		g.wanted(ctx, s)
		trust, _ := g.assess(m.name, m)
		for _, k := range g.have[m.name] {
			k.Unproven = !trust.Proven[k.id()]
		}
		maybe := s.want
		maybe.Unknown = false
		number := generator.Next(&maybe, g.generations(s), g.Now).Make
		if number == 0 && m.late {
			number = g.highest(m.name) + 1
		}
		if number > 0 {
			g.addCandidate(ctx, s, number, "")
			g.addCandidate(ctx, s, number+1, g.suffix(s.name, number+1))
		}
	}
	g.lookUpHidden()
	for _, name := range sortedKeys(steps) {
		for _, c := range steps[name].candidates {
			for _, o := range g.require(c.at) {
				if g.mayBe(name, o) {
					g.found(name, c.number, o, false)
				}
			}
		}
	}
	return steps
}

// mayBe reports whether an object that was looked up may be a generation of a generator.
func (g *generating) mayBe(name string, o wire.Struct) bool {
	composed, own := g.owned(o)
	other, _, ok := parseGeneration(composed)
	label := metadataOf(o).At("labels", generator.LabelGenerator).Text()
	return (own || g.accepted()[metadataOf(o).Get("uid").Text()]) && !isTenants(composed) && (!ok || other == name) && (label == "" || label == name)
}

// require a look-up, and return what was found.
func (g *generating) require(req Requirement) []wire.Struct {
	if slices.ContainsFunc(g.out.Requirements, func(other Requirement) bool { return other.Key() == req.Key() }) {
		return nil
	}
	g.out.Requirements = append(g.out.Requirements, req)
	objects, read := g.answer(req)
	if !read {
		g.unread = append(g.unread, req.String())
	}
	return objects
}

// lookUpHidden looks up generations by the names that exports recorded, and by those that
// the composite lists: Crossplane does not show an object that has the composition resource
// name of another one, nor one that it does not find in the list that it has read.
func (g *generating) lookUpHidden() {
	for _, name := range sortedKeys(g.records) {
		if g.elsewhere(name) {
			continue
		}
		rec := g.records[name]
		refs := maps.Clone(rec.former)
		maps.Copy(refs, rec.used)
		for _, uid := range sortedKeys(refs) {
			ref := refs[uid]
			if foreign := ref.APIVersion == "v1" && ref.Namespace != g.namespace && g.ownNamespace(name) != ref.Namespace; ref.Name != "" && !foreign && !g.isObserved(ref.Kind, ref.Name) {
				at := Requirement{APIVersion: ref.APIVersion, Kind: ref.Kind, Namespace: ref.Namespace, Name: ref.Name}
				for _, o := range g.require(at) {
					g.found(name, ref.Generation, o, g.isListed(ref.Kind, ref.Name))
				}
			}
		}
	}
	g.lookUpAccepted()
	for i := range g.plan.makers {
		m := &g.plan.makers[i]
		t := g.target(m)
		names := g.listedNumbers(m)
		for _, number := range slices.Sorted(maps.Keys(names)) {
			if g.isObserved(t.kind, names[number]) || len(g.out.Requirements) >= limits.HiddenGenerations {
				continue
			}
			for _, o := range g.require(Requirement{APIVersion: t.apiVersion, Kind: t.kind, Namespace: t.namespace, Name: names[number]}) {
				if composed, own := g.owned(o); own && !isTenants(composed) {
					g.found(m.name, number, o, true)
				}
			}
		}
	}
}

// lookUpAccepted looks up the generations that exports recorded which the composite lists no
// longer. They count once the owner of the composite accepts them.
func (g *generating) lookUpAccepted() {
	for _, name := range sortedKeys(g.unlisted) {
		m, ref := g.plan.maker(name), g.readGenerated(g.unlisted[name])[name].Reference
		if m == nil || len(g.accepted()) == 0 || !isNumber(ref.Generation) || g.target(m) != (kindTarget{ref.APIVersion, ref.Kind, ref.Namespace}) {
			continue
		}
		for _, o := range g.require(Requirement{APIVersion: ref.APIVersion, Kind: ref.Kind, Namespace: ref.Namespace, Name: ref.Name}) {
			if g.accepted()[metadataOf(o).Get("uid").Text()] {
				g.found(name, ref.Generation, o, g.isListed(ref.Kind, ref.Name))
			}
		}
	}
}

// ownNamespace of the generations of a generator in the input.
func (g *generating) ownNamespace(name string) string {
	if m := g.plan.maker(name); m != nil {
		return g.target(m).namespace
	}
	return g.namespace
}

// A listedAs is what the composite lists.
type listedAs struct{ kind, name string }

// references of the composite to what it lists.
func (r *run) references() map[listedAs]bool {
	if r.listed != nil {
		return r.listed
	}
	r.listed = map[listedAs]bool{}
	spec := r.Observation.Composite.Object.Get("spec").Struct()
	if own := spec.Get("crossplane"); own.Exists() {
		spec = own.Struct()
	}
	for _, v := range spec.Get("resourceRefs").List().All() {
		ref := v.Struct()
		r.listed[listedAs{ref.Get("kind").Text(), ref.Get("name").Text()}] = true
	}
	return r.listed
}

func (r *run) isListed(kind, name string) bool { return r.references()[listedAs{kind, name}] }

// listedNumbers are the generations of a generator that the composite lists, by their numbers:
// the names of their objects.
func (r *run) listedNumbers(m *maker) map[int]string {
	out := map[int]string{}
	prefix, kind := r.namePrefix(m), r.target(m).kind
	for ref := range r.references() {
		if number, ok := numberOf(prefix, ref.name); ok && ref.kind == kind {
			if was := out[number]; was == "" || ref.name < was {
				out[number] = ref.name
			}
		}
	}
	return out
}

// isObserved reports whether a generation is among what Crossplane shows.
func (g *generating) isObserved(kind, name string) bool { return g.observed[kind+"/"+name] }

func (g *generating) highest(name string) int {
	out := g.used[name]
	for _, k := range g.have[name] {
		out = max(out, k.Number)
	}
	return out
}

// suffix of a name that is used if the usual one is taken. People who can create objects
// cannot guess it, because it depends on the UID of the generation in use.
func (g *generating) suffix(name string, number int) string {
	uid := g.records[name].highest().UID
	if have := g.have[name]; uid == "" && len(have) > 0 {
		uid = have[len(have)-1].id()
	}
	return generator.Hash(g.uid(), uid, name, strconv.Itoa(number))[:idDigits]
}

func (g *generating) addCandidate(ctx context.Context, s *stepping, number int, suffix string) {
	t := g.target(s.maker)
	name := g.defaultName(s.name, number)
	if suffix != "" {
		name += "-" + suffix
	}
	c := candidate{number: number}
	if s.manifest != nil {
		m, why := g.manifestOf(ctx, s.maker, number, name)
		switch {
		case why.empty():
			c.object = m
			_, _, _, name = object.Identity(wire.Of(m))
		case suffix != "" && s.manifest.named(): // there is no other name
			return
		case s.manifest.named(): // and how is not known
			s.why, s.want.Unknown = why, true
			return
		case suffix == "":
			s.why, s.want.Unknown = why, true
		}
	}
	if err := object.ValidateName(name); err != nil {
		if suffix == "" { // else it is too long, and there is no other name
			s.why.failed, s.want.Unknown = append(s.why.failed, s.path.Child("name").String()+": "+err.Error()), true
		}
		return
	}
	c.at = Requirement{APIVersion: t.apiVersion, Kind: t.kind, Namespace: t.namespace, Name: name}
	s.candidates = append(s.candidates, c)
}

// found adds an object that was looked up to those that look like a generation.
func (g *generating) found(name string, number int, o wire.Struct, listed bool) {
	k := g.readGeneration(name, number, observation.Resource{Object: o}, listed)
	if composed := object.CompositionResourceName(o); composed != "" && !g.composes(g.plan, composed) {
		k.composed = composed
	}
	g.have[name] = g.add(g.have[name], k)
}

// add one to those of a generator. One that is being deleted only counts for its number.
func (g *generating) add(all []*kept, k *kept) []*kept {
	own := generationName(k.Generator, k.Number)
	if g.seen[own] {
		return all
	}
	if isDeleted(k.object) {
		g.used[k.Generator] = max(g.used[k.Generator], k.Number)
		return all
	}
	put(&g.seen, own, true)
	put(&g.byID, k.Generator+"/"+k.id(), k)
	return append(all, k)
}

// young reports whether the composite may list an object as soon as Crossplane reads it
// anew.
func young(o wire.Struct, now time.Time) bool {
	created, err := time.Parse(time.RFC3339, metadataOf(o).Get("creationTimestamp").Text())
	return err != nil || now.Before(created.Add(limits.UnlistedFor))
}

// A kindTarget says of which kind, and where, the generations of a generator are.
type kindTarget struct{ apiVersion, kind, namespace string }

func (r *run) target(m *maker) kindTarget {
	if m.manifest == nil {
		ns := m.namespace
		if ns == "" {
			ns = r.namespace
		}
		return kindTarget{"v1", string(object.Secret), ns}
	}
	t := kindTarget{m.manifest.apiVersion, m.manifest.kind, m.manifest.namespace}
	if t.namespace == "" && !r.cluster {
		t.namespace = r.namespace
	}
	return t
}

// defaultName of a generation's object.
func (r *run) defaultName(name string, number int) string {
	_, _, _, xr := object.Identity(r.Observation.Composite.Object)
	return fmt.Sprintf("%s-%s-%d", xr, name, number)
}

// namePrefix of the objects of generations whose names were not chosen by the input, or
// empty if they were.
func (r *run) namePrefix(m *maker) string {
	if m.totp != nil || m.manifest != nil && m.manifest.named() {
		return ""
	}
	_, _, _, xr := object.Identity(r.Observation.Composite.Object)
	return xr + "-" + m.name + "-"
}

// numberOf a generation by the name of its object.
func numberOf(prefix, name string) (int, bool) {
	rest, ok := strings.CutPrefix(name, prefix)
	if !ok || prefix == "" {
		return 0, false
	}
	text, suffix, suffixed := strings.Cut(rest, "-")
	number, err := strconv.Atoi(text)
	return number, err == nil && isNumber(number) && text == strconv.Itoa(number) && (!suffixed || len(suffix) == idDigits)
}

// defaultNumber is numberOf an object of the kind that the generator composes.
func (r *run) defaultNumber(m *maker, o wire.Struct) (int, bool) {
	apiVersion, kind, _, name := object.Identity(o)
	t := r.target(m)
	if apiVersion != t.apiVersion || kind != t.kind {
		return 0, false
	}
	return numberOf(r.namePrefix(m), name)
}
