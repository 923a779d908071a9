// Package lookup reads what expressions need from the objects that Crossplane finds for the function.
//
// A [Requirement] names an object that Crossplane must read. [Answers] are what it found. From them come the sources of
// the input, and the connection details of composed resources: only those that an expression uses, and only from a
// Secret that the resource controls. A Secret that changed while Crossplane read it is waited for, because an object
// must not combine values of two versions.
package lookup

import (
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"

	"github.com/crossplane-contrib/function-export/internal/engine/expression"
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

// Answers are the answers to the requirements of one request. Each is read once.
type Answers struct {
	found   map[string][]wire.Struct
	read    map[string]*Answer // by the key of the requirement
	changed map[string]bool    // the Secrets that the request contains with different data
}

// NewAnswers reads the answers from the objects that Crossplane read, by the key of their requirement.
func NewAnswers(found map[string][]wire.Struct) *Answers {
	return &Answers{found: found, read: map[string]*Answer{}, changed: changedWhileRead(found)}
}

// An Answer is what Crossplane found for a requirement.
type Answer struct {
	Objects []wire.Struct // in the order of namespace and name
	Read    bool          // Crossplane has read them
}

// To returns the answer to a requirement.
func (all *Answers) To(req Requirement) *Answer {
	key := req.Key()
	a := all.read[key]
	if a == nil {
		found, read := all.found[key]
		a = &Answer{Objects: req.find(found), Read: read}
		all.read[key] = a
	}
	return a
}

// Lack reports whether Crossplane has not read one of some requirements.
func (all *Answers) Lack(required []Requirement) bool {
	return slices.ContainsFunc(required, func(req Requirement) bool { return !all.To(req).Read })
}

// Changed reports whether a Secret changed while Crossplane read it.
func (all *Answers) Changed() bool { return len(all.changed) > 0 }

// changedWhileRead returns the Secrets that Crossplane read for two requirements, for example by name and by labels,
// and whose data changed in between. One export could combine two credentials of such a Secret.
func changedWhileRead(found map[string][]wire.Struct) map[string]bool {
	changed := map[string]bool{}
	secrets := map[string]wire.Struct{}
	for key, objects := range found {
		if !strings.HasPrefix(key, Prefix+"v1/"+string(object.Secret)+"/") {
			continue
		}
		for _, o := range objects {
			secret := secretNamed(o)
			if other, ok := secrets[secret]; ok && !sameData(o, other) {
				changed[secret] = true
			}
			secrets[secret] = o
		}
	}
	return changed
}

// secretNamed describes a Secret as its requirement does.
func secretNamed(o wire.Struct) string {
	_, kind, ns, name := object.Identity(o)
	return Requirement{Kind: kind, Namespace: ns, Name: name}.String()
}

// sameData reports whether two versions of a Secret have the same data.
func sameData(a, b wire.Struct) bool {
	return proto.Equal(a.Get("data").Proto(), b.Get("data").Proto())
}

// oneVersion is what expressions wait for that read a Secret of which the request contains two versions. Crossplane
// calls again at once. Until then, what depends on the Secret is kept: a key that is optional also waits.
func oneVersion(secret string) error {
	w := expression.NewWaiting(secret + " (it changed while Crossplane read it)")
	w.Required = true
	return w
}
