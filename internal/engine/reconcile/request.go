package reconcile

import (
	"io"
	"maps"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/crossplane-contrib/function-export/internal/engine/object"
	"github.com/crossplane-contrib/function-export/internal/engine/observation"
	"github.com/crossplane-contrib/function-export/internal/engine/plan"
	"github.com/crossplane-contrib/function-export/internal/engine/wire"
)

// A Request is what one call of the function observes. Run does not change it.
type Request struct {
	Observation observation.Observation // without sources, which Run reads from Found

	// Found are the objects that Crossplane read for requirements, by their key. A missing key was not
	// read yet. All other keys are the Composition's own required resources.
	Found map[string][]wire.Struct

	Desired       map[string]wire.Struct // the resources of earlier steps of the pipeline
	DesiredStatus wire.Struct            // the status of earlier steps

	// Schemas are the OpenAPI v3 schemas that Crossplane read for Result.Schemas. A missing kind was not
	// read yet. A kind that does not exist has an empty schema.
	Schemas    map[plan.Kind]wire.Struct
	HasSchemas bool // Crossplane can read schemas

	Elsewhere map[string]bool // the generators of other steps
	Possible  map[string]bool // the resources that other steps desire only because they may take them over

	Host
}

// A Host is what runs a request.
type Host struct {
	Now    time.Time
	Random io.Reader // the source of credentials

	// Size returns the number of bytes of the request. It may be nil.
	Size func() int

	// RequireGrants is set if each input is read as one with requireGrants.
	RequireGrants bool

	// Advise returns what a message says about a missing input. It may be nil.
	Advise func(observation.Missing) string
}

// desired returns the resources of earlier steps, without those that other steps only keep as they are observed,
// because they may take them over.
func (r *Request) desired() map[string]wire.Struct {
	if len(r.Possible) == 0 {
		return r.Desired
	}
	out := maps.Clone(r.Desired)
	for name := range r.Possible {
		if proto.Equal(r.Desired[name].Proto(), object.Held(r.Observation.Resources[name].Object)) {
			delete(out, name)
		}
	}
	return out
}
