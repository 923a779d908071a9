package reconcile

import (
	"io"
	"time"

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
