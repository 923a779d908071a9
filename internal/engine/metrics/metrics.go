// Package metrics counts what the function does, for Prometheus.
package metrics

import (
	"strings"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promauto"
)

// InvalidInput is the reason of the condition that is not a state.
const InvalidInput = "InvalidInput"

// label returns a reason of the condition as the value of a label.
func label(reason string) string {
	if reason == InvalidInput {
		return "invalid_input"
	}
	return strings.ToLower(reason)
}

// Metrics counts what the function does. Labels never contain the name of a resource, a key or a
// composite, because their number has no bound. A nil *Metrics counts nothing. Metrics is safe for concurrent use.
type Metrics struct{ reconciles, evaluations, plans, objects *prometheus.CounterVec }

// NewRegistry returns a registry with the metrics of the Go runtime and of the process. It is not
// the default registry, because any dependency could add metrics to that one.
func NewRegistry() *prometheus.Registry {
	reg := prometheus.NewRegistry()
	reg.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return reg
}

// New registers the metrics of the function, each at 0 for every
// combination of its labels, and panics if they are registered already.
func New(reg prometheus.Registerer) *Metrics {
	vec := func(name, help string, labels ...string) *prometheus.CounterVec {
		opts := prometheus.CounterOpts{Namespace: "function_export", Name: name, Help: help}
		return promauto.With(reg).NewCounterVec(opts, labels)
	}
	m := &Metrics{
		reconciles:  vec("reconciles_total", "Reconciles by how they ended.", "outcome"),
		evaluations: vec("evaluations_total", "Evaluations of expressions by how they ended.", "outcome"),
		plans:       vec("plan_cache_total", "Look-ups of compiled inputs by whether one was found.", "result"),
		objects: vec("objects_total", "Exported objects by kind and state, counted once a reconcile.",
			"kind", "state"),
	}
	for _, state := range []string{"available", "waiting", "held", "conflict"} {
		m.reconciles.WithLabelValues(state)
		m.objects.WithLabelValues("Secret", state)
		m.objects.WithLabelValues("ConfigMap", state)
	}
	m.reconciles.WithLabelValues(label(InvalidInput))
	m.Evaluations(0, 0, 0)
	m.plans.WithLabelValues("hit")
	m.plans.WithLabelValues("miss")
	return m
}

// Reconcile counts one call of the function, by the reason of its condition.
func (m *Metrics) Reconcile(reason string) {
	if m != nil {
		m.reconciles.WithLabelValues(label(reason)).Inc()
	}
}

// Evaluations counts expressions by how they ended.
func (m *Metrics) Evaluations(ok, waiting, failed int) {
	if m != nil {
		m.evaluations.WithLabelValues("ok").Add(float64(ok))
		m.evaluations.WithLabelValues("waiting").Add(float64(waiting))
		m.evaluations.WithLabelValues("failed").Add(float64(failed))
	}
}

// PlanCache counts one lookup of a compiled input.
func (m *Metrics) PlanCache(hit bool) {
	result := "miss"
	if hit {
		result = "hit"
	}
	if m != nil {
		m.plans.WithLabelValues(result).Inc()
	}
}

// Object counts one exported object: a Secret or ConfigMap, by its state.
func (m *Metrics) Object(kind, state string) {
	if m != nil {
		m.objects.WithLabelValues(kind, label(state)).Inc()
	}
}
