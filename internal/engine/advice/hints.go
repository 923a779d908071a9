package advice

import (
	"slices"
	"strings"

	"cel.dev/cel-go/common/operators"
	"cel.dev/cel-go/common/types"
)

// This file is the table of hints for operands of some kinds.

// An operandHint is a hint for a call of one of some functions, or of any, on operands of all of some kinds. The letters
// of the kinds are those of [kindLetters]: # is any number, and s any scalar that string(...) accepts.
type operandHint struct{ functions, kinds, text string }

const wrapOther = ": wrap the operand that is not a string in string(...)"

var operandHints = []operandHint{ //nolint:gochecknoglobals // a table
	{operators.Add, "tl", ": write .join(',') after the list, or [ ] around the string"},
	{operators.Add, "t#", wrapOther},
	{operators.Add, "tb", wrapOther},
	{operators.Add, "tm", ": select one key of the map"},
	{operators.Add, "m", noMerge},
	{operators.Add, "tn", emptyText},
	{"_-_", "t", noSubtraction},
	{"_<_ _<=_ _>_ _>=_", "t#", ": wrap the string in int(...) or double(...)"},
	{"", "id", ": wrap the int in double(...)"},
	{operators.Conditional, "n", ": for no value write optional.of(...) and optional.none(), with optional: true"},
	{operators.Conditional, "t#", ": wrap the number in string(...)"},
	{operators.Conditional, "tb", ": wrap the bool in string(...)"},
	{operators.Conditional, "", ": make both the same type, or write dyn(...) around one"},
	{"merge", "m", ": convert the values of one map, or write dyn(...) around it"},
	{"join", "", ": convert its elements with .map(x, string(x))"},
}

var kindLetters = map[types.Kind]string{ //nolint:gochecknoglobals // a table
	types.StringKind: "t", types.IntKind: "i#s", types.UintKind: "s", types.DoubleKind: "d#s", types.BoolKind: "bs",
	types.BytesKind: "ys", types.TimestampKind: "s", types.DurationKind: "s", types.MapKind: "m", types.StructKind: "m", types.ListKind: "l", types.NullTypeKind: "n",
}

// kindsOf returns the letters of the kinds of types.
func kindsOf(have []*types.Type) (letters string) {
	for _, t := range have {
		letters += kindLetters[t.Kind()]
	}
	return letters
}

func hasKinds(have, wanted string) bool {
	return !strings.ContainsFunc(wanted, func(letter rune) bool { return !strings.ContainsRune(have, letter) })
}

// hintFor returns the first hint for a call, or an empty text.
func hintFor(hints []operandHint, fn, kinds string) string {
	for _, h := range hints {
		if (h.functions == "" || slices.Contains(strings.Fields(h.functions), fn)) && hasKinds(kinds, h.kinds) {
			return h.text
		}
	}
	return ""
}
