package rewrite

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/crossplane-contrib/function-export/internal/engine/budget"
	"github.com/crossplane-contrib/function-export/internal/engine/limits"
	"github.com/crossplane-contrib/function-export/internal/engine/sensitive"
)

func numbered(n int, format string) []Key {
	out := make([]Key, 0, n)
	for i := range n {
		name := fmt.Sprintf(format, i)
		out = append(out, Key{Name: name, Value: sensitive.FromString("v"), Origins: []Origin{{"db", name}}})
	}
	return out
}

// Typical inputs use a small part of the budget of a request.
func TestHonestWorkIsCheap(t *testing.T) {
	r, faults := Compile(Options{Rules: []Rule{{Regexp: &benchRules[0]}, {Regexp: &benchRules[1]}, {Regexp: &benchRules[2]}}})
	if faults != nil {
		t.Fatal(faults)
	}
	b := fresh()
	if _, err := r.Apply(b, numbered(500, "cache/primary/host-%03d")); err != nil {
		t.Fatal(err)
	}
	used := limits.RequestFuel - b.Left()
	t.Logf("500 keys and three rules take %d units", used)
	if used > limits.RequestFuel/33 {
		t.Errorf("500 keys and three rules take %d units of %d", used, limits.RequestFuel)
	}
}

// A pattern that looks at all that follows, for each match anew, is paid for by matches.
func TestQuadraticPatternIsStopped(t *testing.T) {
	for name, rule := range map[string]Rule{
		"regexp":   regexpRule("(?:.*b|k)", "z"),
		"template": templateRule(`{{ regexReplaceAll "(?:.*b|k)" .value "z" }}`),
	} {
		r, faults := Compile(Options{Rules: []Rule{rule}})
		if faults != nil {
			t.Fatal(faults)
		}
		_, err := r.Apply(fresh(), numbered(1000, strings.Repeat("k", 1000)+"%d"))
		if !strings.Contains(message(err), "was stopped") {
			t.Errorf("%s: want it stopped, got %q", name, message(err))
		}
	}
}

func TestNothingIsDoneForACallerThatWentAway(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	r, _ := Compile(Options{})
	if _, err := r.Apply(budget.New(ctx), numbered(1, "k%d")); err == nil {
		t.Error("want an error")
	}
}
