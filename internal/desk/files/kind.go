package files

import (
	"github.com/crossplane-contrib/function-export/internal/engine/lazy"
	"github.com/crossplane-contrib/function-export/internal/engine/plan"
)

// kindForm is group/version/Kind, or version/Kind for the core group.
var kindForm = lazy.MustCompile(`^((?:[a-z0-9.-]+/)?[a-z](?:[-a-z0-9]*[a-z0-9])?)/([A-Za-z][-A-Za-z0-9]*)$`)

func parseKind(text string) (plan.Kind, bool) {
	m := kindForm.FindStringSubmatch(text)
	if m == nil {
		return plan.Kind{}, false
	}
	return plan.Kind{APIVersion: m[1], Kind: m[2]}, true
}
