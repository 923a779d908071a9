package main

import (
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promauto"
)

// Outcomes of a reconcile; the states of an object are all but the last one.
const (
	outcomeAvailable    = "available"
	outcomeWaiting      = "waiting"
	outcomeHeld         = "held"
	outcomeConflict     = "conflict"
	outcomeInvalidInput = "invalid_input"
)

// Outcomes of the evaluation of an expression.
const (
	evaluationOK      = "ok"
	evaluationWaiting = "waiting"
	evaluationFailed  = "failed"
)

// metrics count what the function does. No label ever holds the name of a
// resource, a key or an XR: those are the tenants' own, and without number.
// Labels other than the known ones are not counted, for the same reason. A nil
// *metrics counts nothing. Safe for concurrent use.
type metrics struct {
	reconcilesTotal  counters[string]
	evaluationsTotal counters[string]
	planCacheTotal   counters[bool]
	requestsTotal    counters[string]
	objectsTotal     counters[objectLabels]
}

// counters of one metric by their labels. The map is complete when it is made,
// and only read afterwards.
type counters[K comparable] map[K]prometheus.Counter

// add n, unless the labels are not known or n is negative, which would panic.
func (c counters[K]) add(labels K, n int) {
	if counter, ok := c[labels]; ok && n > 0 {
		counter.Add(float64(n))
	}
}

// objectLabels are one combination of the labels of objects_total.
type objectLabels struct{ kind, state string }

// newRegistry has the metrics of the Go runtime and of the process. It is not
// the default one, to which any dependency could add.
func newRegistry() *prometheus.Registry {
	reg := prometheus.NewRegistry()
	reg.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))

	return reg
}

// newMetrics registers the metrics of the function, each at 0 for every
// combination of its labels, and panics if they are registered already.
func newMetrics(reg prometheus.Registerer) *metrics {
	vec := func(name, help string, labels ...string) *prometheus.CounterVec {
		return promauto.With(reg).NewCounterVec(prometheus.CounterOpts{Namespace: "function_export", Name: name, Help: help}, labels)
	}

	reconciles := vec("reconciles_total", "Calls of the function by how they ended.", "outcome")
	evaluations := vec("evaluations_total", "Evaluations of expressions by how they ended.", "outcome")
	planCache := vec("plan_cache_total", "Look-ups of compiled inputs by whether one was found.", "result")
	objects := vec("objects_total", "Exported objects by kind and state, counted once a call.", "kind", "state")

	requests := vec("requests_total", "Requests by the codec that read them.", "codec")

	m := &metrics{
		reconcilesTotal:  counters[string]{},
		evaluationsTotal: counters[string]{},
		planCacheTotal:   counters[bool]{true: planCache.WithLabelValues("hit"), false: planCache.WithLabelValues("miss")},
		objectsTotal:     counters[objectLabels]{},
		requestsTotal:    counters[string]{codecLazy: requests.WithLabelValues(codecLazy), codecProto: requests.WithLabelValues(codecProto)},
	}

	for _, o := range []string{outcomeAvailable, outcomeWaiting, outcomeHeld, outcomeConflict, outcomeInvalidInput} {
		m.reconcilesTotal[o] = reconciles.WithLabelValues(o)
	}

	for _, o := range []string{evaluationOK, evaluationWaiting, evaluationFailed} {
		m.evaluationsTotal[o] = evaluations.WithLabelValues(o)
	}

	for _, kind := range []string{"Secret", "ConfigMap"} {
		for _, state := range []string{outcomeAvailable, outcomeWaiting, outcomeHeld, outcomeConflict} {
			m.objectsTotal[objectLabels{kind, state}] = objects.WithLabelValues(kind, state)
		}
	}

	return m
}

// reconcile counts one call of the function; the outcome is one of the outcome
// constants.
func (m *metrics) reconcile(outcome string) {
	if m != nil {
		m.reconcilesTotal.add(outcome, 1)
	}
}

// evaluations counts n expressions; the outcome is one of the evaluation
// constants.
func (m *metrics) evaluations(outcome string, n int) {
	if m != nil {
		m.evaluationsTotal.add(outcome, n)
	}
}

// request counts one request by the codec that read it: what is not in the form that
// Crossplane writes is left to protobuf by the lazy one.
func (m *metrics) request(codec string) {
	if m != nil {
		m.requestsTotal.add(codec, 1)
	}
}

// planCache counts one look-up of a compiled input.
func (m *metrics) planCache(hit bool) {
	if m != nil {
		m.planCacheTotal.add(hit, 1)
	}
}

// object counts one exported object; the kind is Secret or ConfigMap, the state
// one of the outcome constants without outcomeInvalidInput.
func (m *metrics) object(kind, state string) {
	if m != nil {
		m.objectsTotal.add(objectLabels{kind, state}, 1)
	}
}
