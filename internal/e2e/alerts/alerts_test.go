// Package alerts evaluates the alerts of the operator's guide with Prometheus's own engine.
package alerts_test

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/promqltest"
	"github.com/prometheus/prometheus/storage"
	"sigs.k8s.io/yaml"
)

const file = "../../../example/runtime/prometheus-rule.yaml"

// An example has the series of an hour, in the notation of promtool's tests, and the alerts that fire at its end.
type example struct {
	reason string
	series []string
	fire   []string
}

// present are replicas that answer calls without any trouble.
var present = []string{
	`function_export_reconciles_total{outcome="available",job="crossplane-system/function-export"} 0+10x60`,
	`function_export_reconciles_total{outcome="invalid_input"} 0x60`,
	`function_export_reconciles_total{outcome="conflict"} 0x60`,
	`function_export_reconciles_total{outcome="held"} 0x60`,
	`function_export_evaluations_total{outcome="failed"} 0x60`,
	`grpc_server_handled_total{grpc_method="RunFunction",grpc_code="OK"} 0+10x60`,
	`process_resident_memory_bytes{job="crossplane-system/function-export"} 100x60`,
	`go_gc_gomemlimit_bytes{job="crossplane-system/function-export"} 200x60`,
	`function_run_function_seconds_bucket{function_name="function-export",le="1"} 0+10x60`,
	`function_run_function_seconds_bucket{function_name="function-export",le="+Inf"} 0+10x60`,
}

// with replaces or adds the series of a metric.
func with(series ...string) []string {
	var out []string
	for _, s := range present {
		replaced := false
		for _, other := range series {
			name, _, _ := strings.Cut(other, "} ")
			replaced = replaced || strings.HasPrefix(s, name+"} ")
		}
		if !replaced {
			out = append(out, s)
		}
	}
	return append(out, series...)
}

// Each alert fires in its situation, and no other alert does. Without trouble, none fires.
func TestAlerts(t *testing.T) {
	const reconciles, calls = "function_export_reconciles_total", `grpc_server_handled_total{grpc_method="RunFunction"`
	const ours, seconds = `{job="crossplane-system/function-export"}`, "function_run_function_seconds_bucket"
	cases := map[string]example{
		"Calm":   {"Without trouble, nothing fires.", present, nil},
		"Absent": {"No replica is scraped.", []string{`up 1x60`}, []string{"FunctionExportAbsent"}},
		"Invalid": {
			"An input is refused.", with(reconciles + `{outcome="invalid_input"} 0+1x60`),
			[]string{"FunctionExportInvalidInput"},
		},
		"Conflict": {
			"Two exports conflict.", with(reconciles + `{outcome="conflict"} 0+1x60`),
			[]string{"FunctionExportConflict"},
		},
		"Held": {"An object is kept.", with(reconciles + `{outcome="held"} 0+1x60`), []string{"FunctionExportHeld"}},
		"Failed": {
			"An expression fails.", with(`function_export_evaluations_total{outcome="failed"} 0+1x60`),
			[]string{"FunctionExportEvaluationFailed"},
		},
		"Overloaded": {
			"Requests are refused for lack of memory.", with(calls + `,grpc_code="ResourceExhausted"} 0+1x60`),
			[]string{"FunctionExportOverloaded"},
		},
		"Errors":   {"Calls fail.", with(calls + `,grpc_code="Internal"} 0+1x60`), []string{"FunctionExportErrors"}},
		"Canceled": {"A call that the caller cancels is no error.", with(calls + `,grpc_code="Canceled"} 0+1x60`), nil},
		"Memory": {
			"A replica uses more than its limit.", with("process_resident_memory_bytes" + ours + " 300x60"),
			[]string{"FunctionExportMemory"},
		},
		"Slow": {
			"One in ten calls takes longer than a second.",
			with(seconds+`{function_name="function-export",le="5"} 0+10x60`,
				seconds+`{function_name="function-export",le="1"} 0+9x60`),
			[]string{"FunctionExportSlow"},
		},
		"AnotherIsSlow": {
			"Another function is slow.",
			with(seconds+`{function_name="other",le="1"} 0x60`,
				seconds+`{function_name="other",le="+Inf"} 0+10x60`), nil,
		},
	}
	rules := readRules(t)
	fired := map[string]bool{}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			store := promqltest.LoadedStorage(t, "load 1m\n  "+strings.Join(tc.series, "\n  ")+"\n")
			engine := promqltest.NewTestEngine(t, false, 0, promqltest.DefaultMaxSamplesPerQuery)
			var got []string
			for _, r := range rules {
				if fires(t, engine, store, r) {
					got, fired[r.Alert] = append(got, r.Alert), true
				}
			}
			if want := fmt.Sprint(tc.fire); fmt.Sprint(got) != want {
				t.Errorf("%s: want %s, got %v", tc.reason, want, got)
			}
		})
	}
	for _, r := range rules {
		if !fired[r.Alert] {
			t.Errorf("no case makes %s fire", r.Alert)
		}
	}
}

// fires evaluates an alert after an hour.
func fires(t *testing.T, engine *promql.Engine, store storage.Queryable, r rule) bool {
	t.Helper()
	options, at := promql.NewPrometheusQueryOpts(false, 0), time.Unix(0, 0).Add(time.Hour)
	q, err := engine.NewInstantQuery(t.Context(), store, options, r.Expr, at)
	if err != nil {
		t.Fatalf("%s: %v", r.Alert, err)
	}
	defer q.Close()
	vector, err := q.Exec(t.Context()).Vector()
	if err != nil {
		t.Fatalf("%s: %v", r.Alert, err)
	}
	return len(vector) > 0
}

// A rule is an alert of the file.
type rule struct {
	Alert string `json:"alert"`
	Expr  string `json:"expr"`
}

func readRules(t *testing.T) []rule {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var object struct {
		Spec struct {
			Groups []struct {
				Rules []rule `json:"rules"`
			} `json:"groups"`
		} `json:"spec"`
	}
	if err := yaml.Unmarshal(b, &object); err != nil || len(object.Spec.Groups) != 1 {
		t.Fatalf("want one group of rules: %v", err)
	}
	return object.Spec.Groups[0].Rules
}
