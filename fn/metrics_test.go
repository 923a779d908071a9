package main

import (
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
)

func TestMetrics(t *testing.T) {
	reg := prometheus.NewRegistry()
	m := newMetrics(reg)

	m.reconcile(outcomeHeld)
	m.reconcile("orders-db") // Not an outcome: it must not become a label.
	m.evaluations(evaluationOK, 3)
	m.evaluations(evaluationFailed, 0)
	m.evaluations(evaluationFailed, -1)
	m.planCache(true)
	m.request(codecLazy)
	m.object("Secret", outcomeConflict)
	m.object("ConfigMap", outcomeInvalidInput) // Not a state of an object.

	want := `
# HELP function_export_evaluations_total Evaluations of expressions by how they ended.
# TYPE function_export_evaluations_total counter
function_export_evaluations_total{outcome="failed"} 0
function_export_evaluations_total{outcome="ok"} 3
function_export_evaluations_total{outcome="waiting"} 0
# HELP function_export_objects_total Exported objects by kind and state, counted once a call.
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
# HELP function_export_reconciles_total Calls of the function by how they ended.
# TYPE function_export_reconciles_total counter
function_export_reconciles_total{outcome="available"} 0
function_export_reconciles_total{outcome="conflict"} 0
function_export_reconciles_total{outcome="held"} 1
function_export_reconciles_total{outcome="invalid_input"} 0
function_export_reconciles_total{outcome="waiting"} 0
# HELP function_export_requests_total Requests by the codec that read them.
# TYPE function_export_requests_total counter
function_export_requests_total{codec="lazy"} 1
function_export_requests_total{codec="proto"} 0
`
	if err := testutil.GatherAndCompare(reg, strings.NewReader(want)); err != nil {
		t.Error(err)
	}

	problems, err := testutil.GatherAndLint(reg)
	if err != nil || len(problems) > 0 {
		t.Errorf("promlint: %v, %v", problems, err)
	}
}

func TestNoMetrics(t *testing.T) {
	var m *metrics

	m.reconcile(outcomeHeld)
	m.evaluations(evaluationOK, 1)
	m.planCache(false)
	m.object("Secret", outcomeHeld)
}

func TestMetricsAllocateNothing(t *testing.T) {
	m := newMetrics(prometheus.NewRegistry())

	got := testing.AllocsPerRun(100, func() {
		m.reconcile(outcomeHeld)
		m.evaluations(evaluationOK, 7)
		m.planCache(true)
		m.request(codecLazy)
		m.object("Secret", outcomeHeld)
	})
	if got != 0 {
		t.Errorf("want no allocation a call, got %v", got)
	}
}
