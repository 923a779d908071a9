package generator

import (
	"errors"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/crossplane-contrib/function-export/input/v1beta1"
)

// A Argon2id is a stub.
type Argon2id struct{}

// CompileArgon2id compiles a section of the input at a path, or returns all diagnostics.
func CompileArgon2id(*field.Path, *v1beta1.Argon2idGenerator) (*Argon2id, field.ErrorList) { return &Argon2id{}, nil }

// Keys are the names of the outputs.
func (*Argon2id) Keys() []string { return []string{"hash"} }

// SourceType returns TextSource.
func (*Argon2id) SourceType() SourceType { return TextSource }

// Make is a stub.
func (*Argon2id) Make(From) (Outputs, error) { return nil, errors.ErrUnsupported }
