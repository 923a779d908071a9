// Package credential generates credentials: passwords, UUIDs, certificates, SSH keys, and hashes and keystores that are
// made from a source. Each kind is compiled from its section of the input, and has its own file.
//
// A kind knows nothing of generations: it makes outputs from what it is handed. Randomness and time are arguments. No
// error and no text of this package contains a secret.
package credential

import (
	"fmt"
	"io"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/crossplane-contrib/function-export/internal/engine/sensitive"
)

// A Kind generates the outputs of generations. It is immutable, and safe for concurrent use.
type Kind struct {
	Keys  []string // the names of the outputs
	Reads []string // the keys of the source that it reads, or nil for all of them

	// Make generates the outputs of one generation. Errors contain no part of them, and no part of the source.
	Make func(from From) (Outputs, error)
}

// Outputs of one generation, by key.
type Outputs map[string]sensitive.Bytes

// SaltKey is the key of the random salt in the data of a derived generation. No kind has an output with this key.
const SaltKey = "export.fn.crossplane.io-salt"

// A Source is the value of secretExpression, from which a kind derives its outputs.
type Source struct {
	Text sensitive.Bytes            // of a hash
	Map  map[string]sensitive.Bytes // of an htpasswd or a keystore
}

// Only returns the source with only the keys that a kind reads, so that another key does not change it.
func (s Source) Only(k Kind) Source {
	if k.Reads == nil {
		return s
	}
	out := Source{Map: map[string]sensitive.Bytes{}}
	for _, key := range k.Reads {
		if v, ok := s.Map[key]; ok {
			out.Map[key] = v
		}
	}
	return out
}

// From contains the sources of a generation in addition to its section of the input.
type From struct {
	// Random is a cryptographic source, crypto/rand.Reader: the same bytes produce the same
	// passwords and UUIDs. Keys are generated from the system's randomness, and in a rehearsal from a [Seeded].
	Random io.Reader

	Now time.Time

	// Issuer is the CA that a certificate names, or nil for a self-signed certificate.
	Issuer *Issuer

	// Source is zero for a kind without a secretExpression.
	Source Source
}

// invalid returns a diagnostic of a rule that the definition of the input cannot express. The definition has all other
// rules. It is checked separately, so an input that breaks one of them must compile without a panic.
func invalid(at *field.Path, format string, args ...any) *field.Error {
	return field.Invalid(at, field.OmitValueType{}, fmt.Sprintf(format, args...))
}

// isLine reports whether a text is one line of visible characters.
func isLine(s string) bool {
	return utf8.ValidString(s) && !strings.ContainsFunc(s, func(r rune) bool { return !unicode.IsPrint(r) })
}

// DurationText returns a duration without the zero parts at its end, as people write it.
func DurationText(d time.Duration) string {
	return strings.NewReplacer("h0m0s", "h", "m0s", "m").Replace(d.String())
}
