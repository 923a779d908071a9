package function_test

import (
	"strings"
	"testing"

	"github.com/crossplane/function-sdk-go/logging"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/crossplane-contrib/function-export/internal/engine/function"
	"github.com/crossplane-contrib/function-export/internal/engine/function/functiontest"
	"github.com/crossplane-contrib/function-export/internal/engine/metrics"
)

// TestCountedOnce runs both calls of one reconcile: the first one asks for an object, and
// Crossplane drops its result.
func TestCountedOnce(t *testing.T) {
	reg := prometheus.NewRegistry()
	f, err := function.New(logging.NewNopLogger(), metrics.New(reg))
	if err != nil {
		t.Fatal(err)
	}
	req := functiontest.Request(t, functiontest.ObservedDatabase)
	req.Input = functiontest.Parse(t, `{apiVersion: export.fn.crossplane.io/v1beta1, kind: Exports, configMaps: `+
		`[{name: a, data: [{key: k, value: "'x'"}]}]}`)
	functiontest.Reconcile(t, f, req, nil)

	const want = `
# HELP function_export_objects_total Exported objects by kind and state, counted once a reconcile.
# TYPE function_export_objects_total counter
function_export_objects_total{kind="ConfigMap",state="available"} 0
function_export_objects_total{kind="ConfigMap",state="conflict"} 0
function_export_objects_total{kind="ConfigMap",state="held"} 0
function_export_objects_total{kind="ConfigMap",state="waiting"} 1
function_export_objects_total{kind="Secret",state="available"} 0
function_export_objects_total{kind="Secret",state="conflict"} 0
function_export_objects_total{kind="Secret",state="held"} 0
function_export_objects_total{kind="Secret",state="waiting"} 0
# HELP function_export_reconciles_total Reconciles by how they ended.
# TYPE function_export_reconciles_total counter
function_export_reconciles_total{outcome="available"} 0
function_export_reconciles_total{outcome="conflict"} 0
function_export_reconciles_total{outcome="held"} 0
function_export_reconciles_total{outcome="invalid_input"} 0
function_export_reconciles_total{outcome="waiting"} 1
`
	if err := testutil.GatherAndCompare(reg, strings.NewReader(want), "function_export_objects_total",
		"function_export_reconciles_total"); err != nil {
		t.Error(err)
	}
}
