package reconcile

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/crossplane-contrib/function-export/internal/engine/plan"
	"github.com/crossplane-contrib/function-export/internal/engine/plan/plantest"
)

// The condition has a message for each outcome that is not available, and for each warning.
func TestSaid(t *testing.T) {
	for name, tc := range map[string]struct {
		reason  string
		outcome Outcome
		want    bool
	}{
		"Available":     {"nothing is wrong", Outcome{}, false},
		"AvailableNote": {"the message is only a note", Outcome{Message: "a"}, false},
		"Warning":       {"the object is available, and there is a warning", Outcome{Message: "a", Warn: true}, true},
		"Waiting":       {"the object waits", Outcome{State: Waiting, Message: "a"}, true},
		"Held":          {"the object is kept", Outcome{State: Held, Message: "a", Warn: true}, true},
		"OtherSays":     {"another outcome has the message", Outcome{State: Held, Warn: true}, false},
	} {
		t.Run(name, func(t *testing.T) {
			if got := tc.outcome.Said(); got != tc.want {
				t.Errorf("Said(): %s: want %v, got %v", tc.reason, tc.want, got)
			}
		})
	}
}

// An outcome without a command has the one that shows the Composition, if a change of the Composition may resolve it.
func TestSeeComposition(t *testing.T) {
	const see = "kubectl get composition apps --output yaml"
	for name, tc := range map[string]struct {
		reason  string
		outcome Outcome
		want    string
	}{
		"Wrong":    {"an expression is wrong", Outcome{State: Held, Wrong: true}, see},
		"Conflict": {"two exports compose one object", Outcome{State: Conflict, Wrong: true}, see},
		"Waits":    {"the input is right, and something else is missing", Outcome{State: Waiting}, ""},
		"Own":      {"another command shows more", Outcome{State: Held, Wrong: true, See: "kubectl describe"}, "kubectl describe"},
		"Author": {
			"the composite author can correct it, and may not see the Composition",
			Outcome{State: Held, Wrong: true, Author: true}, "",
		},
		"Available": {"nothing is wrong", Outcome{Wrong: true}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			r := &Result{Objects: []Object{{Outcome: tc.outcome}}, Status: []Status{{Outcome: tc.outcome}}, Others: []Outcome{tc.outcome}}
			r.seeComposition(see)
			got := []string{r.Objects[0].See, r.Status[0].See, r.Others[0].See}
			if diff := cmp.Diff([]string{tc.want, tc.want, tc.want}, got); diff != "" {
				t.Errorf("seeComposition(...): %s: of an object, a status field and another outcome: -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

// A composite names its Composition in one of two fields.
func TestCompositionOf(t *testing.T) {
	for name, tc := range map[string]struct{ reason, spec, want string }{
		"Own": {
			"its own field", "{crossplane: {compositionRef: {name: apps.example.org}}}",
			"kubectl get composition apps.example.org --output yaml",
		},
		"Legacy": {"the field of a legacy composite", "{compositionRef: {name: apps}}", "kubectl get composition apps --output yaml"},
		"Both": {
			"the author of a composite can write the field of a legacy one",
			"{crossplane: {compositionRef: {name: apps}}, compositionRef: {name: other}}",
			"kubectl get composition apps --output yaml",
		},
		"None":    {"it does not name it", "{}", ""},
		"Command": {"a shell would run a part of the name", "{compositionRef: {name: 'apps; reboot'}}", ""},
		"Flag":    {"kubectl would read the name as a flag", "{compositionRef: {name: --all}}", ""},
	} {
		t.Run(name, func(t *testing.T) {
			if got := SeeComposition(structOf(t, "{spec: "+tc.spec+"}")); got != tc.want {
				t.Errorf("SeeComposition(...): %s: want %q, got %q", tc.reason, tc.want, got)
			}
		})
	}
}

// A result that only lacks schemas can be final.
func TestSkipCheck(t *testing.T) {
	r := &Result{Schemas: []plan.Kind{plantest.App}, Unread: true, Unchecked: true}
	if r.SkipCheck(); len(r.Schemas) > 0 || r.Unread || r.Unchecked {
		t.Errorf("SkipCheck(): want a final result, got %d schemas, unread %v, unchecked %v", len(r.Schemas), r.Unread, r.Unchecked)
	}
}
