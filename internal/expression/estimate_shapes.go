package expression

import (
	"math"

	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"

	"github.com/crossplane-contrib/function-export/internal/limits"
)

// How large data is thought to be: as in the examples, about, so that three times as much
// and a third of it are within the order of magnitude, also where one is inside of another.
const (
	// assumedText is a host name, a user name or a password, in bytes.
	assumedText = 24

	// assumedKey is a key of an object, in bytes.
	assumedKey = 12

	// assumedNumber is a number as a text, in bytes.
	assumedNumber = 8

	// assumedElements of a list, or entries of a map: conditions of a resource, its
	// labels, composed resources, keys of a Secret.
	assumedElements = 4

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
