package expression_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/crossplane-contrib/function-export/internal/engine/expression"
)

// chain is cel.bind in cel.bind, n times, where each gives what use makes of the one
// before.
func chain(n int, use string) string {
	var b strings.Builder
	b.WriteString("cel.bind(v0, 'x', ")
	for i := 1; i < n; i++ {
		fmt.Fprintf(&b, "cel.bind(v%d, %s, ", i, strings.ReplaceAll(use, "$", fmt.Sprint("v", i-1)))
	}
	return b.String() + fmt.Sprint("v", n-1) + strings.Repeat(")", n)
}

// Types that double, and references that do: the checker would work on them for
// hours, or take all memory. The test would not end.
func TestCompileRefusesWhatDoubles(t *testing.T) {
	const refused = "has local variables that expand too much"
	cases := map[string]struct {
		reason, text string
		refused      bool
	}{
		"Types":          {"each bind has the type of the one before four times", chain(16, "{{$: $}: {$: $}}"), true},
		"References":     {"each bind may be the one before in eight ways", chain(16, "true ? $ : "+strings.Repeat("true ? $ : ", 6)+"$"), true},
		"Lists":          {"a list of both has the type of one", chain(16, "[[$], [$]]"), false},
		"Elements":       {"also the element of a comprehension", "[1]" + strings.Repeat(".map(x, {{x: x}: {x: x}})", 8), true},
		"Accumulators":   {"and what one adds up", chain(12, "[1, 2].map(x, {{$: $}: {$: $}})"), true},
		"Chains":         {"a chain that stays as flat as it is", "resource.spec.items" + strings.Repeat(".filter(x, x.a == 'b' && x.c != x.d).map(x, x)", 4), false},
		"Nested":         {"a list of lists of lists grows by one", "[1]" + strings.Repeat(".map(x, [x, x])", 8), false},
		"OptionalChains": {"optMap is a bind", strings.Repeat("optional.of(1).optMap(x, [x, x, x, ", 12) + "1" + strings.Repeat("])", 12), false},
		"Once":           {"a bind that is used once costs what it is", chain(16, "$ + 'y'"), false},
		"Twice":          {"or a few times", chain(8, "$ + $"), false},
		"LongText":       {"what is long is not deep", "'" + strings.Repeat("a", 4000) + "'", false},
		"Formats":        {"a long list", "'%s'.format([" + strings.Repeat("resource.spec.name, ", 150) + "1])", false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			_, faults := env.Compile(expression.Source{Text: tc.text, Path: "here"})
			got := len(faults) > 0 && strings.Contains(faults[0].Message, refused)
			if got != tc.refused {
				t.Errorf("%s: %.200s: want refused %v, got %.300v", tc.reason, tc.text, tc.refused, faults)
			}
		})
	}
}
