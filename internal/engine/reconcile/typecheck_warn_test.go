package reconcile

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/crossplane-contrib/function-export/internal/engine/diagnostic"
)

// A response warns of the first ten fields that cannot exist, of those that something waits for.
func TestWarnOf(t *testing.T) {
	list := func(n int) (out diagnostic.List) {
		for i := range n {
			out = append(out, &diagnostic.Diagnostic{Path: fmt.Sprintf("status[%d]", i), Line: 1, Column: 1, Message: "is wrong"})
		}
		return out
	}
	paths := func(n int) map[string]bool {
		out := map[string]bool{}
		for i := range n {
			out[fmt.Sprintf("status[%d]", i)] = true
		}
		return out
	}
	more := "typeChecking: finds more fields that can never exist: check the input with function-export check"
	for name, tc := range map[string]struct {
		reason           string
		list             diagnostic.List
		waiting, lacking map[string]bool
		want             int
		last             Outcome
	}{
		"NothingWaits": {"a field that nothing waits for", list(1), nil, nil, 0, Outcome{}},
		"Waits": {
			"a field that an expression waits for", list(2), paths(1), nil, 1,
			Outcome{State: Waiting, Warn: true, Wrong: true, Message: "status[0]:1:1: is wrong"},
		},
		"WholeField": {
			"a diagnostic without a line is not about an expression",
			diagnostic.List{{Path: "status[0]", Message: "is wrong"}}, paths(1), nil, 0, Outcome{},
		},
		"Lacking": {
			"Crossplane cannot write the field", diagnostic.List{{Path: "status[0]", Message: "is wrong"}}, nil, paths(1), 1,
			Outcome{State: Held, Warn: true, Wrong: true, Message: "status[0]: is wrong"},
		},
		"Ten": {
			"all of them", list(10), paths(10), nil, 10,
			Outcome{State: Waiting, Warn: true, Wrong: true, Message: "status[9]:1:1: is wrong"},
		},
		"Twelve": {
			"there are more", list(12), paths(12), nil, 11, Outcome{State: Waiting, Warn: true, Wrong: true, Message: more},
		},
	} {
		t.Run(name, func(t *testing.T) {
			var r reply
			r.warnOf(tc.list, tc.waiting, tc.lacking)
			var last Outcome
			if n := len(r.others); n > 0 {
				last = r.others[n-1]
			}
			if diff := cmp.Diff(tc.last, last); diff != "" || len(r.others) != tc.want {
				t.Errorf("warnOf(...): %s: want %d warnings, got %d; the last: -want, +got:\n%s", tc.reason, tc.want, len(r.others), diff)
			}
		})
	}
}
