package generator

import (
	"io"
	"time"
)

// A Kind generates the outputs of generations. It is immutable, and safe for concurrent use.
type Kind interface {
	// Keys are the names of the outputs.
	Keys() []string

	// Make generates the outputs of one generation. Errors contain no part of them.
	Make(from From) (Outputs, error)
}

// From contains the sources of a generation in addition to its section of the input.
type From struct {
	// Random is a cryptographic source, crypto/rand.Reader: the same bytes produce the same
	// passwords and UUIDs. Keys are generated from the system's randomness.
	Random io.Reader

	Now time.Time

	// Issuer is the CA that [Certificate.CA] names, or nil for a self-signed certificate.
	Issuer *Issuer
}
