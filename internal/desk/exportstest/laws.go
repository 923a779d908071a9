package exportstest

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"google.golang.org/protobuf/types/known/structpb"

	"github.com/crossplane-contrib/function-export/internal/desk/pipeline"
	"github.com/crossplane-contrib/function-export/internal/desk/world"
	"github.com/crossplane-contrib/function-export/internal/engine/plan"
)

// leastOutput is the length from which a part of a value is recognized as an output of a generation.
const leastOutput = 6

// A lawbook checks laws after each write and each time that passes. It recognizes outputs of generations in exported
// values, also as a part of them.
type lawbook struct {
	laws    []law
	exports exports

	generations map[string]*generation     // by composition resource name
	keys        map[string]map[string]bool // that each object ever had
	refused     map[string]time.Time       // since when an object's key has a credential that its provider refuses
	broken      map[string]bool            // what was already said
	mayGo       mayGo
}

// A generation is what laws know about one.
type generation struct {
	generator string
	number    int

	outputs map[string]string // that it ever had
	stored  bool              // it exists, or existed
	gone    bool              // it existed
	excused bool              // someone deleted or edited it
	used    time.Time         // when an export first had its value
}

// generation returns what is known about a generation, or nil for another object.
func (b *lawbook) generation(name string) *generation {
	if generator, n, ok := plan.ParseGeneration(name); ok && b.generations[name] == nil {
		b.generations[name] = &generation{generator: generator, number: n}
	}
	return b.generations[name]
}

// inOrder returns the generations in the order of their numbers.
func (b *lawbook) inOrder() []*generation {
	byNumber := func(a, b *generation) int { return a.number - b.number }
	return slices.SortedFunc(maps.Values(b.generations), byNumber)
}

// mayGo is what may go in the current moment without a loss.
type mayGo struct {
	items bool // of lists, because the composite or the status of a resource has changed
	keys  bool // and exports, because there is another Composition
}

func newLawbook(always []any, p *pipeline.Pipeline) *lawbook {
	b := &lawbook{
		exports: newExports(p), generations: map[string]*generation{}, keys: map[string]map[string]bool{},
		refused: map[string]time.Time{}, broken: map[string]bool{},
	}
	for _, v := range always {
		if l, why := parseLaw(v); why == "" {
			b.laws = append(b.laws, l)
		}
	}
	return b
}

// forget forgets an object that someone deletes or edits. It is not lost by the function.
func (b *lawbook) forget(name string) {
	delete(b.keys, name)
	if g := b.generation(name); g != nil {
		g.stored, g.gone, g.excused = false, false, true
	}
}

// hasSetter reports whether an export reads the candidate of a generator.
func (b *lawbook) hasSetter(generator string) bool {
	for _, keys := range b.exports {
		for _, text := range keys {
			if strings.Contains(text, "candidate."+generator) {
				return true
			}
		}
	}
	return false
}

// A holding is a value of an export, with the generations that it contains. Generations can share an output, such as
// the certificate of their CA, so a law is broken only if none of them keeps it.
type holding struct {
	object, key, value, expression string
	generations                    map[string][]*generation // by generator, in their order
}

// consumes reports whether a value is meant to be from the current generation of a generator.
func (h holding) consumes(generator string) bool {
	return strings.Contains(h.expression, "generated."+generator) &&
		!strings.Contains(h.expression, "previous.") && !strings.Contains(h.expression, "candidate.")
}

// check checks all laws.
func (b *lawbook) check(p *player) {
	objects := map[string]*structpb.Struct{}
	for name, key := range p.named() {
		if o := p.w.Stored[key]; world.Meta(o, "deletionTimestamp") == "" {
			objects[name] = o
		}
	}
	deleted := b.learn(p, objects)
	holdings := b.holdings(objects)
	if b.mayGo.keys {
		clear(b.keys)
	}
	for _, l := range b.laws {
		say := func(about, format string, args ...any) {
			if key := l.name + about; !b.broken[key] {
				b.broken[key] = true
				p.fail("", "the law %s is broken at %s: %s", l.name, p.w.Now.UTC().Format(time.RFC3339),
					fmt.Sprintf(format, args...))
				p.failures[len(p.failures)-1].law = key
			}
		}
		switch l.name {
		case noLostValue:
			b.checkLost(objects, holdings, say)
		case storedBeforeExport:
			b.checkEach(holdings, func(g *generation) bool { return g.stored || g.excused },
				"%s has %s of generation %d of %s, which is not stored", say)
		case neverHalf:
			b.checkWhole(holdings, say)
		case overlap:
			b.checkOverlap(l, p.w.Now, deleted, say)
		case refusedAtMost:
			b.checkRefused(l, p, holdings, say)
		}
	}
	b.remember(p.w.Now, holdings)
}

// remember keeps what the laws compare later: the keys that exist, and when an export first had a generation.
func (b *lawbook) remember(now time.Time, holdings []holding) {
	for _, h := range holdings {
		if b.keys[h.object] == nil {
			b.keys[h.object] = map[string]bool{}
		}
		b.keys[h.object][h.key] = true
		for generator, contained := range h.generations {
			for _, g := range contained {
				if h.consumes(generator) && g.used.IsZero() {
					g.used = now
				}
			}
		}
	}
}

// learn reads the generations that exist. It returns those that no longer exist.
func (b *lawbook) learn(p *player, objects map[string]*structpb.Struct) (deleted []*generation) {
	exist := map[*generation]bool{}
	remember := func(name string, values map[string]string, isStored bool) {
		g := b.generation(name)
		if g == nil {
			return
		}
		exist[g] = exist[g] || isStored // its provider may report no values any more
		if len(values) > 0 {
			g.outputs, g.stored = values, g.stored || isStored
			g.gone = g.gone && !isStored
		}
	}
	for name, r := range p.w.Response.GetDesired().GetResources() {
		if objects[name] == nil && strings.HasPrefix(name, plan.GenerationPrefix) {
			remember(name, pipeline.DataOf(r.GetResource()), false)
		}
	}
	for name, o := range objects {
		values := pipeline.DataOf(o)
		for k, v := range p.w.Details[world.KeyOf(o)] {
			values[k] = string(v)
		}
		remember(name, values, true)
	}
	for _, g := range b.generations {
		if g.stored && !g.gone && !exist[g] {
			g.gone = true
			deleted = append(deleted, g)
		}
	}
	return deleted
}

// holdings returns the values of all exports, in order.
func (b *lawbook) holdings(objects map[string]*structpb.Struct) (out []holding) {
	generations := b.inOrder()
	for _, name := range slices.Sorted(maps.Keys(objects)) {
		if b.exports[exportOf(name)] == nil {
			continue
		}
		data := pipeline.DataOf(objects[name])
		for _, key := range slices.Sorted(maps.Keys(data)) {
			h := holding{name, key, data[key], b.exports.expression(name, key), map[string][]*generation{}}
			for _, g := range generations {
				if g.isIn(h.value) {
					h.generations[g.generator] = append(h.generations[g.generator], g)
				}
			}
			out = append(out, h)
		}
	}
	return out
}

// isIn reports whether an output of the generation is a part of a value.
func (g *generation) isIn(value string) bool {
	for _, text := range g.outputs {
		if len(text) >= leastOutput && strings.Contains(value, text) {
			return true
		}
	}
	return false
}

type sayer func(about, format string, args ...any)

func (b *lawbook) checkLost(objects map[string]*structpb.Struct, holdings []holding, say sayer) {
	for _, name := range slices.Sorted(maps.Keys(b.keys)) {
		if objects[name] == nil && strings.Contains(name, "/") && b.mayGo.items {
			b.forget(name)
		}
		has := map[string]bool{}
		for _, h := range holdings {
			has[h.key] = has[h.key] || h.object == name
		}
		for _, key := range slices.Sorted(maps.Keys(b.keys[name])) {
			switch former := strings.Contains(b.exports.expression(name, key), "previous"); {
			case objects[name] == nil:
				say(name, "the object of %s is deleted", name)
			case objects[name] != nil && !has[key] && !former:
				say(name+"."+key, "%s loses the key %s", name, key)
			}
		}
	}
	former := func(h holding) bool { return strings.Contains(h.expression, "previous.") } // it leaves with its generation
	b.checkEach(slices.DeleteFunc(slices.Clone(holdings), former), func(g *generation) bool { return !g.gone },
		"%s still has %s of generation %d of %s, which is deleted", say)
}

// checkEach says which values only generations have that are not as they must be.
func (b *lawbook) checkEach(holdings []holding, is func(g *generation) bool, text string, say sayer) {
	for _, h := range holdings {
		for generator, contained := range h.generations {
			if last := contained[len(contained)-1]; !slices.ContainsFunc(contained, is) {
				say(h.object+"."+h.key+generator, text, h.object, h.key, last.number, generator)
			}
		}
	}
}

func (b *lawbook) checkWhole(holdings []holding, say sayer) {
	type of struct{ object, generator string }
	first := map[of]holding{}
	for _, h := range holdings {
		for generator, contained := range h.generations {
			if strings.Contains(h.expression, "previous.") {
				continue
			}
			at := of{h.object, generator}
			other, known := first[at]
			if !known {
				first[at] = h
				continue
			}
			others := other.generations[generator]
			if !slices.ContainsFunc(contained, func(g *generation) bool { return slices.Contains(others, g) }) {
				say(h.object+generator, "%s has %s of generation %d of %s, but %s of generation %d", h.object, other.key,
					others[len(others)-1].number, generator, h.key, contained[len(contained)-1].number)
			}
		}
	}
}

func (b *lawbook) checkOverlap(l law, now time.Time, deleted []*generation, say sayer) {
	for _, g := range deleted {
		var since time.Time
		for _, newer := range b.generations {
			if newer.generator == l.generator && newer.number > g.number {
				since = earlier(newer.used, since)
			}
		}
		lasted := now.Sub(since)
		if g.generator == l.generator && !g.used.IsZero() && !since.IsZero() && lasted < l.limit {
			say(strconv.Itoa(g.number), "generation %d of %s is deleted %s after an export had a newer one, and not after at "+
				"least %s", g.number, l.generator, lasted.Round(time.Second), l.limit)
		}
	}
}

func (b *lawbook) checkRefused(l law, p *player, holdings []holding, say sayer) {
	if p.faults.paused { // nothing can be exported
		clear(b.refused)
		return
	}
	for _, v := range p.faults.providers {
		for _, h := range holdings {
			key, contained := h.object+"."+h.key, h.generations[v.generator]
			if !h.consumes(v.generator) || len(contained) == 0 || v.accepted == "" {
				continue
			}
			if contained[len(contained)-1].outputs[v.output] == v.accepted {
				delete(b.refused, key)
				continue
			}
			since, known := b.refused[key]
			if !known {
				b.refused[key] = p.w.Now
			} else if lasted := p.w.Now.Sub(since); lasted > l.limit {
				say(key, "%s has a %s that %s refuses, since %s", h.object, h.key, v.Resource, lasted.Round(time.Second))
			}
		}
	}
}
