package lookup

import (
	"bytes"
	"cmp"
	"fmt"

	"github.com/crossplane-contrib/function-export/internal/engine/expression"
	"github.com/crossplane-contrib/function-export/internal/engine/object"
	"github.com/crossplane-contrib/function-export/internal/engine/observation"
	"github.com/crossplane-contrib/function-export/internal/engine/plan"
	"github.com/crossplane-contrib/function-export/internal/engine/sensitive"
	"github.com/crossplane-contrib/function-export/internal/engine/wire"
)

// An Owner is an object that may have connection details, with its name in messages.
//
// Crossplane returns the data of any Secret that a resource names, even if another object controls the Secret. The
// provider of the resource never writes to such a Secret, so its data is not used.
type Owner struct {
	observation.Resource

	What, Name string
}

// Details reads the connection Secret of a resource, if expressions use it: only its data are connection details. A
// resource without a UID, as in a file, keeps its own details, because no Secret can refer to it.
func (all *Answers) Details(d Owner, used bool) (res observation.Resource, required *Requirement) {
	if plan.UIDOf(d.Object) == "" {
		return d.Resource, nil
	}
	res = observation.Resource{Object: d.Object}
	if !used {
		return res, nil
	}
	if required = connectionSecret(d.Object); required == nil {
		if len(d.Resource.Details) > 0 {
			res.Withheld = d.cannotUse("it names no Secret for them: set its spec.writeConnectionSecretToRef")
		}
		return res, nil
	}
	switch a := all.To(*required); {
	case !a.Read:
		res.Withheld = expression.NewWaiting("the lookup of " + required.String())
	case len(a.Objects) > 0:
		res.Published = true
		res.Details, res.Withheld = d.in(a.Objects[0])
		secret := required.String()
		if res.Withheld == nil && (all.changed[secret] || d.differ(res.Details)) {
			all.changed[secret], res.Withheld = true, oneVersion(secret)
		}
	case len(d.Resource.Details) > 0:
		what := fmt.Sprintf("%s (connection details of %s %q)", required, d.What, d.Name)
		res.Withheld = expression.NewWaiting(what)
	}
	return res, required
}

// differ reports whether a Secret changed after Crossplane read the resource and its connection details. The Secret
// is newer than the resource, so an expression that reads both could combine two credentials. A key that was
// added in between changes no value.
func (d Owner) differ(now observation.Details) bool {
	for key, value := range d.Resource.Details {
		if is, ok := now[key]; !ok || !bytes.Equal(is, value) {
			return true
		}
	}
	return false
}

// connectionSecret returns the Secret that an object names for its connection details. A namespaced object has it in
// its own namespace. The result is nil without a valid reference.
func connectionSecret(o wire.Struct) *Requirement {
	ref := o.At("spec", "writeConnectionSecretToRef").Struct()
	_, _, own, _ := object.Identity(o)
	req := &Requirement{
		APIVersion: "v1", Kind: string(object.Secret), Name: ref.Get("name").Text(),
		Namespace: cmp.Or(own, ref.Get("namespace").Text()),
	}
	if object.ValidateName(req.Name) != nil || object.ValidateNamespace(req.Namespace) != nil {
		return nil
	}
	return req
}

func (d Owner) cannotUse(cause string, args ...any) *expression.Failed {
	what := fmt.Sprintf("cannot use the connection details of %s %q: ", d.What, d.Name)
	return &expression.Failed{Reason: what + fmt.Sprintf(cause, args...)}
}

// in returns the details in a connection Secret, if the object controls it.
func (d Owner) in(secret wire.Struct) (observation.Details, error) {
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
	out, err := DataOf(secret)
	if err != nil {
		return nil, d.cannotUse("Secret %s/%s: %s", ns, name, err.Error())
	}
	return out, nil
}

// DataOf returns the data of a Secret for expressions.
func DataOf(o wire.Struct) (observation.Details, error) {
	data, err := object.DataOf(o)
	if err != nil {
		return nil, err
	}
	return Revealed(data), nil
}

// Revealed returns data as expressions see it.
func Revealed(data map[string]sensitive.Bytes) observation.Details {
	out := make(observation.Details, len(data))
	for k, v := range data {
		out[k] = v.Reveal()
	}
	return out
}
