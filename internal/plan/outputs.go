package plan

import (
	"context"
	"errors"
	"fmt"
	"maps"

	"github.com/google/cel-go/common/types/ref"

	"github.com/crossplane-contrib/function-export/internal/expression"
	"github.com/crossplane-contrib/function-export/internal/observation"
	"github.com/crossplane-contrib/function-export/internal/wire"
)

// ready reports whether a generation can be used, and why not.
func (g *generating) ready(ctx context.Context, m *maker, k *kept) (bool, reasons) {
	var why reasons
	switch {
	case k.withheld != nil:
		why.add("", k.withheld)
	case m.manifest == nil || k.Kind != "" && k.Kind != kindResource:
		if len(k.details) == 0 {
			why.failed = []string{"it has no data"}
		}
	case m.manifest.ready != nil:
		v, err := g.evaluateMaking(ctx, m.manifest.ready, k.making())
		ok := false
		if err == nil {
			ok, err = m.manifest.ready.Bool(v)
		}
		if err == nil && !ok {
			err = expression.NewWaiting("readyExpression to be true")
		}
		why.add("", err)
	case !isReady(k.object):
		why.waiting = []string{"its condition Ready"}
	}
	if why.empty() && !k.Adopted {
		why.waiting = g.detailsToCome(m, k)
	}
	if why.empty() && !k.Adopted {
		_, err := g.outputsOf(ctx, m, k)
		why.add("", err)
	}
	return why.empty(), why
}

// detailsToCome are connection details without which a generation is not whole: all, or
// those that the one in use has.
func (g *generating) detailsToCome(m *maker, k *kept) []string {
	if writesDetails(k.object) && len(k.details) == 0 {
		return []string{"its connection details"}
	}
	used := &kept{}
	for _, other := range g.have[k.Generator] {
		if other.Adopted && other.Number > used.Number {
			used = other
		}
	}
	if m.manifest == nil || m.manifest.ready != nil || used.Kind != kindResource || k.Kind != kindResource { // which may say that they are not needed
		return nil
	}
	var out []string
	for _, key := range sortedKeys(used.details) {
		if _, ok := k.details[key]; !ok {
			out = append(out, fmt.Sprintf("%q among its connection details", key))
		}
	}
	return out
}

func isReady(o wire.Struct) bool {
	for _, c := range o.At("status", "conditions").List().All() {
		if c := c.Struct(); c.Get("type").Is("Ready") {
			return c.Get("status").Is("True")
		}
	}
	return false
}

// making is what the expressions over a generation see of it.
func (k *kept) making() *observation.Making {
	return &observation.Making{Resource: k.object, Details: k.details}
}

// outputsOf a generation.
func (g *generating) outputsOf(ctx context.Context, m *maker, k *kept) (observation.Details, error) {
	if k.withheld != nil {
		return nil, k.withheld
	}
	if m.manifest == nil || len(m.manifest.outputs) == 0 || k.Kind != "" && k.Kind != kindResource {
		return k.details, nil
	}
	out := maps.Clone(k.details)
	if out == nil {
		out = observation.Details{}
	}
	for _, o := range m.manifest.outputs {
		v, err := g.evaluateMaking(ctx, o.value, k.making())
		if err != nil {
			return nil, err
		}
		text, ok, err := o.value.Text(v, g.budget)
		switch {
		case err != nil:
			return nil, err
		case ok && text.Len() > 0:
			out[o.key] = text.Reveal()
		case ok:
			return nil, expression.NewWaiting(o.value.Source().Path + " that is not empty")
		}
	}
	return out, nil
}

// given is what a generation gives, or why it gives nothing.
func (g *generating) given(ctx context.Context, m *maker, k *kept) observation.Generated {
	d, err := g.outputsOf(ctx, m, k)
	if err == nil && writesDetails(k.object) && len(k.details) == 0 {
		err = expression.NewWaiting("its connection details")
	}
	if err != nil {
		var why reasons
		why.add("", err)
		out := observation.Generated{Waits: fmt.Sprintf("generation %d: %s", k.Number, why.text())}
		errors.As(k.withheld, &out.Failed)
		return out
	}
	if d == nil {
		d = observation.Details{}
	}
	return observation.Generated{Outputs: d}
}

// totp gives the one-time password of the moment. It is never stored.
func (g *generating) totp(ctx context.Context, m *maker) {
	v, err := g.evaluate(ctx, m.secret, "")
	var secret string
	ok := false
	if err == nil {
		secret, ok, err = m.secret.Name(v, g.budget)
	}
	if err == nil && !ok {
		err = expression.NewWaiting(m.secret.Source().Path)
	}
	if err == nil {
		outputs, left, made := m.totp.Make(secret, g.Now)
		if made == nil {
			d := observation.Details{}
			for k, b := range outputs {
				d[k] = b.Reveal()
			}
			g.Observation.Generated[m.name] = observation.Generated{Outputs: d}
			g.due(g.Now.Add(left))
			return
		}
		err = failed(m.secret.Source().Path, "%s", made.Error())
	}
	var why reasons
	why.add("", err)
	g.Observation.Generated[m.name] = observation.Generated{Waits: why.text()}
	g.out.Others = append(g.out.Others, why.outcome(m.String(), "gives no token", false))
}

// evaluateMaking evaluates an expression of a generation.
func (r *run) evaluateMaking(ctx context.Context, x *expression.Expression, m *observation.Making) (ref.Val, error) {
	v, err := x.Evaluate(ctx, r.Observation.MakingScope(m, r.variables.Val), r.budget)
	var w *expression.Waiting
	if errors.As(err, &w) {
		return nil, r.explain(w)
	}
	return v, err
}
