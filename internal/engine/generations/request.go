// Package generations performs the next step of each generator: it finds its generations, asks package rotation what to
// do, and desires, creates or drops objects.
//
// A [Splitter] finds the composed resources that look like a generation. [Lists] makes a generator for each item of a
// list. A [Request] reads the generations and what exports recorded, performs the steps, and returns what expressions
// see. [Credentials] write what exports record.
package generations

import (
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"google.golang.org/protobuf/types/known/structpb"

	"github.com/crossplane-contrib/function-export/internal/engine/evaluate"
	"github.com/crossplane-contrib/function-export/internal/engine/lifecycle"
	"github.com/crossplane-contrib/function-export/internal/engine/limits"
	"github.com/crossplane-contrib/function-export/internal/engine/lookup"
	"github.com/crossplane-contrib/function-export/internal/engine/observation"
	"github.com/crossplane-contrib/function-export/internal/engine/outcome"
	"github.com/crossplane-contrib/function-export/internal/engine/plan"
	"github.com/crossplane-contrib/function-export/internal/engine/wire"
)

// A Result is what the steps of all generators return.
type Result struct {
	outcome.Reply
	Rotation

	Session     *evaluate.Session // of the next phase
	Credentials Credentials
	Writers     lifecycle.Writers
}

// Composed is a resource that a generator composes.
type Composed struct {
	Name    string // in the pipeline
	Desired *structpb.Struct
	Ready   bool
}

// A Rotation is what generators add to a result.
type Rotation struct {
	Generations    []Composed                 // in the order of their names
	GeneratorState map[string]*structpb.Value // for later steps, without values

	// Due is the time of the next step of a generator, or now if a Secret changed while Crossplane read it, or zero.
	// Fresh is set if this request created a credential, which must be stored only in the resource composed for it.
	Due   time.Time
	Fresh bool
}

// A Request is what the rotation of one request depends on: which composite it is, which generators it has, and what
// Crossplane found.
type Request struct {
	Splitter
	Items

	Session    *evaluate.Session
	Answers    *lookup.Answers
	Observed   map[string]observation.Resource // all composed resources
	Identified map[string]Identified           // those that look like a generation
	Rotating   map[string]bool                 // the generators with generations
	Elsewhere  map[string]bool                 // the generators of other steps
	Now        time.Time
	Random     io.Reader
	ID         string     // of the input
	Size       func() int // of the request; may be nil
}

// An Export is an export of a request, and its object.
type Export struct {
	plan.Export

	Place    lifecycle.Place // where the object is, or must be
	Composed string          // the composition resource name under which it is desired
	Observed wire.Struct     // the object, if it exists
	Unlisted bool            // the composite does not list it
	Unread   string          // the lookup of its place, if it was not read
}

// Run performs the next step of each generator. Expressions see the outputs of the generations in use. They do not see
// the generations that are created here, because those are not stored yet. The composition resource names in taken
// belong to exports.
func (in *Request) Run(exports []*Export, writers lifecycle.Writers, taken map[string]bool) (Result, error) {
	unlisted := slices.ContainsFunc(exports, func(e *Export) bool { return e.Unlisted })
	if len(in.Declared)+len(in.Rotating) == 0 && !unlisted {
		return Result{Writers: writers, Session: in.Session}, nil
	}
	read := in.read(exports, taken)
	if err := read.stale(); err != nil {
		return Result{}, err
	}
	g := &rotator{
		in: in, exports: exports, found: read.found, shown: read.shown, unread: read.unread,
		created: map[string]outcome.Outcome{}, outputs: outputs{
			map[string]observation.Generated{}, map[string]observation.Generated{}, map[string]observation.Generated{},
			map[string]string{}, in.Unknown,
		},
		out: Result{Reply: read.Reply, Writers: maps.Clone(writers), Credentials: read.found},
	}
	independent, derived := inOrder(in.Generators)
	for _, m := range independent {
		g.rotate(g.found[m.Name])
	}
	sees := g.outputs.seenBy(in.Session)
	for _, m := range derived {
		c := g.found[m.Name]
		if len(c.have) > 0 || !g.spent.waitsForTurn(m) { // otherwise its source is not needed
			c.wanted.readSource(sees)
		}
		g.rotate(c)
	}
	for _, name := range plan.SortedKeys(g.found) { // those that are in neither the input nor an earlier step
		if c := g.found[name]; c.generator == nil && len(c.have) > 0 {
			g.rotate(c)
		}
	}
	if g.stale != nil {
		return Result{}, g.stale
	}
	slices.SortFunc(g.out.Generations, func(a, b Composed) int { return strings.Compare(a.Name, b.Name) })
	g.saveStates()
	g.out.Session = g.outputs.seenBy(in.Session)
	return g.out, nil
}

// inOrder returns the generators in the order of their steps. A generator that signs comes before the generators that
// it signs. Derived generators come last: their sources read the outputs of the others.
func inOrder(generators []plan.Generator) (independent, derived []*plan.Generator) {
	var signed []*plan.Generator
	for i := range generators {
		switch m := &generators[i]; {
		case m.Source != nil:
			derived = append(derived, m)
		case m.SignedBy != "":
			signed = append(signed, m)
		default:
			independent = append(independent, m)
		}
	}
	return append(independent, signed...), derived
}

// Items are the generators of one request: for a list, one generator for each item.
type Items struct {
	outcome.Reply

	Generators plan.Generators
	Exports    []plan.Export     // of the input, which read these generators
	Unknown    map[string]string // why not all items of a list are known, by its generator; empty if they are known
}

// Lists are the generators with a list.
type Lists struct {
	Session    *evaluate.Session
	Generators plan.Generators
	Exports    []plan.Export
	Rotating   map[string]bool // the generators with generations
}

// Run makes a generator for each item of each list, in the order of the input and of the keys. If a list,
// or a key in it, is not known, nothing changes for the items that have generations and are not known.
func (x Lists) Run() Items {
	s, generators := x.Session, x.Generators
	if !slices.ContainsFunc(generators, func(m plan.Generator) bool { return m.ForEach != nil }) {
		return Items{Generators: generators, Exports: x.Exports}
	}
	out := Items{Unknown: map[string]string{}}
	var all plan.Generators
	left := limits.AllItems
	for i := range generators {
		m := &generators[i]
		if m.ForEach == nil {
			all = append(all, *m)
			continue
		}
		items, why := s.Items(m.ForEach, "", left)
		left -= len(items)
		known := map[string]bool{}
		for _, item := range items {
			known[item.Key] = true
			all = append(all, m.For(item))
		}
		if out.Unknown[m.Name] = ""; why.Empty() {
			continue
		}
		out.Unknown[m.Name] = "not all of its items are known"
		said := outcome.Of(why, m.String(), "creates nothing for some items", false)
		for _, name := range plan.SortedKeys(x.Rotating) {
			if list, key, ok := plan.SplitItem(name); ok && list == m.Name && !known[key] {
				one := m.For(&observation.Item{Key: key})
				one.Unknown = true
				all, said.State, said.Warn = append(all, one), outcome.Held, true
			}
		}
		out.Report(said)
	}
	out.Generators, out.Exports = all, plan.WithItems(x.Exports, all)
	return out
}

// withItems returns the outputs of generators with one level more for those of lists. The values of unknown say why not
// all items of a list are known.
func withItems(all map[string]observation.Generated, unknown map[string]string) map[string]observation.Generated {
	out := make(map[string]observation.Generated, len(all))
	for list, why := range unknown {
		out[list] = observation.Generated{Items: map[string]observation.Generated{}, Waits: why}
	}
	for name, one := range all {
		list, key, isItem := plan.SplitItem(name)
		switch {
		case !isItem:
			out[name] = one
		case out[list].Items == nil:
			out[list] = observation.Generated{Items: map[string]observation.Generated{key: one}}
		default:
			out[list].Items[key] = one
		}
	}
	return out
}
