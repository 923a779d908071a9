package plan

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/crossplane-contrib/function-export/internal/expression"
	"github.com/crossplane-contrib/function-export/internal/object"
	"github.com/crossplane-contrib/function-export/internal/observation"
	"github.com/crossplane-contrib/function-export/internal/wire"
)

// detailsUsed says whose connection details the expressions of an input can use: inputs by
// name, with anything for all, and those that finds reach; and the entries that use them.
type detailsUsed struct {
	inputs map[string][]string
	finds  []bulk
}

// add what an output uses.
func (d *detailsUsed) add(path string, uses []use) {
	for _, u := range uses {
		if at := entryOf(path); u.variable == "" && !slices.Contains(d.inputs[u.input], at) {
			d.inputs[u.input] = append(d.inputs[u.input], at)
		}
	}
}

// entryOf a list that has a path, for example secrets[0].
func entryOf(path string) string {
	i := strings.IndexByte(path, ']')
	return path[:i+1]
}

// detailsUsed by what the composite's author asks for, as far as it is allowed.
func (t *tenants) detailsUsed(w *wish) map[string]bool {
	out := map[string]bool{}
	for _, e := range w.exports {
		for _, d := range e.data {
			for _, r := range d.value.References() {
				switch name := stepName(r, 0); {
				case r.Variable == expression.Secret:
					out[t.sees.Secret] = true
				case r.Variable == expression.Secrets && name != anything:
					out[name] = true
				case r.Variable == expression.Secrets:
					for _, n := range t.sees.Secrets {
						out[n] = true
					}
				}
			}
		}
	}
	return out
}

// uses reports whether the connection details of a composed resource can be used.
func (d detailsUsed) uses(name string, o wire.Struct) bool {
	return d.inputs[name] != nil || d.inputs[anything] != nil ||
		slices.ContainsFunc(d.finds, func(b bulk) bool { return b.find.reaches(name) && b.find.tagged(o) })
}

// connect reads the connection details that expressions use from the Secrets that hold them.
// Crossplane hands over the data of any Secret that a resource names, also if another object
// controls the Secret, so that the provider of the resource never writes to it.
func (r *run) connect(p *Plan, w *wish, out *Result) {
	asked := map[string]bool{}
	if w != nil {
		asked = p.tenants.detailsUsed(w)
	}
	o := &r.Observation
	o.Resources = maps.Clone(o.Resources)
	for _, name := range sortedKeys(o.Resources) {
		res := o.Resources[name]
		o.Resources[name] = r.connected(detailsOf{res, "resource", name}, asked[name] || p.details.uses(name, res.Object), out)
	}
	for _, composed := range sortedKeys(r.generations) {
		id := r.generations[composed]
		d := detailsOf{id.Resource, fmt.Sprintf("generation %d of generator", id.number), id.generator}
		id.Resource = r.connected(d, p.maker(id.generator) != nil, out)
		r.generations[composed] = id
	}
	if _, _, ns, name := object.Identity(o.Composite.Object); ns == "" { // a namespaced one has none
		used := p.details.inputs[expression.Composite] != nil && isLegacy(o.Composite.Object)
		o.Composite = r.connected(detailsOf{o.Composite, "composite", name}, used, out)
	}
}

// detailsOf is an object that may have connection details, and what messages call it.
type detailsOf struct {
	observation.Resource

	what, name string
}

// connected is a resource with the data of its connection Secret for connection details,
// or with none. A file without a UID keeps its own: no Secret can refer to it.
func (r *run) connected(d detailsOf, used bool, out *Result) observation.Resource {
	if metadataOf(d.Object).Get("uid").Text() == "" {
		return d.Resource
	}
	res := observation.Resource{Object: d.Object}
	if !used {
		return res
	}
	req := connectionSecret(d.Object)
	if req == nil {
		if len(d.Details) > 0 {
			res.Withheld = d.cannotUse("it names no Secret for them: set its spec.writeConnectionSecretToRef")
		}
		return res
	}
	out.Requirements = append(out.Requirements, *req)
	found, read := r.answer(*req)
	switch {
	case !read:
		res.Withheld = expression.NewWaiting("the look-up of " + req.String())
	case len(found) == 0 && len(d.Details) > 0:
		res.Withheld = expression.NewWaiting(fmt.Sprintf("%s, which holds the connection details of %s %q", req, d.what, d.name))
	case len(found) > 0:
		res.Details, res.Withheld = d.in(found[0])
	}
	return res
}

// connectionSecret is the Secret that an object names for its connection details, where
// Crossplane looks for it: of a namespaced one in its own namespace. It is nil if there is no
// such reference, or none that can be read.
func connectionSecret(o wire.Struct) *Requirement {
	ref := o.At("spec", "writeConnectionSecretToRef").Struct()
	req := &Requirement{APIVersion: "v1", Kind: string(object.Secret), Name: ref.Get("name").Text()}
	if _, _, req.Namespace, _ = object.Identity(o); req.Namespace == "" {
		req.Namespace = ref.Get("namespace").Text()
	}
	if object.ValidateName(req.Name) != nil || object.ValidateNamespace(req.Namespace) != nil {
		return nil
	}
	return req
}

// in a connection Secret are the details, if the object controls it.
func (d detailsOf) in(secret wire.Struct) (observation.Details, error) {
	_, _, ns, name := object.Identity(secret)
	uid, kind, by, controlled := object.ControllerOf(secret)
	own := metadataOf(d.Object).Get("uid").Text()
	_, ownKind, _, ownName := object.Identity(d.Object)
	switch {
	case !controlled:
		return nil, d.cannotUse("Secret %s/%s has no controller: delete it to have the provider create it, or read it as a source of kind Secret", ns, name)
	case uid != own && kind == ownKind && by == ownName:
		return nil, d.cannotUse("Secret %s/%s is controlled by %q of UID %q, not by %s %q of UID %q: delete it, unless Kubernetes does so soon", ns, name, kind+" "+by, uid, ownKind, ownName, own)
	case uid != own:
		return nil, d.cannotUse("Secret %s/%s is controlled by %q, not by %s %q: name another Secret in spec.writeConnectionSecretToRef", ns, name, kind+" "+by, ownKind, ownName)
	}
	data, err := object.DataOf(secret)
	if err != nil {
		return nil, d.cannotUse("Secret %s/%s: %s", ns, name, err.Error())
	}
	out := make(observation.Details, len(data))
	for k, v := range data {
		out[k] = v.Reveal()
	}
	return out, nil
}

func (d detailsOf) cannotUse(cause string, args ...any) *expression.Failed {
	return &expression.Failed{Reason: fmt.Sprintf("cannot use the connection details of %s %q: %s", d.what, d.name, fmt.Sprintf(cause, args...))}
}

// isLegacy reports whether a composite is of the v1 style, which alone has connection details.
func isLegacy(xr wire.Struct) bool {
	_, _, ns, _ := object.Identity(xr)
	return ns == "" && !xr.At("spec", "crossplane").Exists()
}
