package generator

import (
	"io"
	"time"
)

// A Kind makes the outputs of generations by itself. It is immutable, and safe for concurrent use.
type Kind interface {
	// Keys are the names of the outputs.
	Keys() []string

	// Make makes the outputs of one generation. No error holds any of them.
	Make(from From) (Outputs, error)
}

// From is what a generation is made from beside its section of the input.
type From struct {
	// Random is a cryptographic source, crypto/rand.Reader: the same bytes give the same
	// passwords and UUIDs. Keys are made from the system's randomness.
	Random io.Reader

	Now time.Time

	// Issuer is that of [Certificate.CA], or nil for a certificate that signs itself.
	Issuer *Issuer
}
