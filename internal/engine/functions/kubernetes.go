package functions

import "cel.dev/cel-go/common/types/ref"

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

// quantityVisits is the work of calculating with a quantity of a thousand digits.
const quantityVisits = 256

var (
	quantityWork   = visits(func([]ref.Val) int64 { return quantityVisits })
	comparisonWork = visits(func(a []ref.Val) int64 { return quantityVisits + TextLen(a[0]) + TextLen(a[1]) })
)
