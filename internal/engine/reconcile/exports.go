package reconcile

import (
	"fmt"
	"maps"
	"slices"
	"strconv"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/crossplane-contrib/function-export/internal/engine/budget"
	"github.com/crossplane-contrib/function-export/internal/engine/expression"
	"github.com/crossplane-contrib/function-export/internal/engine/lifecycle"
	"github.com/crossplane-contrib/function-export/internal/engine/limits"
	"github.com/crossplane-contrib/function-export/internal/engine/object"
	"github.com/crossplane-contrib/function-export/internal/engine/plan"
	"github.com/crossplane-contrib/function-export/internal/engine/rotation"
	"github.com/crossplane-contrib/function-export/internal/engine/sensitive"
	"github.com/crossplane-contrib/function-export/internal/engine/wire"
)

// An exporter makes the objects of exports.
type exporter struct {
	session   *session
	desired   map[string]wire.Struct // by earlier steps
	generated *generations
}

// makeExports makes the objects of all exports. Two exports of the same object are in conflict.
func makeExports(s *session, req *request, placed placements, generated generations) objects {
	out := objects(placed.possible) // they are in the response in any case
	warned := map[*field.Path]int{} // the items of an export must not flood the events
	for i, e := range placed.exports {
		x := exporter{s.forItem(e.Item), req.Desired, &generated}
		at := placed.at[i]
		if who := generated.writers[at.target]; at.conflict == "" && len(who) > 1 {
			at.slot.Claimed = []string{writersText(who)}
			at.conflict = fmt.Sprintf("%s compose the same %s %s: give each a name of its own", writersText(who), e.Kind, at)
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
		out.Desired = x.generated.again(at, out.Desired, x.session.inputs.req.Now)
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
		why = reasons{failed: e.Faults}
	}
	var o *object.Object
	var left []string
	if at.slot.Data = why.data(); at.slot.Decide().Writes() {
		o, left, why = x.make(e, at)
		at.slot.Data = why.data()
	}
	if conflict := ofAnother(e, at, o); conflict != "" {
		at.slot.Claimed, at.conflict, at.see = []string{conflict}, conflict, see(at.observed)
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

// data says whether all data is known.
func (r *reasons) data() lifecycle.Data {
	switch {
	case r.empty():
		return lifecycle.Ready
	case len(r.failed) > 0:
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
		out.Outcome, _ = x.session.creating(fmt.Sprintf("%s (%s)", e, at))
	}
	if e.Secret.ConnectionDetails {
		out.ConnectionDetails = published(o.Data, func(key string) bool { return slices.Contains(left, key) })
		out.footprint.bytes += o.Bytes()
	}
	out.footprint.keep = func(why string) Object { return hold(e, at, reasons{failed: []string{why}}) }
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
func hold(e plan.Export, at placement, why reasons) Object {
	at.slot.Data = why.data()
	out := keep(e, at)
	what := e.String()
	if at.name != "" && len(at.unknown.failed) == 0 && !e.Author { // the composite author has named the object
		what += " (" + at.String() + ")"
	}
	out.Outcome = why.outcome(what, "is not created", at.observed.Exists())
	return out
}

// published returns the data to publish as connection details: not what only an object has that the export takes over,
// because the object may belong to a later step.
func published(data map[string]sensitive.Bytes, isLeft func(key string) bool) map[string]sensitive.Bytes {
	out := maps.Clone(data)
	maps.DeleteFunc(out, func(key string, _ sensitive.Bytes) bool { return isLeft(key) })
	return out
}

var tooMuch = fmt.Sprintf("all exports of the composite's author together can have at most %d keys and %d bytes",
	limits.AuthorKeys, limits.AuthorBytes)

// make makes the object, unless there is a reason not to. left are the keys that only an object that is taken over has.
func (x exporter) make(e plan.Export, at placement) (o *object.Object, left []string, why reasons) {
	c := x.collect(e)
	data, m := c.Data(), e.Metadata
	why = reasons{waiting: c.Waiting(), failed: c.Failed(), see: c.See()}
	if data != nil {
		data, left = x.withLeftover(e, at, data, &why)
	}
	cost := budget.Copied(2*len(data), c.Bytes()) // to check and to encode
	if err := x.session.budget.Spend(cost); data != nil && err != nil {
		why.failed = append(why.failed, e.Path.String()+": was stopped: "+err.Error()+": export fewer keys")
	}
	labels := x.texts(e, m.Labels, m.LabelsExpression, m.LabelValues, &why)
	annotations := x.texts(e, m.Annotations, m.AnnotationsExpression, m.AnnotationValues, &why)
	if !x.session.quota.exceeded() && !x.session.quota.spend(0, sizeOfTexts(labels)+sizeOfTexts(annotations)) {
		why.failed = append(why.failed, e.Path.String()+": is too large: "+tooMuch)
	}
	if !why.empty() {
		return nil, nil, why
	}
	o = &object.Object{
		Kind: e.Kind, Namespace: at.namespace, Name: at.name, Labels: labels, Annotations: annotations,
		State: x.stateOf(e, at, left, data), Type: typeOf(e, at), Immutable: e.Immutable, Data: data,
	}
	if x.session.inputs.req.Later && !e.Author {
		o.State[annotationStep] = stepLater
	}
	return o, left, reasons{failed: refuse(e, at, o)}
}

// texts returns the labels, or annotations, of an export: the literal ones, those that one expression
// computes, and those that have an expression each. A key must not be both literal and computed.
func (x exporter) texts(
	e plan.Export, spelled map[string]string, computes *expression.Expression, each map[string]*expression.Expression,
	why *reasons,
) map[string]string {
	if computes == nil && len(each) == 0 {
		return spelled
	}
	out := map[string]string{}
	maps.Copy(out, spelled)
	if computes != nil {
		path := computes.Source().Path
		computed, _, err := valueOf(x.session, computes, x.session.scope(e.From), computes.Labels)
		why.add(path, err)
		for _, k := range plan.SortedKeys(computed) {
			if _, ok := spelled[k]; ok {
				why.failed = append(why.failed,
					fmt.Sprintf("%s: returns %q, which is also set literally: keep one of them", path, k))
			}
			out[k] = computed[k]
		}
	}
	for _, k := range plan.SortedKeys(each) {
		text, ok, err := valueOf(x.session, each[k], x.session.scope(e.From), each[k].Name)
		why.add(each[k].Source().Path, err)
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
	out := map[string]string{annotationRevision: strconv.FormatInt(nextRevision(e, at, data), 10)}
	rec := exportRecord{Generators: x.generated.recordOf(e, at.resource, data, x.session.inputs.req.Now)}
	if at.before.is || e.Author {
		rec.Export, rec.Kept = e.Name, left
	}
	if len(rec.Generators) > 0 || rec.Export != "" {
		out[rotation.AnnotationRecord] = rec.sealed(data)
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
