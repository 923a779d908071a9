package credential

import (
	"fmt"

	"github.com/google/uuid"

	"github.com/crossplane-contrib/function-export/internal/engine/sensitive"
)

// uuidKey is the only output.
const uuidKey = "uuid"

// A UUID generates random UUIDs: version 4 of RFC 9562, in lower case. It is immutable,
// and safe for concurrent use.
type UUID struct{}

// Keys returns the name of the only output.
func (*UUID) Keys() []string { return []string{uuidKey} }

// Make generates a UUID from 16 bytes of Random. It fails only if Random fails.
func (*UUID) Make(from From) (Outputs, error) {
	id, err := uuid.NewRandomFromReader(from.Random)
	if err != nil {
		return nil, fmt.Errorf("cannot generate a UUID: cannot read randomness: %w", err)
	}
	return Outputs{uuidKey: sensitive.FromString(id.String())}, nil
}
