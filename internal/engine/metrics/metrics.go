// Package metrics counts what the function does, for Prometheus.
package metrics

import (
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promauto"
)

// Outcomes of a reconcile; the states of an object are all but the last one.
const (
	OutcomeAvailable    = "available"
	OutcomeWaiting      = "waiting"
	OutcomeHeld         = "held"
	OutcomeConflict     = "conflict"
	OutcomeInvalidInput = "invalid_input"
)

// Outcomes of the evaluation of an expression.
const (
	EvaluationOK      = "ok"
	EvaluationWaiting = "waiting"
	EvaluationFailed  = "failed"
)

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
	for _, state := range []string{OutcomeAvailable, OutcomeWaiting, OutcomeHeld, OutcomeConflict} {
		m.reconciles.WithLabelValues(state)
		m.objects.WithLabelValues("Secret", state)
		m.objects.WithLabelValues("ConfigMap", state)
	}
	m.reconciles.WithLabelValues(OutcomeInvalidInput)
	for _, outcome := range []string{EvaluationOK, EvaluationWaiting, EvaluationFailed} {
		m.evaluations.WithLabelValues(outcome)
	}
	m.plans.WithLabelValues("hit")
	m.plans.WithLabelValues("miss")
	return m
}

// Reconcile counts one call of the function; the outcome is one of the outcome constants.
func (m *Metrics) Reconcile(outcome string) {
	if m != nil {
		m.reconciles.WithLabelValues(outcome).Inc()
	}
}

// Evaluations counts n expressions; the outcome is one of the evaluation constants.
func (m *Metrics) Evaluations(outcome string, n int) {
	if m != nil && n > 0 {
		m.evaluations.WithLabelValues(outcome).Add(float64(n))
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

// Object counts one exported object; the kind is Secret or ConfigMap, the state
// one of the outcome constants without OutcomeInvalidInput.
func (m *Metrics) Object(kind, state string) {
	if m != nil {
		m.objects.WithLabelValues(kind, state).Inc()
	}
}
