package plan

import (
	"slices"
	"time"

	"google.golang.org/protobuf/types/known/structpb"

	"github.com/crossplane-contrib/function-export/internal/generator"
)

// note the state of a generator for later steps: latest is the generation in use, and
// pending the next one. A step that refers to latest by its name leaves its resource out
// while there is none, and Crossplane deletes that resource. So latest stays, also while the
// generation is gone, until another one is in use.
func (g *generating) note(name, input string, step generator.Step) {
	fields := map[string]*structpb.Value{}
	if input != "" {
		fields["input"] = structpb.NewStringValue(input)
	}
	gc := map[string]*structpb.Value{}
	for _, k := range g.have[name] {
		i := slices.IndexFunc(step.Keep, func(o generator.Generation) bool { return o.Number == k.Number })
		switch {
		case i < 0:
		case k.Number == step.Current:
			fields["latest"] = noted(k, step.Keep[i])
		case k.Number == step.Pending:
			fields["pending"] = noted(k, step.Keep[i])
		default:
			gc[k.Key()] = noted(k, step.Keep[i])
		}
	}
	if len(gc) > 0 {
		fields["gc"] = structpb.NewStructValue(&structpb.Struct{Fields: gc})
	}
	if fields["latest"] == nil && input != "" {
		if ref := g.lastKnown(name); ref.Name != "" {
			fields["latest"] = notedReference(name, ref)
		}
	}
	if g.out.GeneratorState == nil {
		g.out.GeneratorState = map[string]*structpb.Value{}
	}
	g.out.GeneratorState[name] = structpb.NewStructValue(&structpb.Struct{Fields: fields})
}

// lastKnown is the generation that was in use last, while none is: the one that exports
// recorded, or one that lost its state, or the one that a later generation follows, or the
// one that the composite still lists. A generator with a new name has that of the generator
// whose place it takes.
func (g *generating) lastKnown(name string) generator.Reference {
	if ref := g.records[name].highest(); ref.Name != "" {
		return ref
	}
	var out generator.Reference
	later := func(ref generator.Reference) {
		if ref.Generation > out.Generation {
			out = ref
		}
	}
	for _, k := range g.proven[name] {
		if k.lost || k.Adopted {
			later(k.reference())
		}
		for _, f := range k.Follows {
			later(f.Reference)
		}
	}
	if m := g.plan.maker(name); m != nil && out.Name == "" {
		later(g.listedReference(m))
	}
	if out.Name == "" {
		return g.replacedBy(name)
	}
	return out
}

// listedReference is the generation with the highest number that the composite lists.
func (g *generating) listedReference(m *maker) (out generator.Reference) {
	t := g.target(m)
	for number, name := range g.listedNumbers(m) {
		if number > out.Generation && !g.seen[generationName(m.name, number)] {
			out = generator.Reference{Generation: number, APIVersion: t.apiVersion, Kind: t.kind, Namespace: t.namespace, Name: name}
		}
	}
	return out
}

// replacedBy is the generation in use of the generator whose place this one takes: the only
// one that left the input, while this is the only new one. It is kept meanwhile.
func (g *generating) replacedBy(name string) (out generator.Reference) {
	var left, added []string
	for other := range g.have {
		if g.plan.maker(other) == nil && len(g.proven[other]) > 0 {
			left = append(left, other)
		}
	}
	for i := range g.plan.makers {
		if m := &g.plan.makers[i]; m.totp == nil && g.current[m.name] == nil {
			added = append(added, m.name)
		}
	}
	if len(left) != 1 || len(added) != 1 || added[0] != name {
		return out
	}
	for _, k := range g.proven[left[0]] {
		if ref := k.reference(); k.Adopted && ref.Generation > out.Generation {
			out = ref
			g.replaced = k
		}
	}
	return out
}

// noted are the names, hashes and times of a generation.
func noted(k *kept, now generator.Generation) *structpb.Value {
	ref := k.reference()
	out := notedReference(k.Generator, ref)
	fields := out.GetStructValue().GetFields()
	putText(fields, "resourceName", k.composed)
	putText(fields, "generatedAt", timeText(now.Made))
	putText(fields, "specHash", now.SpecHash)
	putText(fields, "keepersHash", now.KeepersHash)
	putText(fields, "flaggedForGCTime", timeText(now.Flagged))
	return out
}

func notedReference(name string, ref generator.Reference) *structpb.Value {
	fields := map[string]*structpb.Value{"generation": structpb.NewNumberValue(float64(ref.Generation))}
	putText(fields, "apiVersion", ref.APIVersion)
	putText(fields, "kind", ref.Kind)
	putText(fields, "namespace", ref.Namespace)
	putText(fields, "name", ref.Name)
	putText(fields, "resourceName", generationName(name, ref.Generation))
	return structpb.NewStructValue(&structpb.Struct{Fields: fields})
}

func putText(fields map[string]*structpb.Value, key, text string) {
	if text != "" {
		fields[key] = structpb.NewStringValue(text)
	}
}

func timeText(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(time.RFC3339)
}
