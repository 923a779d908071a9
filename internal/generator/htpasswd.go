package generator

import (
	"errors"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/crossplane-contrib/function-export/input/v1beta1"
)

// A Htpasswd is a stub.
type Htpasswd struct{}

// CompileHtpasswd compiles a section of the input at a path, or returns all diagnostics.
func CompileHtpasswd(*field.Path, *v1beta1.HtpasswdGenerator) (*Htpasswd, field.ErrorList) { return &Htpasswd{}, nil }

// Keys are the names of the outputs.
func (*Htpasswd) Keys() []string { return []string{"auth"} }

// SourceType returns MapSource.
func (*Htpasswd) SourceType() SourceType { return MapSource }

// Make is a stub.
func (*Htpasswd) Make(From) (Outputs, error) { return nil, errors.ErrUnsupported }
