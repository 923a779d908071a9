package exportstest_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/crossplane-contrib/function-export/internal/desk/composition"
	"github.com/crossplane-contrib/function-export/internal/desk/exportstest"
	"github.com/crossplane-contrib/function-export/internal/desk/pipeline"
)

// TestHistories draws histories until each kind of failure was in one. The same seed has the same history.
func TestHistories(t *testing.T) {
	test := &exportstest.Test{Name: "x", Moments: []exportstest.Moment{
		{Name: "created", Do: []exportstest.Action{
			{Provider: &exportstest.Provider{Resource: "db", Accepts: "candidate.admin.password"}}}},
	}}
	p := pipeline.New(&composition.Composition{Steps: []composition.Step{{Input: map[string]any{
		"apiVersion": "export.fn.crossplane.io/v1beta1", "kind": "Exports",
		"generators": []any{map[string]any{"name": "admin", "gracePeriod": "24h"}},
		"secrets":    []any{map[string]any{"name": "url", "data": []any{map[string]any{"key": "url", "value": "'x'"}}}},
	}}}})
	setup := &exportstest.Setup{Setup: &pipeline.Setup{
		Observed: []pipeline.Observed{{Name: "db", Details: map[string][]byte{"password": []byte("not-real")}}}, Pipeline: p,
	}}
	var all strings.Builder
	for seed := range uint64(200) {
		h, again := exportstest.History(test, setup, seed), exportstest.History(test, setup, seed)
		if diff := cmp.Diff(h, again); diff != "" {
			t.Fatalf("the history of seed %d differs:\n%s", seed, diff)
		}
		text, err := json.Marshal(h)
		if err != nil {
			t.Fatal(err)
		}
		all.Write(text)
	}
	for _, want := range []string{
		`"rotate":"admin"`, `"edit":{"object":"url"`, `"delete":"url"`, `"pause":true`, `"pause":false`,
		`"restore":"created"`,
		`"loseWrite":"url"`, `"late":"ConfigMap"`, `"restart":true`, `"refuses":true`, `"gone":true`,
		`"connectionDetails":{"password"`,
	} {
		if !strings.Contains(all.String(), want) {
			t.Errorf("no history has %s", want)
		}
	}
}
