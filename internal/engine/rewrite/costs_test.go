package rewrite

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/crossplane-contrib/function-export/internal/engine/budget"
)

func TestWorkStopsWithItsRequest(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	const stopped = "was stopped: it exceeds the limit of work for one request: export fewer keys, or use fewer and simpler rules"
	if _, err := Open(budget.New(ctx), key("db", "k", `{}`), nil); message(err) != stopped {
		t.Errorf("Open(...): want %q, got %q", stopped, message(err))
	}
	merge := (&Merge{}).compile("merge")
	transform, _ := (&Transform{Template: "{{ .value }}"}).compile("transform")
	for path, step := range map[string]apply{"merge": merge, "transform.template": transform} {
		_, f := step(budget.New(ctx), []Key{key("db", "k", `{}`)})
		if f == nil || cmp.Diff(path+": "+stopped, f.Error()) != "" {
			t.Errorf("want %s: %s, got %v", path, stopped, f)
		}
	}
}
