package functions

import (
	"cel.dev/cel-go/common/types/ref"

	"github.com/crossplane-contrib/function-export/internal/engine/celast"
)

// kubernetesChecks are the Checks of Kubernetes' functions. An address, a network and a quantity have a limited Size.
var kubernetesChecks = map[string]Check{ //nolint:gochecknoglobals // a table
	"url":            linear(8),
	"isURL":          linear(4),
	"getEscapedPath": linear(4),
	"getHostname":    linear(2),
	"getPort":        linear(2),
	"getQuery":       linear(16),
	"ip":             linear(4), // like those below, it writes the text into its error
	"isIP":           linear(4),
	"ip.isCanonical": linear(4),
	"cidr":           linear(4),
	"isCIDR":         linear(4),
	"containsIP":     visits(func(a []ref.Val) int64 { return 4 * TextLen(a[1]) }),
	"containsCIDR":   visits(func(a []ref.Val) int64 { return 4 * TextLen(a[1]) }),
	"semver":         linear(16),
	"isSemver":       linear(16),
	"quantity":       quantityWork,
	"isQuantity":     quantityWork,
	"add":            quantityWork,
	"sub":            quantityWork,
	"isGreaterThan":  comparisonWork,
	"isLessThan":     comparisonWork,
	"compareTo":      comparisonWork,
	"validate":       visits(func(a []ref.Val) int64 { return 32 * (TextLen(a[1]) + 16) }), // several patterns
}

// kubernetesWeights are estimates of the same work, for each character or unknown value.
var kubernetesWeights = map[string]uint64{ //nolint:gochecknoglobals // a table
	"url": 8, "isURL": 4,
	"getEscapedPath": 4, "getQuery": 16, "semver": 16, "isSemver": 16, "validate": 24,
	"quantity": 64, "isQuantity": 64, "add": 8, "sub": 8, "isGreaterThan": 8, "isLessThan": 8, "compareTo": 8,
}

// quantityVisits is the work of calculating with a quantity of a thousand digits.
const quantityVisits = 256

var (
	quantityWork   = visits(func([]ref.Val) int64 { return quantityVisits })
	comparisonWork = visits(func(a []ref.Val) int64 { return quantityVisits + TextLen(a[0]) + TextLen(a[1]) })
)

// Weights are how often functions read each character or entry, if more than once.
var Weights = joined(kubernetesWeights, map[string]uint64{ //nolint:gochecknoglobals // a table
	"json.decode": 4, "yaml.decode": 16, "yaml.encode": 16, "split": 16, "merge": 24, "sort": 16, celast.SortByCall: 16,
	"charAt": 4, "substring": 4, "reverse": 4, "strings.quote": 4,
	"pem.split": 2, "pem.join": 2,
	// A certificate has more characters than other texts, and a signature.
	"pem.chain": 500, "pem.leaf": 500, "pem.ca": 500,
})
