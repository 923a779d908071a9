package generator

import (
	"errors"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/crossplane-contrib/function-export/input/v1beta1"
)

// A JWK is a stub.
type JWK struct{ independent }

// CompileJWK compiles a section of the input at a path, or returns all diagnostics.
func CompileJWK(*field.Path, *v1beta1.JWKGenerator) (*JWK, field.ErrorList) { return &JWK{}, nil }

// Keys are the names of the outputs.
func (*JWK) Keys() []string { return []string{"jwk", "jwks", "kid", privateKey, publicKey} }

// Make is a stub.
func (*JWK) Make(From) (Outputs, error) { return nil, errors.ErrUnsupported }
