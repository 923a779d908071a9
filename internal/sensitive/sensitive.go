// Package sensitive holds bytes that nobody sees by accident.
//
// A secret value comes in as bytes or as a string and goes out by [Bytes.Reveal]
// alone. Every other way out (fmt in all its verbs, loggers, encoders,
// templates, a struct or a map that holds it) gets [Redacted] or an error. The
// rule is the type's, not its user's: whoever logs a whole request by mistake
// logs no password.
//
// It never encrypts, never wipes memory and does not hide a value's length.
package sensitive

import (
	"bytes"
	"crypto/subtle"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"unsafe"
)

// Redacted stands wherever a value would have been printed or encoded.
const Redacted = "[redacted]"

// errBinary is why a value has no binary form: unlike a text, nobody would see
// that a redacted one is not the value.
var errBinary = errors.New("cannot encode a sensitive value: use Reveal")

// Bytes is an immutable secret value. The zero value is the empty one.
//
// Its content stands behind a closure, for fmt and its likes print unexported
// fields by reflection once they sit in somebody else's unexported field: of a
// function they can print no more than an address. A func also makes Bytes
// incomparable, so == does not compile; use [Bytes.Equal].
type Bytes struct {
	reveal func() []byte
}

// New keeps a copy of b: what its caller does to b afterwards does not matter.
func New(b []byte) Bytes {
	if len(b) == 0 {
		return Bytes{}
	}
	own := bytes.Clone(b)
	return Bytes{reveal: func() []byte { return own }}
}

// FromString is [New] for a string, which nobody can change: it is shared.
func FromString(s string) Bytes {
	if s == "" {
		return Bytes{}
	}
	own := unsafe.Slice(unsafe.StringData(s), len(s)) // as immutable as Bytes is
	return Bytes{reveal: func() []byte { return own }}
}

// Reveal returns the value itself, not a copy: its caller must not modify it. An
// empty value is nil. Search for this name to find every place that sees a secret.
func (b Bytes) Reveal() []byte {
	if b.reveal == nil {
		return nil
	}
	return b.reveal()
}

// Len is the length of the value in bytes.
func (b Bytes) Len() int { return len(b.Reveal()) }

// Equal compares two values in a time that depends on their lengths only. It is
// also what cmp.Equal and cmp.Diff use; reflect.DeepEqual finds any two
// non-empty values different.
func (b Bytes) Equal(other Bytes) bool {
	return subtle.ConstantTimeCompare(b.Reveal(), other.Reveal()) == 1
}

// Format prints [Redacted] for every verb, flag, width and precision.
func (b Bytes) Format(s fmt.State, _ rune) { _, _ = io.WriteString(s, Redacted) }

// String returns [Redacted].
func (b Bytes) String() string { return Redacted }

// GoString returns [Redacted].
func (b Bytes) GoString() string { return Redacted }

// LogValue returns [Redacted], for log/slog.
func (b Bytes) LogValue() slog.Value { return slog.StringValue(Redacted) }

// MarshalJSON returns [Redacted] as a JSON string. No value can be decoded from it.
func (b Bytes) MarshalJSON() ([]byte, error) { return []byte(`"` + Redacted + `"`), nil }

// MarshalText returns [Redacted], for XML, flags and all that encode texts.
func (b Bytes) MarshalText() ([]byte, error) { return []byte(Redacted), nil }

// MarshalYAML returns [Redacted], for YAML encoders that do not go by way of JSON.
func (b Bytes) MarshalYAML() (any, error) { return Redacted, nil }

// MarshalBinary always fails, for gob and CBOR: a redacted value in a binary
// form would be taken for the value.
func (b Bytes) MarshalBinary() ([]byte, error) { return nil, errBinary }
