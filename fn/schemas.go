package main

import (
	"regexp"
	"slices"
	"strings"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"

	"github.com/crossplane-contrib/function-export/internal/plan"
	"github.com/crossplane-contrib/function-export/internal/wire"
)

// schemaKey names a schema that is required. It spells the kind: on the first call of
// a reconcile Crossplane hands over what it found for the same key before.
func schemaKey(k plan.Kind) string { return plan.RequirementPrefix + k.Path() }

// requireSchemas adds the schemas that the plan wants to know to what is required.
func requireSchemas(rsp *fnv1.RunFunctionResponse, result *plan.Result) {
	if len(result.Schemas) == 0 {
		return
	}
	if rsp.GetRequirements() == nil {
		rsp.Requirements = &fnv1.Requirements{}
	}
	rsp.Requirements.Schemas = make(map[string]*fnv1.SchemaSelector, len(result.Schemas))
	for _, k := range result.Schemas {
		rsp.Requirements.Schemas[schemaKey(k)] = &fnv1.SchemaSelector{ApiVersion: k.APIVersion, Kind: k.Kind}
	}
}

// hasSchemas reports whether the Crossplane that calls reads schemas.
func hasSchemas(req *wire.Request) bool {
	return slices.Contains(req.Meta.GetCapabilities(), fnv1.Capability_CAPABILITY_REQUIRED_SCHEMAS)
}

// schemas that Crossplane read, by kind.
func schemas(req *wire.Request) map[plan.Kind]wire.Struct {
	if len(req.RequiredSchemas) == 0 {
		return nil
	}
	out := make(map[plan.Kind]wire.Struct, len(req.RequiredSchemas))
	for key, s := range req.RequiredSchemas {
		path, ok := strings.CutPrefix(key, plan.RequirementPrefix)
		if i := strings.LastIndexByte(path, '/'); ok && i > 0 { // else the Composition's own
			out[plan.Kind{APIVersion: path[:i], Kind: path[i+1:]}] = s
		}
	}
	return out
}

// kindForm is group/version/Kind, or of the core group version/Kind.
var kindForm = regexp.MustCompile(`^((?:[a-z0-9.-]+/)?[a-z](?:[-a-z0-9]*[a-z0-9])?)/([A-Za-z][-A-Za-z0-9]*)$`)

func parseKind(text string) (plan.Kind, bool) {
	m := kindForm.FindStringSubmatch(text)
	if m == nil {
		return plan.Kind{}, false
	}
	return plan.Kind{APIVersion: m[1], Kind: m[2]}, true
}
