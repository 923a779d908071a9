package reconcile

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/crossplane-contrib/function-export/internal/engine/credential"
	"github.com/crossplane-contrib/function-export/internal/engine/object"
	"github.com/crossplane-contrib/function-export/internal/engine/observation"
	"github.com/crossplane-contrib/function-export/internal/engine/plan"
	"github.com/crossplane-contrib/function-export/internal/engine/rotation"
	"github.com/crossplane-contrib/function-export/internal/engine/seal"
	"github.com/crossplane-contrib/function-export/internal/engine/sensitive"
	"github.com/crossplane-contrib/function-export/internal/engine/wire"
)

// A generation is an observed object that looks like a generation. The rotation decides whether it counts as one.
type generation struct {
	rotation.Generation

	generator string // its name, for an item <generator>/<key>
	object    wire.Struct
	details   observation.Details // its outputs, or its connection details
	salt      []byte              // of a derived generation, in addition to its outputs
	codes     []string            // in its state: each is keyed with the data of a generation that it follows
	resource  json.RawMessage     // in its state: what it was made from
	composed  string              // the composition resource name under which Crossplane shows it, or empty
	withheld  error               // why its connection details cannot be used, or nil
}

// A generationState is the JSON in the annotation of a generation.
type generationState struct {
	Generator string          `json:"generator"`
	Number    int             `json:"generation"`
	Resource  json.RawMessage `json:"resource,omitempty"` // the section of the input, or the manifest
	State     rotation.State  `json:"state"`
	Codes     []string        `json:"follows,omitempty"`
}

// readGeneration reads the state and the outputs of an object. A state whose seal does not fit is lost. The generator is
// nil if the input does not have it.
func readGeneration(m *plan.Generator, name string, number int, res observation.Resource) *generation {
	k := &generation{generator: name, object: res.Object, details: res.Details, withheld: res.Withheld}
	k.Number, k.UID, k.Created = number, idOf(res.Object), createdAt(res.Object)
	apiVersion, kind, _, _ := object.Identity(res.Object)
	if plan.HasData(apiVersion, kind) {
		data, _ := object.DataOf(res.Object) // an API server returns no invalid object
		k.details = revealed(data)
		k.salt = k.details[credential.SaltKey]
		delete(k.details, credential.SaltKey)
	}
	k.Coded = isCoded(m, res.Object)
	text := stateText(res.Object)
	var s generationState
	fits := json.Unmarshal([]byte(text), &s) == nil && s.Generator == name && s.Number == number && s.State.Stage != rotation.Lost
	if k.Coded {
		fits = fits && object.IsImmutable(res.Object) && len(k.details) > 0 && seal.Fits(rotation.AnnotationState, k.data(), text)
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
	case !isV1Secret(o):
		return false
	case m != nil && (m.IsComputed() || m.Makes.Object() == secret):
		return m.IsComputed()
	}
	return object.IsImmutable(o)
}

// idOf returns the UID of an object, which differs from that of an earlier object with the same name.
func idOf(o wire.Struct) string {
	if uid := plan.UIDOf(o); uid != "" {
		return uid
	}
	_, _, ns, name := object.Identity(o) // of a file
	return ns + "/" + name
}

// createdAt returns when an object was created, or zero if that is unknown.
func createdAt(o wire.Struct) time.Time {
	at, _ := time.Parse(time.RFC3339, plan.MetadataOf(o).Get("creationTimestamp").Text())
	return at.UTC()
}

func stateText(o wire.Struct) string {
	return plan.MetadataOf(o).At("annotations", rotation.AnnotationState).Text()
}

// reference identifies the generation.
func (k *generation) reference() reference {
	out := reference{UID: k.UID, Number: k.Number}
	out.APIVersion, out.Kind, out.Namespace, out.Name = object.Identity(k.object)
	return out
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

// annotation returns the annotation of a generation, sealed with its data if the function computed it.
func (k *generation) annotation() string {
	text, err := json.Marshal(generationState{k.generator, k.Number, k.resource, k.State, k.codes})
	if err != nil { // resource is not JSON: another client wrote it
		text, _ = json.Marshal(generationState{k.generator, k.Number, nil, k.State, k.codes}) //nolint:errchkjson // only texts
	}
	if k.Coded {
		return seal.Add(rotation.AnnotationState, k.data(), string(text))
	}
	return string(text)
}

// labels are for people.
func (k *generation) labels() map[string]string {
	name, key, ok := strings.Cut(k.generator, "/")
	out := map[string]string{rotation.LabelGenerator: name, rotation.LabelGeneration: strconv.Itoa(k.Number)}
	if ok {
		out[rotation.LabelKey] = key
	}
	return out
}

// gcKey names a generation that waits to be dropped: a hash of its state and of what it was made from, as in External
// Secrets' generator state.
func (k *generation) gcKey() string {
	return seal.Hash(string(k.resource), k.State.Origin.Kind, strconv.Itoa(k.Number), rotation.FormatTime(k.Created))
}

func (k *generation) lacksKeys(keys []string) bool {
	return slices.ContainsFunc(keys, func(key string) bool { return k.details[key] == nil })
}

// isDeleted reports whether an object is being deleted: its credentials may be revoked.
func isDeleted(o wire.Struct) bool {
	return plan.MetadataOf(o).Get("deletionTimestamp").Text() != ""
}

// identified is a composed resource that looks like a generation.
type identified struct {
	observation.Resource

	generator string
	number    int

	// claimed is set if only annotations say so: neither an export, nor its own name, nor its seal.
	claimed bool
}

// identify finds out which generation a composed resource is: by its UID, if an export recorded it, by its seal, or by its
// own name. All other annotations can be changed, including the one with the composition resource name.
//
// An object of an earlier step is none only because of its names.
func (c composite) identify(
	p *plan.Plan, known map[string]identified, composed string, o wire.Struct, earlier bool,
) (identified, bool) {
	if id, ok := known[idOf(o)]; ok {
		return id, true
	}
	s, sealed := c.readState(o)
	if sealed {
		return identified{generator: s.Generator, number: s.Number}, true
	}
	name, number, named := plan.ParseGeneration(composed)
	own := !earlier && c.controls(o)
	for i := range p.Generators {
		of, n, ok := c.generationOf(&p.Generators[i], o)
		if ok && (named || s.Generator == of || own && object.IsImmutable(o)) {
			return identified{generator: of, number: n}, true
		}
	}
	isExport := s.Generator != name && plan.MetadataOf(o).At("annotations", annotationRevision).Exists()
	isDeclared := p.Declares(name) || s.Generator == name || own
	return identified{generator: name, number: number, claimed: true}, named && isDeclared && !isExport
}

// readState returns the state in the annotation of an object, which is empty if it is none of a generation, and whether
// its seal fits. An export can have the data of a generation, so that a copy of the state would also fit there. Its own
// name shows that it is not the generation.
func (c composite) readState(o wire.Struct) (s generationState, sealed bool) {
	text := stateText(o)
	if text == "" || json.Unmarshal([]byte(text), &s) != nil || s.Generator == "" || !plan.IsNumber(s.Number) {
		return generationState{}, false
	}
	if !isV1Secret(o) || !plan.MetadataOf(o).Get("name").Is(c.defaultName(s.Generator, s.Number)) {
		return s, false
	}
	data, err := object.DataOf(o)
	return s, err == nil && seal.Fits(rotation.AnnotationState, data, text)
}

// generationOf returns which generation of a generator an object is by its own name, which cannot be changed.
func (c composite) generationOf(m *plan.Generator, o wire.Struct) (generator string, number int, ok bool) {
	apiVersion, kind, name := o.Get("apiVersion"), o.Get("kind"), plan.MetadataOf(o).Get("name").Text()
	if k := m.Makes.Object(); !apiVersion.Is(k.APIVersion) || !kind.Is(k.Kind) {
		return "", 0, false
	}
	return c.generationNamed(m, name)
}

// generationNamed returns the generator and the number of the generation whose object has a name. For a list, the
// generator is that of an item.
func (c composite) generationNamed(m *plan.Generator, name string) (generator string, number int, ok bool) {
	prefix := c.namePrefix(m)
	rest, ok := strings.CutPrefix(name, prefix)
	if !ok || prefix == "" {
		return "", 0, false
	}
	generator = m.Name
	if m.ForEach != nil && m.Item == nil {
		end := strings.LastIndexByte(rest, '-')
		if end < 1 {
			return "", 0, false
		}
		generator, rest = plan.ItemName(m.Name, rest[:end]), rest[end+1:]
	}
	number, err := strconv.Atoi(rest)
	return generator, number, err == nil && plan.IsNumber(number) && rest == strconv.Itoa(number)
}

// namePrefix returns the prefix of the names of generations. It is empty if the input chooses their names.
func (c composite) namePrefix(m *plan.Generator) string {
	if m.Makes.Names() {
		return ""
	}
	return c.name + "-" + plan.ObjectName(m.Name) + "-"
}

func (c composite) defaultName(generator string, number int) string {
	return c.name + "-" + plan.ObjectName(generator) + "-" + strconv.Itoa(number)
}

// isGeneration reports whether the own name of an object, or its state, says that it is a generation.
func (c composite) isGeneration(p *plan.Plan, o wire.Struct) bool {
	return c.isStated(p, o) || slices.ContainsFunc(p.Generators, func(m plan.Generator) bool {
		_, _, named := c.generationOf(&m, o)
		return named
	})
}

// isStated reports whether the state of an object says that it is a generation.
func (c composite) isStated(p *plan.Plan, o wire.Struct) bool {
	id, ok := c.identify(p, nil, "", o, true)
	return ok && !id.claimed
}
