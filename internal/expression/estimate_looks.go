package expression

import (
	"math"

	"github.com/google/cel-go/common/ast"
)

// A look is a check over shapes: how many nodes and bytes a call visits.
type look func(a []shape, operands []ast.Expr) float64

// looks are those of the checked functions: see checks.
var looks = map[string]look{ //nolint:gochecknoglobals // a table
	"_==_":             lookEqual,
	"_!=_":             lookEqual,
	"@in":              lookIn,
	"_+_":              lookAdd,
	orderedCall:        func(a []shape, _ []ast.Expr) float64 { return a[0].size() },
	"format":           func(a []shape, _ []ast.Expr) float64 { return a[0].text() + a[1].printed() },
	"join":             func(a []shape, _ []ast.Expr) float64 { return a[0].printed() + a[0].size()*separator(a) },
	"replace":          lookReplace,
	"json.encode":      lookWeight(1),
	"yaml.encode":      lookWeight(16),
	"json.decode":      func(a []shape, _ []ast.Expr) float64 { return 4 * document(a[0]) },
	"yaml.decode":      func(a []shape, _ []ast.Expr) float64 { return 16 * document(a[0]) },
	"split":            func(a []shape, _ []ast.Expr) float64 { return 16 * a[0].text() },
	"indexOf":          lookSearch,
	"lastIndexOf":      lookSearch,
	"flatten":          lookWeight(1),
	"optional.unwrap":  lookWeight(1),
	"unwrapOpt":        lookWeight(1),
	"cel.@mapInsert":   func(a []shape, _ []ast.Expr) float64 { return 8 + a[1].printed() },
	"sort":             func(a []shape, _ []ast.Expr) float64 { return a[0].printed() + 16*a[0].size() },
	sortByCall:         func(a []shape, _ []ast.Expr) float64 { return a[1].printed() + 16*a[0].size() },
	"slice":            func(a []shape, _ []ast.Expr) float64 { return a[0].size() },
	"lists.range":      func(a []shape, _ []ast.Expr) float64 { return rangeLength(a[0]) },
	"distinct":         func(a []shape, _ []ast.Expr) float64 { return lookPairs(a[0], a[0]) },
	"sets.contains":    func(a []shape, _ []ast.Expr) float64 { return lookPairs(a[0], a[1]) },
	"sets.equivalent":  func(a []shape, _ []ast.Expr) float64 { return 2 * lookPairs(a[0], a[1]) },
	"sets.intersects":  func(a []shape, _ []ast.Expr) float64 { return lookPairs(a[0], a[1]) },
	"matches":          lookRegex,
	"regex.extract":    lookRegex,
	"regex.extractAll": lookRegex,
	"regex.replace": func(a []shape, o []ast.Expr) float64 {
		return lookRegex(a, o) + (a[0].text()+1)*(a[2].text()+1)
	},
	"charAt":           lookLinear(4),
	"substring":        lookLinear(4),
	"reverse":          lookLinear(4),
	"strings.quote":    lookLinear(4),
	"size":             lookLinear(1),
	"contains":         lookLinear(1),
	"trim":             lookLinear(1),
	"lowerAscii":       lookLinear(1),
	"upperAscii":       lookLinear(1),
	"base64.encode":    lookLinear(1),
	"base64.decode":    lookLinear(1),
	"bytes":            lookLinear(1),
	"string":           lookLinear(1),
	"sha256":           lookLinear(1),
	"url.queryEscape":  lookLinear(2),
	"url.pathEscape":   lookLinear(2),
	"dockerconfigjson": func(a []shape, _ []ast.Expr) float64 { return 4 * (a[0].text() + a[1].text() + a[2].text()) },
}

func lookLinear(times float64) look {
	return func(a []shape, _ []ast.Expr) float64 {
		if a[0].element != nil {
			return times * a[0].elements
		}
		return times * (a[0].text() + 1)
	}
}

func lookWeight(times float64) look {
	return func(a []shape, _ []ast.Expr) float64 { return times * a[0].weigh(1) }
}

// lookEqual takes what is unknown for a text: few compare trees.
func lookEqual(a []shape, _ []ast.Expr) float64 {
	scalar := func(s shape) bool { return !s.unknown && s.element == nil && s.bytes == 0 }
	if scalar(a[0]) || scalar(a[1]) {
		return 1
	}
	return a[0].printed() + a[1].printed()
}

func lookIn(a []shape, _ []ast.Expr) float64 {
	if a[1].keyed {
		return 1 + a[0].text()
	}
	if a[0].text() == 0 {
		return a[1].size()
	}
	return a[1].printed() + (a[1].size()+1)*math.Min(a[0].printed(), 64)
}

func lookAdd(a []shape, _ []ast.Expr) float64 {
	if a[0].element == nil && a[1].element == nil {
		return a[0].text() + a[1].text()
	}
	if a[0].grows {
		return a[1].size()
	}
	return a[0].size() + a[1].size()
}

func lookReplace(a []shape, _ []ast.Expr) float64 {
	text := a[0].text()
	return text + (text/math.Max(a[1].text(), 1)+1)*a[2].text()
}

func lookSearch(a []shape, _ []ast.Expr) float64 { return a[0].text() * math.Max(1, a[1].text()) }

func lookPairs(a, b shape) float64 {
	n, m := a.size(), b.size()
	return n*m + math.Min(n*b.weigh(64), m*a.weigh(64))
}

func lookRegex(a []shape, operands []ast.Expr) float64 {
	n := float64(assumedPattern)
	if pattern, ok := literalString(operands[1]); ok {
		if k, err := regexInstructions(pattern); err == nil {
			n = float64(k)
		}
	}
	return n * math.Max(1, a[0].text()) / 8
}

func document(s shape) float64 {
	if s.bytes > 0 && s.bytes != assumedText {
		return s.bytes // it is spelled, or put together
	}
	return assumedDocument
}
