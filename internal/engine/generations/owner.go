package generations

import (
	"slices"
	"strconv"
	"strings"

	"google.golang.org/protobuf/types/known/structpb"

	"github.com/crossplane-contrib/function-export/internal/engine/composite"
	"github.com/crossplane-contrib/function-export/internal/engine/lifecycle"
	"github.com/crossplane-contrib/function-export/internal/engine/lookup"
	"github.com/crossplane-contrib/function-export/internal/engine/object"
	"github.com/crossplane-contrib/function-export/internal/engine/plan"
	"github.com/crossplane-contrib/function-export/internal/engine/rotation"
	"github.com/crossplane-contrib/function-export/internal/engine/seal"
	"github.com/crossplane-contrib/function-export/internal/engine/wire"
)

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
	return c.Name + "-" + plan.ObjectName(generator) + "-" + strconv.Itoa(number)
}

// generationNamed returns the generator and the number of the generation whose object has a name. For a list, the
// generator is that of an item.
func (c Owner) generationNamed(m *plan.Generator, name string) (generator string, number int, ok bool) {
	rest, ok := strings.CutPrefix(name, c.Name+"-"+plan.ObjectName(m.Name)+"-")
	if !ok || m.Makes.Names() {
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

// listedNumbers returns the generations of a generator that the composite lists, sorted.
func (c Owner) listedNumbers(m *plan.Generator, lists map[composite.Ref]bool) (out []int) {
	kind := m.Makes.Object().Kind
	for ref := range lists {
		if _, number, ok := c.generationNamed(m, ref.Name); ok && ref.Kind == kind {
			out = append(out, number)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// usual returns the reference that a generation has unless its record says something else.
func (c Owner) usual(generator string, number int) seal.Reference {
	name := c.defaultName(generator, number)
	return seal.Reference{APIVersion: "v1", Kind: string(object.Secret), Namespace: c.Namespace, Name: name}
}

// generationOf returns which generation of a generator an object is by its own name, which cannot be changed.
func (c Owner) generationOf(m *plan.Generator, o wire.Struct) (generator string, number int, ok bool) {
	if k := m.Makes.Object(); !o.Get("apiVersion").Is(k.APIVersion) || !o.Get("kind").Is(k.Kind) {
		return "", 0, false
	}
	return c.generationNamed(m, plan.MetadataOf(o).Get("name").Text())
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

// generationVariable returns the variable generation.
func (c Owner) generationVariable(m *plan.Generator, number int) wire.Struct {
	return wire.Of(&structpb.Struct{Fields: map[string]*structpb.Value{
		"number": structpb.NewNumberValue(float64(max(number, 1))),
		"id":     structpb.NewStringValue(c.generationID(m, number)),
	}})
}

// generationID returns generation.id. It is the same on each call, and unique to each generation of each
// generator of each composite, even if another composite had the same name before.
func (c Owner) generationID(m *plan.Generator, number int) string {
	if number == 0 {
		return strings.Repeat("0", idDigits)
	}
	return seal.Hash(c.UID, m.Name, strconv.Itoa(number))[:idDigits]
}

// placeOf returns the place of a generation, which has the kinds of all groups.
func placeOf(r seal.Reference) lifecycle.Place {
	return lifecycle.Place{Kind: r.Kind, Namespace: r.Namespace, Name: r.Name}
}
