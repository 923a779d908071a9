// Package seal proves with codes that the writer of a state, or the author of a generation, knew the data of a Secret.
//
// Exports and generations keep their state in annotations, and more people may edit annotations than may read Secrets.
// Therefore, a state is sealed with the data of its object. If the seal does not fit, the state counts as lost.
package seal

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"hash"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/crossplane-contrib/function-export/internal/engine/credential"
	"github.com/crossplane-contrib/function-export/internal/engine/lazy"
	"github.com/crossplane-contrib/function-export/internal/engine/limits"
	"github.com/crossplane-contrib/function-export/internal/engine/object"
	"github.com/crossplane-contrib/function-export/internal/engine/rotation"
	"github.com/crossplane-contrib/function-export/internal/engine/sensitive"
	"github.com/crossplane-contrib/function-export/internal/engine/wire"
)

// member begins the last member of a sealed JSON object.
const member = `,"seal":"`

// Add adds a code over a JSON object to the object, keyed with the data of the Secret whose annotation the text is
// (HMAC-SHA256, RFC 2104). Only those who know the data can change the text so that the code still fits. The data
// cannot be computed from the code, and is in the same Secret anyway.
func Add(annotation string, data credential.Outputs, text string) string {
	text = strings.TrimSuffix(text, "}")
	return text + member + keyed(data, annotation, text) + `"}`
}

// Fits reports whether a text is as [Add] returned it for this annotation and this data.
func Fits(annotation string, data credential.Outputs, text string) bool {
	end := strings.LastIndex(text, member)
	return len(data) > 0 && end >= 0 && Equal(Add(annotation, data, text[:end]+"}"), text)
}

// NextCode returns a code that proves that the author of a generation knew the data of the previous one. The code
// depends on the number and the new data, so that it is not valid for any other generation.
func NextCode(previous credential.Outputs, number int, next credential.Outputs) string {
	return keyed(previous, "follows", strconv.Itoa(number), keyed(next, "data"))
}

// saltSize is the size of a salt in bytes.
const saltSize = 32

// NewSalt returns a salt for the data of a derived generation, at [credential.SaltKey].
func NewSalt(random io.Reader) (sensitive.Bytes, error) {
	salt := make([]byte, saltSize)
	if _, err := io.ReadFull(random, salt); err != nil {
		return sensitive.Bytes{}, fmt.Errorf("cannot read randomness: %w", err)
	}
	return sensitive.FromString(hex.EncodeToString(salt)), nil
}

// SourceCode returns a code over the source of a derived generation, keyed with the generation's data. Because of the
// salt in the data, guesses of the source cannot be tested with the code and the outputs.
func SourceCode(data credential.Outputs, source credential.Source) string {
	texts := []string{string(source.Text.Reveal())} //nolint:prealloc // The other texts are few.
	for _, key := range slices.Sorted(maps.Keys(source.Map)) {
		texts = append(texts, key, string(source.Map[key].Reveal()))
	}
	return keyed(data, "source", texts...)
}

// Equal compares two codes in constant time.
func Equal(a, b string) bool { return hmac.Equal([]byte(a), []byte(b)) }

// code is what keyed returns.
var code = lazy.MustCompile(`[0-9a-f]{64}`)

// HideCodes returns the value of an annotation. If this function keeps state in the annotation, each code is masked.
// With a code, an attacker can test guesses of a value that has few possibilities.
func HideCodes(annotation, value string, mask func(length int) string) string {
	if !strings.HasPrefix(annotation, object.StatePrefix) {
		return value
	}
	return code().ReplaceAllStringFunc(value, func(c string) string { return mask(len(c)) })
}

// Hash of texts that are not secret. Its first 16 bytes are enough to detect changes.
func Hash(texts ...string) string {
	h := sha256.New()
	for _, t := range texts {
		writeSized(h, []byte(t))
	}
	return hex.EncodeToString(h.Sum(nil)[:16])
}

// keyed returns a code over texts. The purpose prevents the use of one kind of code as another kind.
func keyed(key credential.Outputs, purpose string, texts ...string) string {
	k := sha256.New()
	for _, name := range slices.Sorted(maps.Keys(key)) {
		writeSized(k, []byte(name))
		writeSized(k, key[name].Reveal())
	}
	m := hmac.New(sha256.New, k.Sum(nil))
	for _, t := range append([]string{purpose}, texts...) {
		writeSized(m, []byte(t))
	}
	return hex.EncodeToString(m.Sum(nil))
}

// writeSized writes the length first, so that no two lists of texts have the same hash.
func writeSized(h hash.Hash, b []byte) {
	_, _ = h.Write([]byte(strconv.Itoa(len(b)) + ":")) // it never fails
	_, _ = h.Write(b)
}

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
	text, _ := json.Marshal(s) //nolint:errchkjson // the resource was read as JSON
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
	isSecret := object.IsSecret(o) // any client could seal the record of a ConfigMap: it only keeps what it holds
	for name, one := range out.Generators {
		one.Known = slices.DeleteFunc(one.Known, func(c rotation.Copy) bool {
			return !isSecret || c.UID == "" || !isNumber(c.Number) // a user who can read the data can seal any number
		})
		out.Generators[name] = one
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
