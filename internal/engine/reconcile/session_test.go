package reconcile

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/crossplane-contrib/function-export/internal/engine/expression"
)

// The reasons why something does not match the input are one sentence each, and one text for all.
func TestReasons(t *testing.T) {
	waiting := func(required bool, inputs ...string) error {
		w := expression.NewWaiting(inputs...)
		w.Required = required
		return w
	}
	type want struct {
		text, sentence string
		required       bool
	}
	for name, tc := range map[string]struct {
		reason string
		add    func(r *reasons)
		want   want
	}{
		"None":    {"nothing is wrong", func(*reasons) {}, want{}},
		"NoError": {"an error that is nil adds nothing", func(r *reasons) { r.add("a", nil) }, want{}},
		"Failed": {
			"an error is a sentence", func(r *reasons) { r.add("a", errors.New("it is wrong")) },
			want{"it is wrong", "it is wrong", false},
		},
		"Waiting": {
			"the whole waits for its inputs", func(r *reasons) { r.add("", waiting(false, "x", "y")); r.add("", waiting(false, "z")) },
			want{"x, y; z", "it waits for x, y, z", false},
		},
		"Part": {
			"a part waits for its inputs", func(r *reasons) { r.add("a", waiting(false, "x", "y")) },
			want{"a waits for x, y", "a waits for x, y", false},
		},
		"All": {
			"errors come first",
			func(r *reasons) {
				r.add("", waiting(false, "x"))
				r.add("a", waiting(true, "y"))
				r.add("b", waiting(false, "z"))
				r.add("", errors.New("it is wrong"))
			},
			want{"it is wrong; a waits for y; b waits for z; x", "it is wrong; a waits for y; b waits for z; it waits for x", true},
		},
	} {
		t.Run(name, func(t *testing.T) {
			var r reasons
			tc.add(&r)
			got := want{r.text(), r.sentence(), r.required}
			if diff := cmp.Diff(tc.want, got, cmp.AllowUnexported(want{})); diff != "" {
				t.Errorf("add(...): %s: -want, +got:\n%s", tc.reason, diff)
			}
			if got, want := r.empty(), tc.want == (want{}); got != want {
				t.Errorf("empty(): %s: want %t, got %t", tc.reason, want, got)
			}
		})
	}
}

// A missing input is below a variable only if the name of the variable ends there.
func TestIsBelow(t *testing.T) {
	for text, want := range map[string]bool{
		"item": true, "item.name": true, "item['name']": true, "item[0]": true,
		"items": false, "item2": false, "ite": false, "other.item": false, "item\\x": false, "itemZ": false,
	} {
		if got := isBelow(text, "item"); got != want {
			t.Errorf("isBelow(%q, ...): want %t, got %t", text, want, got)
		}
	}
}

// A session sees its variables by name, and in the order of their names.
func TestVariablesOfSession(t *testing.T) {
	l := newLimited(t, `
variables: [{name: b, value: "'1'"}, {name: a, value: "'2'"}]
secrets: [{name: url, data: [{key: k, value: "variables.map(v, v).join(',')"}]}]`, nil)
	s := newSession(t.Context(), l.plan, newRequest(&Request{}), composite{name: "xr", namespace: "team"}, l.sees)
	got, err := s.name(l.plan.Exports[0].Data[0].Value, "")
	if err != nil || got != "a,b" {
		t.Errorf("name(...): want a,b, got %q, %v", got, err)
	}
}
