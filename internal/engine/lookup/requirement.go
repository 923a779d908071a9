// Package lookup reads what expressions need from the objects that Crossplane finds for the function.
//
// A [Requirement] names an object that Crossplane must read. [Answers] are what it found. From them come the sources of
// the input, and the connection details of composed resources: only those that an expression uses, and only from a
// Secret that the resource controls. A Secret that changed while Crossplane read it is waited for, because an object
// must not combine values of two versions.
package lookup

import (
	"strings"

	"github.com/crossplane-contrib/function-export/internal/engine/object"
	"github.com/crossplane-contrib/function-export/internal/engine/plan"
	"github.com/crossplane-contrib/function-export/internal/engine/wire"
)

// Prefix begins the names of the function's requirements, so that they differ from the names
// of the Composition's own required resources.
const Prefix = "export.fn.crossplane.io/"

// A Requirement is an object that Crossplane must read for the function, or with labels several objects.
type Requirement struct {
	APIVersion, Kind string
	Namespace        string // empty for a cluster scoped kind

	// Either Name or Labels is set, or all objects of the namespace are required.
	Name   string
	Labels map[string]string
}

// Key names the requirement. It contains everything that is required, because on the first call of a
// reconcile Crossplane returns what it found before for the same key, even if the requirement was
// different.
func (r Requirement) Key() string {
	match := "name=" + r.Name
	if r.Name == "" {
		match = "labels=" + r.labels()
	}
	return Prefix + r.APIVersion + "/" + r.Kind + "/" + r.Namespace + "/" + match
}

// String describes the required object in messages.
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
	for _, k := range plan.SortedKeys(r.Labels) {
		labels = append(labels, k+"="+r.Labels[k])
	}
	return strings.Join(labels, ",")
}

func (r Requirement) matches(s wire.Struct) bool {
	apiVersion, kind, namespace, name := object.Identity(s)
	if apiVersion != r.APIVersion || kind != r.Kind || namespace != r.Namespace || r.Name != "" && name != r.Name {
		return false
	}
	labels := plan.MetadataOf(s).Get("labels").Struct()
	for k, v := range r.Labels {
		if labels.Get(k).Text() != v {
			return false
		}
	}
	return true
}

// isClusterScoped reports whether an object is of the required kind, but has no namespace.
func (r Requirement) isClusterScoped(o wire.Struct) bool {
	_, kind, namespace, _ := object.Identity(o)
	return namespace == "" && r.Namespace != "" && kind == r.Kind
}

// find returns the required objects, in the order of namespace and name.
func (r Requirement) find(found []wire.Struct) []wire.Struct {
	byName := map[string]wire.Struct{}
	for _, s := range found {
		if r.matches(s) {
			_, _, ns, name := object.Identity(s)
			byName[ns+"/"+name] = s
		}
	}
	objects := make([]wire.Struct, 0, len(byName))
	for _, name := range plan.SortedKeys(byName) {
		objects = append(objects, byName[name])
	}
	return objects
}
