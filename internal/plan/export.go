package plan

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/crossplane-contrib/function-export/internal/budget"
	"github.com/crossplane-contrib/function-export/internal/collect"
	"github.com/crossplane-contrib/function-export/internal/expression"
	"github.com/crossplane-contrib/function-export/internal/object"
	"github.com/crossplane-contrib/function-export/internal/sensitive"
	"github.com/crossplane-contrib/function-export/internal/wire"
)

// export is exportAt where no other one composes the same object.
func (r *run) export(ctx context.Context, e export, at placement) Object {
	if who := r.writers[at.target]; at.conflict == "" && len(who) > 1 {
		at.conflict = fmt.Sprintf("%s all compose %s %s: give each a name of its own", writersText(who), e.kind, at)
	}
	return r.exportAt(ctx, e, at)
}

// exportAt is what becomes of an export's object, and whether that is where the input wants it. What
// the object holds is as the input wants it wherever it is: that keeps nothing from being ready.
func (r *run) exportAt(ctx context.Context, e export, at placement) Object {
	out := r.decide(ctx, e, at)
	stays := fmt.Sprintf("stays %s because %s", at, at.stays)
	switch {
	case at.stays == "":
	case out.State == Available:
		out.Outcome = Outcome{State: Held, Message: fmt.Sprintf("%s %s", e, stays), Warn: true, Aside: true}
	default:
		out.Message += "; it " + stays
	}
	return out
}

// decide evaluates one export, and decides what becomes of its object: created
// or changed as a whole, held as it is, or left alone.
func (r *run) decide(ctx context.Context, e export, at placement) Object {
	if at.conflict != "" {
		out := keep(e, at)
		out.Outcome = Outcome{State: Conflict, Message: fmt.Sprintf("%s: %s", e, at.conflict), Warn: true}
		return out
	}
	if len(e.faults) > 0 {
		return hold(e, at, reasons{failed: e.faults})
	}
	if !at.unknown.empty() {
		return hold(e, at, at.unknown)
	}
	o, why := r.make(ctx, e, at)
	if !why.empty() {
		return hold(e, at, why)
	}
	out := Object{Name: at.resource, Kind: e.kind, fit: fit{bytes: o.Bytes(), build: o.Struct}}
	if e.secret.connectionDetails {
		out.ConnectionDetails = o.Data
		out.fit.bytes += o.Bytes()
	}
	out.fit.keep = func(why string) Object { return hold(e, at, reasons{failed: []string{why}}) }
	return out
}

// make the object, all of it, unless there is a reason not to.
func (r *run) make(ctx context.Context, e export, at placement) (*object.Object, reasons) {
	c := r.collect(ctx, e)
	why := reasons{waiting: c.Waiting(), failed: c.Failed()}
	why.failed = append(why.failed, r.spendData(e, c)...)
	labels := r.labels(ctx, e, e.metadata.labels, e.metadata.labelsExpression, &why)
	annotations := r.labels(ctx, e, e.metadata.annotations, e.metadata.annotationsExpression, &why)
	labels = r.computed(ctx, labels, e.metadata.labelValues, &why)
	annotations = r.computed(ctx, annotations, e.metadata.annotationValues, &why)
	why.failed = append(why.failed, r.spendTexts(e, labels, annotations)...)
	o := &object.Object{
		Kind: e.kind, Namespace: at.namespace, Name: at.name, Labels: labels, Annotations: annotations,
		State: r.generatedState(e, c.Data()), Type: e.secret.objectType, Immutable: e.immutable, Data: c.Data(),
	}
	if why.empty() {
		why.failed = refuse(e, at, o)
	}
	return o, why
}

// spendData pays for checking and encoding what an object holds.
func (r *run) spendData(e export, c *collect.Collection) []string {
	data := c.Data()
	if err := r.budget.Spend(budget.Copied(2*len(data), c.Bytes())); data != nil && err != nil {
		return []string{e.path.String() + ": was stopped: " + err.Error() + ": export fewer keys"}
	}
	return nil
}

// refuse what the API server would.
func refuse(e export, at placement, o *object.Object) []string {
	var failed []string
	for _, err := range o.Validate() {
		failed = append(failed, e.path.String()+": "+err.Error())
	}
	if !at.observed.Exists() {
		return failed
	}
	mend := fmt.Sprintf("delete %s %s to have it created anew", e.kind, at)
	if have := object.TypeOf(at.observed); e.kind == object.Secret && have != o.Type {
		failed = append(failed, fmt.Sprintf("%s: is %q, but the Secret was created as %q, which is fixed: %s", e.at("type"), o.Type, have, mend))
	}
	if object.IsImmutable(at.observed) {
		switch {
		case object.Changed(at.observed, o):
			failed = append(failed, fmt.Sprintf("%s: its values changed, but the %s is immutable: %s", e.at("immutable"), e.kind, mend))
		case o.Immutable == nil || !*o.Immutable:
			failed = append(failed, fmt.Sprintf("%s: is not true, but the %s was created as immutable, which is fixed: %s", e.at("immutable"), e.kind, mend))
		}
	}
	return failed
}

// hold the object exactly as it is, if there is one.
func hold(e export, at placement, why reasons) Object {
	out := keep(e, at)
	out.Outcome = why.outcome(e.String(), "is not created", out.Desired != nil)
	if !rulesHold || at.unlisted && len(e.generators) > 0 { // what is not listed may be forged, and so may its record
		out.Desired = nil
	}
	return out
}

// keep desires what is observed of this composite, and publishes what was
// published of it: our own keys, and none that others have added.
func keep(e export, at placement) Object {
	out := Object{Name: at.resource, Kind: e.kind, Desired: object.Held(at.observed)}
	held := wire.Of(out.Desired)
	if _, kind, _, _ := object.Identity(held); e.secret.connectionDetails && kind == string(e.kind) {
		out.ConnectionDetails, _ = object.DataOf(held) // nil of an object that no API server returns
	}
	return out
}

// collect the data of an export: dataFrom first, so that data is later, and wins
// where the last one does.
func (r *run) collect(ctx context.Context, e export) *collect.Collection {
	c := collect.New(len(e.data), e.lastWins)
	for _, b := range e.dataFrom {
		if c.Ended() {
			return c
		}
		r.collectBulk(ctx, c, b, e.from)
	}
	for _, d := range e.data {
		if c.Ended() {
			return c
		}
		entry := collect.Entry{Path: d.path, Key: d.key, Optional: d.optional}
		if r.spent() {
			c.Value(entry, sensitive.Bytes{}, false, r.spend(d, nil))
			break
		}
		v, err := r.evaluate(ctx, d.value, e.from)
		ok := false
		if d.key == "" {
			var m map[string]sensitive.Bytes
			if err == nil && d.value.Entries(v) > r.keysLeft {
				r.keysLeft = -1 // it takes too long to read them all
			} else if err == nil {
				m, ok, err = d.value.TextMap(v, r.budget)
			}
			if err == nil {
				err = r.spend(d, m)
			}
			c.Map(entry, d.keys(m), ok, err)
			continue
		}
		var b sensitive.Bytes
		if err == nil {
			b, ok, err = d.value.Text(v, r.budget)
		}
		if err == nil {
			err = r.spend(d, map[string]sensitive.Bytes{d.key: b})
		}
		c.Value(entry, b, ok, err)
	}
	return c
}

// keys of a value map. Those that the expression spells are shown.
func (d entry) keys(m map[string]sensitive.Bytes) []collect.Key {
	spelled := d.value.Keys()
	out := make([]collect.Key, 0, len(m))
	for _, name := range sortedKeys(m) {
		k := collect.Key{Name: name, Value: m[name]}
		if slices.Contains(spelled, name) {
			k.From = quoted(name)
		}
		out = append(out, k)
	}
	return out
}

// A quoted key is one that the input spells.
type quoted string

func (q quoted) String() string { return strconv.Quote(string(q)) }

// labels, or annotations, of an export: those that are spelled, and those that
// are computed. A computed one must not be a spelled one, too.
func (r *run) labels(ctx context.Context, e export, spelled map[string]string, x *expression.Expression, why *reasons) map[string]string {
	if x == nil {
		return spelled
	}
	v, err := r.evaluate(ctx, x, e.from)
	var computed map[string]string
	if err == nil {
		computed, _, err = x.Labels(v, r.budget)
	}
	why.add(x.Source().Path, err)
	out := maps.Clone(spelled)
	if out == nil {
		out = map[string]string{}
	}
	for _, k := range sortedKeys(computed) {
		if _, ok := spelled[k]; ok {
			why.failed = append(why.failed, fmt.Sprintf("%s: gives %q, which is spelled beside it, too: keep one of them", x.Source().Path, k))
		}
		out[k] = computed[k]
	}
	return out
}

// computed adds labels, or annotations, that have an expression each.
func (r *run) computed(ctx context.Context, spelled map[string]string, values map[string]*expression.Expression, why *reasons) map[string]string {
	if len(values) == 0 {
		return spelled
	}
	out := maps.Clone(spelled)
	for _, k := range sortedKeys(values) {
		x := values[k]
		v, err := r.evaluate(ctx, x, "")
		var text string
		var ok bool
		if err == nil {
			text, ok, err = x.Name(v, r.budget)
		}
		why.add(x.Source().Path, err)
		if err == nil && ok {
			put(&out, k, text)
		}
	}
	return out
}
