package metrics

import (
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
)

func TestMetrics(t *testing.T) {
	reg := prometheus.NewRegistry()
	m := New(reg)

	m.Reconcile("Held")
	m.Evaluations(3, 0, 0)
	m.PlanCache(true)
	m.Object("Secret", "Conflict")

	want := `
# HELP function_export_evaluations_total Evaluations of expressions by how they ended.
# TYPE function_export_evaluations_total counter
function_export_evaluations_total{outcome="failed"} 0
function_export_evaluations_total{outcome="ok"} 3
function_export_evaluations_total{outcome="waiting"} 0
# HELP function_export_objects_total Exported objects by kind and state, counted once a reconcile.
# TYPE function_export_objects_total counter
function_export_objects_total{kind="ConfigMap",state="available"} 0
function_export_objects_total{kind="ConfigMap",state="conflict"} 0
function_export_objects_total{kind="ConfigMap",state="held"} 0
function_export_objects_total{kind="ConfigMap",state="waiting"} 0
function_export_objects_total{kind="Secret",state="available"} 0
function_export_objects_total{kind="Secret",state="conflict"} 1
function_export_objects_total{kind="Secret",state="held"} 0
function_export_objects_total{kind="Secret",state="waiting"} 0
# HELP function_export_plan_cache_total Look-ups of compiled inputs by whether one was found.
# TYPE function_export_plan_cache_total counter
function_export_plan_cache_total{result="hit"} 1
function_export_plan_cache_total{result="miss"} 0
# HELP function_export_reconciles_total Reconciles by how they ended.
# TYPE function_export_reconciles_total counter
function_export_reconciles_total{outcome="available"} 0
function_export_reconciles_total{outcome="conflict"} 0
function_export_reconciles_total{outcome="held"} 1
function_export_reconciles_total{outcome="invalid_input"} 0
function_export_reconciles_total{outcome="waiting"} 0
`
	if err := testutil.GatherAndCompare(reg, strings.NewReader(want)); err != nil {
		t.Error(err)
	}

	problems, err := testutil.GatherAndLint(reg)
	if err != nil || len(problems) > 0 {
		t.Errorf("promlint: %v, %v", problems, err)
	}
}

func TestNoMetrics(*testing.T) {
	var m *Metrics

	m.Reconcile("Held")
	m.Evaluations(1, 0, 0)
	m.PlanCache(false)
	m.Object("Secret", "Held")
}
