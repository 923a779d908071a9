package reconcile

import (
	"cmp"
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/crossplane-contrib/function-export/internal/engine/advice"
	"github.com/crossplane-contrib/function-export/internal/engine/expression"
	"github.com/crossplane-contrib/function-export/internal/engine/limits"
	"github.com/crossplane-contrib/function-export/internal/engine/object"
	"github.com/crossplane-contrib/function-export/internal/engine/observation"
	"github.com/crossplane-contrib/function-export/internal/engine/plan"
	"github.com/crossplane-contrib/function-export/internal/engine/suggest"
	"github.com/crossplane-contrib/function-export/internal/engine/wire"
)

// This file finds out what is known about missing inputs. The texts are in package advice. A composite author learns
// nothing about objects of the Composition.

// inputs are what is known about the inputs that expressions name. All sessions of a request share it. It is read only
// if something is missing.
type inputs struct {
	plan *plan.Plan
	req  *request

	composed  []string              // the composition resource names that an input can have, once they are read
	commands  map[string]string     // that show more about generators, by their outputs in CEL
	described map[input]description // existing inputs
	suggested map[string]suggestion // by the missing input
	found     string                // names of keys that a find could have matched
}

// A description is what messages say about an existing object.
type description struct {
	name  string // with its kind
	state advice.State
	see   string // a command that shows it
}

// A suggestion says what may be meant by a name that does not exist.
type suggestion struct {
	fact    advice.Fact
	instead string
}

// An input is a composed resource or a source.
type input struct {
	name    string
	source  bool
	details bool // it is in the variable secrets
}

// explain adds to each missing input of an expression what is known about it, and to the error a command that shows
// more. The expression is nil if something else needs the inputs.
func (s *session) explain(err error, x *expression.Expression) error {
	if err == nil {
		return nil
	}
	var w *expression.Waiting
	if !errors.As(err, &w) {
		return err
	}
	texts, command := make([]string, len(w.Inputs)), w.See
	for i, in := range w.Inputs {
		m, see := s.whyMissing(in, x)
		m.Input, m.Null = in, w.Null
		if x != nil {
			m.List, m.Below = x.Source().Want == expression.WantList, x.ReadsBelow(in)
		}
		texts[i], command = in, cmp.Or(command, see)
		if why := cmp.Or(s.missing[in], m.String()); why != "" {
			texts[i] += " (" + why + ")"
		}
	}
	out := expression.NewWaiting(texts...)
	out.See, out.Required = command, w.Required
	return out
}

// whyMissing returns what is known about a missing input, and a command that shows more.
func (s *session) whyMissing(text string, x *expression.Expression) (m advice.Missing, see string) {
	if s.missing[text] != "" {
		return m, ""
	}
	if m = s.noItem(text); m.Fact != advice.Unknown {
		return m, ""
	}
	if m, see = s.whyGlobalMissing(text, x); m.Fact != advice.Unknown {
		return m, see
	}
	byAuthor := s.author != nil
	switch in, rest, ok := s.inputs.find(text); {
	case !ok:
		return m, s.inputs.command(text)
	case byAuthor && !slices.Contains(s.author.Resources, in.name) && !slices.Contains(s.author.Secrets, in.name):
	case !in.source:
		return s.whyResourceMissing(text, rest, in)
	case !byAuthor && len(s.observed.Sources[in.name].Objects) == 1:
		src := s.observed.Sources[in.name]
		return s.lacks(text, rest, in, observation.Resource{Object: src.Objects[0], Details: src.Details})
	}
	return m, ""
}

// whyGlobalMissing returns what is known about a missing part of the item, the composite or the environment.
func (s *session) whyGlobalMissing(text string, x *expression.Expression) (m advice.Missing, see string) {
	switch {
	case s.item != nil && isBelow(text, expression.Item):
		m.Fact = advice.ItemLacks
	case s.author != nil:
	case x != nil && !x.Source().Own && !isLegacy(s.object) && isBelow(text, expression.Secret):
		m.Fact, see = advice.CompositeHasNoDetails, SeeComposition(s.object)
		m.Instead = plan.InsteadOfComposite(x.Source().Path, plan.Anything, s.inputs.names())
	case isBelow(text, expression.Composite+".spec"), isBelow(text, expression.Composite+".metadata"):
		m.Fact, m.Object = advice.CompositeLacks, nameOf(s.object)
	case isBelow(text, expression.Env):
		m.Fact, m.Instead = s.lacksInEnvironment(text)
		see = SeeComposition(s.object)
	}
	return m, see
}

// noItem returns that the list of a generator lacks an item, unless the text already says why it is missing.
func (s *session) noItem(text string) (m advice.Missing) {
	variable, _, _ := strings.Cut(text, ".")
	name, rest, _ := expression.CutStep(strings.TrimPrefix(text, variable))
	key, _, isItem := expression.CutStep(rest)
	known := s.observed.Generated[name]
	_, exists := known.Items[key]
	l := s.inputs.plan.List(name)
	if expression.HasOutputs(variable) && isItem && l != nil && !exists && known.Waits == "" {
		m.Fact, m.Resource = advice.NoItem, l.ForEach.List.Source().Path
	}
	return m
}

// whyResourceMissing returns what is known about a composed resource that is missing, or that lacks an input.
func (s *session) whyResourceMissing(text, rest string, in input) (m advice.Missing, see string) {
	res, observed := s.observed.Resources[in.name]
	_, desired := s.inputs.req.Desired[in.name]
	isExport, byAuthor := s.inputs.plan.ExportNamed(in.name), s.author != nil
	switch {
	case isExport && in.details && !byAuthor:
		return advice.Missing{Fact: advice.OwnData}, SeeComposition(s.object)
	case observed && byAuthor:
		return m, ""
	case observed:
		return s.lacks(text, rest, in, res)
	case isExport && !byAuthor:
		return advice.Missing{Fact: advice.OwnNotExists}, ""
	case desired || isExport:
		return advice.Missing{Fact: advice.NotCreated}, ""
	case !slices.Contains(s.inputs.plan.Inputs, in.name): // an expression computes the name
		return m, ""
	case byAuthor:
		return advice.Missing{Fact: advice.NotComposed}, ""
	}
	m.Fact, m.Instead = s.suggest(text, advice.NotComposed, func() (advice.Fact, string) {
		return advice.NotComposed, advice.Resource(in.name, s.inputs.names())
	})
	return m, SeeComposition(s.object)
}

// lacksInEnvironment returns what is known about a field that the environment lacks, unless it was not read yet, or
// only lacks something below the field.
func (s *session) lacksInEnvironment(text string) (advice.Fact, string) {
	rest, _ := strings.CutPrefix(text, expression.Env+".")
	field, _, _ := strings.Cut(rest, ".")
	environment := s.observed.Environment
	if field == "" || environment.Get(field).Exists() || len(s.observed.EnvironmentWaits) > 0 {
		return advice.Unknown, ""
	}
	return s.suggest(text, advice.EnvironmentLacks, func() (advice.Fact, string) {
		ofType := func(name string) bool { return name == "apiVersion" || name == "kind" }
		return advice.Field(field, slices.DeleteFunc(environment.Keys(), ofType))
	})
}

// lacks returns why an existing object lacks a field, or a key of its data or its connection details. The names of keys
// are not secret, but the fields of an object can be data.
func (s *session) lacks(text, rest string, in input, of observation.Resource) (m advice.Missing, see string) {
	about := s.inputs.describe(in, of.Object)
	m = advice.Missing{Fact: advice.Exists, Object: about.name, State: about.state, Resource: in.name}
	key, below, isKey := expression.CutStep(rest)
	isKey = isKey && below == ""
	switch {
	case rest == toBeReady:
		m.Fact = advice.NotReady
	case !in.details && rest != "":
		m.Fact = advice.LacksField
	case !in.details, len(of.Details) > 0 && !isKey, len(of.Details) == 0 && in.source:
	case len(of.Details) > 0:
		m.Fact, m.Instead = s.suggest(text, advice.Exists, func() (advice.Fact, string) {
			if in.source {
				return advice.KeyOfSource(key, plan.SortedKeys(of.Details))
			}
			return advice.Key(key, plan.SortedKeys(of.Details))
		})
	case isV1Secret(of.Object):
		m.Fact = advice.IsSecret
	case !writesDetails(of.Object):
		m.Fact = advice.NoPlace
	case plan.UIDOf(of.Object) != "" && !of.Published:
		m.Fact = advice.NoSecret
	default:
		m.Fact = advice.NoDetails
	}
	return m, about.see
}

// suggest returns what may be meant by a name that does not exist. Suggestions take time, so a request has as many as
// one message can show. All other names have only the fact.
func (s *session) suggest(text string, otherwise advice.Fact, find func() (advice.Fact, string)) (advice.Fact, string) {
	known, ok := s.inputs.suggested[text]
	if !ok {
		if len(s.inputs.suggested) == limits.MessageItems || s.budget.Spend(suggest.Fuel) != nil {
			return otherwise, ""
		}
		known.fact, known.instead = find()
		if s.inputs.suggested == nil {
			s.inputs.suggested = map[string]suggestion{}
		}
		s.inputs.suggested[text] = known
	}
	return known.fact, known.instead
}

// describe reads an object once, because it may be large, and many expressions may wait for it.
func (all *inputs) describe(in input, o wire.Struct) description {
	out, ok := all.described[in]
	if !ok {
		out = description{nameOf(o), readiness(o), see(o)}
		if all.described == nil {
			all.described = map[input]description{}
		}
		all.described[in] = out
	}
	return out
}

// nameOf returns the kind and the name of an object.
func nameOf(o wire.Struct) string {
	_, kind, _, name := object.Identity(o)
	return strings.TrimSpace(kind + " " + name)
}

func readiness(o wire.Struct) advice.State {
	switch {
	case isReady(o):
		return advice.ObjectReady
	case conditionOf(o, "Ready").Exists():
		return advice.ObjectNotReady
	}
	return advice.ObjectExists
}

// find returns the input that a path in CEL begins with, and the rest of the path.
func (all *inputs) find(text string) (in input, rest string, ok bool) {
	i := strings.IndexAny(text, ".[")
	if i < 0 {
		return in, "", false
	}
	in.name, rest, ok = expression.CutStep(text[i:])
	in.details = text[:i] == expression.Secrets
	in.source = slices.ContainsFunc(all.plan.Sources, func(src plan.Source) bool {
		return src.Name == in.name && src.Spelled() == text[:len(text)-len(rest)]
	})
	return in, rest, ok && (in.source || in.details || text[:i] == expression.Resources)
}

// names returns the composition resource names that an input can have.
func (all *inputs) names() []string {
	if all.composed == nil {
		known := slices.Collect(maps.Keys(all.req.Desired))
		known = slices.AppendSeq(known, maps.Keys(all.req.Observation.Resources))
		slices.Sort(known)
		all.composed = slices.DeleteFunc(slices.Compact(known), func(name string) bool {
			_, _, generation := plan.ParseGeneration(name)
			return generation || plan.IsAuthors(name) || all.plan.ExportNamed(name)
		})
	}
	return all.composed
}

// shows notes the command that shows what a generator waits for.
func (all *inputs) shows(generator, command string) {
	if all.commands == nil {
		all.commands = map[string]string{}
	}
	all.commands[plan.SpelledAs(expression.Generated, generator)] = command
}

// command returns the command that shows what a missing output of a generator waits for, or nothing.
func (all *inputs) command(text string) string {
	output, _, _ := strings.Cut(text, " (")
	for spelled, command := range all.commands {
		if isBelow(output, spelled) {
			return command
		}
	}
	return ""
}

// toBeReady follows an input that exists and must be ready.
const toBeReady = " to be ready"

// see returns a command that shows an object.
func see(o wire.Struct) string { return advice.Describe(object.Identity(o)) }

// SeeComposition returns a command that shows the Composition of a composite, or nothing if the composite does not
// name it.
func SeeComposition(xr wire.Struct) string {
	ref := xr.At("spec", "crossplane", "compositionRef")
	if !ref.Exists() {
		ref = xr.At("spec", "compositionRef")
	}
	return advice.Composition(ref.Struct().Get("name").Text())
}
