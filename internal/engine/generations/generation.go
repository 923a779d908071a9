package generations

import (
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
	secret := plan.Kind{APIVersion: "v1", Kind: string(object.Secret)}
	switch {
	case !object.IsSecret(o):
		return false
	case m != nil && (m.IsComputed() || m.Makes.Object() == secret):
		return m.IsComputed()
	}
	return object.IsImmutable(o)
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
	for name := range annotations {
		if strings.HasPrefix(name, object.StatePrefix) {
			delete(annotations, name)
		}
	}
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

// observation returns the variables of the expressions of a generation.
func (k *generation) observation() *observation.Generation {
	return &observation.Generation{Resource: k.object, Details: k.details}
}

// An Owner is a composite with generations. Generations have names from which their generator and number can be read.
type Owner struct{ composite.Composite }

// requirement returns the requirement for the generation of a generator that has a name.
func (c Owner) requirement(m *plan.Generator, name string) lookup.Requirement {
	kind, ns := m.Makes.Object(), m.Namespace
	if ns == "" && (m.Kind != plan.KindResource || !c.Cluster) {
		ns = c.Namespace
	}
	return lookup.Requirement{APIVersion: kind.APIVersion, Kind: kind.Kind, Namespace: ns, Name: name}
}

// defaultName returns the own name of a generation, unless the input sets it.
func (c Owner) defaultName(generator string, number int) string {
	return c.namePrefix(generator) + strconv.Itoa(number)
}

func (c Owner) namePrefix(generator string) string {
	return c.Name + "-" + plan.ObjectName(generator) + "-"
}

// ReadState returns the state in the annotation of an object, which is empty if it is none of a generation, and whether
// its seal fits. An export can have the data of a generation, so that a copy of the state would also fit there. Its own
// name shows that it is not the generation.
func (c Owner) ReadState(o wire.Struct) (s seal.GenerationState, sealed bool) {
	s, text := seal.ReadState(o)
	name := plan.MetadataOf(o).Get("name")
	if s.Generator == "" || !object.IsSecret(o) || !name.Is(c.defaultName(s.Generator, s.Number)) {
		return s, false
	}
	data, err := object.DataOf(o)
	return s, err == nil && seal.Fits(rotation.AnnotationState, data, text)
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
func (c Owner) generationVariable(m *plan.Generator, number int) wire.Struct {
	id := strings.Repeat("0", idDigits)
	if number > 0 {
		id = seal.Hash(c.UID, m.Name, strconv.Itoa(number))[:idDigits]
	}
	return wire.Of(&structpb.Struct{Fields: map[string]*structpb.Value{
		"number": structpb.NewNumberValue(float64(max(number, 1))), "id": structpb.NewStringValue(id),
	}})
}
