package plan

import (
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

	object  wire.Struct
	details observation.Details // its outputs, or its connection details
	listed  bool                // the composite lists it among its resources

	withheld error // why its connection details cannot be used, or nil
}

// id tells the object from another one that had its name.
func (k *kept) id() string {
	if uid := metadataOf(k.object).Get("uid").Text(); uid != "" {
		return uid
	}
	_, _, ns, name := object.Identity(k.object) // of a file
	return ns + "/" + name
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

// splitGenerations splits off the composed resources that are generations, of generators
// in the input or not, as far as labels, annotations and what is exported tell. No
// expression could mean them.
func (r *run) splitGenerations(p *Plan) {
	r.generations = map[string]observation.Resource{}
	for name, res := range r.Observation.Resources {
		if _, _, ok := parseGeneration(name); ok {
			r.generations[name] = res
		}
	}
	if len(r.generations) == 0 {
		return
	}
	exported := map[string]bool{}
	for _, res := range r.Observation.Resources {
		for _, from := range readGenerated(res.Object) {
			exported[from.ID] = true
		}
	}
	maps.DeleteFunc(r.generations, func(name string, res observation.Resource) bool {
		g, _, _ := parseGeneration(name)
		meta := metadataOf(res.Object)
		marked := meta.At("labels", generator.LabelGenerator).Is(g) || meta.At("annotations", generator.LabelGenerator).Is(g)
		return p.maker(g) == nil && !marked && !exported[meta.Get("uid").Text()]
	})
	r.Observation.Resources = maps.Clone(r.Observation.Resources)
	maps.DeleteFunc(r.Observation.Resources, func(name string, _ observation.Resource) bool {
		_, ok := r.generations[name]
		return ok
	})
}

func (p *Plan) maker(name string) *maker {
	i := slices.IndexFunc(p.makers, func(m maker) bool { return m.name == name })
	if i < 0 {
		return nil
	}
	return &p.makers[i]
}

// readGeneration reads its state, and what it gives.
func (r *run) readGeneration(name string, number int, res observation.Resource, listed bool) *kept {
	k := &kept{Record: generator.ReadRecord(texts(metadataOf(res.Object).Get("annotations"))), object: res.Object, listed: listed, withheld: res.Withheld}
	k.Generator, k.Number = name, number
	k.details = maps.Clone(res.Details)
	if apiVersion, kind, _, _ := object.Identity(res.Object); hasData(apiVersion, kind) {
		data, _ := object.DataOf(res.Object) // of an object that no API server returns there is none
		k.details = make(observation.Details, len(data))
		for key, v := range data {
			k.details[key] = v.Reveal()
		}
	}
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
func (r *run) desireGeneration(k *kept) *structpb.Struct {
	base := object.Held(k.object)
	if apiVersion, kind, _, _ := object.Identity(k.object); k.Kind == kindResource || !hasData(apiVersion, kind) {
		base = r.manifestAsMade(k)
	}
	return r.marked(base, k.Record)
}

// marked is an object with the labels and annotations of a generation.
func (r *run) marked(o *structpb.Struct, rec generator.Record) *structpb.Struct {
	meta := maps.Clone(madeMetadata(o))
	labels := texts(wire.OfValue(meta["labels"]))
	labels[generator.LabelGenerator], labels[generator.LabelGeneration] = rec.Generator, fmt.Sprint(rec.Number)
	if uid := r.uid(); uid != "" {
		labels[generator.LabelComposite] = uid
	}
	annotations := texts(wire.OfValue(meta["annotations"]))
	maps.DeleteFunc(annotations, func(k, _ string) bool { return strings.HasPrefix(k, object.StatePrefix) })
	maps.Copy(annotations, rec.Annotations())
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
