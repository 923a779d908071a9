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

// The names of the metrics, in the namespace function_export.
const (
	reconcilesTotal  = "reconciles_total"
	evaluationsTotal = "evaluations_total"
	planCacheTotal   = "plan_cache_total"
	objectsTotal     = "objects_total"
)

// A counterKey is a metric with the values of its labels.
type counterKey struct{ metric, label, state string }

// Metrics counts what the function does. Labels never contain the name of a resource, a key or a
// composite, because their number has no bound. Unknown labels are not counted, for the same reason. A
// nil *Metrics counts nothing. Metrics is safe for concurrent use.
type Metrics struct {
	counters map[counterKey]prometheus.Counter // complete from the start, and only read afterwards
}

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
	m := &Metrics{counters: map[counterKey]prometheus.Counter{}}
	vec := func(name, help string, labels ...string) *prometheus.CounterVec {
		opts := prometheus.CounterOpts{Namespace: "function_export", Name: name, Help: help}
		return promauto.With(reg).NewCounterVec(opts, labels)
	}
	counters := func(name, help, label string, values ...string) {
		v := vec(name, help, label)
		for _, value := range values {
			m.counters[counterKey{name, value, ""}] = v.WithLabelValues(value)
		}
	}
	states := [...]string{OutcomeAvailable, OutcomeWaiting, OutcomeHeld, OutcomeConflict}
	counters(reconcilesTotal, "Reconciles by how they ended.", "outcome",
		append(states[:], OutcomeInvalidInput)...)
	counters(evaluationsTotal, "Evaluations of expressions by how they ended.", "outcome",
		EvaluationOK, EvaluationWaiting, EvaluationFailed)
	counters(planCacheTotal, "Look-ups of compiled inputs by whether one was found.", "result", "hit", "miss")
	objects := vec(objectsTotal, "Exported objects by kind and state, counted once a reconcile.", "kind", "state")
	for _, kind := range []string{"Secret", "ConfigMap"} {
		for _, state := range states {
			m.counters[counterKey{objectsTotal, kind, state}] = objects.WithLabelValues(kind, state)
		}
	}
	return m
}

// add adds n, unless the labels are unknown or n is negative, which would panic.
func (m *Metrics) add(key counterKey, n int) {
	if m == nil {
		return
	}
	if counter, ok := m.counters[key]; ok && n > 0 {
		counter.Add(float64(n))
	}
}

// Reconcile counts one call of the function; the outcome is one of the outcome constants.
func (m *Metrics) Reconcile(outcome string) { m.add(counterKey{reconcilesTotal, outcome, ""}, 1) }

// Evaluations counts n expressions; the outcome is one of the evaluation constants.
func (m *Metrics) Evaluations(outcome string, n int) {
	m.add(counterKey{evaluationsTotal, outcome, ""}, n)
}

// PlanCache counts one lookup of a compiled input.
func (m *Metrics) PlanCache(hit bool) {
	result := "miss"
	if hit {
		result = "hit"
	}
	m.add(counterKey{planCacheTotal, result, ""}, 1)
}

// Object counts one exported object; the kind is Secret or ConfigMap, the state
// one of the outcome constants without OutcomeInvalidInput.
func (m *Metrics) Object(kind, state string) { m.add(counterKey{objectsTotal, kind, state}, 1) }
