package expression

import (
	"cel.dev/cel-go/common/types/ref"
)

// kubernetesChecks are the checks of Kubernetes' functions. An address, a network and a quantity have a limited size.
var kubernetesChecks = map[string]check{ //nolint:gochecknoglobals // a table
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
	"containsIP":     visits(func(a []ref.Val) int64 { return 4 * textLen(a[1]) }),
	"containsCIDR":   visits(func(a []ref.Val) int64 { return 4 * textLen(a[1]) }),
	"semver":         linear(16),
	"isSemver":       linear(16),
	"quantity":       quantityWork,
	"isQuantity":     quantityWork,
	"add":            quantityWork,
	"sub":            quantityWork,
	"isGreaterThan":  comparisonWork,
	"isLessThan":     comparisonWork,
	"compareTo":      comparisonWork,
	"validate":       visits(func(a []ref.Val) int64 { return 32 * (textLen(a[1]) + 16) }), // several patterns
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
	comparisonWork = visits(func(a []ref.Val) int64 { return quantityVisits + textLen(a[0]) + textLen(a[1]) })
)
