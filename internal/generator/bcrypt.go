package generator

import (
	"errors"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/crossplane-contrib/function-export/input/v1beta1"
)

// A Bcrypt is a stub.
type Bcrypt struct{}

// CompileBcrypt compiles a section of the input at a path, or returns all diagnostics.
func CompileBcrypt(*field.Path, *v1beta1.BcryptGenerator) (*Bcrypt, field.ErrorList) { return &Bcrypt{}, nil }

// Keys are the names of the outputs.
func (*Bcrypt) Keys() []string { return []string{"hash"} }

// SourceType returns TextSource.
func (*Bcrypt) SourceType() SourceType { return TextSource }

// Make is a stub.
func (*Bcrypt) Make(From) (Outputs, error) { return nil, errors.ErrUnsupported }
