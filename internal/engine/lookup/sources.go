package lookup

import (
	"fmt"
	"slices"
	"strings"

	"github.com/crossplane-contrib/function-export/input/v1beta1"
	"github.com/crossplane-contrib/function-export/internal/engine/evaluate"
	"github.com/crossplane-contrib/function-export/internal/engine/expression"
	"github.com/crossplane-contrib/function-export/internal/engine/object"
	"github.com/crossplane-contrib/function-export/internal/engine/observation"
	"github.com/crossplane-contrib/function-export/internal/engine/plan"
	"github.com/crossplane-contrib/function-export/internal/engine/wire"
)

// Sources are the sources of the input, and what reads them.
type Sources struct {
	Session   *evaluate.Session
	Sources   []plan.Source
	Answers   *Answers
	Namespace string // of the composite
	Consent   *Consent
}

// Read requires the sources, and reads those that were found. It returns the session of the next phase. The
// Composition's own required resources are also sources. They are lists, because Crossplane does not say how they were
// required.
func (x Sources) Read() (next *evaluate.Session, required []Requirement) {
	sources := map[string]observation.Source{}
	for name, objects := range x.Answers.found {
		if !strings.HasPrefix(name, Prefix) {
			one := observation.Source{Read: true, Optional: true, Many: true, Objects: withoutAuthors(objects)}
			if x.Consent.isElsewhere(objects) {
				one.Failed = elsewhere
			}
			sources[name] = one
		}
	}
	if len(sources)+len(x.Sources) == 0 {
		return x.Session, nil
	}
	missing := map[string]string{}
	for _, src := range x.Sources {
		one, why, requires := x.read(src)
		sources[src.Name], missing[src.Spelled()], required = one, why, append(required, requires...)
	}
	return x.Session.Next(missing, func(o *observation.Observation) { o.Sources = sources }), required
}

// read reads one source. The argument missing says what is known if expressions do not see it.
func (x Sources) read(src plan.Source) (out observation.Source, missing string, required []Requirement) {
	out.Secret = plan.IsSecret(src.Source)
	req, err := x.requirement(src)
	if err != nil {
		why := evaluate.Because(src.Path.Child("nameExpression").String(), err)
		out.Failed = strings.Join(why.Failed, "")
		return out, strings.Join(why.Waiting, ""), nil
	}
	if req == nil {
		out.Read, out.Optional = true, true
		return out, src.NameExpr.Source().Path + " returns no name", nil
	}
	if missing, required = x.Consent.missing(x.Answers, *req); missing != "" {
		w := expression.NewWaiting(src.Spelled())
		w.Required = true // a key that is optional also waits
		out.Withheld = w
		return out, missing, required
	}
	a := x.Answers.To(*req)
	out.Read, out.Objects = a.Read, withoutAuthors(a.Objects)
	out.Optional, out.Many = src.Optional, len(src.MatchLabels) > 0
	if slices.ContainsFunc(x.Answers.found[req.Key()], req.isClusterScoped) {
		out.Failed = fmt.Sprintf("%s is cluster scoped: set %s to Cluster", req.Kind, src.Path.Child("scope"))
	}
	if out.Secret {
		x.Answers.readSecret(&out)
	}
	if missing = req.String(); a.Read && len(a.Objects) == 0 {
		missing += " does not exist"
	}
	return out, missing, append(required, *req)
}

// readSecret reads the data of the only Secret of a source.
func (all *Answers) readSecret(out *observation.Source) {
	switch found := out.Objects; {
	case len(found) == 1:
		details, err := DataOf(found[0])
		if out.Details = details; err != nil {
			out.Failed = err.Error()
		} else if secret := secretNamed(found[0]); all.changed[secret] {
			out.Withheld = oneVersion(secret)
		}
	case len(found) > 1:
		names := make([]string, 0, len(found))
		for _, o := range found {
			_, _, _, n := object.Identity(o)
			names = append(names, n)
		}
		out.Failed = fmt.Sprintf("its matchLabels match %d Secrets (%s), and they must match exactly one",
			len(names), plan.Shorten(names, ", "))
	}
}

// withoutAuthors leaves out the objects of composite authors, which can have any name and labels.
func withoutAuthors(objects []wire.Struct) []wire.Struct {
	return slices.DeleteFunc(slices.Clone(objects), func(s wire.Struct) bool {
		_, _, _, controlled := object.ControllerOf(s)
		return controlled && plan.IsAuthors(object.CompositionResourceName(s))
	})
}

// requirement returns what a source requires, or nil for an optional source without a name. A Secret is
// in the composite's own namespace, or in a literal one: a composite author cannot choose the namespace.
func (x Sources) requirement(src plan.Source) (*Requirement, error) {
	req := &Requirement{APIVersion: src.APIVersion, Kind: src.Kind, Namespace: src.Namespace, Labels: src.MatchLabels}
	if req.Namespace == "" && src.Scope != v1beta1.ScopeCluster {
		req.Namespace = x.Namespace
	}
	switch {
	case len(src.MatchLabels) > 0:
	case src.NameExpr != nil:
		name, err := x.Session.Name(src.NameExpr, "")
		if err == nil && name == "" && !src.Optional {
			err = expression.NewWaiting("a name that is not empty")
		}
		if err != nil || name == "" {
			return nil, err
		}
		if err := plan.ValidateObjectName(name); err != nil {
			return nil, evaluate.Failed(src.NameExpr.Source().Path, "returns a name that %s", err.Error())
		}
		req.Name = name
	case src.MatchName != "":
		req.Name = src.MatchName
	default:
		req.Name = src.Name
	}
	return req, nil
}
