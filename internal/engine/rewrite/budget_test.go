package rewrite

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/crossplane-contrib/function-export/internal/engine/budget"
	"github.com/crossplane-contrib/function-export/internal/engine/limits"
	"github.com/crossplane-contrib/function-export/internal/engine/sensitive"
)

const stopped = "was stopped: it exceeds the limit of work for one request: export fewer keys, or use fewer and simpler rules"

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
	r, faults := Compile(Options{Rules: []Rule{
		regexpRule(`^cache/(.*)$`, "REDIS_$1"), regexpRule(`(?P<kind>host|port)-(?P<n>[0-9]+)`, "${kind}_$n"), regexpRule(`[^a-zA-Z0-9_]`, "_"),
	}})
	if faults != nil {
		t.Fatal(faults)
	}
	b := fresh()
	if _, err := r.Apply(b, numbered(500, "cache/primary/host-%03d")); err != nil {
		t.Fatal(err)
	}
	if used := limits.RequestFuel - b.Left(); used > limits.RequestFuel/33 {
		t.Errorf("500 keys and three rules take %d units of %d", used, limits.RequestFuel)
	}
}

// Each step spends its cost before it works. With less, it stops, and its error has its path.
func TestWorkIsStopped(t *testing.T) {
	object := []Key{key("db", "k", `{"a":"`+strings.Repeat("x", 1000)+`"}`)}
	cases := map[string]struct {
		reason string
		o      Options
		in     []Key
		cost   int64 // at least
		path   string
	}{
		"Keys":       {reason: "each key costs a unit", o: Options{Conversion: "None"}, in: numbered(9, "k%d"), cost: 27},
		"Conversion": {reason: "its characters are looked at", in: numbered(1, strings.Repeat("k", 640)+"%d"), cost: 43, path: "conversionStrategy: "},
		"Decoding":   {reason: "the value is copied", o: Options{Decoding: "Auto"}, in: []Key{key("", "k", strings.Repeat("k", 640))}, cost: 20, path: "decodingStrategy: "},
		"Merge":      {reason: "the value is parsed", o: Options{Rules: []Rule{mergeRule(Merge{})}}, in: object, cost: 40, path: "rewrite[0].merge: "},
		"Template":   {reason: "a function reads its text", o: Options{Rules: []Rule{templateRule("{{ upper .value }}")}}, in: numbered(1, strings.Repeat("k", 640)+"%d"), cost: 50, path: "rewrite[0].transform.template: "},
		"Regexp": {
			reason: "a pattern that reads all that follows, again for each match, is paid for by matches", o: Options{Rules: []Rule{regexpRule("(?:.*b|k)", "z")}},
			in: numbered(1000, strings.Repeat("k", 1000)+"%d"), cost: limits.RequestFuel + 1, path: "rewrite[0].regexp: ",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			r, wrong := Compile(tc.o)
			if wrong != nil {
				t.Fatal(wrong)
			}
			if b := fresh(); tc.cost <= limits.RequestFuel {
				if _, err := r.Apply(b, tc.in); err != nil || limits.RequestFuel-b.Left() < tc.cost {
					t.Errorf("%s: want a cost of at least %d, got %d, %v", tc.reason, tc.cost, limits.RequestFuel-b.Left(), err)
				}
			}
			b, seen := fresh(), false
			for n := range min(tc.cost, 200) {
				*b = *fresh()
				if tc.cost <= limits.RequestFuel {
					b.Take(limits.RequestFuel - n)
				}
				_, err := r.Apply(b, tc.in)
				var f *Failed
				if !errors.As(err, &f) || f.Reason != stopped {
					t.Fatalf("%s: %d units: want it stopped, got %v", tc.reason, n, err)
				}
				if seen = seen || f.Error() == tc.path+stopped; seen && tc.cost > limits.RequestFuel {
					break
				}
			}
			if !seen {
				t.Errorf("%s: it never stops at %q", tc.reason, tc.path)
			}
		})
	}
}

func TestWorkStopsWithItsRequest(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := Open(budget.New(ctx), key("db", "k", `{}`), nil); message(err) != stopped {
		t.Errorf("Open(...): want %q, got %q", stopped, message(err))
	}
	r, _ := Compile(Options{})
	if _, err := r.Apply(budget.New(ctx), numbered(1, "k%d")); err == nil {
		t.Error("Apply(...): want an error")
	}
}
