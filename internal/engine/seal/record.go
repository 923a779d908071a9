package seal

import (
	"encoding/json"
	"slices"

	"github.com/crossplane-contrib/function-export/internal/engine/credential"
	"github.com/crossplane-contrib/function-export/internal/engine/limits"
	"github.com/crossplane-contrib/function-export/internal/engine/object"
	"github.com/crossplane-contrib/function-export/internal/engine/rotation"
	"github.com/crossplane-contrib/function-export/internal/engine/wire"
)

// This file is what generations and exports store in their annotations: the only state of this function. A text that
// cannot be read, or whose seal does not fit, is lost, and the rotation decides what follows.

// A GenerationState is the JSON in the annotation of a generation.
type GenerationState struct {
	Generator string          `json:"generator"`
	Number    int             `json:"generation"`
	Resource  json.RawMessage `json:"resource,omitempty"` // the section of the input, or the manifest
	State     rotation.State  `json:"state"`
	Codes     []string        `json:"follows,omitempty"` // each is keyed with the data of a generation that it follows
}

// ReadState returns the state in the annotation of an object, which is empty if it is none of a generation, and the
// text.
func ReadState(o wire.Struct) (s GenerationState, text string) {
	text = annotation(o, rotation.AnnotationState).Text()
	if text == "" || json.Unmarshal([]byte(text), &s) != nil || s.Generator == "" || !isNumber(s.Number) {
		return GenerationState{}, text
	}
	return s, text
}

func isNumber(n int) bool { return n > 0 && n <= limits.GenerationNumber }

func annotation(o wire.Struct, name string) wire.Value { return o.At("metadata", "annotations", name) }

// Text returns the annotation, sealed with the data of a generation that the function computed. The data is nil for any
// other.
func (s GenerationState) Text(data credential.Outputs) string {
	text, err := json.Marshal(s)
	if err != nil { // the resource is not JSON: another client wrote it
		s.Resource = nil
		text, _ = json.Marshal(s) //nolint:errchkjson // only texts
	}
	if data == nil {
		return string(text)
	}
	return Add(rotation.AnnotationState, data, string(text))
}

// A Record is what an export stores in the only annotation that is read from it.
type Record struct {
	Generators map[string]rotation.Record `json:"generators,omitempty"`

	// Export is the name of the export if the export took the object over, or if it is that of a composite author. Kept
	// are the keys that only an object has that was taken over.
	Export string   `json:"export,omitempty"`
	Kept   []string `json:"keptKeys,omitempty"`
}

// HasRecord reports whether an object has a record, which may be lost.
func HasRecord(o wire.Struct) bool { return annotation(o, rotation.AnnotationRecord).Exists() }

// ReadRecord reads the record of an export. A record whose seal does not fit is lost.
func ReadRecord(o wire.Struct) (out Record, lost bool) {
	if !HasRecord(o) {
		return Record{}, false
	}
	text := annotation(o, rotation.AnnotationRecord).Text()
	if !Fits(rotation.AnnotationRecord, OwnData(o), text) || json.Unmarshal([]byte(text), &out) != nil {
		return Record{}, true
	}
	return out, false
}

// Text returns the annotation, sealed with the data of the export. A large record leaves out the generations whose
// values the export does not have: an export that cannot be written would keep its values, and thereby the generations,
// for ever.
func (r Record) Text(data credential.Outputs) string {
	text, _ := json.Marshal(r) //nolint:errchkjson // it has only strings, numbers and truth values
	if len(text) > limits.RecordBytes {
		short := Record{Generators: map[string]rotation.Record{}, Export: r.Export, Kept: r.Kept}
		for name, one := range r.Generators {
			one.Known = slices.DeleteFunc(slices.Clone(one.Known), func(c rotation.Copy) bool {
				return c.UID != one.Holds && c.UID != one.Candidate
			})
			short.Generators[name] = one
		}
		text, _ = json.Marshal(short) //nolint:errchkjson // as before
	}
	return Add(rotation.AnnotationRecord, data, string(text))
}

// OwnData returns the data of a Secret as this function wrote it, without keys that others added.
func OwnData(o wire.Struct) credential.Outputs {
	data, _ := object.DataOf(wire.Of(object.Held(o))) // nil on an error
	return data
}
