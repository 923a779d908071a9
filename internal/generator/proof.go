package generator

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/crossplane-contrib/function-export/internal/object"
)

// AnnotationSeal holds the seal of an object: a code over the annotations that this
// function keeps there, keyed with the object's data.
const AnnotationSeal = object.StatePrefix + "seal"

// Seal is the code over an object's state, which is its annotations under
// [object.StatePrefix], keyed with the data of the object (HMAC-SHA256, RFC 2104).
// Only those who know the data can change the state so that the seal still fits. The data
// cannot be computed from the seal, and those who can read the seal can read the data:
// it is in the same Secret.
func Seal(data Outputs, annotations map[string]string) string {
	var state []string
	for _, k := range slices.Sorted(maps.Keys(annotations)) {
		if strings.HasPrefix(k, object.StatePrefix) && k != AnnotationSeal {
			state = append(state, k, annotations[k])
		}
	}
	return keyed(data, "seal", state...)
}

// Sealed reports whether an object's state is as this function wrote it.
func Sealed(data Outputs, annotations map[string]string) bool {
	return len(data) > 0 && Equal(Seal(data, annotations), annotations[AnnotationSeal])
}

// Code proves that a generation was made by somebody who knew the data of the one that it
// follows. It is bound to the number and to the new data, so that it fits no other
// generation.
func Code(former Outputs, number int, next Outputs) string {
	return keyed(former, "follows", strconv.Itoa(number), keyed(next, "data"))
}

// Equal compares two codes in constant time.
func Equal(a, b string) bool { return hmac.Equal([]byte(a), []byte(b)) }

// keyed is a code over texts. The purpose keeps codes of one kind from being used as
// codes of another kind.
func keyed(key Outputs, purpose string, texts ...string) string {
	k := sha256.New()
	write := func(b []byte) {
		_, _ = k.Write([]byte(strconv.Itoa(len(b)) + ":")) // which never fails
		_, _ = k.Write(b)
	}
	for _, name := range slices.Sorted(maps.Keys(key)) {
		write([]byte(name))
		write(key[name].Reveal())
	}
	m := hmac.New(sha256.New, k.Sum(nil))
	for _, t := range append([]string{purpose}, texts...) {
		_, _ = m.Write([]byte(strconv.Itoa(len(t)) + ":" + t))
	}
	return hex.EncodeToString(m.Sum(nil))
}
