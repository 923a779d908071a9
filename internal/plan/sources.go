package plan

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/crossplane-contrib/function-export/input/v1beta1"
	"github.com/crossplane-contrib/function-export/internal/expression"
	"github.com/crossplane-contrib/function-export/internal/limits"
	"github.com/crossplane-contrib/function-export/internal/object"
	"github.com/crossplane-contrib/function-export/internal/observation"
	"github.com/crossplane-contrib/function-export/internal/sensitive"
	"github.com/crossplane-contrib/function-export/internal/wire"
)

// RequirementPrefix begins the names of our requirements, so that they are never
// those of the Composition's own required resources.
const RequirementPrefix = "export.fn.crossplane.io/"

// A Requirement is an object, or with labels several, that Crossplane shall
// read for us.
type Requirement struct {
	APIVersion, Kind string

	// Namespace is empty for a cluster scoped kind.
	Namespace string

	// Name, or Labels: just one of them is set.
	Name   string
	Labels map[string]string
}

// Key names the requirement. It spells all that is asked for: on the first call
// of a reconcile Crossplane hands over what it found for the same key before,
// by whatever it was asked then.
func (r Requirement) Key() string {
	match := "name=" + r.Name
	if r.Name == "" {
		match = "labels=" + r.labels()
	}
	return fmt.Sprintf("%s%s/%s/%s/%s", RequirementPrefix, r.APIVersion, r.Kind, r.Namespace, match)
}

// String is what is required, for people.
func (r Requirement) String() string {
	what := r.Name
	if r.Name == "" {
		what = "with " + r.labels()
	}
	switch {
	case r.Namespace == "":
		return r.Kind + " " + what
	case r.Name == "":
		return r.Kind + " " + what + " in " + r.Namespace
	}
	return r.Kind + " " + r.Namespace + "/" + what
}

func (r Requirement) labels() string {
	labels := make([]string, 0, len(r.Labels))
	for _, k := range sortedKeys(r.Labels) {
		labels = append(labels, k+"="+r.Labels[k])
	}
	return strings.Join(labels, ",")
}

// matches reports whether an object is one that was asked for.
func (r Requirement) matches(s wire.Struct) bool {
	apiVersion, kind, namespace, name := object.Identity(s)
	if apiVersion != r.APIVersion || kind != r.Kind || namespace != r.Namespace || r.Name != "" && name != r.Name {
		return false
	}
	labels := metadataOf(s).Get("labels").Struct()
	for k, v := range r.Labels {
		if labels.Get(k).Text() != v {
			return false
		}
	}
	return true
}

// findings are what Crossplane found for a requirement.
type findings struct {
	objects []wire.Struct
	read    bool // it has looked

	// Of a source: without what authors of composites asked for, what the only one holds,
	// or why that cannot be read, and whether one has no namespace.
	source        []wire.Struct
	details       observation.Details
	failed        error
	clusterScoped bool
}

// answer is what Crossplane found for the requirement, in the order of
// namespace and name, and whether it has looked yet. Several may ask for the same.
func (r *run) answer(req Requirement) (objects []wire.Struct, read bool) {
	key := req.Key()
	f := r.read[key]
	if f == nil {
		found, read := r.Found[key]
		f = &findings{objects: req.find(found), read: read}
		r.read[key] = f
	}
	return f.objects, f.read
}

// find those that were asked for, in the order of namespace and name.
func (r Requirement) find(found []wire.Struct) []wire.Struct {
	type named struct {
		name   string
		object wire.Struct
	}
	var all []named
	for _, s := range found {
		if r.matches(s) {
			_, _, ns, name := object.Identity(s)
			all = append(all, named{ns + "/" + name, s})
		}
	}
	slices.SortFunc(all, func(a, b named) int { return strings.Compare(a.name, b.name) })
	var objects []wire.Struct
	for _, n := range all {
		objects = append(objects, n.object)
	}
	return objects
}

// A source is a source that an expression reads.
type source struct {
	v1beta1.Source

	path     *field.Path
	nameExpr *expression.Expression
}

// compileSources returns those that an expression reads, by itself or through
// variables. The others are compiled, for their faults, and never asked for.
func (c *compiler) compileSources() []source {
	var out []source
	for i, s := range c.sources {
		at := field.NewPath("sources").Index(i)
		n := source{Source: s, path: at}
		if s.NameExpression != "" {
			n.nameExpr = c.compile(expression.Source{Text: s.NameExpression, Path: at.Child("nameExpression").String(), Want: expression.WantString})
			c.refuseUnknown(n.nameExpr)
		}
		if c.outputs.reads(s) {
			out = append(out, n)
		}
	}
	return out
}

// readSources finds what was read, and notes what to require. The Composition's
// own required resources are sources, too: lists, since Crossplane does not say
// how they were asked for.
func (r *run) readSources(ctx context.Context, sources []source, out *Result) map[string]observation.Source {
	all := map[string]observation.Source{}
	for name, objects := range r.Found {
		if !strings.HasPrefix(name, RequirementPrefix) {
			all[name] = observation.Source{Read: true, Optional: true, Many: true, Objects: withoutTheirs(objects)}
		}
	}
	for _, s := range sources {
		req, err := r.requirement(ctx, s)
		switch {
		case err != nil:
			var why reasons
			why.add(s.path.Child("nameExpression").String(), err)
			all[s.Name] = observation.Source{Secret: isSecret(s.Source), Failed: strings.Join(why.failed, "")}
			r.missing[s.spelled()] = strings.Join(why.waiting, "")
		case req == nil:
			all[s.Name] = observation.Source{Secret: isSecret(s.Source), Read: true, Optional: true}
			r.missing[s.spelled()] = s.nameExpr.Source().Path + " gives no name"
		default:
			out.Requirements = append(out.Requirements, *req)
			r.sourcesRead = append(r.sourcesRead, *req)
			all[s.Name] = r.observe(s, *req)
			r.missing[s.spelled()] = req.String()
		}
	}
	return all
}

// spelled is the source as expressions spell it.
func (s source) spelled() string {
	if isSecret(s.Source) {
		return expression.PathText(expression.Secrets, s.Name)
	}
	return expression.PathText(expression.Sources, s.Name)
}

// requirement of a source, or nil for an optional one that has no name on
// purpose. A Secret lies in the composite's own namespace, or in one that the input
// spells: never where the composite's author can point.
func (r *run) requirement(ctx context.Context, s source) (*Requirement, error) {
	req := &Requirement{APIVersion: s.APIVersion, Kind: s.Kind, Namespace: s.Namespace, Labels: s.MatchLabels}
	if req.Namespace == "" && s.Scope != v1beta1.ScopeCluster {
		req.Namespace = r.namespace
	}
	switch {
	case len(s.MatchLabels) > 0:
	case s.nameExpr != nil:
		name, err := r.name(ctx, s.nameExpr, "")
		if err == nil && name == "" && !s.Optional {
			err = expression.NewWaiting("a name that is not empty")
		}
		if err != nil || name == "" {
			return nil, err
		}
		if err := validateObjectName(name); err != nil {
			return nil, &expression.Failed{Path: s.nameExpr.Source().Path, Reason: "gives what " + err.Error()}
		}
		req.Name = name
	case s.MatchName != "":
		req.Name = s.MatchName
	default:
		req.Name = s.Name
	}
	return req, nil
}

// withoutTheirs leaves out what authors of composites asked for: a name and labels are
// easy to have, and no source means it.
func withoutTheirs(objects []wire.Struct) []wire.Struct {
	return slices.DeleteFunc(slices.Clone(objects), func(s wire.Struct) bool {
		_, _, _, controlled := object.ControllerOf(s)
		return controlled && isTenants(object.CompositionResourceName(s))
	})
}

// observe a source: what expressions see of what was found.
func (r *run) observe(s source, req Requirement) observation.Source {
	out := observation.Source{Optional: s.Optional, Many: len(s.MatchLabels) > 0, Secret: isSecret(s.Source)}
	f := r.findSource(req)
	out.Read, out.Objects = f.read, f.source
	if f.clusterScoped {
		out.Failed = fmt.Sprintf("%s is cluster scoped: set %s to Cluster", req.Kind, s.path.Child("scope"))
	}
	switch {
	case !out.Secret || len(out.Objects) == 0:
	case len(out.Objects) > 1:
		names := make([]string, 0, limits.MessageItems+1) // one more than are shown
		for _, o := range out.Objects {
			_, _, _, n := object.Identity(o)
			names = append(names, n)
		}
		out.Failed = fmt.Sprintf("its matchLabels match %d Secrets (%s), and it has to be one", len(names), shorten(names, ", "))
	case f.failed != nil:
		out.Failed = f.failed.Error()
	default:
		out.Details = f.details
	}
	return out
}

// findSource is answer for a source, several of which may be the same object: it is read
// once.
func (r *run) findSource(req Requirement) *findings {
	r.answer(req)
	key := req.Key()
	f := r.read[key]
	if f.source != nil {
		return f
	}
	f.source = withoutTheirs(f.objects)
	for _, o := range r.Found[key] {
		_, kind, ns, _ := object.Identity(o)
		f.clusterScoped = f.clusterScoped || ns == "" && req.Namespace != "" && kind == req.Kind
	}
	if req.APIVersion != "v1" || req.Kind != string(object.Secret) || len(f.source) != 1 {
		return f
	}
	var data map[string]sensitive.Bytes
	if data, f.failed = object.DataOf(f.source[0]); f.failed != nil {
		return f
	}
	f.details = make(observation.Details, len(data))
	for k, v := range data {
		f.details[k] = v.Reveal()
	}
	return f
}
