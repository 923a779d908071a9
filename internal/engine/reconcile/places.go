package reconcile

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/crossplane-contrib/function-export/internal/engine/expression"
	"github.com/crossplane-contrib/function-export/internal/engine/lifecycle"
	"github.com/crossplane-contrib/function-export/internal/engine/object"
	"github.com/crossplane-contrib/function-export/internal/engine/plan"
	"github.com/crossplane-contrib/function-export/internal/engine/wire"
)

// A target is an object's place in the cluster. An empty name is not known yet.
type target struct {
	kind            object.Kind
	namespace, name string
}

func (t target) String() string { return t.namespace + "/" + t.name }

func (t target) place() lifecycle.Place {
	return lifecycle.Place{Kind: string(t.kind), Namespace: t.namespace, Name: t.name}
}

// placeOf returns the place of an object of any kind. A file may omit its namespace.
func (c composite) placeOf(o wire.Struct) target {
	apiVersion, kind, ns, name := object.Identity(o)
	if ns == "" {
		ns = c.namespace
	}
	return targetOf(apiVersion, kind, ns, name)
}

// intended returns the place of an export's object in the input. On an error, its name is unknown.
func (s *session) intended(e plan.Export) (target, reasons) {
	unknown := target{kind: e.Kind}
	ns, err := s.namespaceOf(e)
	if err != nil {
		return unknown, because(e.Path.Child("metadata", "namespaceExpression").String(), err)
	}
	name, why := s.nameOf(e)
	if !why.empty() {
		name = ""
	}
	return target{e.Kind, ns, name}, why
}

func (s *session) nameOf(e plan.Export) (string, reasons) {
	switch x := e.Metadata.NameExpr; {
	case x != nil:
		name, err := s.checkedName(x, e.From, "name", object.ValidateName)
		return name, because(x.Source().Path, err)
	case e.Metadata.Name != "":
		return e.Metadata.Name, reasons{}
	}
	name := s.composite.name + "-" + e.DefaultName()
	if err := object.ValidateName(name); err != nil {
		return "", failing("%s: must be set, because the default is an invalid name: %s", e.NamePath(), err.Error())
	}
	return name, reasons{}
}

func (s *session) namespaceOf(e plan.Export) (string, error) {
	x := e.Metadata.NamespaceExpr
	switch {
	case x == nil && e.Metadata.Namespace == "":
		return s.namespace, nil
	case x == nil:
		return e.Metadata.Namespace, nil
	}
	ns, err := s.checkedName(x, e.From, "namespace", object.ValidateNamespace)
	if err == nil && !s.cluster && ns != s.namespace {
		return "", failed(x.Source().Path, "returns namespace %q, but a composite in namespace %q "+
			"can compose only into its own namespace: leave it out", ns, s.namespace)
	}
	return ns, err
}

// checkedName returns the name that an expression produces. It is empty on an error.
func (s *session) checkedName(x *expression.Expression, from, what string, check func(string) error) (string, error) {
	name, err := s.name(x, from)
	switch {
	case err != nil:
		return "", err
	case name == "":
		return "", expression.NewWaiting("a " + what + " that is not empty")
	case check(name) != nil:
		return "", failed(x.Source().Path, "returns an invalid %s: %s", what, check(name).Error())
	}
	return name, nil
}

// A writer composes an object: an export, a generation, or an earlier step.
type writer struct {
	export              *field.Path
	generation, earlier string
}

// writers list who composes each object, to find objects that are composed twice.
type writers map[target][]writer

// findWriters finds those of this step and of earlier ones. drop are the resources of the composite
// author in earlier steps that exports replace.
func findWriters(s *session, req *request, placed placements) (out writers, drop []string) {
	out = make(writers, len(placed.at))
	authors := map[target]string{}
	for name, o := range req.Desired {
		t := s.placeOf(o)
		if t.name == "" || !o.Get("apiVersion").Is("v1") {
			continue
		}
		if plan.IsAuthors(name) {
			authors[t] = name
			continue
		}
		out[t] = append(out[t], writer{earlier: name})
	}
	for i, e := range placed.exports {
		if t := placed.at[i].target; t.name != "" {
			out[t] = append(out[t], writer{export: e.ItemPath()})
			if name, ok := authors[t]; ok {
				drop = append(drop, name)
			}
		}
	}
	return out, drop
}

// writersText names writers. Those of earlier steps come first.
func writersText(writers []writer) string {
	var earlier, own []string
	for _, w := range writers {
		switch {
		case w.export != nil:
			own = append(own, w.export.String())
		case w.generation != "":
			own = append(own, fmt.Sprintf("generation %q", strings.TrimPrefix(w.generation, plan.GenerationPrefix)))
		default:
			earlier = append(earlier, fmt.Sprintf("composed resource %q of an earlier step", w.earlier))
		}
	}
	slices.Sort(earlier)
	return strings.Join(append(earlier, own...), " and ")
}

// A resourceRef is an object that the composite lists.
type resourceRef struct{ kind, name string }

// resourceRefs are the objects that a composite lists.
func resourceRefs(xr wire.Struct) map[resourceRef]bool {
	out := map[resourceRef]bool{}
	for _, v := range refsOf(xr).All() {
		ref := v.Struct()
		out[resourceRef{ref.Get("kind").Text(), ref.Get("name").Text()}] = true
	}
	return out
}

func refsOf(xr wire.Struct) wire.List {
	spec := xr.Get("spec").Struct()
	if own := spec.Get("crossplane"); own.Exists() {
		spec = own.Struct()
	}
	return spec.Get("resourceRefs").List()
}

// lists reports whether a composite lists the object at a place. Only a cluster-scoped composite lists namespaces.
func lists(xr wire.Struct, at target) bool {
	for _, v := range refsOf(xr).All() {
		ref := v.Struct()
		apiVersion, ns := cmp.Or(ref.Get("apiVersion").Text(), "v1"), cmp.Or(ref.Get("namespace").Text(), at.namespace)
		if ref.Get("name").Is(at.name) && targetOf(apiVersion, ref.Get("kind").Text(), ns, at.name) == at {
			return true
		}
	}
	return false
}
