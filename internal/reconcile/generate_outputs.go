package reconcile

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/crossplane-contrib/function-export/input/v1beta1"
	"github.com/crossplane-contrib/function-export/internal/expression"
	"github.com/crossplane-contrib/function-export/internal/generator"
	"github.com/crossplane-contrib/function-export/internal/observation"
	"github.com/crossplane-contrib/function-export/internal/plan"
	"github.com/crossplane-contrib/function-export/internal/wire"
)

// publish sets the outputs that expressions see of a generator after its step, and reports the step.
func (g *stepper) publish(w *wantedGeneration, t *trusted, step generator.Step, unready map[int]string, why reasons) {
	g.outputs[w.Name] = g.seen(w, step, waits(step, unready, why))
	if k := findGeneration(t.generations, step.Pending); unready[step.Pending] != "" && k != nil {
		g.inputs.shows(w.Name, k.object)
	}
	g.missing[w.Spelled(expression.Previous)] = "no generation is in its grace period: set optional: true, or read it with ? and orValue(...)"
	if k := findGeneration(t.generations, step.Previous); step.Previous > 0 && k != nil {
		g.previous[w.Name] = g.generated(w.Generator, k)
	}
	g.reportStep(w, step, unready, why)
}

// ready returns why a generation cannot be used.
func (g *stepper) ready(m *plan.Generator, of *trusted, k *generation) reasons {
	var why reasons
	r := resourceOf(m)
	switch {
	case k.withheld != nil:
		why.add("", k.withheld)
	case r == nil || k.Kind != "" && k.Kind != plan.KindResource:
		if len(k.details) == 0 {
			why.failed = []string{"it has no data"}
		}
	case r.Ready != nil:
		why.add("", g.forItem(m.Item).readyExpression(r.Ready, k))
	case !isReady(k.object):
		why.missing = []string{"its condition Ready"}
	}
	if why.empty() && !k.Adopted {
		why.missing = missingDetails(m, of, k)
	}
	if why.empty() && !k.Adopted {
		_, err := g.outputsOf(m, k)
		why.add("", err)
	}
	return why
}

func (s *session) readyExpression(x *expression.Expression, k *generation) error {
	v, err := s.evaluate(x, s.generationScope(k.observation()))
	if err != nil {
		return err
	}
	ok, err := x.Bool(v)
	if err == nil && !ok {
		err = expression.NewWaiting("readyExpression to be true")
	}
	return err
}

// observation returns the variables of the expressions of a generation.
func (k *generation) observation() *observation.Generation {
	return &observation.Generation{Resource: k.object, Details: k.details}
}

func isReady(o wire.Struct) bool {
	for _, c := range o.At("status", "conditions").List().All() {
		if c := c.Struct(); c.Get("type").Is("Ready") {
			return c.Get("status").Is("True")
		}
	}
	return false
}

// missingDetails returns the connection details that a generation lacks: all of them, or those that
// the generation in use has.
func missingDetails(m *plan.Generator, of *trusted, k *generation) []string {
	if writesDetails(k.object) && len(k.details) == 0 {
		return []string{"its connection details"}
	}
	used := &generation{}
	for _, other := range of.generations {
		if other.Adopted && other.Number > used.Number {
			used = other
		}
	}
	r := resourceOf(m) // a readyExpression may not need them
	if r == nil || r.Ready != nil || used.Kind != plan.KindResource || k.Kind != plan.KindResource {
		return nil
	}
	var out []string
	for _, key := range plan.SortedKeys(used.details) {
		if _, ok := k.details[key]; !ok {
			out = append(out, fmt.Sprintf("%q among its connection details", key))
		}
	}
	return out
}

// writesDetails reports whether a resource must have connection details.
func writesDetails(o wire.Struct) bool {
	return o.At("spec", "writeConnectionSecretToRef").Exists()
}

func (g *stepper) outputsOf(m *plan.Generator, k *generation) (observation.Details, error) {
	if k.withheld != nil {
		return nil, k.withheld
	}
	r := resourceOf(m)
	if r == nil || len(r.Outputs) == 0 || k.Kind != "" && k.Kind != plan.KindResource {
		return k.details, nil
	}
	out, s := observation.Details{}, g.forItem(m.Item)
	maps.Copy(out, k.details)
	for _, o := range r.Outputs {
		text, ok, err := valueOf(s, o.Value, s.generationScope(k.observation()), o.Value.Text)
		switch {
		case err != nil:
			return nil, err
		case ok && text.Len() > 0:
			out[o.Key] = text.Reveal()
		case ok:
			return nil, expression.NewWaiting(o.Value.Source().Path + " that is not empty")
		}
	}
	return out, nil
}

// generated returns the outputs of a generation, or why it has none.
func (g *stepper) generated(m *plan.Generator, k *generation) observation.Generated {
	d, err := g.outputsOf(m, k)
	if err == nil && writesDetails(k.object) && len(k.details) == 0 {
		err = expression.NewWaiting("its connection details")
	}
	if err != nil {
		why := because("", err)
		out := observation.Generated{Waits: fmt.Sprintf("generation %d: %s", k.Number, why.text())}
		errors.As(k.withheld, &out.Failed)
		return out
	}
	if d == nil {
		d = observation.Details{}
	}
	return observation.Generated{Outputs: d}
}

// waits names the missing inputs of a generator without a generation in use.
func waits(step generator.Step, unready map[int]string, why reasons) string {
	switch {
	case !why.empty():
		return why.text()
	case step.Make > 0:
		return fmt.Sprintf("its generation %d is not stored yet", step.Make)
	case unready[step.Pending] != "":
		return fmt.Sprintf("its generation %d is not ready: it waits for %s", step.Pending, unready[step.Pending])
	case step.Pending > 0:
		return fmt.Sprintf("its generation %d is not adopted yet", step.Pending)
	}
	return "its next generation"
}

// reportStep reports the state of a generator.
func (g *stepper) reportStep(s *wantedGeneration, step generator.Step, unready map[int]string, why reasons) {
	stays := ""
	if step.Current > 0 {
		stays = fmt.Sprintf("; generation %d stays in use", step.Current)
	}
	o := Outcome{State: Waiting}
	switch pending := step.Pending; {
	case !why.empty():
		o = why.outcome(s.String(), "creates no generation", false)
		o.Message += stays
	case pending > 0 && unready[pending] != "":
		o.Message = fmt.Sprintf("%s: generation %d is not ready: it waits for %s%s", s, pending, unready[pending], stays)
	case step.Current == 0:
		o.Message = fmt.Sprintf("%s: %s", s, waits(step, unready, why))
	default:
		o = g.checkCurrent(s, g.current[s.Name])
	}
	o.Aside = step.Current > 0
	if o.State == Waiting && !o.Aside && isExported(g.exports, s.Name) {
		return // the exports that wait for it say why
	}
	if o.State != Available || o.Warn {
		g.report(o)
	}
}

// checkCurrent warns about the generation in use if no other generation is pending.
func (g *stepper) checkCurrent(s *wantedGeneration, k *generation) Outcome {
	var missing []string
	for _, key := range s.Keys {
		if _, ok := k.details[key]; !ok {
			missing = append(missing, fmt.Sprintf("%q", key))
		}
	}
	rotate := fmt.Sprintf("create another generation with the composite's annotation %s: %s=<anything new>",
		plan.RotateAnnotation, s.Name)
	once := s.Policy == "" || s.Policy == v1beta1.CreatedOnce
	switch {
	case len(missing) > 0 && k.Kind == s.Kind:
		return Outcome{State: Held, Warn: true, Message: fmt.Sprintf(
			"%s: generation %d has no output %s, because it was created before that output was added: %s",
			s, k.Number, plan.Shorten(missing, ", "), rotate)}
	case once && !k.RenewAt.IsZero() && !g.req.Now.Before(k.RenewAt):
		return Outcome{Warn: true, Message: fmt.Sprintf(
			"%s: the certificate of generation %d expires soon, or its CA has changed, "+
				"and refreshPolicy CreatedOnce creates no other generation: %s, or set refreshPolicy to OnChange",
			s, k.Number, rotate)}
	}
	return Outcome{}
}

// isExported reports whether an export uses a generator.
func isExported(exports []plan.Export, name string) bool {
	return slices.ContainsFunc(exports, func(e plan.Export) bool { return slices.Contains(e.Generators, name) })
}
