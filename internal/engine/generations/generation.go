package generations

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"google.golang.org/protobuf/types/known/structpb"

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
	salt      []byte              // of a derived generation, in addition to its outputs
	codes     []string            // in its state: each is keyed with the data of a generation that it follows
	resource  []byte              // in its state: what it was made from, as JSON
	composed  string              // the composition resource name under which Crossplane shows it, or empty
	withheld  error               // why its connection details cannot be used, or nil
}

// readGeneration reads the state and the outputs of an object. The generator is nil if the input does not have it.
func readGeneration(m *plan.Generator, name string, number int, res observation.Resource) *generation {
	k := &generation{generator: name, object: res.Object, details: res.Details, withheld: res.Withheld}
	k.Number, k.UID, k.Created = number, idOf(res.Object), createdAt(res.Object)
	apiVersion, kind, _, _ := object.Identity(res.Object)
	if plan.HasData(apiVersion, kind) {
		data, _ := object.DataOf(res.Object) // an API server returns no invalid object
		k.setOutputs(data)
	}
	k.Coded = isCoded(m, res.Object)
	s, text := seal.ReadState(res.Object)
	fits := s.Generator == name && s.Number == number && s.State.Stage != rotation.Lost
	if k.Coded {
		fits = fits && object.IsImmutable(res.Object) && len(k.details) > 0 &&
			seal.Fits(rotation.AnnotationState, k.data(), text)
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

// createdAt returns when an object was created, or zero if that is unknown.
func createdAt(o wire.Struct) time.Time {
	at, _ := time.Parse(time.RFC3339, plan.MetadataOf(o).Get("creationTimestamp").Text())
	return at.UTC()
}

// reference identifies the generation.
func (k *generation) reference() seal.Reference {
	out := seal.Reference{UID: k.UID, Number: k.Number}
	out.APIVersion, out.Kind, out.Namespace, out.Name = object.Identity(k.object)
	return out
}

// setOutputs sets the outputs from the whole data of a generation.
func (k *generation) setOutputs(data map[string]sensitive.Bytes) {
	k.details = lookup.Revealed(data)
	k.salt = k.details[credential.SaltKey]
	delete(k.details, credential.SaltKey)
}

// data returns the whole data of a generation: its outputs, and its salt if it has one.
func (k *generation) data() credential.Outputs {
	out := credential.Outputs{}
	for key, v := range k.details {
		out[key] = sensitive.New(v)
	}
	if k.salt != nil {
		out[credential.SaltKey] = sensitive.New(k.salt)
	}
	return out
}

// follow finds the former generations whose values key a code of this one. A whole object is immutable, and controlled
// by the composite.
func (k *generation) follow(formers []*generation) {
	k.Follows = nil
	for _, former := range formers {
		if former.Number >= k.Number || len(k.codes) == 0 {
			continue
		}
		code := seal.NextCode(former.data(), k.Number, k.data())
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
		data = k.data()
	}
	state := seal.GenerationState{
		Generator: k.generator, Number: k.Number, Resource: k.resource, State: k.State, Codes: k.codes,
	}
	annotations[rotation.AnnotationState] = state.Text(data)
	return object.WithMetadata(o, map[string]*structpb.Value{
		"labels": object.Texts(labels), "annotations": object.Texts(annotations),
	})
}

// gcKey names a generation that waits to be dropped: a hash of its state and of what it was made from, as in External
// Secrets' generator state.
func (k *generation) gcKey() string {
	return seal.Hash(string(k.resource), k.State.Origin.Kind, strconv.Itoa(k.Number), rotation.FormatTime(k.Created))
}

func (k *generation) lacksKeys(keys []string) bool {
	return slices.ContainsFunc(keys, func(key string) bool { return k.details[key] == nil })
}

// observation returns the variables of the expressions of a generation.
func (k *generation) observation() *observation.Generation {
	return &observation.Generation{Resource: k.object, Details: k.details}
}
