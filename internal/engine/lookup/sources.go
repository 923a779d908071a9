package lookup

import (
	"fmt"
	"slices"
	"strings"

	"github.com/crossplane-contrib/function-export/input/v1beta1"
	"github.com/crossplane-contrib/function-export/internal/engine/evaluate"
	"github.com/crossplane-contrib/function-export/internal/engine/expression"
	"github.com/crossplane-contrib/function-export/internal/engine/limits"
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
	var sources map[string]observation.Source
	for name, objects := range x.Answers.found {
		if !strings.HasPrefix(name, Prefix) {
			one := observation.Source{Read: true, Optional: true, Many: true, Objects: withoutAuthors(objects)}
			if x.Consent.isElsewhere(objects) {
				one.Failed = elsewhere
			}
			sources = plan.With(sources, name, one)
		}
	}
	if len(sources)+len(x.Sources) == 0 {
		return x.Session, nil
	}
	if sources == nil {
		sources = map[string]observation.Source{}
	}
	missing := map[string]string{}
	for _, src := range x.Sources {
		one, err := x.requirement(src)
		switch {
		case err != nil:
			why := evaluate.Because(src.Path.Child("nameExpression").String(), err)
			failed := strings.Join(why.Failed, "")
			sources[src.Name] = observation.Source{Secret: plan.IsSecret(src.Source), Failed: failed}
			missing[src.Spelled()] = strings.Join(why.Waiting, "")
		case one == nil:
			sources[src.Name] = observation.Source{Secret: plan.IsSecret(src.Source), Read: true, Optional: true}
			missing[src.Spelled()] = src.NameExpr.Source().Path + " returns no name"
		default:
			why, before := x.Consent.missing(x.Answers, *one)
			required, missing[src.Spelled()] = append(required, before...), why
			if why != "" {
				sources[src.Name] = withheld(src)
				continue
			}
			required = append(required, *one)
			sources[src.Name] = x.Answers.observe(src, *one)
			missing[src.Spelled()] = x.Answers.To(*one).describe(*one)
		}
	}
	return x.Session.Next(missing, func(o *observation.Observation) { o.Sources = sources }), required
}

// withheld is a source that must not be read now. A key that is optional also waits for it.
func withheld(src plan.Source) observation.Source {
	w := expression.NewWaiting(src.Spelled())
	w.Required = true
	return observation.Source{Secret: plan.IsSecret(src.Source), Withheld: w}
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

// observe returns what expressions see of a source.
func (all *Answers) observe(src plan.Source, required Requirement) observation.Source {
	out := observation.Source{Optional: src.Optional, Many: len(src.MatchLabels) > 0, Secret: plan.IsSecret(src.Source)}
	a := all.To(required)
	if a.source == nil { // several sources may be the same object
		a.source = a.forSource(required, all.found[required.Key()])
	}
	out.Read, out.Objects = a.Read, a.source.objects
	if a.source.clusterScoped {
		out.Failed = fmt.Sprintf("%s is cluster scoped: set %s to Cluster", required.Kind, src.Path.Child("scope"))
	}
	switch {
	case !out.Secret || len(out.Objects) == 0:
	case len(out.Objects) > 1:
		names := make([]string, 0, limits.MessageItems+1) // one more than are shown
		for _, o := range out.Objects {
			_, _, _, n := object.Identity(o)
			names = append(names, n)
		}
		out.Failed = fmt.Sprintf("its matchLabels match %d Secrets (%s), and they must match exactly one",
			len(names), plan.Shorten(names, ", "))
	case a.source.failed != nil:
		out.Failed = a.source.failed.Error()
	default:
		out.Details = a.source.details
		if secret := secretNamed(out.Objects[0]); all.changed[secret] {
			out.Withheld = oneVersion(secret)
		}
	}
	return out
}

// describe says what is known about a required object that expressions do not see.
func (a *Answer) describe(required Requirement) string {
	if a.Read && len(a.Objects) == 0 {
		return required.String() + " does not exist"
	}
	return required.String()
}

func (a *Answer) forSource(required Requirement, found []wire.Struct) *sourceAnswer {
	out := &sourceAnswer{objects: withoutAuthors(a.Objects)}
	for _, o := range found {
		_, kind, ns, _ := object.Identity(o)
		out.clusterScoped = out.clusterScoped || ns == "" && required.Namespace != "" && kind == required.Kind
	}
	if required.APIVersion == "v1" && required.Kind == string(object.Secret) && len(out.objects) == 1 {
		out.details, out.failed = DataOf(out.objects[0])
	}
	return out
}

// A sourceAnswer is an answer without the objects of composite authors.
type sourceAnswer struct {
	objects       []wire.Struct
	details       observation.Details // of the only object, if it is a Secret
	failed        error               // why they cannot be read
	clusterScoped bool                // an object has no namespace
}
