package plan

import (
	"context"
	"encoding/base64"
	"fmt"
	"slices"
	"strings"

	"github.com/crossplane-contrib/function-export/internal/budget"
	"github.com/crossplane-contrib/function-export/internal/expression"
	"github.com/crossplane-contrib/function-export/internal/limits"
	"github.com/crossplane-contrib/function-export/internal/object"
	"github.com/crossplane-contrib/function-export/internal/sensitive"
	"github.com/crossplane-contrib/function-export/internal/wire"
)

// runTenants exports what the composite's author asks for, after all that the
// input itself exports: nothing of it changes what comes before.
func (r *run) runTenants(ctx context.Context, t *tenants, w *wish, out *Result) {
	if t == nil {
		return
	}
	if len(w.faults) > 0 {
		out.Others = append(out.Others, Outcome{State: Held, Message: shorten(w.faults, "; "), Warn: true, Tenant: true})
	}
	own := *r
	own.tenant, own.budget, own.dataLeft, own.keysLeft = t.sees, budget.NewTenant(ctx), limits.TenantBytes, limits.TenantKeys
	for composed, res := range r.theirs {
		if w.keeps(composed) {
			own.dataLeft -= sizeOf(res.Object) // which it gives back, once it is made anew
		}
	}
	own.mentions = r.mentioned(w.exports, out)
	slices.SortFunc(w.exports, func(a, b export) int { return strings.Compare(a.name, b.name) })
	if why := r.tenantNamespace(len(w.exports) > 0, out); why != nil {
		why.Message = fmt.Sprintf("%s: nothing is exported: %s", t.at, why.Message)
		out.Others = append(out.Others, *why)
		own.lookUpAll(ctx, w.exports, out)
		w.exports, w.unclear = nil, map[object.Kind]bool{object.Secret: true, object.ConfigMap: true}
	}
	for _, e := range w.exports {
		o := own.tenantExport(ctx, e, len(w.unclear) > 0, out)
		o.Tenant = true
		out.add(o)
	}
	for _, o := range own.keepUnclear(w) {
		out.add(o)
	}
	out.OK += own.budget.OK
	out.Waiting += own.budget.Waiting
	out.Failed += own.budget.Failed
}

// tenantNamespace says why the composite has no namespace that its author may have
// objects in. The author of a legacy composite could write any claim into it, so the
// claim has to say that it is the one.
func (r *run) tenantNamespace(wanted bool, out *Result) *Outcome {
	if !wanted {
		return nil
	}
	if r.namespace == "" {
		return &Outcome{State: Held, Message: "the composite has no namespace of its own", Warn: true, Tenant: true}
	}
	if !r.cluster {
		return nil
	}
	xr := r.Observation.Composite.Object
	ref := xr.At("spec", "claimRef").Struct()
	apiVersion, _, _, name := object.Identity(xr)
	req := Requirement{APIVersion: ref.Get("apiVersion").Text(), Kind: ref.Get("kind").Text(), Namespace: r.namespace, Name: ref.Get("name").Text()}
	group, _, _ := strings.Cut(apiVersion, "/")
	if !strings.HasPrefix(req.APIVersion, group+"/") || req.Kind == "" || req.Name == "" {
		return &Outcome{State: Held, Message: "spec.claimRef names no claim of its own", Warn: true, Tenant: true}
	}
	out.Requirements = append(out.Requirements, req)
	found, read := r.answer(req)
	switch {
	case !read:
		return &Outcome{State: Waiting, Message: "waiting for the look-up of " + req.String(), Tenant: true}
	case len(found) != 1 || found[0].At("spec", "resourceRef", "name").Text() != name:
		return &Outcome{State: Held, Message: fmt.Sprintf("%s, which spec.claimRef names, is not its claim", req), Warn: true, Tenant: true}
	}
	return nil
}

// lookUpAll asks for what will be asked for once the claim was read: it has to be the
// same on each call of a reconcile.
func (r *run) lookUpAll(ctx context.Context, exports []export, out *Result) {
	for _, e := range exports {
		if at := r.place(ctx, e); at.lookUp != nil && at.namespace != "" {
			out.Requirements = append(out.Requirements, *at.lookUp)
		}
	}
}

// tenantExport is one object. Where the Composition composes the same one, or refers
// to it, the author's gives way. It is looked up all the same: what the Composition
// composes may change with what is read, and what is asked for must not.
func (r *run) tenantExport(ctx context.Context, e export, unclear bool, out *Result) Object {
	at := r.place(ctx, e)
	if at.lookUp != nil {
		out.Requirements = append(out.Requirements, *at.lookUp)
	}
	if why := r.taken(e, &at); why != "" {
		at.conflict = fmt.Sprintf("%s: give it another name in %s", why, e.namePath())
	}
	if !at.observed.Exists() && at.conflict == "" {
		r.created++
	}
	if unclear && !at.observed.Exists() && len(r.theirs)+r.created > limits.TenantEntries { // else they would become more and more
		return Object{Name: e.name, Kind: e.kind, Outcome: Outcome{
			State: Held, Message: fmt.Sprintf("%s is not created: there are %d objects, and it is not clear which of them are still asked for", e, len(r.theirs)),
		}}
	}
	if at.observed.Exists() {
		r.dataLeft += sizeOf(at.observed)
	}
	o := r.exportAt(ctx, e, at)
	if o.State != Available && !o.Aside && o.Desired != nil {
		r.dataLeft -= sizeOf(wire.Of(o.Desired))
	}
	return o
}

// taken says whose the name of an author's object is in the Composition, if it is.
// An object that the Composition composes itself, or surely refers to, is let go of, if
// it was the author's: then the Composition can have it.
func (r *run) taken(e export, at *placement) string {
	if _, earlier := r.Desired[e.name]; earlier {
		at.observed = wire.Struct{} // which that step desires
		return "an earlier step of the pipeline composes it, too"
	}
	if len(r.writers[at.target]) > 0 {
		at.observed = wire.Struct{}
		return fmt.Sprintf("the Composition itself composes %s %s", e.kind, at)
	}
	m, ok := r.mentions[at.target]
	if ok && m.givesWay() {
		at.observed = wire.Struct{}
	}
	return m.where
}

// keepUnclear keeps the objects of which it is not known whether they are still
// asked for.
func (r *run) keepUnclear(w *wish) []Object {
	var out []Object
	for _, composed := range sortedKeys(r.theirs) {
		_, earlier := r.Desired[composed]
		kind, name, _ := strings.Cut(strings.TrimPrefix(composed, tenantPrefix), "/")
		if earlier || w.asksFor(composed) || !w.unclear[object.Kind(kind)] {
			continue
		}
		out = append(out, Object{
			Name: composed, Kind: object.Kind(kind), Desired: object.Held(r.theirs[composed].Object),
			Outcome: Outcome{State: Held, Message: fmt.Sprintf("%s %q is held as it was observed, for it is not clear whether it is still asked for", kind, name), Tenant: true},
		})
	}
	return out
}

// sizeOf the data, labels and annotations of an object, in bytes, but those that
// Crossplane gave it.
func sizeOf(o wire.Struct) int {
	n := 0
	add := func(m wire.Value, encoded bool) {
		for k, v := range m.Struct().All() {
			text := v.Text()
			switch {
			case strings.HasPrefix(k, "crossplane.io/"):
			case encoded:
				n += len(k) + base64.RawStdEncoding.DecodedLen(len(strings.TrimRight(text, "=")))
			default:
				n += len(k) + len(text)
			}
		}
	}
	_, kind, _, _ := object.Identity(o)
	add(o.Get("data"), kind == string(object.Secret))
	add(o.Get("binaryData"), true)
	add(o.At("metadata", "labels"), false)
	add(o.At("metadata", "annotations"), false)
	return n
}

// tooMuch is what an author's values may have together.
var tooMuch = fmt.Sprintf("all that the composite's author asks for may have %d keys and %d bytes together", limits.TenantKeys, limits.TenantBytes) //nolint:gochecknoglobals // a text

// spent reports whether nothing more may be made.
func (r *run) spent() bool { return r.dataLeft < 0 || r.keysLeft < 0 }

// spend counts what an entry gives against what all values may have together.
func (r *run) spend(d entry, values map[string]sensitive.Bytes) error {
	r.keysLeft -= len(values)
	for k, v := range values {
		r.dataLeft -= len(k) + v.Len()
	}
	if r.spent() {
		return &expression.Failed{Path: d.path, Reason: "gives too much: " + tooMuch}
	}
	return nil
}

// spendTexts counts labels and annotations, too.
func (r *run) spendTexts(e export, texts ...map[string]string) []string {
	if r.spent() {
		return nil // as was said
	}
	for _, m := range texts {
		for k, v := range m {
			r.dataLeft -= len(k) + len(v)
		}
	}
	if r.spent() {
		return []string{e.path.String() + ": has too much: " + tooMuch}
	}
	return nil
}
