// Package observation holds what expressions see of one request, as CEL variables: the observed composite and composed
// resources with their connection details, the sources, the environment and the context.
//
// Structs of the request are wrapped, never copied or written to. Values read them in place, in the order of their
// keys, whole numbers as ints. The data of a v1 Secret is in no variable except secret and secrets.
package observation

import (
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"

	"github.com/crossplane-contrib/function-export/internal/expression"
	"github.com/crossplane-contrib/function-export/internal/wire"
)

// Details are connection details, or the data of a Secret: key to value.
type Details map[string][]byte

// A Resource is what is observed of a composite or composed resource.
type Resource struct {
	Object  wire.Struct
	Details Details

	// Withheld says why its connection details cannot be used: *expression.Waiting, *expression.Failed or nil.
	Withheld error
}

// object of a resource as expressions see it.
func (r Resource) object() ref.Val { return object(r.Object) }

// details of a resource as expressions see them.
func (r Resource) details() ref.Val {
	if r.Withheld != nil {
		return types.WrapErr(r.Withheld)
	}
	return details(r.Details)
}

// A Source is what was found of a source.
type Source struct {
	Read     bool // Crossplane has answered
	Optional bool // if it was not found, it is a missing key, and not an input to wait for
	Secret   bool // it is in the variable secrets, and not in sources
	Many     bool // it is a list of all objects, and not the one object

	Objects []wire.Struct
	Details Details // the data of a Secret source; nil if none was found
	Failed  string  // why a source that was found cannot be used, or empty
}

// missing reports whether a source is there. v is an error value if an expression must not go on without the source.
func (s Source) missing(variable, name string) (v ref.Val, there bool) {
	switch {
	case s.Failed != "":
		reason := "reads " + expression.PathText(variable, name) + ", which cannot be used: " + s.Failed
		return types.WrapErr(&expression.Failed{Reason: reason}), false
	case len(s.Objects) > 0:
		return nil, true
	case s.Optional && s.Read:
		return nil, false
	}
	return waiting(expression.PathText(variable, name)), false
}

// Generated is the outputs of a generator.
type Generated struct {
	Outputs Details // nil if there are none yet
	Waits   string  // what the outputs wait for

	// Failed says why there are no outputs although there should be, or is nil. If it is set, an optional key does not
	// go on without them.
	Failed *expression.Failed
}

// An Observation is what expressions see of one request. The maps and Structs are read only, and not copied.
type Observation struct {
	Composite   Resource
	Resources   map[string]Resource
	Sources     map[string]Source
	Environment wire.Struct
	Context     wire.Struct

	// Generated are the outputs of each generator, and Previous those of the generation before, if there is one.
	Generated map[string]Generated
	Previous  map[string]Generated

	// EnvironmentWaits lists what must be read before there is an environment.
	EnvironmentWaits []string
}

// A Author lists what the expressions of a composite author see beside the composite.
type Author struct {
	Secret      string   // the composed resource whose connection details are secret, or empty for no such variable
	Secrets     []string // the composed resources whose connection details are in secrets
	Resources   []string // the composed resources that are in resources
	Environment bool     // they see the environment
}

// Generation is what the expressions of one generation also see.
type Generation struct {
	// Generation is its number and its ID. If it does not exist there is no such variable.
	Generation wire.Struct

	// Resource is its composed resource, if it is observed, and Details its connection details, or the data of a Secret.
	Resource wire.Struct
	Details  Details
}

// waiting is an input that is not there yet: whoever reads it waits.
func waiting(inputs ...string) ref.Val { return types.WrapErr(expression.NewWaiting(inputs...)) }
