package reconcile

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/crossplane-contrib/function-export/input/v1beta1"
	"github.com/crossplane-contrib/function-export/internal/expression"
	"github.com/crossplane-contrib/function-export/internal/generator"
	"github.com/crossplane-contrib/function-export/internal/object"
	"github.com/crossplane-contrib/function-export/internal/observation"
	"github.com/crossplane-contrib/function-export/internal/plan"
	"github.com/crossplane-contrib/function-export/internal/wire"
)

// publish sets the outputs that expressions see of a generator after its step, and reports the step.
func (g *stepper) publish(w *wantedGeneration, t *trusted, step generator.Step, unready map[int]reasons, why reasons) {
	g.outputs[w.Name] = g.seen(w, step, g.waits(w, step, unready, why))
	if see := cmp.Or(unready[step.Pending].see, g.creations[w.Name].See); see != "" {
		g.inputs.shows(w.Name, see)
	}
	g.candidates[w.Name] = observation.Generated{Waits: g.waits(w, step, nil, why)}
	if k := findGeneration(t.generations, step.Candidate); k != nil {
		g.candidates[w.Name] = g.fitting(w, k)
	}
	g.missing[w.Spelled(expression.Previous)] = "no generation is in its grace period: set optional: true, or read it with ? and orValue(...)"
	if k := findGeneration(t.generations, step.Previous); k != nil {
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
	case m.Ready != nil:
	case !isReady(k.object):
		why.missing = []string{"its condition Ready"}
	}
	if why.empty() && m.Ready != nil && g.isPending(k) {
		why.add("", g.checkReady(m, k))
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

// isPending reports whether a generation must be verified. A resource is verified until an export uses it, because its
// mark has no seal: any client can have written it.
func (g *stepper) isPending(k *generation) bool {
	return !k.Adopted || !k.sealed && !g.exported(k)
}

// checkReady evaluates whether a pending generation works.
func (g *stepper) checkReady(m *plan.Generator, k *generation) error {
	s, x, in := g.forItem(m.Item), m.Ready, k.observation()
	if !x.Source().Own { // resource and secret are those of the composite
		in = &observation.Generation{}
	}
	_, _, _, name := object.Identity(k.object)
	in.Generation = s.generationVariable(m, k.Number, name)
	list, _, isItem := plan.SplitItem(m.Name)
	unknown := map[string]string{}
	if isItem {
		unknown[list] = ""
	}
	in.Candidate = withItems(map[string]observation.Generated{m.Name: g.generated(m, k)}, unknown)
	v, err := s.evaluate(x, s.generationScope(in))
	if err != nil {
		return err
	}
	ok, err := x.Bool(v)
	if err == nil && !ok {
		err = s.notTrue(x)
	}
	return err
}

// notTrue says what a readyExpression compares with the pending generation.
func (s *session) notTrue(x *expression.Expression) error {
	var reads []string
	command := ""
	for _, r := range x.Reads() {
		if !observes(x, r.Variable) {
			continue
		}
		reads = append(reads, r.Text)
		in, _ := s.inputs.find(r.Text)
		o := s.observed.Resources[in.name].Object
		if all := s.observed.Sources[in.name].Objects; in.source && len(all) == 1 {
			o = all[0]
		}
		command = cmp.Or(command, s.inputs.about(in, o).see)
	}
	text := "readyExpression to be true"
	if len(reads) > 0 {
		text += ", which reads " + plan.Shorten(reads, ", ")
	}
	out := expression.NewWaiting(text)
	out.See = command
	return out
}

// observes reports whether a variable of a readyExpression is something that was observed.
func observes(x *expression.Expression, variable string) bool {
	switch variable {
	case expression.Resources, expression.Secrets, expression.Sources:
		return true
	case expression.Resource, expression.Self, expression.Secret:
		return x.Source().Own
	}
	return false
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
	if m.Ready != nil || used.Kind != plan.KindResource || k.Kind != plan.KindResource { // m.Ready may not need them
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
	if r == nil || k.Kind != "" && k.Kind != plan.KindResource {
		return k.details, nil
	}
	out, s := observation.Details{}, g.forItem(m.Item)
	maps.Copy(out, k.details)
	for _, o := range r.Outputs {
		text, ok, err := valueOf(s, o.Value, s.generationScope(k.observation()), o.Value.Text)
		switch {
		case err != nil:
			return nil, err
		case text.Len() > 0:
			out[o.Key] = text.Reveal()
		case ok:
			return nil, expression.NewWaiting(o.Value.Source().Path + " that is not empty")
		}
	}
	return out, nil
}

// fitting returns the outputs of a generation, unless they may not belong to the present source. Then, objects that
// use them are kept until the next generation is in use.
func (g *stepper) fitting(w *wantedGeneration, k *generation) observation.Generated {
	if why := w.unfit(k); why != "" && rulesFit {
		return observation.Generated{Waits: why, Keeps: true}
	}
	return g.generated(w.Generator, k)
}

// unfit returns why the outputs of a generation may not be used, or an empty text.
func (w *wantedGeneration) unfit(k *generation) string {
	switch {
	case k.Unchecked:
		return fmt.Sprintf("generation %d cannot be compared with its source: %s", k.Number, w.why.text())
	case !k.Stale:
		return ""
	case k.lost:
		return fmt.Sprintf("another client changed the state of generation %d, and the next one is not in use yet", k.Number)
	case k.Kind != w.Kind:
		return fmt.Sprintf("generation %d is of another kind, and the next one is not in use yet", k.Number)
	}
	return fmt.Sprintf("generation %d belongs to another source, and the next one is not in use yet", k.Number)
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
func (g *stepper) waits(w *wantedGeneration, step generator.Step, unready map[int]reasons, why reasons) string {
	pending := unready[step.Pending]
	switch {
	case !why.empty():
		return why.text()
	case step.Make > 0:
		return g.creations[w.Name].Message
	case !pending.empty():
		return fmt.Sprintf("its generation %d is not ready: %s", step.Pending, pending.sentence())
	case step.Pending > 0:
		return fmt.Sprintf("its generation %d is not adopted yet", step.Pending)
	}
	return "its next generation"
}

// reportStep reports the state of a generator.
func (g *stepper) reportStep(s *wantedGeneration, step generator.Step, unready map[int]reasons, why reasons) {
	stays := g.stays(s, step)
	pending, not := step.Pending, unready[step.Pending]
	o := Outcome{State: Waiting, See: not.see}
	switch {
	case !why.empty():
		o = why.outcome(s.String(), "creates no generation", false)
		o.Message += stays
	case step.Abandoned > 0 && step.Abandoned == pending:
		o.Warn, o.Message = true, fmt.Sprintf("%s: generation %d is abandoned: %s%s", s, pending, not.sentence(), stays)
	case !not.empty():
		o.Message = fmt.Sprintf("%s: generation %d is not ready: %s%s%s", s, pending, not.sentence(), stays, abandonedAt(s, step))
	case !step.Retry.IsZero():
		o = failedBefore(s, step, unready)
	case step.Make > 0:
		o = g.creations[s.Name]
		o.Message = fmt.Sprintf("%s: %s%s", s, o.Message, stays)
	case step.Current == 0:
		o.Message = fmt.Sprintf("%s: %s", s, g.waits(s, step, unready, why))
	default:
		o = g.checkCurrent(s, g.current[s.Name])
	}
	o.Aside = step.Current > 0
	if (o.State == Created || o.State == Waiting) && !o.Aside && isExported(g.exports, s.Name) {
		return // the exports that wait for it say why
	}
	if o.State != Available || o.Warn {
		g.report(o)
	}
}

// stays says what happens to the generation in use while there is no next one, or returns an empty text.
func (g *stepper) stays(s *wantedGeneration, step generator.Step) string {
	switch k := g.current[s.Name]; {
	case k != nil && (k.Stale || k.Unchecked):
		return fmt.Sprintf("; exports of generation %d are kept", step.Current)
	case step.Current > 0:
		return fmt.Sprintf("; generation %d stays in use", step.Current)
	}
	return ""
}

// abandonedAt says when a pending generation is abandoned, or returns an empty text.
func abandonedAt(s *wantedGeneration, step generator.Step) string {
	for _, k := range step.Keep {
		if k.Number == step.Pending && step.Current > 0 && !k.OfferedAt.IsZero() {
			return fmt.Sprintf(", and generation %d is abandoned at %s", k.Number, timeText(k.OfferedAt.Add(s.AbandonAfter-k.Waited)))
		}
	}
	return ""
}

// failedBefore says that the same rotation was abandoned, and when it starts again.
func failedBefore(s *wantedGeneration, step generator.Step, unready map[int]reasons) Outcome {
	f := step.Keep[keptAt(step)[step.Current]].Failure
	not, still := unready[f.Number], ""
	if !not.empty() {
		still = ": " + not.sentence()
	}
	return Outcome{State: Held, Warn: true, See: not.see, Message: fmt.Sprintf(
		"%s: generation %d was abandoned at %s, because it was not ready in time%s; generation %d stays in use. "+
			"The rotation starts again at %s. To start it at once, set the composite's annotation %s: %s=<anything new>",
		s, f.Number, timeText(f.At), still, step.Current, timeText(step.Retry), plan.RotateAnnotation, s.Name)}
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
