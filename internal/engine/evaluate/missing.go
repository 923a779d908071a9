package evaluate

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

// This file finds out what is known about missing inputs. The texts are those of [Known.Advise]. A composite author
// learns nothing about objects of the Composition.

// Known is what is known about the inputs that expressions name.
type Known struct {
	Sources  []plan.Source
	IsExport func(composed string) bool      // an export can compose it
	Desired  map[string]wire.Struct          // the resources of earlier steps
	Observed map[string]observation.Resource // all composed resources

	// Advise returns what a message says about a missing input.
	Advise func(observation.Missing) string
}

// inputs are what is known about missing inputs. All sessions of a request share it. It is read only if something is
// missing.
type inputs struct {
	Known

	composed  []string        // the composition resource names that an input can have, once they are read
	suggested map[string]bool // the missing inputs with suggestions
}

// An input is a composed resource or a source.
type input struct {
	name    string
	source  bool
	details bool // it is in the variable secrets
}

// Explain adds to each missing input of an expression what is known about it, and to the error a command that shows
// more. The expression is nil if something else needs the inputs.
func (s *Session) Explain(err error, x *expression.Expression) error {
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
		if why := cmp.Or(s.missing[in], s.inputs.Advise(m)); why != "" {
			texts[i] += " (" + why + ")"
		}
	}
	out := expression.NewWaiting(texts...)
	out.See, out.Required = command, w.Required
	return out
}

// whyMissing returns what is known about a missing input, and a command that shows more.
func (s *Session) whyMissing(text string, x *expression.Expression) (m observation.Missing, see string) {
	in, rest, isInput := s.inputs.find(text)
	switch {
	case s.missing[text] != "":
	case s.item != nil && isBelow(text, expression.Item):
		m.Fact = observation.ItemLacks
	case s.author != nil && (!isInput || in.source || !s.author.Lists(in.name)):
	case isInput && !in.source:
		return s.whyResourceMissing(text, rest, in)
	case isInput:
		if src := s.Sees.Sources[in.name]; len(src.Objects) == 1 {
			return s.lacks(text, rest, in, observation.Resource{Object: src.Objects[0], Details: src.Details})
		}
	default:
		return s.whyGlobalMissing(text, x)
	}
	return m, ""
}

// whyGlobalMissing returns what is known about a missing part of the composite or the environment.
func (s *Session) whyGlobalMissing(text string, x *expression.Expression) (m observation.Missing, see string) {
	switch {
	case x != nil && !x.Source().Own && !object.IsLegacy(s.Sees.Composite.Object) && isBelow(text, expression.Secret):
		m.Fact, see = observation.CompositeHasNoDetails, SeeComposition(s.Sees.Composite.Object)
		m.Instead = plan.InsteadOfComposite(s.inputs.names())
	case isBelow(text, expression.Composite+".spec"), isBelow(text, expression.Composite+".metadata"):
		m.Fact, m.Object = observation.CompositeLacks, nameOf(s.Sees.Composite.Object)
	case isBelow(text, expression.Env):
		return s.lacksInEnvironment(text)
	}
	return m, see
}

// whyResourceMissing returns what is known about a composed resource that is missing, or that lacks an input.
func (s *Session) whyResourceMissing(text, rest string, in input) (m observation.Missing, see string) {
	res, observed := s.Sees.Resources[in.name]
	_, desired := s.inputs.Desired[in.name]
	isExport, byAuthor := s.inputs.IsExport(in.name), s.author != nil
	switch {
	case isExport && in.details && !byAuthor:
		return observation.Missing{Fact: observation.OwnData}, SeeComposition(s.Sees.Composite.Object)
	case observed && byAuthor:
		return m, ""
	case observed:
		return s.lacks(text, rest, in, res)
	case desired || isExport:
		return observation.Missing{Fact: observation.NotCreated}, ""
	case byAuthor:
		return observation.Missing{Fact: observation.NotComposed}, ""
	}
	m = observation.Missing{Fact: observation.NotComposed, Wrong: in.name}
	if s.suggests(text) {
		m.Names = append([]string{}, s.inputs.names()...)
	}
	return m, SeeComposition(s.Sees.Composite.Object)
}

// lacksInEnvironment returns what is known about a field that the environment lacks, unless it was not read yet, or
// only lacks something below the field.
func (s *Session) lacksInEnvironment(text string) (m observation.Missing, see string) {
	rest, _ := strings.CutPrefix(text, expression.Env+".")
	field, _, _ := strings.Cut(rest, ".")
	environment := s.Sees.Environment
	if field == "" || environment.Get(field).Exists() || len(s.Sees.EnvironmentWaits) > 0 {
		return m, ""
	}
	m = observation.Missing{Fact: observation.EnvironmentLacks, Wrong: field}
	if s.suggests(text) {
		ofType := func(name string) bool { return name == "apiVersion" || name == "kind" }
		m.Names = slices.DeleteFunc(environment.Keys(), ofType)
	}
	return m, SeeComposition(s.Sees.Composite.Object)
}

// lacks returns why an existing object lacks a field, or a key of its data or its connection details. The names of keys
// are not secret, but the fields of an object can be data.
func (s *Session) lacks(text, rest string, in input, of observation.Resource) (m observation.Missing, see string) {
	m = observation.Missing{Fact: observation.Exists, Object: nameOf(of.Object), Resource: in.name}
	m.State = readiness(of.Object)
	key, below, isKey := expression.CutStep(rest)
	isKey = isKey && below == ""
	switch {
	case rest == ToBeReady:
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
	case object.IsSecret(of.Object):
		m.Fact = observation.IsSecret
	case !object.HasConnectionSecret(of.Object):
		m.Fact = observation.NoPlace
	case plan.UIDOf(of.Object) != "" && !of.Published:
		m.Fact = observation.NoSecret
	default:
		m.Fact = observation.NoDetails
	}
	return m, See(of.Object)
}

// suggests reports whether the message for a missing input may suggest another name. Suggestions take time, so a
// request has as many as one message can show.
func (s *Session) suggests(text string) bool {
	all := s.inputs
	if !all.suggested[text] && len(all.suggested) == limits.MessageItems || s.Budget.Spend(suggest.Fuel) != nil {
		return false
	}
	all.suggested = plan.With(all.suggested, text, true)
	return true
}

// nameOf returns the kind and the name of an object.
func nameOf(o wire.Struct) string {
	_, kind, _, name := object.Identity(o)
	return strings.TrimSpace(kind + " " + name)
}

func readiness(o wire.Struct) observation.State {
	switch {
	case object.IsReady(o):
		return observation.ObjectReady
	case object.Condition(o, "Ready").Exists():
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
	in.source = slices.ContainsFunc(all.Sources, func(src plan.Source) bool {
		return src.Name == in.name && src.Spelled() == text[:len(text)-len(rest)]
	})
	return in, rest, ok && (in.source || in.details || text[:i] == expression.Resources)
}

// names returns the composition resource names that an input can have.
func (all *inputs) names() []string {
	if all.composed == nil {
		known := slices.Collect(maps.Keys(all.Desired))
		known = slices.AppendSeq(known, maps.Keys(all.Observed))
		slices.Sort(known)
		all.composed = slices.DeleteFunc(slices.Compact(known), func(name string) bool {
			_, _, generation := plan.ParseGeneration(name)
			return generation || plan.IsAuthors(name) || all.IsExport(name)
		})
	}
	return all.composed
}

// ToBeReady follows an input that exists and must be ready.
const ToBeReady = " to be ready"

// isBelow reports whether a missing input is a variable or a part of it.
func isBelow(input, variable string) bool {
	rest, ok := strings.CutPrefix(input, variable)
	return ok && (rest == "" || rest[0] == '.' || rest[0] == '[')
}

// NotTrue says what a readyExpression compares with the pending generation: what was observed.
func (s *Session) NotTrue(x *expression.Expression) error {
	own := x.Source().Own
	isObserved := map[string]bool{
		expression.Resources: true, expression.Secrets: true, expression.Sources: true,
		expression.Resource: own, expression.Self: own, expression.Secret: own,
	}
	var reads []string
	command := ""
	for _, r := range x.Reads() {
		if !isObserved[r.Variable] {
			continue
		}
		reads = append(reads, x.TextOf(r))
		in, _, _ := s.inputs.find(x.TextOf(r))
		o := s.Sees.Resources[in.name].Object
		if all := s.Sees.Sources[in.name].Objects; in.source && len(all) == 1 {
			o = all[0]
		}
		command = cmp.Or(command, See(o))
	}
	text := "readyExpression to be true"
	if len(reads) > 0 {
		text += ", which reads " + plan.Shorten(reads, ", ")
	}
	out := expression.NewWaiting(text)
	out.See = command
	return out
}
