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

// A Cost returns how many nodes and bytes a call will visit or produce, from its arguments alone. To find it out takes
// no longer than the call itself at its limit. Eight of them cost a unit of fuel.
type Cost func(args []ref.Val) int64

// tooMuch is more than the fuel of any expression allows.
const tooMuch = 8 * (limits.Fuel + 1)

// Costs are the costs of the functions whose work or result can be larger than the meter assumes for a call: one unit,
// and one unit for each 64 bytes of text that it returns.
var Costs = costs() //nolint:gochecknoglobals // a table

// linear are the functions whose cost is proportional to their operands. deep counts everything below the operands, and
// shallow only their bytes, elements or entries.
var linear = []struct { //nolint:gochecknoglobals // a table
	fixed, deep, shallow int64
	functions            string
}{
	{0, 0, 1, "size contains trim lowerAscii upperAscii slice base64.encode base64.decode bytes string sha256 " +
		"hash.md5 hash.fnv64a hash.sha1 hash.sha256 hash.sha512 hex.decode base64url.decode"},
	{0, 0, 2, "url.queryEscape url.pathEscape hex.encode base64url.encode pem.certificates pem.privateKey pem.split " +
		"getHostname getPort"},
	{0, 0, 4, "charAt substring reverse strings.quote " + // they convert the whole text to runes
		"json.decode dockerconfigjson isURL getEscapedPath " +
		"ip isIP ip.isCanonical cidr isCIDR containsIP containsCIDR"}, // they write the text into their error
	{0, 0, 8, "url"},
	{0, 0, 16, "split getQuery semver isSemver"},
	{0, 0, 64, "merge"},        // it hashes and sorts the keys, but does not visit the values
	{256, 0, 1, "hmac.sha256"}, // it hashes four blocks also for an empty message
	{256, 0, 1, "quantity isQuantity add sub isGreaterThan isLessThan compareTo"}, // of a thousand digits
	{512, 0, 32, "validate"}, // several patterns
	{0, 1, 0, "json.encode flatten format"},
	{0, 1, 0, "optional.unwrap unwrapOpt"}, // their error contains a value that is not an optional
	{0, 1, 16, "sort " + celast.SortByCall},
	{0, 2, 0, "pem.join dotenv.encode ini.encode libpq.encode"},
	{0, 3, 0, "jdbc.url mysql.dsn amqp.url mongodb.url redis.url"},
	{0, 8, 0, "properties.encode pgpass.encode"},
	{0, 16, 0, "toml.encode yaml.encode"},
}

func costs() map[string]Cost {
	out := map[string]Cost{
		operators.Equals:    equalCost,
		operators.NotEquals: equalCost,
		operators.In:        inCost,
		operators.Add:       addCost,
		celast.OrderedCall:  func(a []ref.Val) int64 { return elementsCost(Size(a[0])) },
		"join":              joinCost,
		"replace":           replaceCost,
		"lists.range":       rangeCost,
		"indexOf":           searchCost,
		"lastIndexOf":       searchCost,
		"yaml.decode":       yamlCost,
		"distinct":          func(a []ref.Val) int64 { return pairs(a[0], a[0]) },
		"sets.equivalent":   func(a []ref.Val) int64 { return 2 * pairs(a[0], a[1]) },
		"sets.contains":     func(a []ref.Val) int64 { return pairs(a[0], a[1]) },
		"sets.intersects":   func(a []ref.Val) int64 { return pairs(a[0], a[1]) },
		"matches":           regexCost,
		"regex.extract":     regexCost,
		"regex.extractAll":  regexCost,
		"regex.replace":     regexReplaceCost,
		"pem.chain":         chainCost,
		"pem.leaf":          chainCost,
		"pem.ca":            chainCost,
		// The key of an entry of transformMap, or the entries of transformMapEntry: if the map already has the key, the
		// error contains it.
		"cel.@mapInsert": func(a []ref.Val) int64 { return 8 + weigh(a[1], tooMuch) },
		// With an argument, it compares the value of the optional with it.
		"hasValue": func(a []ref.Val) int64 { return 1 + 2*weighAll(a[1:], tooMuch) },
	}
	for _, c := range linear {
		cost := func(a []ref.Val) int64 {
			n := c.fixed
			for _, v := range a {
				n += c.shallow * (TextLen(v) + Size(v))
			}
			if c.deep > 0 {
				n += c.deep * weighAll(a, tooMuch/c.deep)
			}
			return n
		}
		for _, name := range strings.Fields(c.functions) {
			out[name] = cost
		}
	}
	return out
}

func equalCost(a []ref.Val) int64 {
	if isScalar(a[0]) || isScalar(a[1]) {
		return 1
	}
	return weighAll(a, tooMuch)
}

func inCost(a []ref.Val) int64 {
	if _, ok := a[1].(traits.Mapper); ok {
		return 1 + TextLen(a[0])
	}
	if isScalar(a[0]) {
		return Size(a[1])
	}
	return weigh(a[1], tooMuch) + (Size(a[1])+1)*min(weigh(a[0], tooMuch), 64)
}

func addCost(a []ref.Val) int64 {
	if n := TextLen(a[0]) + TextLen(a[1]); n > 0 {
		return n
	}
	switch a[0].(type) {
	case traits.MutableLister:
		return Size(a[1]) // the accumulator of a comprehension
	case traits.Lister:
		return elementsCost(Size(a[0]) + Size(a[1]))
	}
	return 1
}

// elementsCost refuses an iteration that is too long.
func elementsCost(n int64) int64 {
	if n > limits.CallElements {
		return tooMuch
	}
	return n
}

func joinCost(a []ref.Val) int64 {
	n := weigh(a[0], tooMuch)
	if len(a) > 1 {
		n += Size(a[0]) * TextLen(a[1])
	}
	return n
}

func replaceCost(a []ref.Val) int64 {
	text, old, repl := TextLen(a[0]), max(TextLen(a[1]), 1), TextLen(a[2])
	return text + (text/old+1)*repl
}

func searchCost(a []ref.Val) int64 { return TextLen(a[0]) * max(1, TextLen(a[1])) }

func rangeCost(a []ref.Val) int64 {
	n, _ := a[0].(types.Int)
	return max(0, min(int64(n), limits.RangeElements)) // a negative one is an error
}

func yamlCost(a []ref.Val) int64 {
	if TextLen(a[0]) > limits.YAMLBytes {
		return tooMuch
	}
	return 16 * TextLen(a[0])
}

// pairs returns the cost of comparing each element of one list with each element of another one. A comparison ends at
// the end of the smaller value. Comparing text is one step.
func pairs(a, b ref.Val) int64 {
	n, m := Size(a), Size(b)
	if n*m > tooMuch {
		return tooMuch
	}
	return n*m + min(n*weighBy(b, tooMuch, 64), m*weighBy(a, tooMuch, 64))
}

func regexCost(a []ref.Val) int64 {
	pattern := TextOf(a[1])
	if len(pattern) > limits.RegexCharacters {
		return tooMuch
	}
	instructions, err := types.RegexProgramSize(pattern)
	switch {
	case err != nil:
		return 1 // the call itself refuses it
	case instructions > limits.RegexInstructions:
		return tooMuch
	}
	return int64(instructions) * max(1, TextLen(a[0])) / 8
}

func regexReplaceCost(a []ref.Val) int64 {
	return regexCost(a) + (TextLen(a[0])+1)*(TextLen(a[2])+1)
}

// signatureCost is the work of checking a signature with the largest elliptic curve, which takes milliseconds.
const signatureCost = 16_000

// chainCost counts a signature for each certificate.
func chainCost(a []ref.Val) int64 {
	certificates := min(strings.Count(TextOf(a[0]), "BEGIN CERTIFICATE"), limits.ChainCertificates)
	return 4*TextLen(a[0]) + signatureCost*int64(certificates)
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

func weighAll(all []ref.Val, most int64) (n int64) {
	for _, v := range all {
		n += weigh(v, most)
	}
	return n
}

// weigh counts the nodes and bytes below v as a tree: a shared value counts each time. It stops as
// soon as the number exceeds most, and returns a number over most.
func weigh(v ref.Val, most int64) int64 { return weighBy(v, most, 1) }

// weighBy is like weigh, but so many bytes count as one node.
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
