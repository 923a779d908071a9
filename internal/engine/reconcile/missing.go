package reconcile

import (
	"cmp"
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/crossplane-contrib/function-export/internal/engine/expression"
	"github.com/crossplane-contrib/function-export/internal/engine/limits"
	"github.com/crossplane-contrib/function-export/internal/engine/object"
	"github.com/crossplane-contrib/function-export/internal/engine/observation"
	"github.com/crossplane-contrib/function-export/internal/engine/plan"
	"github.com/crossplane-contrib/function-export/internal/engine/suggest"
	"github.com/crossplane-contrib/function-export/internal/engine/wire"
)

// This file finds out what is known about missing inputs. The texts are those of [Request.Advise]. A composite author learns
// nothing about objects of the Composition.

// inputs are what is known about the inputs that expressions name. All sessions of a request share it. It is read only
// if something is missing.
type inputs struct {
	plan *plan.Plan
	req  *request

	composed  []string              // the composition resource names that an input can have, once they are read
	commands  map[string]string     // that show more about generators, by their outputs in CEL
	described map[input]description // existing inputs
	suggested map[string]bool       // the missing inputs with suggestions
	found     string                // names of keys that a find could have matched
}

// A description is what messages say about an existing object.
type description struct {
	name  string // with its kind
	state observation.State
	see   string // a command that shows it
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
		if why := cmp.Or(s.missing[in], s.advise(m)); why != "" {
			texts[i] += " (" + why + ")"
		}
	}
	out := expression.NewWaiting(texts...)
	out.See, out.Required = command, w.Required
	return out
}

// whyMissing returns what is known about a missing input, and a command that shows more.
func (s *session) whyMissing(text string, x *expression.Expression) (m observation.Missing, see string) {
	if s.missing[text] != "" {
		return m, ""
	}
	if m = s.noItem(text); m.Fact != observation.Unknown {
		return m, ""
	}
	if m, see = s.whyGlobalMissing(text, x); m.Fact != observation.Unknown {
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
func (s *session) whyGlobalMissing(text string, x *expression.Expression) (m observation.Missing, see string) {
	switch {
	case s.item != nil && isBelow(text, expression.Item):
		m.Fact = observation.ItemLacks
	case s.author != nil:
	case x != nil && !x.Source().Own && !isLegacy(s.object) && isBelow(text, expression.Secret):
		m.Fact, see = observation.CompositeHasNoDetails, SeeComposition(s.object)
		m.Instead = plan.InsteadOfComposite(x.Source().Path, plan.Anything, s.inputs.names())
	case isBelow(text, expression.Composite+".spec"), isBelow(text, expression.Composite+".metadata"):
		m.Fact, m.Object = observation.CompositeLacks, nameOf(s.object)
	case isBelow(text, expression.Env):
		m, see = s.lacksInEnvironment(text), SeeComposition(s.object)
	}
	return m, see
}

// noItem returns that the list of a generator lacks an item, unless the text already says why it is missing.
func (s *session) noItem(text string) (m observation.Missing) {
	variable, _, _ := strings.Cut(text, ".")
	name, rest, _ := expression.CutStep(strings.TrimPrefix(text, variable))
	key, _, isItem := expression.CutStep(rest)
	known := s.observed.Generated[name]
	_, exists := known.Items[key]
	l := s.inputs.plan.List(name)
	if expression.HasOutputs(variable) && isItem && l != nil && !exists && known.Waits == "" {
		m.Fact, m.Resource = observation.NoItem, l.ForEach.List.Source().Path
	}
	return m
}

// whyResourceMissing returns what is known about a composed resource that is missing, or that lacks an input.
func (s *session) whyResourceMissing(text, rest string, in input) (m observation.Missing, see string) {
	res, observed := s.observed.Resources[in.name]
	_, desired := s.inputs.req.Desired[in.name]
	isExport, byAuthor := s.inputs.plan.ExportNamed(in.name), s.author != nil
	switch {
	case isExport && in.details && !byAuthor:
		return observation.Missing{Fact: observation.OwnData}, SeeComposition(s.object)
	case observed && byAuthor:
		return m, ""
	case observed:
		return s.lacks(text, rest, in, res)
	case isExport && !byAuthor:
		return observation.Missing{Fact: observation.OwnNotExists}, ""
	case desired || isExport:
		return observation.Missing{Fact: observation.NotCreated}, ""
	case !slices.Contains(s.inputs.plan.Inputs, in.name): // an expression computes the name
		return m, ""
	case byAuthor:
		return observation.Missing{Fact: observation.NotComposed}, ""
	}
	m = observation.Missing{Fact: observation.NotComposed, Wrong: in.name}
	if s.suggests(text) {
		m.Names = append([]string{}, s.inputs.names()...)
	}
	return m, SeeComposition(s.object)
}

// lacksInEnvironment returns what is known about a field that the environment lacks, unless it was not read yet, or
// only lacks something below the field.
func (s *session) lacksInEnvironment(text string) (m observation.Missing) {
	rest, _ := strings.CutPrefix(text, expression.Env+".")
	field, _, _ := strings.Cut(rest, ".")
	environment := s.observed.Environment
	if field == "" || environment.Get(field).Exists() || len(s.observed.EnvironmentWaits) > 0 {
		return m
	}
	m = observation.Missing{Fact: observation.EnvironmentLacks, Wrong: field}
	if s.suggests(text) {
		ofType := func(name string) bool { return name == "apiVersion" || name == "kind" }
		m.Names = slices.DeleteFunc(environment.Keys(), ofType)
	}
	return m
}

// lacks returns why an existing object lacks a field, or a key of its data or its connection details. The names of keys
// are not secret, but the fields of an object can be data.
func (s *session) lacks(text, rest string, in input, of observation.Resource) (m observation.Missing, see string) {
	about := s.inputs.describe(in, of.Object)
	m = observation.Missing{Fact: observation.Exists, Object: about.name, State: about.state, Resource: in.name}
	key, below, isKey := expression.CutStep(rest)
	isKey = isKey && below == ""
	switch {
	case rest == toBeReady:
		m.Fact = observation.NotReady
	case !in.details && rest != "":
		m.Fact = observation.LacksField
	case !in.details, len(of.Details) > 0 && !isKey, len(of.Details) == 0 && in.source:
	case len(of.Details) > 0:
		if !s.suggests(text) {
			break
		}
		m.Wrong, m.Names, m.Fact = key, plan.SortedKeys(of.Details), observation.LacksKey
		if in.source {
			m.Fact = observation.LacksSourceKey
		}
	case isV1Secret(of.Object):
		m.Fact = observation.IsSecret
	case !writesDetails(of.Object):
		m.Fact = observation.NoPlace
	case plan.UIDOf(of.Object) != "" && !of.Published:
		m.Fact = observation.NoSecret
	default:
		m.Fact = observation.NoDetails
	}
	return m, about.see
}

// suggests reports whether the message for a missing input may suggest another name. Suggestions take time, so a request
// has as many as one message can show.
func (s *session) suggests(text string) bool {
	if !s.inputs.suggested[text] && len(s.inputs.suggested) == limits.MessageItems || s.budget.Spend(suggest.Fuel) != nil {
		return false
	}
	if s.inputs.suggested == nil {
		s.inputs.suggested = map[string]bool{}
	}
	s.inputs.suggested[text] = true
	return true
}

// advise returns the text about a missing input.
func (s *session) advise(m observation.Missing) string {
	if s.inputs.req.Advise == nil {
		return ""
	}
	return s.inputs.req.Advise(m)
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

func readiness(o wire.Struct) observation.State {
	switch {
	case isReady(o):
		return observation.ObjectReady
	case conditionOf(o, "Ready").Exists():
		return observation.ObjectNotReady
	}
	return observation.ObjectExists
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
