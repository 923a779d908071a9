package generator

import (
	"io"
	"time"

	"github.com/crossplane-contrib/function-export/internal/sensitive"
)

// A Kind generates the outputs of generations. It is immutable, and safe for concurrent use.
type Kind interface {
	// Keys are the names of the outputs.
	Keys() []string

	// SourceType is the type of From.Source that Make reads.
	SourceType() SourceType

	// Make generates the outputs of one generation. Errors contain no part of them, and no part of the source.
	Make(from From) (Outputs, error)
}

// A SourceType is the type of the value from which a kind derives its outputs.
type SourceType int

// The types of sources.
const (
	NoSource   SourceType = iota // the outputs are independent of other secrets
	TextSource                   // a text
	MapSource                    // a map from texts to texts
)

// A Source is the value of secretExpression, from which a kind derives its outputs.
type Source struct {
	Text sensitive.Bytes            // of a TextSource
	Map  map[string]sensitive.Bytes // of a MapSource
}

// An independent kind has no source.
type independent struct{}

// SourceType returns NoSource.
func (independent) SourceType() SourceType { return NoSource }

// From contains the sources of a generation in addition to its section of the input.
type From struct {
	// Random is a cryptographic source, crypto/rand.Reader: the same bytes produce the same
	// passwords and UUIDs. Keys are generated from the system's randomness.
	Random io.Reader

	Now time.Time

	// Issuer is the CA that [Certificate.CA] names, or nil for a self-signed certificate.
	Issuer *Issuer

	// Source is zero for a kind with NoSource.
	Source Source
}
