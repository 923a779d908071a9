// Package seal proves with codes that the writer of a state, or the author of a generation, knew the data of a Secret.
//
// Exports and generations keep their state in annotations, and more people may edit annotations than may read Secrets.
// Therefore, a state is sealed with the data of its object. If the seal does not fit, the state counts as lost.
package seal

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/crossplane-contrib/function-export/internal/engine/credential"
	"github.com/crossplane-contrib/function-export/internal/engine/lazy"
	"github.com/crossplane-contrib/function-export/internal/engine/object"
	"github.com/crossplane-contrib/function-export/internal/engine/sensitive"
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
	return code.ReplaceAllStringFunc(value, func(c string) string { return mask(len(c)) })
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
