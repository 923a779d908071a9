package plan_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/crossplane-contrib/function-export/internal/engine/limits"
	"github.com/crossplane-contrib/function-export/internal/engine/plan"
	"github.com/crossplane-contrib/function-export/internal/engine/plan/plantest"
)

// The limit of expressions counts those of all exports, and is reported once.
func TestCompileLimits(t *testing.T) {
	items := func(n int, format string) string { return "[" + strings.Repeat(format+", ", n) + "]" }
	var exports []string
	for i := range limits.Expressions/limits.DataItems + 1 {
		exports = append(exports, fmt.Sprintf("{name: n%d, data: %s}", i, items(limits.DataItems, `{valueMap: "{}"}`)))
	}
	checkRefusals(t, map[string]refusal{"TooManyExpressions": {
		"over all exports together", "secrets: [" + strings.Join(exports, ", ") + "]",
		[]string{"secrets[8].data[0].valueMap: exceeds the limit of 2048 expressions"},
	}})
}

func TestCompileCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	p, faults := plan.Compile(ctx, plantest.Env, plantest.Parse(t,
		plantest.Exports(`secrets: [{name: a, data: [{key: k, value: "'1'"}]}]`)))
	if p != nil || len(faults) != 1 || faults[0].Error() != "input: was not compiled: context canceled" {
		t.Errorf("Compile(...) with a cancelled context: %v, %v: want a diagnostic, because expressions are missing",
			p, faults)
	}
}

// FuzzCompileNeverPanics compiles any JSON as an input. The result is a plan or a list of
// diagnostics, each with a path, and it is the same the second time.
func FuzzCompileNeverPanics(f *testing.F) {
	for _, s := range []string{
		`{}`, `null`, `{"secrets": [null, 1, "a", [], {"data": [null, {"value": "secret"}]}]}`,
		`{"secrets": {"0": {}}}`,
		`{"apiVersion": "export.fn.crossplane.io/v1beta1", "kind": "Exports", "secrets": [{"name": "a", "data": ` +
			`[{"key": "k", "value": "secret.a"}]}], "ttl": "1h"}`,
		`{"variables": [{"name": "a", "value": "variables[variables.a]"}], "status": [{"fieldPath": "a.b[c]", ` +
			`"value": "1"}]}`,
		`{"sources": [{"name": "\u0000", "apiVersion": "v1", "kind": "Secret", "matchLabels": {"\u0000": "é"}}], ` +
			`"a\u0000\n": {"b": [[[]]]}}`,
		`{"metadata": {"labels": 1}, "ttl": "\"\u0000", "configMaps": [{"metadata": {"labels": {"a.b[0]:1": ` +
			`null}}, "data": [{"nonSensitive": [1]}]}]}`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		in := &structpb.Struct{}
		if protojson.Unmarshal(b, in) != nil {
			return
		}
		p, faults := plan.Compile(context.Background(), plantest.Env, in)
		if (p == nil) != (len(faults) > 0) {
			t.Fatalf("plan %v, faults %v: want either a plan or diagnostics", p, faults)
		}
		for _, x := range faults {
			if x.Path == "" || x.Rule == "" || x.Message == "" {
				t.Errorf("diagnostic %#v has no path, or does not say what is wrong", x)
			}
		}
		if _, again := plan.Compile(context.Background(), plantest.Env, in); cmp.Diff(faults, again) != "" {
			t.Errorf("diagnostics differ on a second run: %v and %v", faults, again)
		}
	})
}
