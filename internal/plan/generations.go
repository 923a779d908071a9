package plan

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"google.golang.org/protobuf/types/known/structpb"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/crossplane-contrib/function-export/internal/generator"
	"github.com/crossplane-contrib/function-export/internal/object"
	"github.com/crossplane-contrib/function-export/internal/observation"
	"github.com/crossplane-contrib/function-export/internal/sensitive"
	"github.com/crossplane-contrib/function-export/internal/wire"
)

// kept is a generation that is there.
type kept struct {
	generator.Record

	object   wire.Struct
	details  observation.Details // its outputs, or its connection details
	composed string              // composition resource name
	listed   bool                // the composite lists it among its resources
	lost     bool                // somebody else changed its state
	dropped  bool                // in this step
	unstored bool                // it is given before it is stored, and has no UID to record
	madeFrom string              // the hash of what it was made from, as it says
	withheld error               // why its connection details cannot be used, or nil
}

// id tells the object from another one that had its name.
func (k *kept) id() string {
	if uid := metadataOf(k.object).Get("uid").Text(); uid != "" {
		return uid
	}
	_, _, ns, name := object.Identity(k.object) // of a file
	return ns + "/" + name
}

// reference to the generation, by which it is known when it is gone.
func (k *kept) reference() generator.Reference {
	out := generator.Reference{Generation: k.Number, UID: k.id()}
	out.APIVersion, out.Kind, out.Namespace, out.Name = object.Identity(k.object)
	return out
}

// outputs as a generator made them.
func (k *kept) outputs() generator.Outputs {
	out := make(generator.Outputs, len(k.details))
	for key, v := range k.details {
		out[key] = sensitive.New(v)
	}
	return out
}

func metadataOf(o wire.Struct) wire.Struct { return o.Get("metadata").Struct() }

// madeMetadata is that of an object that is made here.
func madeMetadata(o *structpb.Struct) map[string]*structpb.Value {
	return o.GetFields()["metadata"].GetStructValue().GetFields()
}

// isDeleted reports whether an object is on its way out: what it holds may be revoked.
func isDeleted(o wire.Struct) bool {
	return metadataOf(o).Get("deletionTimestamp").Text() != ""
}

// splitGenerations splits off the composed resources that look like generations, of
// generators in the input or not. No expression could mean them.
func (r *run) splitGenerations(p *Plan) {
	r.records = r.readRecords()
	r.generations = map[string]identified{}
	for name, res := range r.Observation.Resources {
		if id, ok := r.identify(p, name, res); ok {
			r.generations[name] = id
		}
	}
	if len(r.generations) == 0 {
		return
	}
	r.Observation.Resources = maps.Clone(r.Observation.Resources)
	maps.DeleteFunc(r.Observation.Resources, func(name string, _ observation.Resource) bool {
		_, ok := r.generations[name]
		return ok
	})
}

// recordedAs is the generation that exports recorded under a UID.
func (r *run) recordedAs(uid string) (identified, bool) {
	if uid == "" {
		return identified{}, false
	}
	for _, name := range sortedKeys(r.records) {
		ref, ok := r.records[name].used[uid]
		if !ok {
			ref, ok = r.records[name].former[uid]
		}
		if ok {
			return identified{generator: name, number: ref.Generation}, true
		}
	}
	return identified{}, false
}

// An identified is a composed resource that looks like a generation.
type identified struct {
	observation.Resource

	generator string
	number    int
}

// identify the generation that a composed resource is. Its UID says so, if an export
// recorded it, or else the object's own name: people can change all of its annotations, also
// the one with the composition resource name. What else there is must be marked as one.
func (r *run) identify(p *Plan, composed string, res observation.Resource) (identified, bool) {
	meta := metadataOf(res.Object)
	uid := meta.Get("uid").Text()
	if by, ok := r.recordedAs(uid); ok {
		return identified{res, by.generator, by.number}, true
	}
	_, _, isGeneration := parseGeneration(composed)
	_, desired := r.Desired[composed]
	for i := range p.makers {
		m := &p.makers[i]
		number, ok := r.defaultNumber(m, res.Object)
		if marked := isGeneration || meta.At("labels", generator.LabelGenerator).Is(m.name) || meta.At("annotations", generator.LabelGenerator).Is(m.name); ok && (marked || !desired && r.immutable(res.Object)) {
			return identified{res, m.name, number}, true
		}
	}
	if name, number, ok := sealedGeneration(res.Object); ok {
		return identified{res, name, number}, true
	}
	name, number, ok := parseGeneration(composed)
	if !ok {
		return identified{}, false
	}
	marked := meta.At("labels", generator.LabelGenerator).Is(name) || meta.At("annotations", generator.LabelGenerator).Is(name)
	return identified{res, name, number}, p.maker(name) != nil || marked
}

// sealedGeneration is the generation that a Secret says it is, if its seal fits.
func sealedGeneration(o wire.Struct) (name string, number int, ok bool) {
	annotations := texts(metadataOf(o).Get("annotations"))
	if apiVersion, kind, _, _ := object.Identity(o); !hasData(apiVersion, kind) || annotations[generator.LabelGenerator] == "" {
		return "", 0, false
	}
	data, err := object.DataOf(o)
	if err != nil || !generator.Sealed(data, annotations) {
		return "", 0, false
	}
	return parseGeneration(generationPrefix + annotations[generator.LabelGenerator] + "/" + annotations[generator.LabelGeneration])
}

// immutable reports whether an object is one that this composite controls and nobody can
// change.
func (r *run) immutable(o wire.Struct) bool {
	_, own := r.owned(o)
	return own && object.IsImmutable(o)
}

func (p *Plan) maker(name string) *maker {
	i := slices.IndexFunc(p.makers, func(m maker) bool { return m.name == name })
	if i < 0 {
		return nil
	}
	return &p.makers[i]
}

// readGeneration reads its state, and what it gives. State that its seal does not fit is
// lost: somebody else changed it.
func (r *run) readGeneration(name string, number int, res observation.Resource, listed bool) *kept {
	annotations := texts(metadataOf(res.Object).Get("annotations"))
	k := &kept{Record: generator.ReadRecord(annotations), object: res.Object, listed: listed, composed: generationName(name, number), withheld: res.Withheld}
	k.details = maps.Clone(res.Details)
	if apiVersion, kind, _, _ := object.Identity(res.Object); hasData(apiVersion, kind) {
		data, _ := object.DataOf(res.Object) // of an object that no API server returns there is none
		k.details = make(observation.Details, len(data))
		for key, v := range data {
			k.details[key] = v.Reveal()
		}
		if k.Kind != kindResource && !generator.Sealed(data, annotations) {
			k.Record, k.lost = generator.Record{}, true
		}
	}
	k.Generator, k.Number, k.Unlisted = name, number, !listed
	k.lost, k.madeFrom = k.lost || k.Made.IsZero(), k.SpecHash
	return k
}

// owned reports whether an object is this composite's, and under which composition
// resource name.
func (r *run) owned(o wire.Struct) (composed string, ok bool) {
	uid, _, _, controlled := object.ControllerOf(o)
	return object.CompositionResourceName(o), controlled && uid == r.uid() && uid != ""
}

// salt of hashes is what the composite is called: it stays if the composite is restored
// from a backup, or if its API has another version.
func (r *run) salt() string {
	apiVersion, kind, ns, name := object.Identity(r.Observation.Composite.Object)
	group, _, _ := strings.Cut(apiVersion, "/")
	return strings.Join([]string{group, kind, ns, name}, "/")
}

func (r *run) uid() string { return metadataOf(r.Observation.Composite.Object).Get("uid").Text() }

// elsewhere reports whether another step of the pipeline has the generator.
func (g *generating) elsewhere(name string) bool {
	return g.plan.maker(name) == nil && g.Elsewhere[name]
}

// desireGeneration is a generation with its state. What it was made from stays as it was.
func (g *generating) desireGeneration(ctx context.Context, k *kept) *structpb.Struct {
	base := object.Held(k.object)
	if apiVersion, kind, _, _ := object.Identity(k.object); k.Kind == kindResource || !hasData(apiVersion, kind) {
		return g.marked(g.manifestAsMade(ctx, k), k.Record, nil)
	}
	return g.marked(base, k.Record, k.outputs())
}

// asObserved is a generation exactly as it was observed.
func (g *generating) asObserved(ctx context.Context, k *kept) *structpb.Struct {
	if held := object.Held(k.object); held != nil {
		return held
	}
	return g.manifestAsMade(ctx, k)
}

// marked is an object with the labels and annotations of a generation. They are sealed if
// there is data to do that with.
func (r *run) marked(o *structpb.Struct, rec generator.Record, data generator.Outputs) *structpb.Struct {
	meta := maps.Clone(madeMetadata(o))
	labels := texts(wire.OfValue(meta["labels"]))
	labels[generator.LabelGenerator], labels[generator.LabelGeneration] = rec.Generator, fmt.Sprint(rec.Number)
	annotations := texts(wire.OfValue(meta["annotations"]))
	maps.DeleteFunc(annotations, func(k, _ string) bool { return strings.HasPrefix(k, object.StatePrefix) })
	maps.Copy(annotations, rec.Annotations())
	if len(data) > 0 {
		annotations[generator.AnnotationSeal] = generator.Seal(data, annotations)
	}
	meta["labels"], meta["annotations"] = textsValue(labels), textsValue(annotations)
	out := &structpb.Struct{Fields: maps.Clone(o.GetFields())}
	out.Fields["metadata"] = structpb.NewStructValue(&structpb.Struct{Fields: meta})
	return out
}

func textsValue(m map[string]string) *structpb.Value {
	out := &structpb.Struct{Fields: make(map[string]*structpb.Value, len(m))}
	for k, v := range m {
		out.Fields[k] = structpb.NewStringValue(v)
	}
	return structpb.NewStructValue(out)
}

// generatorFaults are those that only show with a composite and a pipeline at hand.
func (r *run) generatorFaults(p *Plan, fault func(at *field.Path, format string, args ...any)) {
	for i := range p.makers {
		m := &p.makers[i]
		if r.Elsewhere[m.name] {
			fault(m.path.Child("name"), "an earlier step of the pipeline has a generator %q, too: rename one of them", m.name)
		}
		at, ns := m.path.Child("namespace"), m.namespace
		if m.manifest != nil {
			at, ns = m.path.Child(kindResource, "manifest", "metadata", "namespace"), m.manifest.namespace
		}
		switch {
		case m.compute != nil && ns == "" && r.namespace == "":
			fault(at, "must be set: the composite is cluster scoped and has no claim")
		case ns != "" && !r.cluster && ns != r.namespace:
			fault(at, "is %q, but a composite in namespace %q composes into its own only: leave it out", ns, r.namespace)
		}
	}
}
