package reconcile

import (
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/crossplane-contrib/function-export/internal/engine/expression"
	"github.com/crossplane-contrib/function-export/internal/engine/object"
	"github.com/crossplane-contrib/function-export/internal/engine/observation"
	"github.com/crossplane-contrib/function-export/internal/engine/plan"
	"github.com/crossplane-contrib/function-export/internal/engine/wire"
)

// A Request is what one call of the function observes. Run does not change it.
type Request struct {
	Observation observation.Observation // without sources, which Run reads from Found

	// Found are the objects that Crossplane read for requirements, by their key. A missing key was not
	// read yet. All other keys are the Composition's own required resources.
	Found map[string][]wire.Struct

	Desired       map[string]wire.Struct // the resources of earlier steps of the pipeline
	DesiredStatus wire.Struct            // the status of earlier steps

	// Schemas are the OpenAPI v3 schemas that Crossplane read for Result.Schemas. A missing kind was not
	// read yet. A kind that does not exist has an empty schema.
	Schemas    map[plan.Kind]wire.Struct
	HasSchemas bool // Crossplane can read schemas

	Elsewhere map[string]bool // the generators of other steps
	Later     bool            // an earlier step also has exports
	Possible  map[string]bool // the resources that other steps desire only because they may take them over

	Host
}

// A Host is what runs a request.
type Host struct {
	Now    time.Time
	Random io.Reader // the source of credentials

	// Size returns the number of bytes of the request. It may be nil.
	Size func() int

	// Advise returns what a message says about a missing input. It may be nil.
	Advise func(observation.Missing) string
}

// RequirementPrefix begins the names of the function's requirements, so that they differ from the names
// of the Composition's own required resources.
const RequirementPrefix = "export.fn.crossplane.io/"

// A Requirement is an object that Crossplane must read for the function, or with labels several objects.
type Requirement struct {
	APIVersion, Kind string
	Namespace        string // empty for a cluster scoped kind

	// Either Name or Labels is set.
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
	return RequirementPrefix + r.APIVersion + "/" + r.Kind + "/" + r.Namespace + "/" + match
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

// find returns the required objects, in the order of namespace and name.
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
	objects := make([]wire.Struct, 0, len(all))
	for _, n := range all {
		objects = append(objects, n.object)
	}
	return objects
}

// A request is a Request whose answers are read once each.
type request struct {
	*Request

	answers map[string]*answer // by the key of the requirement
	changed map[string]bool    // the Secrets that the request contains with different data
}

// newRequest returns a request without the resources that other steps only keep as they are observed, because they
// may take them over.
func newRequest(in *Request) *request {
	out := &request{Request: in, changed: changedWhileRead(in.Found)}
	if len(in.Possible) == 0 {
		return out
	}
	own := *in
	own.Desired = maps.Clone(in.Desired)
	for name := range in.Possible {
		if proto.Equal(in.Desired[name].Proto(), object.Held(in.Observation.Resources[name].Object)) {
			delete(own.Desired, name)
		}
	}
	out.Request = &own
	return out
}

func (r *request) answer(req Requirement) *answer {
	key := req.Key()
	a := r.answers[key]
	if a == nil {
		found, read := r.Found[key]
		a = &answer{objects: req.find(found), read: read}
		r.answers = with(r.answers, key, a)
	}
	return a
}

// A Stale error says that Crossplane has read an outdated composite, from before it created an object. Nothing may
// change until it reads the composite again: what this call desires replaces the list of the composite's objects.
type Stale struct{ Message string }

// Error describes the object.
func (s *Stale) Error() string { return s.Message }

// changedWhileRead returns the Secrets that Crossplane read for two requirements, for example by name and by labels,
// and whose data changed in between. One export could combine two credentials of such a Secret.
func changedWhileRead(found map[string][]wire.Struct) (changed map[string]bool) {
	secrets := map[string]wire.Struct{}
	for key, objects := range found {
		if !strings.HasPrefix(key, RequirementPrefix+"v1/"+string(object.Secret)+"/") {
			continue
		}
		for _, o := range objects {
			secret := secretNamed(o)
			if other, ok := secrets[secret]; ok && !sameData(o, other) {
				changed = with(changed, secret, true)
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

// An answer is what Crossplane found for a requirement.
type answer struct {
	objects []wire.Struct // in the order of namespace and name
	read    bool          // Crossplane has read them

	source *sourceAnswer // for sources, once a source requires it
}

// A sourceAnswer is an answer without the objects of composite authors.
type sourceAnswer struct {
	objects       []wire.Struct
	details       observation.Details // of the only object, if it is a Secret
	failed        error               // why they cannot be read
	clusterScoped bool                // an object has no namespace
}
