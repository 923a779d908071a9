// Package sensitive holds bytes that are never shown by mistake.
//
// Only [Bytes.Reveal] returns a secret value. Everything else (fmt with any verb, loggers, encoders,
// templates, a struct or a map that contains it) gets [Redacted] or an error. If a request is logged
// by mistake, the log therefore contains no password.
//
// The package does not encrypt, wipe memory or hide the length of a value.
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

// Redacted is printed and encoded instead of a value.
const Redacted = "[redacted]"

// errBinary explains why a value has no binary form: a redacted form would look like a value.
var errBinary = errors.New("cannot encode a sensitive value: use Reveal")

// Bytes is an immutable secret value. The zero value is empty.
//
// Its content is held by an unsafe.Pointer, because fmt prints unexported fields inside of other unexported fields by
// reflection. It can only print the address. An array of functions makes it impossible to compare Bytes with ==. Use
// [Bytes.Equal].
type Bytes struct {
	_     [0]func()
	first unsafe.Pointer
	size  int
}

// New returns a value with a copy of b. The caller may change b afterwards.
func New(b []byte) Bytes { return Own(bytes.Clone(b)) }

// Own is like [New], but does not copy b. The caller must not change b afterwards.
func Own(b []byte) Bytes {
	if len(b) == 0 {
		return Bytes{}
	}
	return Bytes{first: unsafe.Pointer(unsafe.SliceData(b)), size: len(b)} //nolint:gosec // only Reveal reads it
}

// FromString is like [New] for a string. It does not copy the string, because strings do not change.
func FromString(s string) Bytes {
	return Own(unsafe.Slice(unsafe.StringData(s), len(s))) //nolint:gosec // as immutable as Bytes is
}

// Reveal returns the value itself, not a copy. The caller must not modify it. An empty value is nil.
// To find all code that sees a secret, search for this name.
func (b Bytes) Reveal() []byte {
	return unsafe.Slice((*byte)(b.first), b.size) //nolint:gosec // set by Own, with its size
}

// Len is the length of the value in bytes.
func (b Bytes) Len() int { return b.size }

// Equal compares two values in a time that depends only on their lengths. cmp.Equal and cmp.Diff also
// use it. reflect.DeepEqual reports that two values differ, unless both are empty.
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

// MarshalText returns [Redacted], for XML and flags.
func (b Bytes) MarshalText() ([]byte, error) { return []byte(Redacted), nil }

// MarshalYAML returns [Redacted], for YAML encoders that do not use JSON.
func (b Bytes) MarshalYAML() (any, error) { return Redacted, nil }

// MarshalBinary always fails, for gob and CBOR.
func (b Bytes) MarshalBinary() ([]byte, error) { return nil, errBinary }
