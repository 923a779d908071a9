package reconcile

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/crossplane-contrib/function-export/internal/budget"
	"github.com/crossplane-contrib/function-export/internal/generator"
	"github.com/crossplane-contrib/function-export/internal/object"
	"github.com/crossplane-contrib/function-export/internal/plan"
	"github.com/crossplane-contrib/function-export/internal/sensitive"
	"github.com/crossplane-contrib/function-export/internal/wire"
)

// A successor finds the objects that exports take over: the composite lists them under a composition
// resource name that no export and no earlier step has anymore. Such an object keeps that name, because
// Crossplane deletes a resource whose name is not desired.
type successor struct {
	*session

	req        *request
	exports    concreteExports
	identified map[string]identified // resources that look like a generation
	free       *freeObjects          // nil until the first use
}

// freeObjects are the composition resource names of the objects that exports can take over.
type freeObjects struct {
	names    map[string]object.Kind
	byPlace  map[target]string
	byExport map[target]string // with the name of the export that took the object over before
}

// takeOver returns the object that an export takes over, and its composition resource name. It needs no lookup:
// Crossplane observes the object. An object that the export took over before stays its object if the name in the
// input changes, as any other object does.
func (s *successor) takeOver(e plan.Export, wanted placement) (composed string, o wire.Struct) {
	if s == nil {
		return "", wire.Struct{}
	}
	all := s.findFree()
	composed = all.byPlace[wanted.target]
	before, ok := all.byExport[target{e.Kind, wanted.namespace, e.Name}]
	if ok && tookOver(s.found(composed)) != e.Name {
		composed = before
	}
	return composed, s.found(composed)
}

// found returns the composed resource with a name, if an export may take it over.
func (s *successor) found(composed string) wire.Struct {
	if id := s.identified[composed]; id.claimed {
		return id.Object
	}
	return s.observed.Resources[composed].Object
}

// findFree finds the objects. An object at the place of an export is no generation only because its annotations and
// labels say so: any client can write these, and Crossplane would delete the object. Other generations, and objects of
// composite authors, are not among the session's resources.
func (s *successor) findFree() *freeObjects {
	if s.free != nil {
		return s.free
	}
	exported := map[string]bool{}
	for _, e := range s.exports.list {
		exported[e.Name] = true
	}
	s.free = &freeObjects{map[string]object.Kind{}, map[target]string{}, map[target]string{}}
	names := plan.SortedKeys(s.observed.Resources)
	for _, name := range plan.SortedKeys(s.identified) {
		if s.identified[name].claimed {
			names = append(names, name)
		}
	}
	for _, name := range names {
		o := s.found(name)
		v, kind, ns, n := object.Identity(o)
		if v != "v1" || kind != string(object.Secret) && kind != string(object.ConfigMap) {
			continue
		}
		_, earlier := s.req.Desired[name]
		if earlier || exported[name] || !s.controls(o) {
			continue
		}
		if ns == "" {
			ns = s.namespace // a file may omit it
		}
		s.free.names[name] = object.Kind(kind)
		s.free.byPlace[target{object.Kind(kind), ns, n}] = name
		s.free.byExport[target{object.Kind(kind), ns, tookOver(o)}] = name // no export has an empty name
	}
	return s.free
}

// tookOver returns the name of the export that took a Secret over. Only a sealed record says that: any client can write an
// annotation on an object of a later step, and could seal the record of a ConfigMap.
func tookOver(o wire.Struct) string {
	if !isV1Secret(o) {
		return ""
	}
	rec, _ := readRecord(o)
	return rec.Export
}

// isTakenOver reports whether the object of an export has another composition resource name than the export. An object
// with the name of a generation is the export's own: its annotation was changed.
func (at *placement) isTakenOver(e plan.Export) bool {
	return at.observed.Exists() && at.resource != e.Name && !strings.HasPrefix(at.resource, plan.GenerationPrefix)
}

// isAnother reports whether the composed resource with a name is not the one at a place. Crossplane would write to it.
// The export's own name can only be that of a generation, which gets its own name again.
func (r *request) isAnother(e plan.Export, composed string, at target) bool {
	res, ok := r.Observation.Resources[composed]
	_, kind, ns, name := object.Identity(res.Object)
	return ok && composed != e.Name && (kind != string(at.kind) || name != at.name || ns != "" && ns != at.namespace)
}

// keepWanted keeps the objects that exports can take over only after their own objects are deleted.
func (s *successor) keepWanted(out *placements) {
	taken := out.names()
	for i := range out.at {
		at := &out.at[i]
		if at.wants.name == "" {
			continue
		}
		composed, ok := s.findFree().byPlace[at.wants]
		if !ok || taken[composed] {
			continue
		}
		out.keep(s, composed, at.wants.kind)
		taken[composed] = true
		kept := fmt.Sprintf("; until then, the composed resource %q is kept unchanged there", composed)
		if at.conflict != "" {
			at.conflict += kept
		} else {
			at.stays += kept
		}
	}
}

// keep keeps an object that an export may take over.
func (p *placements) keep(s *successor, composed string, kind object.Kind) {
	o := Object{
		Outcome: Outcome{State: Held}, Name: composed, Kind: kind, Possible: true,
		Desired: object.Held(s.found(composed)),
	}
	o.footprint.bytes = o.bytes()
	p.possible = append(p.possible, o)
}

// keepPossible keeps the objects that exports may take over once their names are known.
func (s *successor) keepPossible(out *placements) {
	unknown := s.exports.unknown
	for i, e := range out.exports {
		if at := out.at[i]; at.unnamed || at.name == "" && !at.observed.Exists() {
			unknown[e.Kind] = append(unknown[e.Kind], e.Path.String())
		}
	}
	if len(unknown) == 0 {
		return
	}
	all, taken := s.findFree().names, out.names()
	kept := map[object.Kind][]string{} // of each kind
	for _, name := range plan.SortedKeys(all) {
		kind := all[name]
		if taken[name] || len(unknown[kind]) == 0 {
			continue
		}
		out.keep(s, name, kind)
		kept[kind] = append(kept[kind], fmt.Sprintf("composed resource %q", name))
	}
	for _, kind := range []object.Kind{object.Secret, object.ConfigMap} {
		if len(kept[kind]) > 0 {
			out.report(Outcome{State: Held, Warn: true, Aside: true, Message: fmt.Sprintf(
				"the name of %s is unknown, so each %s that it may take over is kept unchanged: %s",
				plan.Shorten(unknown[kind], ", "), kind, plan.Shorten(kept[kind], ", "))})
		}
	}
}

// isLeft returns whether only an object has a key that an export takes over: the export does not name it in its data.
// Once the export has taken the object over, the object says which keys these are. All others are the export's own.
func isLeft(e plan.Export, at placement) func(key string) bool {
	if !at.isTakenOver(e) {
		return func(string) bool { return false }
	}
	named := map[string]bool{}
	for _, d := range e.Data {
		named[d.Key] = true
		if d.Key == "" {
			spelled, _ := d.Value.Spelled()
			for _, k := range spelled {
				named[k.Name] = true
			}
		}
	}
	rec, _ := readRecord(at.observed)
	return func(key string) bool { return !named[key] && (rec.Export != e.Name || slices.Contains(rec.Kept, key)) }
}

// leftover returns the data of an object that an export takes over, without the keys that the export writes or prunes.
// A key that was applied as stringData has no owner, so that Crossplane cannot remove it: it is desired once more.
func leftover(e plan.Export, at placement) (map[string]sensitive.Bytes, error) {
	if !at.isTakenOver(e) {
		return nil, nil
	}
	out, err := object.DataOf(wire.Of(object.Held(at.observed)))
	left, text := isLeft(e, at), object.AppliedAsText(at.observed)
	maps.DeleteFunc(out, func(key string, _ sensitive.Bytes) bool { return (e.Prune || !left(key)) && !text(key) })
	return out, err
}

// withLeftover returns the data of an object that an export takes over: that of the export, and the keys that only
// the object has. left are the names of these keys.
func (ex exporter) withLeftover(
	e plan.Export, at placement, data map[string]sensitive.Bytes, why *reasons,
) (all map[string]sensitive.Bytes, left []string) {
	more, err := leftover(e, at)
	size := 0
	for key, value := range more {
		if _, writes := data[key]; writes {
			delete(more, key)
		}
		size += value.Len()
	}
	if err == nil {
		err = ex.budget.Spend(budget.Copied(2*len(more), size))
	}
	if err != nil {
		why.failed = append(why.failed, fmt.Sprintf("%s: cannot keep the keys of %s %s: %s", e.Path, e.Kind, at, err.Error()))
	}
	if err != nil || len(more) == 0 {
		return data, nil
	}
	all = maps.Clone(data)
	maps.Copy(all, more)
	if e.Prune { // they are removed when they have an owner
		return all, nil
	}
	return all, plan.SortedKeys(more)
}

// typeOf returns the type of an export's Secret. One that is taken over keeps its type, because a type cannot change.
func typeOf(e plan.Export, at placement) string {
	if at.isTakenOver(e) {
		return object.TypeOf(at.observed)
	}
	return e.Secret.ObjectType
}

// taken warns of what stays of an object that an export takes over.
func taken(e plan.Export, at placement, left []string) Outcome {
	var stays []string
	if len(left) > 0 {
		stays = append(stays, fmt.Sprintf("keeps keys that the export does not write (%s): write them in %s, or set %s: true "+
			"to remove them", plan.Shorten(quotedAll(left), ", "), e.At("data"), e.At("prune")))
	}
	if typ := typeOf(e, at); typ != e.Secret.ObjectType && e.Secret.ObjectType != plan.DefaultType {
		stays = append(stays, fmt.Sprintf("keeps the type %q, which cannot change: set %s to it", typ, e.At("type")))
	}
	if len(stays) == 0 {
		return Outcome{}
	}
	return Outcome{Warn: true, Message: fmt.Sprintf("%s (%s) took over the composed resource %q, and %s",
		e, at, at.resource, strings.Join(stays, "; it "))}
}

func quotedAll(names []string) []string {
	out := make([]string, 0, len(names))
	for _, n := range names {
		out = append(out, strconv.Quote(n))
	}
	return out
}

// mayBeForged reports whether an object must not be listed as it is: any client can create an object with a record
// of generations, or one that looks like a generation, and what the composite lists is trusted.
func (at *placement) mayBeForged(e plan.Export) bool {
	if !at.unlisted {
		return false
	}
	if e.Author {
		return !isOfAuthor(e, at.observed)
	}
	has := func(annotation string) bool {
		return plan.MetadataOf(at.observed).At("annotations", annotation).Exists()
	}
	return has(generator.AnnotationState) || has(generator.AnnotationRecord) || len(e.Generators) > 0 && !at.isTakenOver(e)
}
