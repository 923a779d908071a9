// Package observation provides the data of one request to expressions as CEL variables: the observed composite and
// composed resources with their connection details, the sources, the environment and the context.
//
// Structs of the request are wrapped, and never copied or written to. Values read them in place, in the order of
// their keys, with whole numbers as ints. Only the variables secret and secrets contain the data of a v1 Secret.
package observation

import (
	"slices"

	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"

	"github.com/crossplane-contrib/function-export/internal/engine/expression"
	"github.com/crossplane-contrib/function-export/internal/engine/wire"
)

// Details are connection details, or the data of a Secret, as a map from key to value.
type Details map[string][]byte

// A Resource is an observed composite or composed resource.
type Resource struct {
	Object  wire.Struct
	Details Details

	// Published reports whether the Secret that holds its connection details was found.
	Published bool

	// Withheld is the reason why its connection details cannot be used: *expression.Waiting,
	// *expression.Failed or nil.
	Withheld error
}

// object returns the object of a resource as expressions see it.
func (r Resource) object() ref.Val { return object(r.Object) }

// details returns the connection details of a resource as expressions see them.
func (r Resource) details() ref.Val {
	if r.Withheld != nil {
		return types.WrapErr(r.Withheld)
	}
	return details(r.Details)
}

// A Source holds the objects that were found for a source.
type Source struct {
	Read     bool // Crossplane has answered
	Optional bool // an object that was not found is a missing key, and not an input to wait for
	Secret   bool // it is in the variable secrets, and not in sources
	Many     bool // it is a list of all objects, and not one object

	Objects []wire.Struct
	Details Details // the data of a Secret source; nil if no Secret was found
	Failed  string  // why a source that was found cannot be used, or empty

	// Withheld is the reason why it cannot be used now: *expression.Waiting or nil.
	Withheld error
}

// missing reports, as there, whether a source exists. v is an error value if an expression must not continue
// without the source.
func (s Source) missing(variable, name string) (v ref.Val, there bool) {
	switch {
	case s.Failed != "":
		reason := "reads " + expression.PathText(variable, name) + ", which cannot be used: " + s.Failed
		return types.WrapErr(&expression.Failed{Reason: reason}), false
	case s.Withheld != nil:
		return types.WrapErr(s.Withheld), false
	case len(s.Objects) > 0:
		return nil, true
	case s.Optional && s.Read:
		return nil, false
	}
	return waiting(expression.PathText(variable, name)), false
}

// An Observation holds the data of one request for expressions. The maps and Structs are read only, and not copied.
type Observation struct {
	Composite   Resource
	Resources   map[string]Resource
	Sources     map[string]Source
	Environment wire.Struct
	Context     wire.Struct

	// Generated has the outputs of the current generation of each generator, Previous those of the previous generation,
	// if it exists, and Candidate those of the pending generation, or of the current one if none is pending.
	Generated map[string]Generated
	Previous  map[string]Generated
	Candidate map[string]Generated

	// Revisions has the revision of each export's observed object.
	Revisions map[string]Revision

	// EnvironmentWaits lists the objects that must be read before the environment exists.
	EnvironmentWaits []string
}

// A Revision counts the changes of the data of an export's observed object. It is 0 before the object exists.
type Revision struct {
	Number int64

	// Items are set for an export with a list: the revision for each item by its key.
	Items map[string]int64
}

// An Item is one item of a list, for which an export or a generator is made.
type Item struct {
	Value ref.Val
	Index int
	Key   string // that identifies the item; empty while it is computed
}

// An Author lists what the expressions of a composite author see in addition to the composite.
type Author struct {
	Secret      string   // the composed resource whose connection details are secret, or empty for no such variable
	Secrets     []string // the composed resources whose connection details are in secrets
	Resources   []string // the composed resources that are in resources
	Environment bool     // they see the environment
}

// Lists reports whether they see a composed resource.
func (t *Author) Lists(name string) bool {
	return slices.Contains(t.Resources, name) || slices.Contains(t.Secrets, name)
}

// A Generation holds what the expressions of one generation also see.
type Generation struct {
	// Generation is its number and its ID. If it does not exist, there is no such variable.
	Generation wire.Struct

	// Candidate has the outputs of the generation itself, by its generator. If it is nil, the variable is that of all
	// generators.
	Candidate map[string]Generated

	// Resource is its composed resource, if it is observed. Details has its connection details, or the data
	// of a Secret.
	Resource wire.Struct
	Details  Details
}

// waiting returns a missing input: expressions that read it wait.
func waiting(inputs ...string) ref.Val { return types.WrapErr(expression.NewWaiting(inputs...)) }
