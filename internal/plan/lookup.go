package plan

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"google.golang.org/protobuf/types/known/structpb"

	"github.com/crossplane-contrib/function-export/internal/generator"
	"github.com/crossplane-contrib/function-export/internal/object"
	"github.com/crossplane-contrib/function-export/internal/observation"
	"github.com/crossplane-contrib/function-export/internal/wire"
)

// A stepping is one generator in one request.
type stepping struct {
	*maker

	want   generator.Want
	why    reasons // why something that it is made from is not known
	number int     // of the generation that may be made
	next   *Requirement
	object *structpb.Struct // the manifest of that generation
}

// lookUpAll looks up generations that the composite may not list as yet, and what may
// have the name of a next one. What is asked for depends on what is observed only: it is
// the same on each call of a reconcile.
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
		maybe := s.want
		maybe.Unknown = false
		s.number = generator.Next(&maybe, g.generations(s), g.Now).Make
		if s.number == 0 && m.late {
			s.number = g.highest(m.name) + 1
		}
		g.lookUpNext(ctx, s)
	}
	for _, req := range g.lookUps() {
		g.require(req, true)
	}
	for _, name := range sortedKeys(steps) {
		if next := steps[name].next; next != nil {
			g.require(*next, false)
		}
	}
	return steps
}

// require a look-up. Generations among what was found are added to those that there are.
func (g *generating) require(req Requirement, byLabel bool) {
	g.out.Requirements = append(g.out.Requirements, req)
	objects, read := g.answer(req)
	if !read {
		g.unread = append(g.unread, req.String())
	}
	for _, o := range objects {
		if composed, _ := g.owned(o); byLabel || strings.HasPrefix(composed, generationPrefix) {
			g.found(o)
		}
	}
}

func (g *generating) highest(name string) int {
	out := g.used[name]
	for _, k := range g.have[name] {
		out = max(out, k.Number)
	}
	return out
}

func (g *generating) lookUpNext(ctx context.Context, s *stepping) {
	if s.number == 0 {
		return
	}
	t := g.target(s.maker)
	name := g.defaultName(s.name, s.number)
	if s.manifest != nil {
		m, why := g.manifestOf(ctx, s.maker, s.number)
		switch {
		case why.empty():
			s.object = m
			_, _, _, name = object.Identity(wire.Of(m))
		case s.manifest.named(): // and how is not known
			s.why, s.want.Unknown = why, true
			return
		default:
			s.why, s.want.Unknown = why, true
		}
	}
	if err := object.ValidateName(name); err != nil {
		s.why.failed, s.want.Unknown = append(s.why.failed, s.path.Child("name").String()+": "+err.Error()), true
		return
	}
	s.next = &Requirement{APIVersion: t.apiVersion, Kind: t.kind, Namespace: t.namespace, Name: name}
}

// found adds a generation that was looked up, unless it is among them.
func (g *generating) found(o wire.Struct) {
	composed, ok := g.owned(o)
	labels := texts(metadataOf(o).Get("labels"))
	name, number, named := parseGeneration(composed)
	if !named { // somebody has taken its annotations away
		name, number, named = parseGeneration(generationPrefix + labels[generator.LabelGenerator] + "/" + labels[generator.LabelGeneration])
	}
	if !ok || !named || g.elsewhere(name) {
		return
	}
	g.have[name] = g.add(g.have[name], g.readGeneration(name, number, observation.Resource{Object: o}, false))
}

// add one to those of a generator. One that is being deleted only counts for its number.
func (g *generating) add(all []*kept, k *kept) []*kept {
	if slices.ContainsFunc(all, func(o *kept) bool { return o.Number == k.Number }) {
		return all
	}
	if isDeleted(k.object) {
		g.used[k.Generator] = max(g.used[k.Generator], k.Number)
		return all
	}
	return append(all, k)
}

// lookUps of generations that the composite may not list as yet: Crossplane reads it from
// a cache.
func (g *generating) lookUps() []Requirement {
	if g.uid() == "" { // a file, which nothing refers to
		return nil
	}
	byKey := map[string]Requirement{}
	for i := range g.plan.makers {
		m := &g.plan.makers[i]
		if m.totp != nil {
			continue
		}
		t := g.target(m)
		req := Requirement{APIVersion: t.apiVersion, Kind: t.kind, Namespace: t.namespace, Labels: map[string]string{generator.LabelComposite: g.uid()}}
		byKey[req.Key()] = req
	}
	out := make([]Requirement, 0, len(byKey))
	for _, k := range sortedKeys(byKey) {
		out = append(out, byKey[k])
	}
	return out
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
