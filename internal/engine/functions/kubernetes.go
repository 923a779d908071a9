package functions

import "cel.dev/cel-go/common/types/ref"

// kubernetesChecks are the Checks of Kubernetes' functions. An address, a network and a quantity have a limited Size.
var kubernetesChecks = map[string]Check{ //nolint:gochecknoglobals // a table
	"url":                                linear(8),
	"isURL getEscapedPath":               linear(4),
	"getHostname getPort":                linear(2),
	"getQuery semver isSemver":           linear(16),
	"ip isIP ip.isCanonical cidr isCIDR": linear(4), // like those below, they write the text into their error
	"containsIP containsCIDR":            visits(func(a []ref.Val) int64 { return 4 * TextLen(a[1]) }),
	"quantity isQuantity add sub":        quantityWork,
	"isGreaterThan isLessThan compareTo": comparisonWork,
	"validate":                           visits(func(a []ref.Val) int64 { return 32 * (TextLen(a[1]) + 16) }), // several patterns
}

// quantityVisits is the work of calculating with a quantity of a thousand digits.
const quantityVisits = 256

var (
	quantityWork   = visits(func([]ref.Val) int64 { return quantityVisits })
	comparisonWork = visits(func(a []ref.Val) int64 { return quantityVisits + TextLen(a[0]) + TextLen(a[1]) })
)
