package plan

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/crossplane-contrib/function-export/internal/expression"
	"github.com/crossplane-contrib/function-export/internal/limits"
	"github.com/crossplane-contrib/function-export/internal/object"
	"github.com/crossplane-contrib/function-export/internal/sensitive"
)

// runTenants exports what the composite's author asks for, after all that the
// input itself exports: nothing of it changes what comes before.
func (r *run) runTenants(ctx context.Context, t *tenants, out *Result) {
	if t == nil {
		return
	}
	w := t.read(r.Observation.Composite.Object)
	own := *r
	own.tenant, own.budget, own.dataLeft = t.sees, expression.NewTenantBudget(), limits.TenantBytes
	for _, f := range w.faults {
		out.Others = append(out.Others, Outcome{State: Held, Message: f, Warn: true, Tenant: true})
	}
	if len(w.exports) > 0 && r.namespace == "" {
		out.Others = append(out.Others, Outcome{State: Held, Message: t.at.String() + ": nothing is exported, for the composite has no namespace of its own", Warn: true, Tenant: true})
		w.exports, w.unclear = nil, map[object.Kind]bool{object.Secret: true, object.ConfigMap: true}
	}
	slices.SortFunc(w.exports, func(a, b export) int { return strings.Compare(a.name, b.name) })
	var referred map[target]string
	if len(w.exports) > 0 {
		referred = r.referredSecrets()
	}
	for _, e := range w.exports {
		o := own.tenantExport(ctx, e, referred, out)
		o.Tenant = true
		out.Objects = append(out.Objects, o)
	}
	out.Objects = append(out.Objects, own.keepUnclear(w)...)
	out.OK += own.budget.OK
	out.Waiting += own.budget.Waiting
	out.Failed += own.budget.Failed
}

// tenantExport is one object. Where the Composition composes the same one, or refers
// to it, the author's gives way, and it is not looked up.
func (r *run) tenantExport(ctx context.Context, e export, referred map[target]string, out *Result) Object {
	at := r.place(ctx, e)
	why := r.taken(e, at, referred)
	switch {
	case why != "":
		at.conflict = fmt.Sprintf("%s: give it another name in %s", why, e.namePath())
	case at.lookUp != nil:
		out.Requirements = append(out.Requirements, *at.lookUp)
	}
	if _, earlier := r.Desired[e.name]; earlier {
		at.observed = nil // that step desires it
	}
	return r.exportAt(ctx, e, at)
}

// taken says whose the name of an author's object is in the Composition, if it is.
func (r *run) taken(e export, at placement, referred map[target]string) string {
	if _, earlier := r.Desired[e.name]; earlier {
		return "an earlier step of the pipeline composes it, too"
	}
	if len(r.writers[at.target]) > 0 {
		return fmt.Sprintf("the Composition itself composes %s %s", e.kind, at)
	}
	if composed, ok := referred[at.target]; ok {
		return fmt.Sprintf("the composed resource %q refers to %s %s", composed, e.kind, at)
	}
	return ""
}

// keepUnclear keeps the objects of which it is not known whether they are still
// asked for.
func (r *run) keepUnclear(w *wish) []Object {
	var out []Object
	for _, composed := range sortedKeys(r.Observation.Resources) {
		_, earlier := r.Desired[composed]
		asked := slices.ContainsFunc(w.exports, func(e export) bool { return e.name == composed })
		kind, name, _ := strings.Cut(strings.TrimPrefix(composed, tenantPrefix), "/")
		if !isTenants(composed) || earlier || asked || !w.unclear[object.Kind(kind)] {
			continue
		}
		out = append(out, Object{
			Name: composed, Kind: object.Kind(kind), Desired: object.Held(r.Observation.Resources[composed].Object),
			Outcome: Outcome{State: Held, Message: fmt.Sprintf("%s %q is held as it was observed, for it is not clear whether it is still asked for", kind, name), Tenant: true},
		})
	}
	return out
}

// spend counts what an entry gives against what all values may have together.
func (r *run) spend(d entry, values map[string]sensitive.Bytes) error {
	for k, v := range values {
		r.dataLeft -= len(k) + v.Len()
	}
	if r.dataLeft < 0 {
		return &expression.Failed{Path: d.path, Reason: fmt.Sprintf("gives too much: all that the composite's author asks for may have %d bytes together", limits.TenantBytes)}
	}
	return nil
}
