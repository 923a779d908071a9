package expression

import (
	"math"

	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"

	"github.com/crossplane-contrib/function-export/internal/limits"
)

// What data is thought to be as large as: the middle of what the examples have, so that
// ten times as much and a tenth of it are within the order of magnitude.
const (
	// assumedText is a host name, a user name or a password, in bytes.
	assumedText = 32

	// assumedKey is a key of an object, in bytes.
	assumedKey = 12

	// assumedNumber is a number as a text, in bytes.
	assumedNumber = 8

	// assumedElements of a list, or entries of a map: conditions of a resource, its
	// labels, composed resources, keys of a Secret.
	assumedElements = 6

	// assumedObject is an observed resource, in nodes and bytes: a managed resource with
	// its status, half of the 2 KiB that it is in JSON.
	assumedObject = 1 << 10

	// assumedBranch is how much smaller what is one step below it is.
	assumedBranch = 4

	// assumedDocument is a text that is decoded as JSON or YAML, in bytes.
	assumedDocument = 128

	// assumedPattern is a regular expression that is computed, in instructions.
	assumedPattern = 16
)

// A shape is how large a value is thought to be. The zero shape is a number, a bool or
// null.
type shape struct {
	bytes    float64 // of a text
	elements float64 // of a list or map
	element  *shape  // the largest of them; nil is unknown
	keyed    bool    // a map
	number   float64 // a whole number that is spelled; 0 for others

	unknown bool    // it may be anything: what takes it says what it is
	tree    float64 // nodes and bytes of what is unknown

	grows bool // the result of a loop, which is not copied
}

func unknownShape(tree float64) shape {
	return shape{unknown: true, tree: math.Max(tree, assumedText)}
}

func textShape(bytes float64) shape { return shape{bytes: bytes} }

func listShape(n float64, of shape) shape { return shape{elements: n, element: &of} }

func mapShape(of shape) shape { return shape{elements: assumedElements, element: &of, keyed: true} }

// variableShape is how large what an expression sees is.
func variableShape(name string) shape {
	switch name {
	case Composite, Resource, Self:
		return unknownShape(assumedObject)
	case Resources, Sources, Context:
		return mapShape(unknownShape(assumedObject))
	case Secret:
		return mapShape(textShape(assumedText))
	case Secrets, Generated, Previous:
		return mapShape(mapShape(textShape(assumedText)))
	case Env, Variables, Generation:
		return mapShape(unknownShape(0))
	case Key:
		return textShape(assumedText)
	}
	return unknownShape(0)
}

func literalShape(v ref.Val) shape {
	n, _ := v.(types.Int)
	return shape{bytes: float64(textLen(v)), number: float64(n)}
}

// typeShape is what the checked type says of a value that is unknown.
func typeShape(t *types.Type, s shape) shape {
	if t == nil {
		return s
	}
	t = withoutOptional(t)
	switch {
	case isKind(t, types.StringKind, types.BytesKind):
		return textShape(assumedText)
	case isKind(t, types.BoolKind, types.IntKind, types.UintKind, types.DoubleKind, types.NullTypeKind, types.TimestampKind, types.DurationKind):
		return shape{}
	}
	return s
}

// below is an element, or what a step leads to.
func (s shape) below() shape {
	switch {
	case s.unknown:
		return unknownShape(s.tree / assumedBranch)
	case s.element != nil:
		return *s.element
	}
	return unknownShape(0)
}

// text is the shape as textLen has it.
func (s shape) text() float64 {
	if s.unknown {
		return assumedText
	}
	return s.bytes
}

// size is the shape as size has it, where what is unknown is a list or a map.
func (s shape) size() float64 {
	switch {
	case s.unknown:
		return assumedElements
	case s.element != nil:
		return s.elements
	}
	return 1
}

// weigh is the shape as weigh has it: with bytes of 64, as weighNodes.
func (s shape) weigh(bytes float64) float64 {
	switch {
	case s.unknown && bytes > 1:
		return 1 + s.tree/16 // a node has some bytes
	case s.unknown:
		return s.tree
	case s.element != nil && s.keyed:
		return 1 + s.elements*(1+assumedKey/bytes+s.element.weigh(bytes))
	case s.element != nil:
		return 1 + s.elements*s.element.weigh(bytes)
	}
	return 1 + s.bytes/bytes
}

// printed is what it weighs where a text or a number is wanted.
func (s shape) printed() float64 {
	switch {
	case s.unknown:
		return 1 + assumedText
	case s.element != nil:
		return 1 + s.elements*s.element.printed()
	case s.bytes == 0:
		return assumedNumber
	}
	return s.weigh(1)
}

func larger(a, b shape) shape {
	if b.weigh(1) > a.weigh(1) {
		return b
	}
	return a
}

// resultShape is how large what a function gives is.
func resultShape(fn string, a []shape) shape {
	switch fn {
	case "_+_":
		return sumShape(a[0], a[1])
	case "format":
		return textShape(a[0].text() + a[1].printed())
	case "join":
		return textShape(a[0].printed() + a[0].size()*separator(a))
	case "json.encode", "yaml.encode":
		return textShape(a[0].weigh(1))
	case "json.decode", "yaml.decode":
		return unknownShape(math.Max(a[0].text(), assumedDocument))
	case "split":
		return listShape(math.Max(2, a[0].text()/assumedKey), textShape(assumedKey))
	case "regex.extractAll":
		return listShape(assumedElements, textShape(assumedText))
	case "lists.range":
		return listShape(rangeLength(a[0]), shape{})
	case "sha256":
		return textShape(64)
	case "base64.encode":
		return textShape(a[0].text() * 4 / 3)
	case "dockerconfigjson":
		return textShape(64 + 2*(a[0].text()+a[1].text()+a[2].text()))
	case "string":
		return textShape(a[0].printed())
	case "cel.@mapInsert":
		out := a[0]
		value := a[len(a)-1]
		out.element, out.elements, out.keyed = &value, out.elements+1, true
		return out
	}
	if keepsShape[fn] {
		return a[0]
	}
	return unknownShape(0)
}

// keepsShape are the functions whose result is about as large as their first operand.
var keepsShape = map[string]bool{ //nolint:gochecknoglobals // a table
	"dyn": true, "optional.of": true, "optional.ofNonZeroValue": true, "value": true, orderedCall: true, optionalCall: true, sortByCall: true,
	"replace": true, "charAt": true, "substring": true, "reverse": true, "strings.quote": true, "trim": true, "lowerAscii": true, "upperAscii": true,
	"base64.decode": true, "bytes": true, "url.queryEscape": true, "url.pathEscape": true, "regex.replace": true,
	"flatten": true, "sort": true, "slice": true, "distinct": true,
}

func sumShape(a, b shape) shape {
	if a.element == nil && b.element == nil {
		return textShape(a.text() + b.text())
	}
	out := a
	if a.element == nil {
		out = b
	}
	element := larger(a.below(), b.below())
	switch {
	case a.element != nil && a.elements == 0:
		element = b.below()
	case b.element != nil && b.elements == 0:
		element = a.below()
	}
	out.element, out.elements = &element, a.size()+b.size()
	return out
}

func separator(a []shape) float64 {
	if len(a) > 1 {
		return a[1].text()
	}
	return 0
}

func rangeLength(n shape) float64 {
	if n.number == 0 {
		return assumedElements
	}
	return math.Min(n.number, limits.RangeElements)
}

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
