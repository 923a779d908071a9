package reconcile

import (
	"fmt"
	"slices"
	"strings"

	"github.com/crossplane-contrib/function-export/input/v1beta1"
	"github.com/crossplane-contrib/function-export/internal/engine/expression"
	"github.com/crossplane-contrib/function-export/internal/engine/limits"
	"github.com/crossplane-contrib/function-export/internal/engine/object"
	"github.com/crossplane-contrib/function-export/internal/engine/observation"
	"github.com/crossplane-contrib/function-export/internal/engine/plan"
	"github.com/crossplane-contrib/function-export/internal/engine/wire"
)

type sourcesRead struct {
	reply

	session *session // of the next phase
	sources map[string]observation.Source
}

// readSources requires the sources, and reads those that were found. The Composition's own required
// resources are also sources. They are lists, because Crossplane does not say how they were required.
func readSources(s *session, p *plan.Plan, req *request) sourcesRead {
	if len(p.Sources)+len(req.Found) == 0 {
		return sourcesRead{session: s}
	}
	out := sourcesRead{session: s, sources: map[string]observation.Source{}}
	missing := map[string]string{}
	for name, objects := range req.Found {
		if !strings.HasPrefix(name, RequirementPrefix) {
			out.sources[name] = observation.Source{Read: true, Optional: true, Many: true, Objects: withoutAuthors(objects)}
		}
	}
	for _, src := range p.Sources {
		required, err := s.sourceRequirement(src)
		switch {
		case err != nil:
			why := because(src.Path.Child("nameExpression").String(), err)
			out.sources[src.Name] = observation.Source{Secret: plan.IsSecret(src.Source), Failed: strings.Join(why.failed, "")}
			missing[src.Spelled()] = strings.Join(why.waiting, "")
		case required == nil:
			out.sources[src.Name] = observation.Source{Secret: plan.IsSecret(src.Source), Read: true, Optional: true}
			missing[src.Spelled()] = src.NameExpr.Source().Path + " returns no name"
		default:
			out.require(*required)
			out.sources[src.Name] = observe(src, *required, req)
			missing[src.Spelled()] = req.answer(*required).describe(*required)
		}
	}
	if len(out.sources) > 0 {
		out.session = s.next(missing, func(o *observation.Observation) { o.Sources = out.sources })
	}
	return out
}

// withoutAuthors leaves out the objects of composite authors, which can have any name and labels.
func withoutAuthors(objects []wire.Struct) []wire.Struct {
	return slices.DeleteFunc(slices.Clone(objects), func(s wire.Struct) bool {
		_, _, _, controlled := object.ControllerOf(s)
		return controlled && plan.IsAuthors(object.CompositionResourceName(s))
	})
}

// sourceRequirement returns what a source requires, or nil for an optional source without a name. A Secret is
// in the composite's own namespace, or in a literal one: a composite author cannot choose the namespace.
func (s *session) sourceRequirement(src plan.Source) (*Requirement, error) {
	req := &Requirement{APIVersion: src.APIVersion, Kind: src.Kind, Namespace: src.Namespace, Labels: src.MatchLabels}
	if req.Namespace == "" && src.Scope != v1beta1.ScopeCluster {
		req.Namespace = s.namespace
	}
	switch {
	case len(src.MatchLabels) > 0:
	case src.NameExpr != nil:
		name, err := s.name(src.NameExpr, "")
		if err == nil && name == "" && !src.Optional {
			err = expression.NewWaiting("a name that is not empty")
		}
		if err != nil || name == "" {
			return nil, err
		}
		if err := plan.ValidateObjectName(name); err != nil {
			return nil, failed(src.NameExpr.Source().Path, "returns a name that %s", err.Error())
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
func observe(src plan.Source, required Requirement, req *request) observation.Source {
	out := observation.Source{Optional: src.Optional, Many: len(src.MatchLabels) > 0, Secret: plan.IsSecret(src.Source)}
	a := req.answer(required)
	if a.source == nil { // several sources may be the same object
		a.source = a.forSource(required, req.Found[required.Key()])
	}
	out.Read, out.Objects = a.read, a.source.objects
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
		if secret := secretNamed(out.Objects[0]); req.changed[secret] {
			out.Withheld = oneVersion(secret)
		}
	}
	return out
}

// describe says what is known about a required object that expressions do not see.
func (a *answer) describe(required Requirement) string {
	if a.read && len(a.objects) == 0 {
		return required.String() + " does not exist"
	}
	return required.String()
}

func (a *answer) forSource(required Requirement, found []wire.Struct) *sourceAnswer {
	out := &sourceAnswer{objects: withoutAuthors(a.objects)}
	for _, o := range found {
		_, kind, ns, _ := object.Identity(o)
		out.clusterScoped = out.clusterScoped || ns == "" && required.Namespace != "" && kind == required.Kind
	}
	if required.APIVersion == "v1" && required.Kind == string(object.Secret) && len(out.objects) == 1 {
		out.details, out.failed = detailsOf(out.objects[0])
	}
	return out
}
