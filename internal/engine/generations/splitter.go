package generations

import (
	"maps"
	"strconv"
	"strings"

	"github.com/crossplane-contrib/function-export/internal/engine/object"
	"github.com/crossplane-contrib/function-export/internal/engine/observation"
	"github.com/crossplane-contrib/function-export/internal/engine/plan"
	"github.com/crossplane-contrib/function-export/internal/engine/rotation"
	"github.com/crossplane-contrib/function-export/internal/engine/seal"
	"github.com/crossplane-contrib/function-export/internal/engine/wire"
)

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
	Recorded    map[string]bool                 // the generators whose generations exports recorded
}

// An Identified is a composed resource that looks like a generation.
type Identified struct {
	observation.Resource

	Generator string
	Number    int

	// Claimed is set if only annotations say so: neither an export, nor its own name, nor its seal.
	Claimed bool
}

// A Splitter groups composed resources.
type Splitter struct {
	Owner    Owner
	Declared plan.Generators        // the generators of the input
	Desired  map[string]wire.Struct // the resources of earlier steps
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
			r.Recorded = plan.With(r.Recorded, generator, true)
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
	s, sealed := x.Owner.ReadState(o)
	if sealed {
		return Identified{Generator: s.Generator, Number: s.Number}, true
	}
	_, earlier := x.Desired[composed]
	name, number, named := plan.ParseGeneration(composed)
	own := !earlier && composed != "" && x.Owner.Controls(o)
	if id, ok := x.byOwnName(o); ok && (named || s.Generator == id.Generator || own && object.IsImmutable(o)) {
		return id, true
	}
	isExport := s.Generator != name && plan.MetadataOf(o).At("annotations", object.AnnotationRevision).Exists()
	isDeclared := x.Declared.Declares(name) || s.Generator == name || own
	return Identified{Generator: name, Number: number, Claimed: true}, named && isDeclared && !isExport
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
		m, k := &x.Declared[i], x.Declared[i].Makes.Object()
		rest, ok := strings.CutPrefix(plan.MetadataOf(o).Get("name").Text(), x.Owner.namePrefix(m.Name))
		id, end := Identified{Generator: m.Name}, strings.LastIndexByte(rest, '-')
		isList := m.ForEach != nil && m.Item == nil
		if !ok || m.Makes.Names() || !o.Get("apiVersion").Is(k.APIVersion) || !o.Get("kind").Is(k.Kind) ||
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
