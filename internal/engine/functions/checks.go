package functions

import (
	"strings"

	"cel.dev/cel-go/common/operators"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
	"cel.dev/cel-go/common/types/traits"

	"github.com/crossplane-contrib/function-export/internal/engine/celast"
	"github.com/crossplane-contrib/function-export/internal/engine/kubernetes"
	"github.com/crossplane-contrib/function-export/internal/engine/limits"
)

// A Check examines the arguments of a call before the call runs. It returns how many nodes and bytes
// the call will visit, or why it may not run. A check takes no longer than the call itself at its
// limit.
type Check func(args []ref.Val) (visits int64, refused string)

// Why calls are refused.
const (
	refusedVisits   = "its operands are too large"
	refusedBytes    = "its result would be too large"
	refusedElements = "its result would have too many elements"
	refusedPattern  = "its pattern is too long or too complex"
)

// Checks are the checks of the functions whose work or result can be larger than the meter assumes for a call: one
// unit, and one unit for each 64 bytes of text that it returns.
var Checks = joined(pemChecks, formatChecks(), kubernetesChecks, map[string]Check{ //nolint:gochecknoglobals // a table
	operators.Equals + " " + operators.NotEquals: checkEqual,
	operators.In:                visits(inVisits),
	operators.Add:               checkAdd,
	celast.OrderedCall:          checkOrdered,
	"format":                    produces(func(a []ref.Val) int64 { return TextLen(a[0]) + weigh(a[1], limits.CallBytes) }),
	"join":                      produces(joinBytes),
	"replace":                   produces(replaceBytes),
	"yaml.encode":               visits(func(a []ref.Val) int64 { return 16 * weigh(a[0], limits.CallVisits/16) }),
	"json.decode":               visits(func(a []ref.Val) int64 { return 4 * TextLen(a[0]) }),
	"yaml.decode":               checkYAML,
	"split":                     visits(func(a []ref.Val) int64 { return TextLen(a[0]) * 16 }),
	"indexOf lastIndexOf":       visits(searchVisits),
	"json.encode flatten":       weighed,
	"optional.unwrap unwrapOpt": weighed, // their error contains a value that is not an optional
	"hasValue":                  visits(hasValueVisits),
	// The key of an entry of transformMap, or the entries of transformMapEntry: if the map already
	// has the key, the error contains it.
	"cel.@mapInsert":                         visits(func(a []ref.Val) int64 { return 8 + weigh(a[1], limits.CallVisits) }),
	"merge":                                  checkMerge,
	"sort":                                   visits(func(a []ref.Val) int64 { return weigh(a[0], limits.CallVisits) + Size(a[0])*16 }),
	celast.SortByCall:                        visits(func(a []ref.Val) int64 { return weigh(a[1], limits.CallVisits) + Size(a[0])*16 }),
	"slice":                                  visits(func(a []ref.Val) int64 { return Size(a[0]) }),
	"lists.range":                            visits(rangeVisits),
	"distinct":                               visits(func(a []ref.Val) int64 { return pairs(a[0], a[0]) }),
	"sets.equivalent":                        visits(func(a []ref.Val) int64 { return 2 * pairs(a[0], a[1]) }),
	"sets.contains sets.intersects":          visits(func(a []ref.Val) int64 { return pairs(a[0], a[1]) }),
	"matches regex.extract regex.extractAll": checkRegex,
	"regex.replace":                          checkRegexReplace,
	"charAt substring reverse strings.quote": linear(4), // they convert the whole text to runes
	"size contains trim lowerAscii upperAscii base64.encode base64.decode bytes string sha256": linear(1),
	"hash.md5 hash.fnv64a hash.sha1 hash.sha256 hash.sha512 hex.decode base64url.decode":       linear(1),
	"url.queryEscape url.pathEscape": linear(2),
	"hmac.sha256":                    visits(func(a []ref.Val) int64 { return hmacVisits + TextLen(a[0]) + TextLen(a[1]) }),
	"hex.encode":                     produces(func(a []ref.Val) int64 { return 2 * TextLen(a[0]) }),
	"base64url.encode":               produces(func(a []ref.Val) int64 { return TextLen(a[0]) + TextLen(a[0])/3 }),
	"dockerconfigjson":               visits(func(a []ref.Val) int64 { return 4 * (TextLen(a[0]) + TextLen(a[1]) + TextLen(a[2])) }),
})

// joined returns the entries of several tables, each by the name of one function.
func joined(tables ...map[string]Check) map[string]Check {
	out := map[string]Check{}
	for _, t := range tables {
		for names, c := range t {
			for _, name := range strings.Fields(names) {
				out[name] = c
			}
		}
	}
	return out
}

// hmacVisits is the work of a keyed hash of an empty message: it hashes four blocks.
const hmacVisits = 4 * 64

// linear is the check of a function that reads its first operand the given number of times, and does
// not return more than it reads.
func linear(times int64) Check {
	return visits(func(a []ref.Val) int64 { return times * (TextLen(a[0]) + Size(a[0])) })
}

var weighed = visits(func(a []ref.Val) int64 { return weigh(a[0], limits.CallVisits) })

func visits(count func([]ref.Val) int64) Check {
	return atMost(limits.CallVisits, refusedVisits, count)
}

func produces(count func([]ref.Val) int64) Check {
	return atMost(limits.CallBytes, refusedBytes, count)
}

func atMost(limit int64, refused string, count func([]ref.Val) int64) Check {
	return func(args []ref.Val) (int64, string) {
		n := count(args)
		if n < 0 || n > limit {
			return limit, refused
		}
		return n, ""
	}
}

// hasValueVisits is the work of comparing the value of an optional with another value, if there is one.
func hasValueVisits(a []ref.Val) int64 {
	if len(a) < 2 {
		return 1
	}
	return 2 * weigh(a[1], limits.CallVisits/2)
}

func checkEqual(a []ref.Val) (int64, string) {
	if isScalar(a[0]) || isScalar(a[1]) {
		return 1, ""
	}
	return visits(func(a []ref.Val) int64 {
		return weigh(a[0], limits.CallVisits) + weigh(a[1], limits.CallVisits)
	})(a)
}

func inVisits(a []ref.Val) int64 {
	if _, ok := a[1].(traits.Mapper); ok {
		return min(1+TextLen(a[0]), limits.CallVisits)
	}
	if isScalar(a[0]) {
		return Size(a[1])
	}
	return weigh(a[1], limits.CallVisits) + (Size(a[1])+1)*min(weigh(a[0], limits.CallVisits), 64)
}

func checkAdd(a []ref.Val) (int64, string) {
	if n := TextLen(a[0]) + TextLen(a[1]); n > limits.CallBytes {
		return n, refusedBytes
	} else if n > 0 {
		return n, ""
	}
	switch a[0].(type) {
	case traits.MutableLister:
		return Size(a[1]), "" // the accumulator of a comprehension
	case traits.Lister:
		return checkElements(Size(a[0]) + Size(a[1]))
	}
	return 1, ""
}

// checkOrdered refuses an iteration that is too long.
func checkOrdered(a []ref.Val) (int64, string) { return checkElements(Size(a[0])) }

func checkElements(n int64) (int64, string) {
	if n > limits.CallElements {
		return n, refusedElements
	}
	return n, ""
}

// checkMerge refuses a map with too many entries. A call hashes and sorts the keys, but it does not visit the values.
func checkMerge(a []ref.Val) (int64, string) {
	if n, refused := checkElements(Size(a[0]) + Size(a[1])); refused != "" {
		return n, refused
	}
	return visits(func(a []ref.Val) int64 { return weighKeys(a[0]) + weighKeys(a[1]) })(a)
}

// weighKeys counts the bytes of the keys of a map, and the steps of sorting them.
func weighKeys(v ref.Val) (n int64) {
	m, ok := v.(traits.Mapper)
	if !ok {
		return 1
	}
	for it := m.Iterator(); it.HasNext() == types.True && n <= limits.CallVisits; {
		n += 24 + TextLen(it.Next())
	}
	return n
}

func checkYAML(a []ref.Val) (int64, string) {
	if TextLen(a[0]) > limits.YAMLBytes {
		return 16 * TextLen(a[0]), refusedVisits
	}
	return 16 * TextLen(a[0]), ""
}

func rangeVisits(a []ref.Val) int64 {
	n, _ := a[0].(types.Int)
	return min(int64(n), limits.RangeElements)
}

func joinBytes(a []ref.Val) int64 {
	n := weigh(a[0], limits.CallBytes)
	if len(a) > 1 {
		n += Size(a[0]) * TextLen(a[1])
	}
	return n
}

func replaceBytes(a []ref.Val) int64 {
	text, old, repl := TextLen(a[0]), max(TextLen(a[1]), 1), TextLen(a[2])
	return text + (text/old+1)*repl
}

func searchVisits(a []ref.Val) int64 { return TextLen(a[0]) * max(1, TextLen(a[1])) }

// pairs returns the cost of comparing each element of one list with each element of another one. A
// comparison ends at the end of the smaller value. Comparing text is one step.
func pairs(a, b ref.Val) int64 {
	n, m := Size(a), Size(b)
	if n*m > limits.CallVisits {
		return n * m
	}
	return n*m + min(n*weighNodes(b, limits.CallVisits), m*weighNodes(a, limits.CallVisits))
}

func checkRegex(a []ref.Val) (int64, string) {
	pattern, ok := a[1].(types.String)
	if !ok {
		return 1, ""
	}
	if len(pattern) > limits.RegexCharacters {
		return int64(len(pattern)), refusedPattern
	}
	instructions, err := types.RegexProgramSize(string(pattern))
	if err != nil {
		return 1, "" // the call itself refuses it
	}
	n := int64(instructions)
	if n > limits.RegexInstructions {
		return n, refusedPattern
	}
	work := n * max(1, TextLen(a[0]))
	if work > limits.RegexVisits {
		return work, refusedVisits
	}
	return work / 8, ""
}

func checkRegexReplace(a []ref.Val) (int64, string) {
	n, refused := checkRegex(a)
	if refused != "" {
		return n, refused
	}
	m, refused := produces(func(a []ref.Val) int64 { return (TextLen(a[0]) + 1) * (TextLen(a[2]) + 1) })(a)
	return n + m, refused
}

func isScalar(v ref.Val) bool {
	switch v.(type) {
	case types.Int, types.Double, types.Bool, types.Uint, types.Null:
		return true
	}
	return false
}

// TextLen returns the bytes of a string, of bytes, or of the text that an opaque value was made of.
func TextLen(v ref.Val) int64 {
	switch t := v.(type) {
	case types.String:
		return int64(len(t))
	case types.Bytes:
		return int64(len(t))
	case kubernetes.Opaque:
		return t.Len()
	}
	return 0
}

// Size returns the number of elements or entries of a list or a map, and 1 for all other values.
func Size(v ref.Val) int64 {
	switch v.(type) {
	case traits.Mapper, traits.Lister:
		if n, ok := v.(traits.Sizer).Size().(types.Int); ok {
			return int64(n)
		}
	}
	return 1
}

// weigh counts the nodes and bytes below v as a tree: a shared value counts each time. It stops as
// soon as the number exceeds most, and returns a number over most.
func weigh(v ref.Val, most int64) int64 { return weighBy(v, most, 1) }

// weighNodes is like weigh, but 64 bytes count as one node.
func weighNodes(v ref.Val, most int64) int64 { return weighBy(v, most, 64) }

func weighBy(v ref.Val, most, bytes int64) int64 {
	n := 1 + TextLen(v)/bytes
	switch t := v.(type) {
	case *types.Optional:
		if t.HasValue() {
			n += weighBy(t.GetValue(), most-n, bytes)
		}
	case KeyOrdered:
		Each(t, func(k, e ref.Val) bool {
			n += weighBy(k, most-n, bytes)
			n += weighBy(e, most-n, bytes)
			return n <= most
		})
	case traits.Mapper:
		for it := t.Iterator(); it.HasNext() == types.True && n <= most; {
			k := it.Next()
			n += weighBy(k, most-n, bytes)
			if e, ok := t.Find(k); ok {
				n += weighBy(e, most-n, bytes)
			}
		}
	case traits.Lister:
		if s := Size(t); s > most {
			return s
		}
		for it := t.Iterator(); it.HasNext() == types.True && n <= most; {
			n += weighBy(it.Next(), most-n, bytes)
		}
	}
	return n
}
