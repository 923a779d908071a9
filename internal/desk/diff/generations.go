package diff

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"google.golang.org/protobuf/types/known/structpb"

	"github.com/crossplane-contrib/function-export/input/v1beta1"
	"github.com/crossplane-contrib/function-export/internal/desk/exportstest"
	"github.com/crossplane-contrib/function-export/internal/desk/pipeline"
	"github.com/crossplane-contrib/function-export/internal/desk/state"
	"github.com/crossplane-contrib/function-export/internal/desk/world"
	"github.com/crossplane-contrib/function-export/internal/engine/plan"
	"github.com/crossplane-contrib/function-export/internal/engine/rotation"
	"github.com/crossplane-contrib/function-export/internal/engine/seal"
	"github.com/crossplane-contrib/function-export/internal/engine/wire"
)

// generator returns the section of a generator, or nil. An item has the generator of its list.
func (p *Pipeline) generator(name string) map[string]any {
	list, _, _ := strings.Cut(name, "/")
	return p.Generators()[list]
}

// A generation is an observed or composed generation.
type generation struct {
	generator string
	number    int
	ref       state.Ref
	state     rotation.State
}

// Ends returns when a generation is deleted, or nothing if that is not decided yet.
func Ends(s rotation.State) string {
	if s.Since.IsZero() {
		return ""
	}
	return s.Since.Add(s.Grace.Duration).UTC().Format(time.RFC3339)
}

// generations returns the generations of a side, by key.
func (s *side) generations() map[string]generation {
	out := map[string]generation{}
	for key, o := range s.own {
		if name, number, ok := plan.ParseGeneration(pipeline.NameOf(o)); ok {
			read, _ := seal.ReadState(wire.Of(o))
			out[key] = generation{name, number, state.RefOf(o), read.State}
		}
	}
	return out
}

// latest returns the highest generation of a generator that is not abandoned, or zero.
func (s *side) latest(generator string) int {
	n := 0
	for _, g := range s.generations() {
		if g.generator == generator && g.state.Stage != rotation.Abandoned {
			n = max(n, g.number)
		}
	}
	return n
}

// generations compares the generations of all generators.
func (d *comparison) generations() {
	was, is := d.before.generations(), d.after.generations()
	for _, key := range names(was, is) {
		g, exists := is[key]
		before, existed := was[key]
		switch {
		case !exists && d.existed(key):
			d.deleted(before)
		case !exists:
		case !existed && d.first.Stored[key] == nil:
			d.created(g)
		case !existed || before.state.Stage == g.state.Stage:
		case g.state.Stage == rotation.Retired:
			d.add(d.ofGeneration(Retires, g, Ends(g.state), "the generator left the input"+g.deletedAt()))
		case g.state.Stage == rotation.Abandoned:
			d.add(d.ofGeneration(Abandons, g, Ends(g.state), "it is not used anymore"+g.deletedAt()))
		}
	}
}

// deleted adds a generation that is deleted.
func (d *comparison) deleted(g generation) {
	reason := "its grace period is over"
	if len(d.after.pipeline.Exports()) == 0 {
		reason = "no step composes it anymore"
	} else if d.after.pipeline.generator(g.generator) == nil {
		d.add(d.ofGeneration(Retires, g, "", "the generator left the input, and has no grace period"))
	}
	d.add(d.ofGeneration(ObjectDeleted, g, "", reason))
}

// deletedAt says when the object is deleted, as the end of a sentence.
func (g generation) deletedAt() string {
	if Ends(g.state) == "" {
		return ""
	}
	return ", and it is deleted at " + Ends(g.state)
}

func (d *comparison) ofGeneration(kind Kind, g generation, at, reason string) Effect {
	out := Effect{Kind: kind, Object: &g.ref, Generator: g.generator, Generation: g.number, At: at, Reason: reason}
	if d.before.unknown.isReplayed() { // the number is not known
		out.Generation, out.Object = 0, nil
	}
	return out
}

// created adds a new generation: the first one of a generator, or a rotation.
func (d *comparison) created(g generation) {
	if d.before.latest(g.generator) == 0 {
		d.add(d.ofGeneration(ObjectCreated, g, "", "the first generation"))
		return
	}
	reason := d.why(g.generator)
	for _, before := range d.after.generations() {
		if before.generator == g.generator && before.state.Stage == rotation.Previous && Ends(before.state) != "" {
			reason += fmt.Sprintf("; generation %d is kept until %s", before.number, Ends(before.state))
		}
	}
	d.add(d.ofGeneration(Rotates, g, "", reason))
}

// why returns which fields of a generator differ, with short literal values, and its policy.
func (d *comparison) why(name string) string {
	is := d.after.pipeline.generator(name)
	policy, _ := is["refreshPolicy"].(string)
	policy = fmt.Sprintf(" (refreshPolicy %s)", cmp.Or(policy, string(v1beta1.CreatedOnce)))
	if d.before.pipeline == nil {
		return "it was created with another input, or is due" + policy
	}
	if changes := changedFields(d.before.pipeline.generator(name), is); len(changes) > 0 {
		return strings.Join(changes, ", ") + policy
	}
	return "what its expressions return changes" + policy
}

// longest is the length of two literals that are shown.
const longest = 48

// changedFields returns the fields that differ in two sections of the input, as in "length 24 → 32".
func changedFields(a, b map[string]any) (out []string) {
	was, is := world.StructOf(a), world.StructOf(b)
	for _, path := range changedPaths("", structpb.NewStructValue(was), structpb.NewStructValue(is)) {
		fields := strings.Split(path, ".")[1:]
		name, from, to := fields[len(fields)-1], literal(was, fields), literal(is, fields)
		if len(from)+len(to) > longest {
			out = append(out, name+" changes")
			continue
		}
		out = append(out, fmt.Sprintf("%s %s → %s", name, from, to))
	}
	return out
}

// literal returns a value of the input as JSON, without quotes around a text.
func literal(section *structpb.Struct, path []string) string {
	v := wire.Of(section).At(path...).Proto()
	if v == nil {
		return "none"
	}
	return strings.Trim(exportstest.Inline(v.AsInterface()), `"`)
}

// farthest is how far ahead the next rotation is searched. A later one does not matter.
const farthest = 10 * 365 * 24 * time.Hour

// laterRotations returns the rotations that start at another time than now, because the time at which they are due
// changes. It continues both ends.
func (d *comparison) laterRotations(ctx context.Context) ([]Effect, error) {
	if d.before.pipeline == nil {
		return nil, nil
	}
	var out []Effect
	searched := map[string]bool{}
	was, is := d.before.pipeline.Generators(), d.after.pipeline.Generators()
	for name := range is {
		isChanged := was[name] != nil && len(changedFields(was[name], is[name])) > 0
		if !isChanged || d.before.latest(name) != d.after.latest(name) {
			continue
		}
		if lacks := d.ageless(name); lacks != "" {
			reason := "when it rotates cannot be known without " + lacks
			out = append(out, Effect{Kind: Unknown, Generator: name, Reason: reason})
			continue
		}
		searched[name] = true
	}
	before, err := d.before.NextRotations(ctx, searched, farthest)
	if err != nil {
		return nil, err
	}
	after, err := d.after.NextRotations(ctx, searched, farthest)
	for name, e := range after {
		reason := d.why(name)
		if former, known := before[name]; known {
			if e.At.Sub(former.At).Abs() < time.Minute {
				continue
			}
			reason += "; in use: at " + former.At.Format(time.RFC3339)
		}
		g := generation{generator: name, number: e.Generation, ref: e.Object}
		out = append(out, d.ofGeneration(Rotates, g, e.At.Format(time.RFC3339), reason))
	}
	return out, err
}

// ageless returns a generation in use whose age is not known, or nothing.
func (d *comparison) ageless(name string) string {
	for _, g := range d.before.generations() {
		if g.generator == name && d.before.unknown.own[g.ref] && !d.before.unknown.aged[g.ref] {
			return g.ref.String()
		}
	}
	return ""
}

// NextRotations continues until each of some generators has another generation, and returns these. A generator that
// time alone does not rotate has none.
func (e *End) NextRotations(ctx context.Context, of map[string]bool, within time.Duration) (map[string]Event, error) {
	out := map[string]Event{}
	if len(of) == 0 {
		return out, nil
	}
	_, _, err := e.Forecast(ctx, e.Now.Add(within), func(e Event) bool {
		if _, again := out[e.Generator]; e.Kind == Rotates && of[e.Generator] && !again {
			out[e.Generator] = e
		}
		return len(out) == len(of)
	})
	return out, err
}
