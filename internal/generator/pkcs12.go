package generator

import (
	"errors"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/crossplane-contrib/function-export/input/v1beta1"
)

// A PKCS12 is a stub.
type PKCS12 struct{}

// CompilePKCS12 compiles a section of the input at a path, or returns all diagnostics.
func CompilePKCS12(*field.Path, *v1beta1.PKCS12Generator) (*PKCS12, field.ErrorList) { return &PKCS12{}, nil }

// Keys are the names of the outputs.
func (*PKCS12) Keys() []string { return []string{"keystore.p12", "password"} }

// SourceType returns MapSource.
func (*PKCS12) SourceType() SourceType { return MapSource }

// Make is a stub.
func (*PKCS12) Make(From) (Outputs, error) { return nil, errors.ErrUnsupported }
