package generator

import (
	"fmt"
	"io"

	"github.com/google/uuid"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/crossplane-contrib/function-export/input/v1beta1"
	"github.com/crossplane-contrib/function-export/internal/sensitive"
)

// uuidKey is the only output.
const uuidKey = "uuid"

// A UUID makes random UUIDs: version 4 of RFC 9562, in lower case. It is immutable,
// and safe for concurrent use.
type UUID struct{}

// CompileUUID finds no faults: there is nothing to set. It has the arguments and the
// results that all generators have.
func CompileUUID(_ *field.Path, _ *v1beta1.UUIDGenerator) (*UUID, field.ErrorList) {
	return &UUID{}, nil
}

// Keys is uuid alone.
func (*UUID) Keys() []string { return []string{uuidKey} }

// Make makes a UUID of 16 bytes of random, which has to be a cryptographic source,
// crypto/rand.Reader; the same bytes give the same UUID. It fails only if random does.
func (*UUID) Make(random io.Reader) (Outputs, error) {
	id, err := uuid.NewRandomFromReader(random)
	if err != nil {
		return nil, fmt.Errorf("cannot make a UUID: cannot read randomness: %w", err)
	}
	return Outputs{uuidKey: sensitive.FromString(id.String())}, nil
}
