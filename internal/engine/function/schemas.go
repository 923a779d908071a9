package function

import (
	"slices"
	"strings"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"

	"github.com/crossplane-contrib/function-export/internal/engine/lookup"
	"github.com/crossplane-contrib/function-export/internal/engine/plan"
	"github.com/crossplane-contrib/function-export/internal/engine/wire"
)

// schemaKey names a required schema. It contains the kind, because on the first call of a reconcile
// Crossplane passes what it found before for the same key.
func schemaKey(k plan.Kind) string { return lookup.Prefix + k.Path() }

func requiredSchemas(kinds []plan.Kind) map[string]*fnv1.SchemaSelector {
	var out map[string]*fnv1.SchemaSelector
	for _, k := range kinds {
		put(&out, schemaKey(k), &fnv1.SchemaSelector{ApiVersion: k.APIVersion, Kind: k.Kind})
	}
	return out
}

// hasSchemas reports whether the calling version of Crossplane reads schemas.
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
		path, ok := strings.CutPrefix(key, lookup.Prefix)
		if i := strings.LastIndexByte(path, '/'); ok && i > 0 { // otherwise it is the Composition's own
			out[plan.Kind{APIVersion: path[:i], Kind: path[i+1:]}] = s
		}
	}
	return out
}
