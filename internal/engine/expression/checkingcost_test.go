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
	for _, tc := range []struct {
		text    string
		refused bool
	}{
		{chain(16, "{{$: $}: {$: $}}"), true},
		{chain(16, "true ? $ : "+strings.Repeat("true ? $ : ", 6)+"$"), true},
		{chain(16, "[[$], [$]]"), false},
		{"[1]" + strings.Repeat(".map(x, {{x: x}: {x: x}})", 8), true},
		{chain(12, "[1, 2].map(x, {{$: $}: {$: $}})"), true},
		{"resource.spec.items" + strings.Repeat(".filter(x, x.a == 'b' && x.c != x.d).map(x, x)", 4), false},
		{"[1]" + strings.Repeat(".map(x, [x, x])", 8), false},
		{strings.Repeat("optional.of(1).optMap(x, [x, x, x, ", 12) + "1" + strings.Repeat("])", 12), false},
		{chain(16, "$ + 'y'"), false},
		{chain(8, "$ + $"), false},
		{"'" + strings.Repeat("a", 4000) + "'", false},
		{"'%s'.format([" + strings.Repeat("resource.spec.name, ", 150) + "1])", false},
	} {
		t.Run("", func(t *testing.T) {
			_, faults := env.Compile(expression.Source{Text: tc.text, Path: "here"})
			got := len(faults) > 0 && strings.Contains(faults[0].Message, refused)
			if got != tc.refused {
				t.Errorf("%.200s: want refused %v, got %.300v", tc.text, tc.refused, faults)
			}
		})
	}
}
