package plan

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"google.golang.org/protobuf/types/known/structpb"

	"github.com/crossplane-contrib/function-export/internal/collect"
	"github.com/crossplane-contrib/function-export/internal/expression"
	"github.com/crossplane-contrib/function-export/internal/object"
	"github.com/crossplane-contrib/function-export/internal/sensitive"
)

// A placement is where an export's object is, or shall be.
type placement struct {
	namespace, name string

	// observed is the object as it is, or nil if there is none of ours.
	observed *structpb.Struct

	// lookUp is asked for while there is none of ours.
	lookUp *Requirement

	// waiting or failed if the place is not known.
	waiting, failed string

	// conflict says whose the object at that place is.
	conflict string

	// renamed is set if the input wants another place than the observed one.
	renamed string
}

func (p placement) String() string { return p.namespace + "/" + p.name }

// place an export. A composed resource stays where it is, whatever the input
// says by now: Crossplane fixes name and namespace on creation. Before there is
// one, the object that may be at its place is looked up.
//
// A *Fault is returned for a place that this composite cannot compose into.
func (r *run) place(ctx context.Context, e export) (placement, error) {
	at, err := r.wanted(ctx, e)
	if observed := r.Observation.Resources[e.name].Object; observed != nil {
		return r.placeObserved(e, at, observed), nil
	}
	if err != nil || at.waiting != "" || at.failed != "" {
		return at, err
	}
	req := Requirement{APIVersion: "v1", Kind: string(e.kind), Namespace: at.namespace, Name: at.name}
	at.lookUp = &req
	found, read := req.find(r.Found)
	switch {
	case !read:
		at.waiting = fmt.Sprintf("the look-up of %s %s", e.kind, at)
	case len(found) > 0:
		at = r.judge(e, at, found[0])
	}
	return at, nil
}

func (r *run) placeObserved(e export, want placement, observed *structpb.Struct) placement {
	apiVersion, kind, ns, name := object.Identity(observed)
	at := placement{namespace: ns, name: name, observed: observed}
	if apiVersion != "v1" || kind != string(e.kind) {
		at.conflict = fmt.Sprintf("the composed resource of that name is a %s: give the %s another name in %s", kind, e.kind, e.path.Child("name"))
		return at
	}
	if want.name != "" && want.name != name {
		at.renamed = want.name
	}
	if want.namespace != "" && want.namespace != ns {
		at.renamed = want.String()
	}
	return at
}

// wanted is where the input wants the object.
func (r *run) wanted(ctx context.Context, e export) (placement, error) {
	ns, err := r.wantedNamespace(ctx, e)
	at := placement{namespace: ns}
	if err != nil {
		return at.unknown(e.path.Child("metadata", "namespaceExpression").String(), err)
	}
	switch {
	case e.metadata.nameExpr != nil:
		path := e.path.Child("metadata", "nameExpression").String()
		at.name, err = r.name(ctx, e.metadata.nameExpr, e.from)
		if err != nil {
			return at.unknown(path, err)
		}
		if at.name == "" {
			at.waiting = path + " for a name that is not empty"
			return at, nil
		}
		if err := object.ValidateName(at.name); err != nil {
			at.failed = path + ": gives an illegal name: " + err.Error()
		}
	case e.metadata.name != "":
		at.name = e.metadata.name
	default:
		_, _, _, xr := object.Identity(r.Observation.Composite.Object)
		at.name = xr + "-" + e.name
		if err := object.ValidateName(at.name); err != nil {
			at.failed = fmt.Sprintf("%s: must be set, for the default is an illegal name: %s", e.path.Child("metadata", "name"), err.Error())
		}
	}
	return at, nil
}

func (p placement) unknown(path string, err error) (placement, error) {
	var fault *Fault
	if errors.As(err, &fault) {
		return p, err
	}
	var w *expression.Waiting
	if errors.As(err, &w) {
		p.waiting = path + " for " + strings.Join(w.Inputs, ", ")
		return p, nil
	}
	p.failed = err.Error()
	return p, nil
}

func (r *run) wantedNamespace(ctx context.Context, e export) (string, error) {
	m := e.metadata
	at := e.path.Child("metadata", "namespace").String()
	switch {
	case m.namespaceExpr != nil:
		at = m.namespaceExpr.Source().Path
		ns, err := r.name(ctx, m.namespaceExpr, e.from)
		if err != nil {
			return "", err
		}
		if err := object.ValidateNamespace(ns); err != nil {
			return "", &expression.Failed{Path: at, Reason: "gives an illegal namespace: " + err.Error()}
		}
		if !r.cluster && ns != r.namespace {
			return "", &expression.Failed{Path: at, Reason: fmt.Sprintf("gives namespace %q, but a composite in namespace %q composes into its own only", ns, r.namespace)}
		}
		return ns, nil
	case m.namespace != "":
		if !r.cluster && m.namespace != r.namespace {
			return "", &Fault{at, fmt.Sprintf("is %q, but a composite in namespace %q composes into its own only: leave it out", m.namespace, r.namespace)}
		}
		return m.namespace, nil
	case r.namespace == "":
		return "", &Fault{at, "must be set: the composite is cluster scoped and has no claim"}
	}
	return r.namespace, nil
}

// judge an object at the place of one that is not observed. It may be ours: the
// composite is read from a cache, which may not know yet what was just composed.
func (r *run) judge(e export, at placement, found *structpb.Struct) placement {
	uid, kind, name, ok := object.ControllerOf(found)
	own := r.Observation.Composite.Object.GetFields()["metadata"].GetStructValue().GetFields()["uid"].GetStringValue()
	mend := fmt.Sprintf("delete it, or set %s to another name", e.path.Child("metadata", "name"))
	switch composed := object.CompositionResourceName(found); {
	case !ok:
		at.conflict = fmt.Sprintf("%s %s exists and has no controller: %s", e.kind, at, mend)
	case uid != own || own == "":
		at.conflict = fmt.Sprintf("%s %s exists and is controlled by %s %q: %s", e.kind, at, kind, name, mend)
	case composed != e.name:
		at.conflict = fmt.Sprintf("%s %s is the composed resource %q of this composite: set %s to another name", e.kind, at, composed, e.path.Child("metadata", "name"))
	default:
		at.observed = found
	}
	return at
}

// findWriters notes who composes which object, over this step and the earlier
// ones, so that two who want the same one are found.
func (r *run) findWriters(exports []export, at []placement) {
	r.writers = map[string]string{}
	add := func(kind, namespace, name, who string) {
		if name == "" {
			return
		}
		key := kind + "/" + namespace + "/" + name
		if first, ok := r.writers[key]; ok {
			who = first + " and " + who
		}
		r.writers[key] = who
	}
	for _, name := range sortedKeys(r.Desired) {
		if v, kind, ns, n := object.Identity(r.Desired[name]); v == "v1" {
			if ns == "" {
				ns = r.namespace
			}
			add(kind, ns, n, fmt.Sprintf("composed resource %q of an earlier step", name))
		}
	}
	for i, e := range exports {
		add(string(e.kind), at[i].namespace, at[i].name, e.path.String())
	}
}

// export evaluates one export, and decides what becomes of its object: created
// or changed as a whole, held as it is, or left alone.
func (r *run) export(ctx context.Context, e export, at placement) Object {
	out := Object{Name: e.name, Kind: e.kind}
	if who := r.writers[string(e.kind)+"/"+at.namespace+"/"+at.name]; at.conflict == "" && at.failed == "" && strings.Contains(who, " and ") {
		at.conflict = fmt.Sprintf("%s all compose %s %s: give each a name of its own", who, e.kind, at)
	}
	if at.conflict != "" {
		out.Outcome = Outcome{Conflict, fmt.Sprintf("%s %q: %s", e.kind, e.name, at.conflict), true}
		out.Desired = object.Held(at.observed) // nil unless it is of this composite
		return out
	}
	if at.failed != "" || at.waiting != "" {
		return r.hold(e, at, out, []string{at.waiting}, []string{at.failed})
	}

	c := r.collect(ctx, e)
	labels, annotations, waiting, failed := r.labels(ctx, e)
	waiting = append(c.Waiting(), waiting...)
	failed = append(c.Failed(), failed...)
	if len(waiting)+len(failed) > 0 {
		return r.hold(e, at, out, waiting, failed)
	}
	o := &object.Object{
		Kind: e.kind, Namespace: at.namespace, Name: at.name, Labels: labels, Annotations: annotations,
		Type: e.secret.objectType, Immutable: e.immutable, Data: c.Data(),
	}
	if failed := r.refuse(e, at, o); len(failed) > 0 {
		return r.hold(e, at, out, nil, failed)
	}
	out.Desired = o.Struct()
	if e.secret.connectionDetails {
		out.ConnectionDetails = o.Data
	}
	if at.renamed != "" {
		out.Warn = true
		out.Message = fmt.Sprintf("%s %q stays %s, for a composed resource cannot be renamed: delete it to have it created as %s", e.kind, e.name, at, at.renamed)
	}
	return out
}

// refuse what the API server would.
func (r *run) refuse(e export, at placement, o *object.Object) []string {
	var failed []string
	for _, err := range o.Validate() {
		failed = append(failed, e.path.String()+": "+err.Error())
	}
	if at.observed == nil {
		return failed
	}
	mend := fmt.Sprintf("delete %s %s to have it created anew", e.kind, at)
	if have := object.TypeOf(at.observed); e.kind == object.Secret && have != o.Type {
		failed = append(failed, fmt.Sprintf("%s: is %q, but the Secret was created as %q, which is fixed: %s", e.path.Child("type"), o.Type, have, mend))
	}
	if object.IsImmutable(at.observed) {
		switch {
		case object.Changed(at.observed, o):
			failed = append(failed, fmt.Sprintf("%s: its values changed, but the %s is immutable: %s", e.path.Child("immutable"), e.kind, mend))
		case o.Immutable == nil || !*o.Immutable:
			failed = append(failed, fmt.Sprintf("%s: is not true, but the %s was created as immutable, which is fixed: %s", e.path.Child("immutable"), e.kind, mend))
		}
	}
	return failed
}

// hold the object exactly as it is, if there is one.
func (r *run) hold(e export, at placement, out Object, waiting, failed []string) Object {
	waiting = slices.DeleteFunc(waiting, func(s string) bool { return s == "" })
	failed = slices.DeleteFunc(failed, func(s string) bool { return s == "" })
	out.Desired = object.Held(at.observed)
	what := "is not created"
	if out.Desired != nil {
		what = "is held as it was observed"
		out.ConnectionDetails = r.heldDetails(e, at)
	}
	out.State = Held
	if out.Desired == nil && len(failed) == 0 {
		out.State = Waiting
	}
	out.Warn = out.State == Held
	reasons := slices.Clone(failed)
	if len(waiting) > 0 {
		reasons = append(reasons, "waiting: "+shortenBy(waiting, "; "))
	}
	out.Message = fmt.Sprintf("%s %q %s: %s", e.kind, e.name, what, shortenBy(reasons, "; "))
	return out
}

func (r *run) heldDetails(e export, at placement) map[string]sensitive.Bytes {
	if !e.secret.connectionDetails {
		return nil
	}
	data, err := object.DataOf(at.observed)
	if err != nil {
		return nil // not an object of the API server
	}
	return data
}

// collect the data of an export.
func (r *run) collect(ctx context.Context, e export) *collect.Collection {
	c := collect.New(len(e.data))
	for _, d := range e.data {
		entry := collect.Entry{Path: d.path, Key: d.key, Optional: d.optional}
		v, err := r.evaluate(ctx, d.value, e.from)
		if d.key == "" {
			var m map[string]sensitive.Bytes
			ok := false
			if err == nil {
				m, ok, err = d.value.TextMap(v)
			}
			c.Map(entry, m, ok, err)
			continue
		}
		var b sensitive.Bytes
		ok := false
		if err == nil {
			b, ok, err = d.value.Text(v)
		}
		c.Value(entry, b, ok, err)
	}
	return c
}

// labels and annotations of an export: those that are spelled, and those that
// are computed. A computed one must not be a spelled one, too.
func (r *run) labels(ctx context.Context, e export) (labels, annotations map[string]string, waiting, failed []string) {
	add := func(spelled map[string]string, x *expression.Expression) map[string]string {
		if x == nil {
			return spelled
		}
		v, err := r.evaluate(ctx, x, e.from)
		var computed map[string]string
		if err == nil {
			computed, _, err = x.Labels(v)
		}
		var w *expression.Waiting
		switch {
		case errors.As(err, &w):
			waiting = append(waiting, x.Source().Path+" for "+strings.Join(w.Inputs, ", "))
		case err != nil:
			failed = append(failed, err.Error())
		}
		for _, k := range sortedKeys(spelled) {
			if _, ok := computed[k]; ok {
				failed = append(failed, fmt.Sprintf("%s: gives %q, which is spelled beside it, too: keep one of them", x.Source().Path, k))
			}
		}
		out := maps.Clone(spelled)
		if out == nil {
			out = map[string]string{}
		}
		maps.Copy(out, computed)
		return out
	}
	labels = add(e.metadata.labels, e.metadata.labelsExpression)
	annotations = add(e.metadata.annotations, e.metadata.annotationsExpression)
	return labels, annotations, waiting, failed
}
