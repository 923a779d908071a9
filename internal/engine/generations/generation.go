package generations

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"google.golang.org/protobuf/types/known/structpb"

	"github.com/crossplane-contrib/function-export/internal/engine/composite"
	"github.com/crossplane-contrib/function-export/internal/engine/credential"
	"github.com/crossplane-contrib/function-export/internal/engine/lookup"
	"github.com/crossplane-contrib/function-export/internal/engine/object"
	"github.com/crossplane-contrib/function-export/internal/engine/observation"
	"github.com/crossplane-contrib/function-export/internal/engine/plan"
	"github.com/crossplane-contrib/function-export/internal/engine/rotation"
	"github.com/crossplane-contrib/function-export/internal/engine/seal"
	"github.com/crossplane-contrib/function-export/internal/engine/sensitive"
	"github.com/crossplane-contrib/function-export/internal/engine/wire"
)

// A generation is an observed object that looks like a generation. The rotation decides whether it counts as one. Its
// state is one annotation, sealed with its data. One that does not fit is lost.
type generation struct {
	rotation.Generation

	generator string // its name, for an item <generator>/<key>
	object    wire.Struct
	details   observation.Details // its outputs, or its connection details
	data      credential.Outputs  // the same, and the salt of a derived generation
	codes     []string            // in its state: each is keyed with the data of a generation that it follows
	resource  []byte              // in its state: what it was made from, as JSON
	composed  string              // the composition resource name under which Crossplane shows it, or empty
	withheld  error               // why its connection details cannot be used, or nil
}

// readGeneration reads the state and the outputs of an object. The generator is nil if the input does not have it.
func readGeneration(m *plan.Generator, name string, number int, res observation.Resource) *generation {
	k := &generation{generator: name, object: res.Object, withheld: res.Withheld}
	k.Number, k.UID, k.Created = number, idOf(res.Object), createdAt(res.Object)
	k.APIVersion, k.Kind, k.Namespace, k.Name = object.Identity(res.Object)
	data := credential.Outputs{}
	for key, v := range res.Details {
		data[key] = sensitive.Own(v)
	}
	if plan.HasData(k.APIVersion, k.Kind) {
		data, _ = object.DataOf(res.Object) // an API server returns no invalid object
	}
	k.setOutputs(data)
	k.Coded = isCoded(m, res.Object)
	s, text := seal.ReadState(res.Object)
	fits := s.Generator == name && s.Number == number && s.State.Stage != rotation.Lost
	if k.Coded {
		fits = fits && object.IsImmutable(res.Object) && len(k.details) > 0 &&
			seal.Fits(rotation.AnnotationState, k.data, text)
	}
	if fits {
		k.Intact, k.State, k.codes, k.resource = true, s.State, s.Codes, s.Resource
	}
	return k
}

// isCoded reports whether a generation must have codes: the function computed it, now or when its generator was another
// one.
func isCoded(m *plan.Generator, o wire.Struct) bool {
	if m != nil && m.Object() == (plan.Kind{APIVersion: "v1", Kind: string(object.Secret)}) {
		return object.IsSecret(o) && m.Computed != nil
	}
	return object.IsSecret(o) && object.IsImmutable(o)
}

// isComputed reports whether the function computed the outputs, now or when its generator was another one.
func (k *generation) isComputed() bool {
	kind := k.State.Origin.Kind
	return k.Coded || kind != "" && kind != plan.KindResource
}

// createdAt returns when an object was created, or zero if that is unknown.
func createdAt(o wire.Struct) time.Time {
	at, _ := time.Parse(time.RFC3339, plan.MetadataOf(o).Get("creationTimestamp").Text())
	return at.UTC()
}

// setOutputs sets the outputs from the whole data of a generation.
func (k *generation) setOutputs(data credential.Outputs) {
	k.data, k.details = data, lookup.Revealed(data)
	delete(k.details, credential.SaltKey)
}

// follow finds the former generations whose values key a code of this one. A whole object is immutable, and controlled
// by the composite.
func (k *generation) follow(formers []*generation) {
	k.Follows = nil
	for _, former := range formers {
		if former.Number >= k.Number || len(k.codes) == 0 {
			continue
		}
		code := seal.NextCode(former.data, k.Number, k.data)
		if slices.ContainsFunc(k.codes, func(c string) bool { return seal.Equal(c, code) }) {
			k.Follows = append(k.Follows, former.UID)
		}
	}
}

// marked returns an object with the state of the generation, and with labels, which are for people.
func (k *generation) marked(o *structpb.Struct) *structpb.Struct {
	meta := object.Metadata(o)
	labels := plan.Texts(wire.OfValue(meta["labels"]))
	name, key, isItem := strings.Cut(k.generator, "/")
	labels[rotation.LabelGenerator], labels[rotation.LabelGeneration] = name, strconv.Itoa(k.Number)
	if isItem {
		labels[rotation.LabelKey] = key
	}
	annotations := plan.Texts(wire.OfValue(meta["annotations"]))
	maps.DeleteFunc(annotations, func(name, _ string) bool { return strings.HasPrefix(name, object.StatePrefix) })
	var data credential.Outputs
	if k.Coded {
		data = k.data
	}
	state := seal.GenerationState{
		Generator: k.generator, Number: k.Number, Resource: k.resource, State: k.State, Codes: k.codes,
	}
	annotations[rotation.AnnotationState] = state.Text(data)
	return object.WithMetadata(o, map[string]*structpb.Value{
		"labels": object.Texts(labels), "annotations": object.Texts(annotations),
	})
}

// String names the generation.
func (k *generation) String() string {
	return fmt.Sprintf("generation %d of generator %q", k.Number, k.generator)
}

// A Split has the composed resources of a request, by their purpose. Expressions cannot read generations, and
// only those of the composite author can read the author's objects.
//
// The purpose of an object is read from what only this function can write: the UID that an export recorded, a seal, or
// the object's own name. All other annotations can be changed, including the one with the composition resource name.
type Split struct {
	Splitter

	Resources   map[string]observation.Resource // that expressions see
	Authors     map[string]observation.Resource // the composite author's
	Generations map[string]Identified           // resources that look like a generation
	Rotating    map[string]bool                 // the generators with generations: observed ones, or recorded by exports
}

// An Identified is a composed resource that looks like a generation.
type Identified struct {
	observation.Resource

	Generator string
	Number    int

	// Claimed is set if only annotations say so: neither an export, nor its own name, nor its seal.
	Claimed bool
}

// A Splitter groups composed resources. Generations have names from which their generator and number can be read.
type Splitter struct {
	Owner    composite.Composite
	Declared plan.Generators        // the generators of the input
	Desired  map[string]wire.Struct // the resources of earlier steps
}

// requirement returns the requirement for the generation of a generator that has a name.
func (x Splitter) requirement(m *plan.Generator, name string) lookup.Requirement {
	kind, ns := m.Object(), m.Namespace
	if ns == "" && (m.Kind != plan.KindResource || !x.Owner.Cluster) {
		ns = x.Owner.Namespace
	}
	return lookup.Requirement{APIVersion: kind.APIVersion, Kind: kind.Kind, Namespace: ns, Name: name}
}

// defaultName returns the own name of a generation, unless the input sets it.
func (x Splitter) defaultName(generator string, number int) string {
	return x.namePrefix(generator) + strconv.Itoa(number)
}

func (x Splitter) namePrefix(generator string) string {
	return x.Owner.Name + "-" + plan.ObjectName(generator) + "-"
}

// idOf returns the UID of an object, which differs from that of an earlier object with the same name.
func idOf(o wire.Struct) string {
	if uid := plan.UIDOf(o); uid != "" {
		return uid
	}
	_, _, ns, name := object.Identity(o) // of a file
	return ns + "/" + name
}

// idDigits of generation.id: 40 bits.
const idDigits = 10

// generationVariable returns the variable generation. Its id is the same on each call, and unique to each generation of
// each generator of each composite, even if another composite had the same name before.
func (x Splitter) generationVariable(m *plan.Generator, number int) wire.Struct {
	id := strings.Repeat("0", idDigits)
	if number > 0 {
		id = seal.Hash(x.Owner.UID, m.Name, strconv.Itoa(number))[:idDigits]
	}
	return wire.Of(&structpb.Struct{Fields: map[string]*structpb.Value{
		"number": structpb.NewNumberValue(float64(max(number, 1))), "id": structpb.NewStringValue(id),
	}})
}

// Run groups all observed composed resources of a request.
func (x Splitter) Run(all map[string]observation.Resource) Split {
	out := Split{Splitter: x, Resources: all}
	known, isMixed := out.readAnnotations()
	if !isMixed && len(x.Declared) == 0 {
		return out
	}
	for name, res := range all {
		if plan.IsAuthors(name) && known[idOf(res.Object)].Generator == "" {
			out.Authors = plan.With(out.Authors, name, res)
			continue
		}
		if id, ok := x.identify(known, name, res.Object); ok {
			id.Resource = res
			out.Generations = plan.With(out.Generations, name, id)
			out.Rotating = plan.With(out.Rotating, id.Generator, true)
		}
	}
	if len(out.Authors)+len(out.Generations) > 0 { // otherwise no copy is needed: there may be many
		out.Resources = maps.Clone(all)
		maps.DeleteFunc(out.Resources, func(name string, _ observation.Resource) bool {
			_, generation := out.Generations[name]
			_, author := out.Authors[name]
			return generation || author
		})
	}
	return out
}

// readAnnotations returns the generations that exports recorded, by UID, and whether any resource can be a generation
// or is the composite author's.
func (r *Split) readAnnotations() (known map[string]Identified, isMixed bool) {
	known = map[string]Identified{}
	for name, res := range r.Resources {
		author, recorded := plan.IsAuthors(name), seal.HasRecord(res.Object)
		isMixed = isMixed || author || recorded || strings.HasPrefix(name, plan.GenerationPrefix) ||
			plan.MetadataOf(res.Object).At("annotations", rotation.AnnotationState).Exists()
		if author || !recorded || !object.IsSecret(res.Object) { // any client could seal the record of a ConfigMap
			continue
		}
		rec, _ := seal.ReadRecord(res.Object)
		for generator, one := range rec.Generators {
			r.Rotating = plan.With(r.Rotating, generator, true)
			for _, k := range one.Known {
				known[k.UID] = Identified{Generator: generator, Number: k.Number}
			}
		}
	}
	return known, isMixed
}

// identify finds out which generation a composed resource is. An object of an earlier step is none only because of its
// names.
func (x Splitter) identify(known map[string]Identified, composed string, o wire.Struct) (Identified, bool) {
	if id, ok := known[idOf(o)]; ok {
		return id, true
	}
	s, text := seal.ReadState(o)
	if x.isSealed(o, s, text) {
		return Identified{Generator: s.Generator, Number: s.Number}, true
	}
	_, earlier := x.Desired[composed]
	generator, number, named := plan.ParseGeneration(composed)
	own := !earlier && composed != "" && x.Owner.Controls(o)
	if id, ok := x.byOwnName(o); ok && (named || s.Generator == id.Generator || own && object.IsImmutable(o)) {
		return id, true
	}
	isExport := s.Generator != generator && plan.MetadataOf(o).At("annotations", object.AnnotationRevision).Exists()
	isDeclared := x.Declared.Declares(generator) || s.Generator == generator || own
	return Identified{Generator: generator, Number: number, Claimed: true}, named && isDeclared && !isExport
}

// isSealed reports whether an object with a state is that generation. An export can have the data of a generation, so
// that a copy of the state would also fit there. Its own name shows that it is not the generation.
func (x Splitter) isSealed(o wire.Struct, s seal.GenerationState, text string) bool {
	named := plan.MetadataOf(o).Get("name").Is(x.defaultName(s.Generator, s.Number))
	if s.Generator == "" || !named || !object.IsSecret(o) {
		return false
	}
	data, err := object.DataOf(o)
	return err == nil && seal.Fits(rotation.AnnotationState, data, text)
}

// IsGeneration reports whether the own name of an object, or its state, says that it is a generation.
func (x Splitter) IsGeneration(o wire.Struct) bool {
	_, named := x.byOwnName(o)
	return named || x.isStated(o)
}

// isStated reports whether the state of an object says that it is a generation.
func (x Splitter) isStated(o wire.Struct) bool {
	_, ok := x.identify(nil, "", o)
	return ok
}

// byOwnName returns which generation an object is by its own name, which cannot be changed. For a list, the generator
// is that of an item.
func (x Splitter) byOwnName(o wire.Struct) (Identified, bool) {
	for i := range x.Declared {
		m, k := &x.Declared[i], x.Declared[i].Object()
		rest, ok := strings.CutPrefix(plan.MetadataOf(o).Get("name").Text(), x.namePrefix(m.Name))
		id, end := Identified{Generator: m.Name}, strings.LastIndexByte(rest, '-')
		isList := m.ForEach != nil && m.Item == nil
		if !ok || m.Manifest.Names() || !o.Get("apiVersion").Is(k.APIVersion) || !o.Get("kind").Is(k.Kind) ||
			isList && end < 1 {
			continue
		}
		if isList {
			id.Generator, rest = plan.ItemName(m.Name, rest[:end]), rest[end+1:]
		}
		id.Number, _ = strconv.Atoi(rest)
		if plan.IsNumber(id.Number) && rest == strconv.Itoa(id.Number) {
			return id, true
		}
	}
	return Identified{}, false
}
