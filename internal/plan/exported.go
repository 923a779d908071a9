package plan

import (
	"encoding/json"

	"github.com/crossplane-contrib/function-export/internal/generator"
	"github.com/crossplane-contrib/function-export/internal/object"
	"github.com/crossplane-contrib/function-export/internal/sensitive"
	"github.com/crossplane-contrib/function-export/internal/wire"
)

// A recorded is what exports recorded of one generator: which generations their values
// come from.
type recorded struct {
	used   map[string]generator.Reference // the generations in use, by UID
	former map[string]generator.Reference
	keys   map[string][]generator.Outputs // the data of the exports that use a generation, by its UID
}

// highest is the generation in use with the highest number.
func (r *recorded) highest() (out generator.Reference) {
	if r == nil {
		return out
	}
	for _, uid := range sortedKeys(r.used) {
		if ref := r.used[uid]; ref.Generation > out.Generation {
			out = ref
		}
	}
	return out
}

// known is the record as the generator package wants it.
func (r *recorded) known(accepted map[string]bool) generator.Known {
	out := generator.Known{Recorded: map[string]int{}, Former: map[string]bool{}, Accepted: accepted}
	if r == nil {
		return out
	}
	for uid, ref := range r.used {
		out.Recorded[uid] = ref.Generation
	}
	for uid := range r.former {
		out.Former[uid] = true
	}
	return out
}

// A generatedFrom says which generation the values of an export come from, and which former
// ones there were.
type generatedFrom struct {
	generator.Reference

	Former []generator.Reference `json:"former,omitempty"`
}

// readRecords reads what the exports recorded that the composite lists. A record that its
// seal does not fit was changed by somebody else, and says nothing.
func (r *run) readRecords() map[string]*recorded {
	out := map[string]*recorded{}
	for _, name := range sortedKeys(r.Observation.Resources) {
		o := r.Observation.Resources[name].Object
		for generator, from := range r.readGenerated(o) {
			out[generator] = out[generator].add(from, ownData(o))
		}
	}
	return out
}

func (r *recorded) add(from generatedFrom, data generator.Outputs) *recorded {
	if r == nil {
		r = &recorded{used: map[string]generator.Reference{}, former: map[string]generator.Reference{}, keys: map[string][]generator.Outputs{}}
	}
	if isNumber(from.Generation) && from.UID != "" {
		r.used[from.UID] = from.Reference
		r.keys[from.UID] = append(r.keys[from.UID], data)
	}
	for _, ref := range from.Former {
		if isNumber(ref.Generation) && ref.UID != "" {
			r.former[ref.UID] = ref
		}
	}
	return r
}

// readGenerated reads the record of an export, by the names of the generators. What is in a
// ConfigMap is no secret, so that anybody can seal it.
func (r *run) readGenerated(o wire.Struct) map[string]generatedFrom {
	annotations := metadataOf(o).Get("annotations")
	if !annotations.Struct().Get(generator.AnnotationGenerated).Exists() || !isV1Secret(o) || !generator.Sealed(ownData(o), texts(annotations)) {
		return nil
	}
	return parseGenerated(o)
}

func parseGenerated(o wire.Struct) map[string]generatedFrom {
	var out map[string]generatedFrom
	if json.Unmarshal([]byte(metadataOf(o).At("annotations", generator.AnnotationGenerated).Text()), &out) != nil {
		return nil
	}
	return out
}

// ownData is the data of a Secret as this function wrote it, without the keys that others
// added.
func ownData(o wire.Struct) generator.Outputs {
	held := object.Held(o)
	if held == nil {
		return nil
	}
	data, err := object.DataOf(wire.Of(held))
	if err != nil {
		return nil
	}
	return data
}

// generatedState are the annotations of an object that holds values of generations.
func (r *run) generatedState(e export, data map[string]sensitive.Bytes) map[string]string {
	all := map[string]generatedFrom{}
	for _, name := range e.generators {
		if k := r.current[name]; k != nil && !k.unstored {
			all[name] = generatedFrom{k.reference(), r.formerOf(k)}
		}
	}
	if len(all) == 0 {
		return nil
	}
	text, _ := json.Marshal(all) // of texts and numbers
	out := map[string]string{generator.AnnotationGenerated: string(text)}
	if e.kind == object.Secret {
		out[generator.AnnotationSeal] = generator.Seal(data, out)
	}
	return out
}

// formerOf are the generations before the one in use.
func (r *run) formerOf(current *kept) []generator.Reference {
	var out []generator.Reference
	for _, k := range r.proven[current.Generator] {
		if k.Number < current.Number && !k.dropped {
			out = append(out, k.reference())
		}
	}
	return out
}
