package lookup

import (
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"

	"github.com/crossplane-contrib/function-export/internal/engine/expression"
	"github.com/crossplane-contrib/function-export/internal/engine/object"
	"github.com/crossplane-contrib/function-export/internal/engine/wire"
)

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
