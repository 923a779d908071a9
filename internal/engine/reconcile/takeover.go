package reconcile

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"google.golang.org/protobuf/proto"

	"github.com/crossplane-contrib/function-export/internal/engine/budget"
	"github.com/crossplane-contrib/function-export/internal/engine/evaluate"
	"github.com/crossplane-contrib/function-export/internal/engine/lifecycle"
	"github.com/crossplane-contrib/function-export/internal/engine/mention"
	"github.com/crossplane-contrib/function-export/internal/engine/object"
	"github.com/crossplane-contrib/function-export/internal/engine/plan"
	"github.com/crossplane-contrib/function-export/internal/engine/rotation"
	"github.com/crossplane-contrib/function-export/internal/engine/seal"
	"github.com/crossplane-contrib/function-export/internal/engine/sensitive"
	"github.com/crossplane-contrib/function-export/internal/engine/wire"
)

// A takenOver is an object that had another composition resource name before it was the object of an export. It keeps
// its type and the keys that the export does not write.
type takenOver struct {
	is   bool
	name string   // its composition resource name
	done bool     // the export has written it since
	kept []string // then, the keys that only the object has
}

// readTakenOver reads it from the object of an export and its composition resource name. The object of an export is its
// own, although its annotation was edited, if it has a record of generations, or the name of a generation.
func readTakenOver(o wire.Struct, composed string, e plan.Export) takenOver {
	out := takenOver{name: composed}
	if composed != e.Name && !strings.HasPrefix(composed, plan.GenerationPrefix) {
		rec, _ := seal.ReadRecord(o)
		out.is = len(rec.Generators) == 0
	}
	if rec, ok := readTakeOver(o); ok && rec.Export == e.Name {
		out.is, out.done, out.kept = true, true, rec.Kept
	}
	return out
}

// readTakeOver reads the record of an object that an export took over.
func readTakeOver(o wire.Struct) (seal.Record, bool) {
	text := plan.MetadataOf(o).At("annotations", rotation.AnnotationRecord).Text()
	if !strings.Contains(text, `"export":`) { // to check the seal takes time
		return seal.Record{}, false
	}
	rec, _ := seal.ReadRecord(o)
	return rec, rec.Export != ""
}

// tookOver returns the name of the export that took a Secret over. Only a sealed record says that: any client can write
// an annotation on an object of a later step, and could seal the record of a ConfigMap.
func tookOver(o wire.Struct) string {
	if !object.IsSecret(o) {
		return ""
	}
	rec, _ := readTakeOver(o)
	return rec.Export
}

// isLeft returns whether only an object has a key that an export takes over: the export does not name it in its data.
// Once the export has taken the object over, the object says which keys these are. All others are the export's own.
func isLeft(e plan.Export, at placement) func(key string) bool {
	if !at.before.is {
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
	return func(key string) bool { return !named[key] && (!at.before.done || slices.Contains(at.before.kept, key)) }
}

// leftover returns the data of an object that an export takes over, without the keys that the export writes or prunes.
// A key that was applied as stringData has no owner, so that Crossplane cannot remove it: it is desired once more.
func leftover(e plan.Export, at placement) (map[string]sensitive.Bytes, error) {
	if !at.before.is {
		return nil, nil
	}
	out, err := object.DataOf(wire.Of(object.Held(at.observed)))
	left, text := isLeft(e, at), object.AppliedAsText(at.observed)
	maps.DeleteFunc(out, func(key string, _ sensitive.Bytes) bool { return (e.Prune || !left(key)) && !text(key) })
	return out, err
}

// withLeftover returns the data of an object that an export takes over: that of the export, and the keys that only
// the object has. left are the names of these keys.
func withLeftover(
	budgeted *budget.Budget, e plan.Export, at placement, data map[string]sensitive.Bytes, why *evaluate.Reasons,
) (merged map[string]sensitive.Bytes, left []string) {
	more, err := leftover(e, at)
	size := 0
	for key, value := range more {
		if _, writes := data[key]; writes {
			delete(more, key)
		}
		size += value.Len()
	}
	if err == nil {
		err = budgeted.Spend(budget.Copied(2*len(more), size))
	}
	if err != nil {
		why.Failed = append(why.Failed, fmt.Sprintf("%s: cannot keep the keys of %s %s: %s", e.Path, e.Kind, at, err.Error()))
	}
	if err != nil || len(more) == 0 {
		return data, nil
	}
	merged = maps.Clone(data)
	maps.Copy(merged, more)
	if e.Prune { // they are removed when they have an owner
		return merged, nil
	}
	return merged, plan.SortedKeys(more)
}

// typeOf returns the type of an export's Secret. One that is taken over keeps its type, because a type cannot change.
func typeOf(e plan.Export, at placement) string {
	if at.before.is {
		return object.TypeOf(at.observed)
	}
	return e.Secret.ObjectType
}

// taken warns of what stays of an object that an export takes over.
func taken(e plan.Export, at placement, left []string) Outcome {
	var stays []string
	if len(left) > 0 {
		stays = append(stays, fmt.Sprintf("keeps keys that the export does not write (%s): write them in %s, or set %s: "+
			"true to remove them", plan.Shorten(quotedAll(left), ", "), e.At("data"), e.At("prune")))
	}
	if typ := typeOf(e, at); typ != e.Secret.ObjectType && e.Secret.ObjectType != plan.DefaultType {
		stays = append(stays, fmt.Sprintf("keeps the type %q, which cannot change: set %s to it", typ, e.At("type")))
	}
	if len(stays) == 0 {
		return Outcome{}
	}
	return Outcome{Warn: true, Message: fmt.Sprintf("%s (%s) took over the composed resource %q, and %s",
		e, at, at.before.name, strings.Join(stays, "; it "))}
}

func quotedAll(names []string) []string {
	out := make([]string, 0, len(names))
	for _, n := range names {
		out = append(out, strconv.Quote(n))
	}
	return out
}

// keepPossible keeps the objects that exports may take over: those at the place of an export whose own object must be
// deleted before, and all of a kind while the name of an export is unknown.
func (b *placer) keepPossible(out *placements, exports concreteExports, shown []lifecycle.Object) {
	taken, kept := out.names(), map[object.Kind][]string{}
	wants, unknown := out.wants(exports.unknown)
	for i := range shown {
		o := &shown[i]
		kind, by := mention.KindOf(o.Kind), wants[o.Place]
		slot := lifecycle.Slot{Name: o.Name, Place: o.Place, Shown: o}
		if !taken[o.Name] && kind != "" && (by != nil || len(unknown[kind]) > 0) {
			slot.Want = lifecycle.Unsure
		}
		switch {
		case slot.Decide() != lifecycle.Keep:
			continue
		case by != nil:
			by.untilDeleted(o.Name)
		default:
			kept[kind] = append(kept[kind], fmt.Sprintf("composed resource %q", o.Name))
		}
		desired := object.Held(b.object(o.Name))
		out.possible = append(out.possible, Object{
			Outcome: Outcome{State: Held}, Name: o.Name, Kind: kind, Possible: true, Desired: desired,
			footprint: footprint{bytes: proto.Size(desired)},
		})
	}
	for _, kind := range []object.Kind{object.Secret, object.ConfigMap} {
		if len(kept[kind]) > 0 {
			out.Report(Outcome{State: Held, Warn: true, Ready: true, Message: fmt.Sprintf(
				"the name of %s is unknown, so each %s that it may take over is kept unchanged: %s",
				plan.Shorten(unknown[kind], ", "), kind, plan.Shorten(kept[kind], ", "))})
		}
	}
}

// untilDeleted says that a composed resource is kept at the place in the input.
func (at *placement) untilDeleted(composed string) {
	kept := fmt.Sprintf("; until then, the composed resource %q is kept unchanged there", composed)
	if at.conflict != "" {
		at.conflict += kept
	} else {
		at.stays += kept
	}
}

// wants returns the exports that want the place of another object, by this place. To unknown, it adds the paths of
// exports whose place is unknown.
func (p *placements) wants(
	unknown map[object.Kind][]string,
) (out map[lifecycle.Place]*placement, all map[object.Kind][]string) {
	all = unknown
	for i, e := range p.exports {
		switch at := &p.at[i]; {
		case at.slot.Want != lifecycle.Yes:
		case at.slot.Place.Name == "" && at.lookUp == nil:
			all = plan.With(all, e.Kind, append(all[e.Kind], e.Path.String()))
		case at.slot.Moved() && out[at.slot.Place] == nil:
			out = plan.With(out, at.slot.Place, at)
		}
	}
	return out, all
}
