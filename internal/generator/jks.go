package generator

import (
	"errors"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/crossplane-contrib/function-export/input/v1beta1"
)

// A JKS is a stub.
type JKS struct{}

// CompileJKS compiles a section of the input at a path, or returns all diagnostics.
func CompileJKS(*field.Path, *v1beta1.JKSGenerator) (*JKS, field.ErrorList) { return &JKS{}, nil }

// Keys are the names of the outputs.
func (*JKS) Keys() []string { return []string{"keystore.jks", "password"} }

// SourceType returns MapSource.
func (*JKS) SourceType() SourceType { return MapSource }

// Make is a stub.
func (*JKS) Make(From) (Outputs, error) { return nil, errors.ErrUnsupported }
