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

// takenOverAs reads it from an export's object, which has a composition resource name. The object is the export's own,
// although its annotation was edited, if it has a record of generations, or the name of a generation.
func (at *placement) takenOverAs(composed string) takenOver {
	out := takenOver{name: composed}
	if composed != at.Name && !strings.HasPrefix(composed, plan.GenerationPrefix) {
		rec, _ := seal.ReadRecord(at.Observed)
		out.is = len(rec.Generators) == 0
	}
	if rec, ok := readTakeOver(at.Observed); ok && rec.Export == at.Name {
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
func isLeft(at *placement) func(key string) bool {
	if !at.before.is {
		return func(string) bool { return false }
	}
	named := map[string]bool{}
	for _, d := range at.Data {
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
func leftover(at *placement) (map[string]sensitive.Bytes, error) {
	if !at.before.is {
		return nil, nil
	}
	out, err := object.DataOf(wire.Of(object.Held(at.Observed)))
	left, text := isLeft(at), object.AppliedAsText(at.Observed)
	maps.DeleteFunc(out, func(key string, _ sensitive.Bytes) bool { return (at.Prune || !left(key)) && !text(key) })
	return out, err
}

// withLeftover returns the data of an object that an export takes over: that of the export, and the keys that only
// the object has. left are the names of these keys.
func withLeftover(
	budgeted *budget.Budget, at *placement, data map[string]sensitive.Bytes, why *evaluate.Reasons,
) (merged map[string]sensitive.Bytes, left []string) {
	more, err := leftover(at)
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
		why.Failed = append(why.Failed,
			fmt.Sprintf("%s: cannot keep the keys of %s %s: %s", at.Path, at.Kind, at.Place, err.Error()))
	}
	if err != nil || len(more) == 0 {
		return data, nil
	}
	merged = maps.Clone(data)
	maps.Copy(merged, more)
	if at.Prune { // they are removed when they have an owner
		return merged, nil
	}
	return merged, plan.SortedKeys(more)
}

// typeOf returns the type of an export's Secret. One that is taken over keeps its type, because a type cannot change.
func typeOf(at *placement) string {
	if at.before.is {
		return object.TypeOf(at.Observed)
	}
	return at.Secret.ObjectType
}

// taken warns of what stays of an object that an export takes over.
func taken(at *placement, left []string) Outcome {
	var stays []string
	quoted := make([]string, len(left))
	for i, key := range left {
		quoted[i] = strconv.Quote(key)
	}
	if len(left) > 0 {
		stays = append(stays, fmt.Sprintf("keeps keys that the export does not write (%s): write them in %s, or set "+
			"%s: true to remove them", plan.Shorten(quoted, ", "), at.At("data"), at.At("prune")))
	}
	if typ := typeOf(at); typ != at.Secret.ObjectType && at.Secret.ObjectType != plan.DefaultType {
		stays = append(stays, fmt.Sprintf("keeps the type %q, which cannot change: set %s to it", typ, at.At("type")))
	}
	if len(stays) == 0 {
		return Outcome{}
	}
	return Outcome{Warn: true, Message: fmt.Sprintf("%s (%s) took over the composed resource %q, and %s",
		at, at.Place, at.before.name, strings.Join(stays, "; it "))}
}

// keepPossible keeps the objects that exports may take over: those at the place of an export that has another object,
// and all of a kind while the name of an export is unknown.
func (b *placer) keepPossible(out *placements, exports concreteExports, shown []lifecycle.Object) {
	unknown, wanted := exports.unknown, map[lifecycle.Place]bool(nil)
	for _, at := range out.exports {
		switch {
		case at.slot.Want != lifecycle.Yes:
		case at.slot.Place.Name == "" && at.lookUp == nil:
			unknown = plan.With(unknown, at.Kind, append(unknown[at.Kind], at.Path.String()))
		case at.slot.Moved():
			wanted = plan.With(wanted, at.slot.Place, true)
		}
	}
	if len(unknown)+len(wanted) == 0 {
		return
	}
	taken, kept := out.names(), map[object.Kind][]string{}
	for i := range shown {
		o := &shown[i]
		slot, kind := lifecycle.Slot{Name: o.Name, Place: o.Place, Shown: o}, object.Kind(o.Kind)
		if !taken[o.Name] && (wanted[o.Place] || len(unknown[kind]) > 0) {
			slot.Want = lifecycle.Unsure
		}
		if slot.Decide() != lifecycle.Keep {
			continue
		}
		if !wanted[o.Place] { // otherwise the export says that it has another object
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
