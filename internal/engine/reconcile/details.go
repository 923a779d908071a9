package reconcile

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/crossplane-contrib/function-export/internal/engine/expression"
	"github.com/crossplane-contrib/function-export/internal/engine/object"
	"github.com/crossplane-contrib/function-export/internal/engine/observation"
	"github.com/crossplane-contrib/function-export/internal/engine/plan"
	"github.com/crossplane-contrib/function-export/internal/engine/sensitive"
	"github.com/crossplane-contrib/function-export/internal/engine/wire"
)

// detailsRead is the observation, with the connection details that expressions use.
type detailsRead struct {
	reply

	observation *observation.Observation
	composed    composedResources
}

// A detailsOwner is an object that may have connection details, with its name in messages.
type detailsOwner struct {
	observation.Resource

	what, name string
}

// readDetails reads the connection details that expressions use from the Secrets that hold them.
// Crossplane returns the data of any Secret that a resource names, even if another object controls
// the Secret. The provider of the resource never writes to such a Secret.
func readDetails(p *plan.Plan, req *request, composed composedResources, wanted *plan.Authored) detailsRead {
	o := req.Observation
	out := detailsRead{observation: &o, composed: composed}
	out.composed.generations = maps.Clone(composed.generations)
	used := authorsDetails(p.Authors, wanted)
	o.Resources = make(map[string]observation.Resource, len(composed.resources))
	for _, name := range plan.SortedKeys(composed.resources) {
		res := composed.resources[name]
		uses := used[name] || p.Details.Uses(name, res.Object)
		o.Resources[name] = out.read(req, detailsOwner{res, "resource", name}, uses)
	}
	for _, name := range plan.SortedKeys(composed.generations) {
		id := composed.generations[name]
		d := detailsOwner{id.Resource, fmt.Sprintf("generation %d of generator", id.number), id.generator}
		id.Resource = out.read(req, d, p.Declares(id.generator))
		out.composed.generations[name] = id
	}
	out.requireDesired(p, req, used)
	if _, _, ns, name := object.Identity(o.Composite.Object); ns == "" { // a namespaced composite has none
		used := p.Details.Inputs[expression.Composite] != nil && isLegacy(o.Composite.Object)
		o.Composite = out.read(req, detailsOwner{o.Composite, "composite", name}, used)
	}
	return out
}

// requireDesired requires the connection Secrets of resources that do not exist yet, so that Crossplane also watches
// these Secrets from the reconcile that creates the resource.
func (out *detailsRead) requireDesired(p *plan.Plan, req *request, used map[string]bool) {
	var names []string
	for name, desired := range req.Desired {
		_, observed := req.Observation.Resources[name]
		if !observed && !plan.IsAuthors(name) && (used[name] || p.Details.Uses(name, desired)) {
			names = append(names, name)
		}
	}
	_, _, namespace, _ := object.Identity(req.Observation.Composite.Object)
	slices.Sort(names)
	for _, name := range names {
		if required := connectionSecret(req.Desired[name], namespace); required != nil {
			out.require(*required)
		}
	}
}

// authorsDetails returns the inputs whose details the exports of the composite author use and are
// allowed to use. There are no such exports if composite authors must not request any.
func authorsDetails(a *plan.Authors, wanted *plan.Authored) (out map[string]bool) {
	for _, e := range wanted.Exports {
		for _, d := range e.Data {
			for _, r := range d.Value.References() {
				switch name := plan.StepName(r, 0); {
				case r.Variable == expression.Secret:
					out = with(out, a.Sees.Secret, true)
				case r.Variable == expression.Secrets && name != plan.Anything:
					out = with(out, name, true)
				case r.Variable == expression.Secrets:
					for _, n := range a.Sees.Secrets {
						out = with(out, n, true)
					}
				}
			}
		}
	}
	return out
}

// read reads the connection Secret of a resource: only its data are connection details. A resource without a
// UID, as in a file, keeps its own details, because no Secret can refer to it.
func (out *detailsRead) read(req *request, d detailsOwner, used bool) observation.Resource {
	if plan.UIDOf(d.Object) == "" {
		return d.Resource
	}
	res := observation.Resource{Object: d.Object}
	if !used {
		return res
	}
	required := connectionSecret(d.Object, "")
	if required == nil {
		if len(d.Details) > 0 {
			res.Withheld = d.cannotUse("it names no Secret for them: set its spec.writeConnectionSecretToRef")
		}
		return res
	}
	out.require(*required)
	switch a := req.answer(*required); {
	case !a.read:
		res.Withheld = expression.NewWaiting("the lookup of " + required.String())
	case len(a.objects) > 0:
		res.Published = true
		res.Details, res.Withheld = d.in(a.objects[0])
		secret := required.String()
		if res.Withheld == nil && (req.changed[secret] || d.differ(res.Details)) {
			req.changed, res.Withheld = with(req.changed, secret, true), oneVersion(secret)
		}
	case len(d.Details) > 0:
		what := fmt.Sprintf("%s (connection details of %s %q)", required, d.what, d.name)
		res.Withheld = expression.NewWaiting(what)
	}
	return res
}

// differ reports whether a Secret changed after Crossplane read the resource and its connection details. The Secret
// is newer than the resource, so an expression that reads both could combine two credentials. A key that was
// added in between changes no value.
func (d detailsOwner) differ(now observation.Details) bool {
	for key, value := range d.Details {
		if is, ok := now[key]; !ok || !bytes.Equal(is, value) {
			return true
		}
	}
	return false
}

// connectionSecret returns the Secret that an object names for its connection details. A namespaced
// object has it in its own namespace. Crossplane composes an object without a namespace in the given one. The
// result is nil without a valid reference.
func connectionSecret(o wire.Struct, namespace string) *Requirement {
	ref := o.At("spec", "writeConnectionSecretToRef").Struct()
	_, _, own, _ := object.Identity(o)
	req := &Requirement{
		APIVersion: "v1", Kind: string(object.Secret), Name: ref.Get("name").Text(),
		Namespace: cmp.Or(namespace, own, ref.Get("namespace").Text()),
	}
	if object.ValidateName(req.Name) != nil || object.ValidateNamespace(req.Namespace) != nil {
		return nil
	}
	return req
}

func (d detailsOwner) cannotUse(cause string, args ...any) *expression.Failed {
	what := fmt.Sprintf("cannot use the connection details of %s %q: ", d.what, d.name)
	return &expression.Failed{Reason: what + fmt.Sprintf(cause, args...)}
}

// in returns the details in a connection Secret, if the object controls it.
func (d detailsOwner) in(secret wire.Struct) (observation.Details, error) {
	_, _, ns, name := object.Identity(secret)
	uid, kind, by, controlled := object.ControllerOf(secret)
	own := plan.UIDOf(d.Object)
	_, ownKind, _, ownName := object.Identity(d.Object)
	switch {
	case !controlled:
		return nil, d.cannotUse("Secret %s/%s has no controller: "+
			"delete it so that the provider creates it, or read it as a source of kind Secret", ns, name)
	case uid != own && kind == ownKind && by == ownName:
		return nil, d.cannotUse("Secret %s/%s is controlled by %q of UID %q, not by %s %q of UID %q: "+
			"wait until Kubernetes deletes it, or delete it", ns, name, kind+" "+by, uid, ownKind, ownName, own)
	case uid != own:
		return nil, d.cannotUse("Secret %s/%s is controlled by %q, not by %s %q: "+
			"name another Secret in spec.writeConnectionSecretToRef", ns, name, kind+" "+by, ownKind, ownName)
	}
	out, err := detailsOf(secret)
	if err != nil {
		return nil, d.cannotUse("Secret %s/%s: %s", ns, name, err.Error())
	}
	return out, nil
}

// detailsOf returns the data of a Secret for expressions.
func detailsOf(o wire.Struct) (observation.Details, error) {
	data, err := object.DataOf(o)
	if err != nil {
		return nil, err
	}
	return revealed(data), nil
}

func revealed(data map[string]sensitive.Bytes) observation.Details {
	out := make(observation.Details, len(data))
	for k, v := range data {
		out[k] = v.Reveal()
	}
	return out
}
