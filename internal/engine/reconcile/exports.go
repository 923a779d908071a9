package reconcile

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/crossplane-contrib/function-export/internal/engine/budget"
	"github.com/crossplane-contrib/function-export/internal/engine/collect"
	"github.com/crossplane-contrib/function-export/internal/engine/composite"
	"github.com/crossplane-contrib/function-export/internal/engine/evaluate"
	"github.com/crossplane-contrib/function-export/internal/engine/expression"
	"github.com/crossplane-contrib/function-export/internal/engine/generations"
	"github.com/crossplane-contrib/function-export/internal/engine/lifecycle"
	"github.com/crossplane-contrib/function-export/internal/engine/limits"
	"github.com/crossplane-contrib/function-export/internal/engine/object"
	"github.com/crossplane-contrib/function-export/internal/engine/outcome"
	"github.com/crossplane-contrib/function-export/internal/engine/plan"
	"github.com/crossplane-contrib/function-export/internal/engine/rotation"
	"github.com/crossplane-contrib/function-export/internal/engine/seal"
	"github.com/crossplane-contrib/function-export/internal/engine/sensitive"
	"github.com/crossplane-contrib/function-export/internal/engine/wire"
)

// An exporter makes the objects of exports.
type exporter struct {
	reader      collect.Reader
	composite   composite.Composite
	credentials generations.Credentials
	now         time.Time
}

// run makes the objects of all exports. Two exports of the same object are in conflict.
func (x exporter) run(placed placements, writers lifecycle.Writers) objects {
	session := x.reader.Session
	out := objects(placed.possible) // they are in the response in any case
	warned := map[*field.Path]int{} // the items of an export must not flood the events
	for i, e := range placed.exports {
		x.reader.Session = session.ForItem(e.Item)
		at := placed.at[i]
		if at.conflict == "" && len(writers[at.Place]) > 1 {
			who := writers.At(at.Place)
			at.slot.Claimed = []string{who}
			at.conflict = fmt.Sprintf("%s compose the same %s %s: give each a name of its own", who, e.Kind, at)
		}
		o := x.export(e, at)
		if o.Warn {
			warned[e.Path]++
			o.Warn = warned[e.Path] <= limits.MessageItems
		}
		out = out.add(o)
	}
	return out
}

// export makes the object of an export. If only its place is not the one that the input wants, the
// composite can still be ready.
func (x exporter) export(e plan.Export, at placement) Object {
	out := x.decide(e, at)
	if out.Desired != nil { // it is kept
		out.Desired = x.credentials.Again(at.export(e), out.Desired, x.now)
	}
	if at.stays == "" {
		return out
	}
	stays := fmt.Sprintf("keeps the name %s, because %s", at, at.stays)
	if out.Message != "" {
		stays = out.Message + "; it " + stays
	} else {
		stays = fmt.Sprintf("%s %s", e, stays)
	}
	if out.Message = stays; out.State == Available {
		out.Outcome = Outcome{State: Held, Message: stays, Warn: true, Ready: true}
	}
	return out
}

// decide evaluates an export, unless the slot's object is not written in any case.
func (x exporter) decide(e plan.Export, at placement) Object {
	why := at.unknown
	if len(e.Faults) > 0 {
		why = evaluate.Reasons{Failed: e.Faults}
	}
	var o *object.Object
	var left []string
	if at.slot.Data = dataOf(why); at.slot.Decide().Writes() {
		o, left, why = x.make(e, at)
		at.slot.Data = dataOf(why)
	}
	if conflict := ofAnother(e, at, o); conflict != "" {
		at.slot.Claimed, at.conflict, at.see = []string{conflict}, conflict, evaluate.See(at.observed)
		at.unlisted = at.slot.Shown == nil
	}
	switch verdict := at.slot.Decide(); {
	case verdict.Writes():
		return x.write(e, at, o, left)
	case verdict == lifecycle.Conflict, verdict == lifecycle.Release:
		out := keep(e, at)
		message := fmt.Sprintf("%s: %s", e, at.conflict)
		out.Outcome = Outcome{State: Conflict, Message: message, See: at.see, Warn: true, Wrong: true}
		return out
	case at.slot.Want == lifecycle.Unsure: // one message for all items of the list
		out := keep(e, at)
		out.State = Held
		return out
	}
	return hold(e, at, why)
}

// dataOf says whether all data is known.
func dataOf(r evaluate.Reasons) lifecycle.Data {
	switch {
	case r.Empty():
		return lifecycle.Ready
	case len(r.Failed) > 0:
		return lifecycle.Failed
	}
	return lifecycle.Missing
}

// write desires an object.
func (x exporter) write(e plan.Export, at placement, o *object.Object, left []string) Object {
	out := Object{
		Outcome: taken(e, at, left), Name: at.resource, Kind: e.Kind, footprint: footprint{bytes: o.Bytes(), build: o.Struct},
	}
	if !at.observed.Exists() {
		out.Outcome, _ = outcome.Creating(x.composite.Object, x.now, fmt.Sprintf("%s (%s)", e, at))
	}
	if e.Secret.ConnectionDetails {
		out.ConnectionDetails = published(o.Data, func(key string) bool { return slices.Contains(left, key) })
		out.footprint.bytes += o.Bytes()
	}
	out.footprint.keep = func(why string) Object { return hold(e, at, evaluate.Reasons{Failed: []string{why}}) }
	return out
}

// keep desires the object unchanged, if it is the slot's own, and publishes the same connection details: the function's
// own keys, without keys that others have added. An object that the composite does not list is not kept: any client can
// have created it.
func keep(e plan.Export, at placement) Object {
	out := Object{Name: at.resource, Kind: e.Kind}
	if verdict := at.slot.Decide(); at.unlisted || verdict != lifecycle.Keep && verdict != lifecycle.Conflict {
		return out
	}
	out.Desired = object.Held(at.observed)
	held := wire.Of(out.Desired)
	if _, kind, _, _ := object.Identity(held); e.Secret.ConnectionDetails && kind == string(e.Kind) {
		data, _ := object.DataOf(held) // an API server returns no invalid object
		out.ConnectionDetails = published(data, isLeft(e, at))
	}
	return out
}

// hold keeps an existing object exactly as it is, and says why.
func hold(e plan.Export, at placement, why evaluate.Reasons) Object {
	at.slot.Data = dataOf(why)
	out := keep(e, at)
	what := e.String()
	if at.Name != "" && len(at.unknown.Failed) == 0 && !e.Author { // the composite author has named the object
		what += " (" + at.String() + ")"
	}
	out.Outcome = outcome.Of(why, what, "is not created", at.observed.Exists())
	return out
}

// published returns the data to publish as connection details: not what only an object has that the export takes over,
// because the object may belong to a later step.
func published(data map[string]sensitive.Bytes, isLeft func(key string) bool) map[string]sensitive.Bytes {
	out := maps.Clone(data)
	maps.DeleteFunc(out, func(key string, _ sensitive.Bytes) bool { return isLeft(key) })
	return out
}

// make makes the object, unless there is a reason not to. left are the keys that only an object that is taken over has.
func (x exporter) make(e plan.Export, at placement) (o *object.Object, left []string, why evaluate.Reasons) {
	c := x.reader.Collect(e)
	data, m := c.Data(), e.Metadata
	why = evaluate.Reasons{Waiting: c.Waiting(), Failed: c.Failed(), See: c.See()}
	if data != nil {
		data, left = withLeftover(x.reader.Session.Budget, e, at, data, &why)
	}
	cost := budget.Copied(2*len(data), c.Bytes()) // to check and to encode
	if err := x.reader.Session.Budget.Spend(cost); data != nil && err != nil {
		why.Failed = append(why.Failed, e.Path.String()+": was stopped: "+err.Error()+": export fewer keys")
	}
	labels := x.texts(e, m.Labels, m.LabelsExpression, m.LabelValues, &why)
	annotations := x.texts(e, m.Annotations, m.AnnotationsExpression, m.AnnotationValues, &why)
	if !x.reader.Quota.Exceeded() && !x.reader.Quota.Spend(0, object.TextBytes(labels)+object.TextBytes(annotations)) {
		why.Failed = append(why.Failed, e.Path.String()+": is too large: "+collect.TooMuch)
	}
	if !why.Empty() {
		return nil, nil, why
	}
	o = &object.Object{
		Kind: e.Kind, Namespace: at.Namespace, Name: at.Name, Labels: labels, Annotations: annotations,
		State: x.stateOf(e, at, left, data), Type: typeOf(e, at), Immutable: e.Immutable, Data: data,
	}
	return o, left, evaluate.Reasons{Failed: refuse(e, at, o)}
}

// texts returns the labels, or annotations, of an export: the literal ones, those that one expression
// computes, and those that have an expression each. A key must not be both literal and computed.
func (x exporter) texts(
	e plan.Export, spelled map[string]string, computes *expression.Expression, each map[string]*expression.Expression,
	why *evaluate.Reasons,
) map[string]string {
	if computes == nil && len(each) == 0 {
		return spelled
	}
	out := map[string]string{}
	maps.Copy(out, spelled)
	if computes != nil {
		path := computes.Source().Path
		computed, _, err := evaluate.Value(x.reader.Session, computes, x.reader.Session.Scope(e.From), computes.Labels)
		why.Add(path, err)
		for _, k := range plan.SortedKeys(computed) {
			if _, ok := spelled[k]; ok {
				why.Failed = append(why.Failed,
					fmt.Sprintf("%s: returns %q, which is also set literally: keep one of them", path, k))
			}
			out[k] = computed[k]
		}
	}
	for _, k := range plan.SortedKeys(each) {
		text, ok, err := evaluate.Value(x.reader.Session, each[k], x.reader.Session.Scope(e.From), each[k].Name)
		why.Add(each[k].Source().Path, err)
		if ok {
			out[k] = text
		}
	}
	return out
}

// stateOf returns the annotations with the revision of an object, and with its record: the generations that its
// values come from, and what it has because it was taken over.
func (x exporter) stateOf(
	e plan.Export, at placement, left []string, data map[string]sensitive.Bytes,
) map[string]string {
	out := map[string]string{object.AnnotationRevision: strconv.FormatInt(nextRevision(e, at, data), 10)}
	rec := seal.Record{Generators: x.credentials.RecordOf(e, at.resource, data, x.now)}
	if at.before.is || e.Author {
		rec.Export, rec.Kept = e.Name, left
	}
	if len(rec.Generators) > 0 || rec.Export != "" {
		out[rotation.AnnotationRecord] = rec.Text(data)
	}
	return out
}

// refuse returns the errors that the API server would return.
func refuse(e plan.Export, at placement, o *object.Object) []string {
	var failed []string
	for _, err := range o.Validate() {
		failed = append(failed, e.Path.String()+": "+err.Error())
	}
	if !at.observed.Exists() {
		return failed
	}
	if have := object.TypeOf(at.observed); have != o.Type { // both are empty for a ConfigMap
		failed = append(failed, fmt.Sprintf("%s: is %q, but the Secret was created as %q, which is fixed: %s",
			e.At("type"), o.Type, have, anew(e, at)))
	}
	switch {
	case !object.IsImmutable(at.observed):
	case object.Changed(at.observed, o):
		failed = append(failed, fmt.Sprintf("%s: its data changed, but the %s is immutable: %s",
			e.At("immutable"), e.Kind, anew(e, at)))
	case o.Immutable == nil || !*o.Immutable:
		failed = append(failed, fmt.Sprintf("%s: is not true, but the %s was created as immutable, which is fixed: %s",
			e.At("immutable"), e.Kind, anew(e, at)))
	}
	return failed
}

// anew says how an object can get what is fixed on creation.
func anew(e plan.Export, at placement) string {
	return fmt.Sprintf("delete %s %s so that it is created again", e.Kind, at)
}
