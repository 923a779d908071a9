package reconcile

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"google.golang.org/protobuf/proto"
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
	for _, at := range placed.exports {
		x.reader.Session = session.ForItem(at.Item)
		if at.conflict == "" && len(writers[at.Place]) > 1 {
			who := writers.At(at.Place)
			at.slot.Claimed = []string{who}
			at.conflict = fmt.Sprintf("%s compose the same %s %s: give each a name of its own", who, at.Kind, at.Place)
		}
		o := x.export(at)
		if o.Warn {
			warned[at.Path]++
			o.Warn = warned[at.Path] <= limits.MessageItems
		}
		out = out.add(o)
	}
	return out
}

// export makes the object of an export. If only its place is not the one that the input wants, the
// composite can still be ready.
func (x exporter) export(at *placement) Object {
	out := x.decide(at)
	out.Export, out.Place = at.Name, at.Place
	if out.isKept() {
		out.Desired = x.credentials.Again(&at.Export, out.Desired, x.now)
	}
	if at.stays == "" {
		return out
	}
	stays := fmt.Sprintf("keeps the name %s, because %s", at.Place, at.stays)
	if out.Message != "" {
		stays = out.Message + "; it " + stays
	} else {
		stays = fmt.Sprintf("%s %s", at, stays)
	}
	if out.Message = stays; out.State == Available {
		out.Outcome = Outcome{State: Held, Message: stays, Warn: true, Ready: true}
	}
	return out
}

// decide evaluates an export, unless the slot's object is not written in any case.
func (x exporter) decide(at *placement) Object {
	why := at.unknown
	if len(at.Faults) > 0 {
		why = evaluate.Reasons{Failed: at.Faults}
	}
	var o *object.Object
	var left []string
	if at.slot.Data = dataOf(why); at.slot.Decide().Writes() {
		o, left, why = x.make(at)
		at.slot.Data = dataOf(why)
	}
	if conflict := ofAnother(at, o); conflict != "" {
		at.slot.Claimed, at.conflict, at.see = []string{conflict}, conflict, evaluate.See(at.Observed)
		at.Unlisted = at.slot.Shown == nil
	}
	switch verdict := at.slot.Decide(); {
	case verdict.Writes():
		return x.write(at, o, left)
	case verdict == lifecycle.Conflict, verdict == lifecycle.Release:
		out := keep(at)
		message := fmt.Sprintf("%s: %s", at, at.conflict)
		out.Outcome = Outcome{State: Conflict, Message: message, See: at.see, Warn: true, Wrong: true}
		return out
	case at.slot.Want == lifecycle.Unsure: // one message for all items of the list
		out := keep(at)
		out.State = Held
		return out
	}
	return hold(at, why)
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
func (x exporter) write(at *placement, o *object.Object, left []string) Object {
	out := Object{
		Outcome: taken(at, left), Name: at.Composed, Kind: at.Kind, Desired: o.Struct(), footprint: footprint{at: at},
	}
	if !at.Observed.Exists() {
		out.Outcome, _ = outcome.Creating(x.composite.Object, x.now, fmt.Sprintf("%s (%s)", at, at.Place))
	}
	if at.Secret.ConnectionDetails {
		out.ConnectionDetails = published(o.Data, func(key string) bool { return slices.Contains(left, key) })
	}
	return out
}

// keep desires the object unchanged, if it is the slot's own, and publishes the same connection details: the function's
// own keys, without keys that others have added. An object that the composite does not list is not kept: any client can
// have created it.
func keep(at *placement) Object {
	out := Object{Name: at.Composed, Kind: at.Kind}
	if verdict := at.slot.Decide(); at.Unlisted || verdict != lifecycle.Keep && verdict != lifecycle.Conflict {
		return out
	}
	out.Desired = object.Held(at.Observed)
	held := wire.Of(out.Desired)
	if _, kind, _, _ := object.Identity(held); at.Secret.ConnectionDetails && kind == string(at.Kind) {
		data, _ := object.DataOf(held) // an API server returns no invalid object
		out.ConnectionDetails = published(data, isLeft(at))
	}
	return out
}

// hold keeps an existing object exactly as it is, and says why.
func hold(at *placement, why evaluate.Reasons) Object {
	at.slot.Data = dataOf(why)
	out := keep(at)
	what := at.String()
	if at.Place.Name != "" && len(at.unknown.Failed) == 0 && !at.Author { // the composite author has named the object
		what += " (" + at.Place.String() + ")"
	}
	out.Outcome = outcome.Of(why, what, "is not created", at.Observed.Exists())
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
func (x exporter) make(at *placement) (o *object.Object, left []string, why evaluate.Reasons) {
	c := x.reader.Collect(at.Export.Export)
	data, m := c.Data(), at.Metadata
	why = evaluate.Reasons{Waiting: c.Waiting(), Failed: c.Failed(), See: c.See()}
	if data != nil {
		data, left = withLeftover(x.reader.Session.Budget, at, data, &why)
	}
	cost := budget.Copied(2*len(data), c.Bytes()) // to check and to encode
	if err := x.reader.Session.Budget.Spend(cost); data != nil && err != nil {
		why.Failed = append(why.Failed, at.Path.String()+": was stopped: "+err.Error()+": export fewer keys")
	}
	labels := x.texts(at.From, m.Labels, m.LabelsExpression, m.LabelValues, &why)
	annotations := x.texts(at.From, m.Annotations, m.AnnotationsExpression, m.AnnotationValues, &why)
	if !x.reader.Quota.Exceeded() && !x.reader.Quota.Spend(0, object.TextBytes(labels)+object.TextBytes(annotations)) {
		why.Failed = append(why.Failed, at.Path.String()+": is too large: "+collect.TooMuch)
	}
	if !why.Empty() {
		return nil, nil, why
	}
	o = &object.Object{
		Kind: at.Kind, Namespace: at.Place.Namespace, Name: at.Place.Name, Labels: labels, Annotations: annotations,
		State: x.stateOf(at, left, data), Type: typeOf(at), Immutable: at.Immutable, Data: data,
	}
	return o, left, evaluate.Reasons{Failed: refuse(at, o)}
}

// texts returns the labels, or annotations, of an export: the literal ones, those that one expression
// computes, and those that have an expression each. A key must not be both literal and computed.
func (x exporter) texts(
	from string, spelled map[string]string, computes *expression.Expression, each map[string]*expression.Expression,
	why *evaluate.Reasons,
) map[string]string {
	if computes == nil && len(each) == 0 {
		return spelled
	}
	out := map[string]string{}
	maps.Copy(out, spelled)
	if computes != nil {
		path := computes.Source().Path
		computed, _, err := evaluate.Value(x.reader.Session, computes, x.reader.Session.Scope(from), computes.Labels)
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
		text, ok, err := evaluate.Value(x.reader.Session, each[k], x.reader.Session.Scope(from), each[k].Name)
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
	at *placement, left []string, data map[string]sensitive.Bytes,
) map[string]string {
	out := map[string]string{object.AnnotationRevision: strconv.FormatInt(nextRevision(at, data), 10)}
	rec := seal.Record{Generators: x.credentials.RecordOf(&at.Export, x.now)}
	if at.before.is || at.Author {
		rec.Export, rec.Kept = at.Name, left
	}
	if len(rec.Generators) > 0 || rec.Export != "" {
		out[rotation.AnnotationRecord] = rec.Text(data)
	}
	return out
}

// refuse returns the errors that the API server would return.
func refuse(at *placement, o *object.Object) []string {
	var failed []string
	for _, err := range o.Validate() {
		failed = append(failed, at.Path.String()+": "+err.Error())
	}
	if !at.Observed.Exists() {
		return failed
	}
	if have := object.TypeOf(at.Observed); have != o.Type { // both are empty for a ConfigMap
		failed = append(failed, fmt.Sprintf("%s: is %q, but the Secret was created as %q, which is fixed: %s",
			at.At("type"), o.Type, have, anew(at)))
	}
	switch {
	case !object.IsImmutable(at.Observed):
	case object.Changed(at.Observed, o):
		failed = append(failed, fmt.Sprintf("%s: its data changed, but the %s is immutable: %s",
			at.At("immutable"), at.Kind, anew(at)))
	case o.Immutable == nil || !*o.Immutable:
		failed = append(failed, fmt.Sprintf("%s: is not true, but the %s was created as immutable, which is fixed: %s",
			at.At("immutable"), at.Kind, anew(at)))
	}
	return failed
}

// anew says how an object can get what is fixed on creation.
func anew(at *placement) string {
	return fmt.Sprintf("delete %s %s so that it is created again", at.Kind, at.Place)
}

// objects are the exported objects, in the order of the input.
type objects []Object

// add adds an object. Objects that do not fit into any response are kept as they were observed immediately,
// so that their data is not in memory together.
func (list objects) add(o Object) objects {
	o.footprint.bytes = o.bytes()
	list = append(list, o)
	total := 0
	for i := range list {
		total += list[i].footprint.bytes
	}
	list.keep(total - limits.ResponseBytes)
	return list
}

// isKept reports whether the object is desired as it was observed.
func (o *Object) isKept() bool { return o.Desired != nil && o.footprint.at == nil }

// bytes of the object and its connection details in a response.
func (o *Object) bytes() int {
	n := proto.Size(o.Desired)
	for k, v := range o.ConnectionDetails {
		n += len(k) + v.Len()
	}
	return n
}

// keep keeps objects as they were observed, until the response has so many bytes fewer. It reports whether there was
// one.
func (list objects) keep(excess int) (kept bool) {
	for excess > 0 {
		o := list.largest()
		if o == nil {
			break
		}
		excess -= o.footprint.saved
		kept, *o = true, o.asObserved(fmt.Sprintf("with its %d bytes the response is larger than the %d that "+
			"Crossplane accepts: export fewer keys, or export it in another composite",
			o.footprint.bytes, limits.ResponseBytes))
	}
	return kept
}

// largest returns the object that saves the most bytes if it is kept, first among those of the composite author, or nil
// if no object saves any. Of several, it is the last one.
func (list objects) largest() (out *Object) {
	for i := range list {
		o := &list[i]
		if o.footprint.at != nil && o.footprint.saved == 0 { // measured once, because there may be many
			observed := o.asObserved("")
			if o.footprint.saved = o.footprint.bytes - observed.footprint.bytes; o.footprint.saved <= 0 {
				o.footprint.at = nil
			}
		}
		switch {
		case o.footprint.at == nil:
		case out == nil, o.Author && !out.Author, o.Author == out.Author && o.footprint.saved >= out.footprint.saved:
			out = o
		}
	}
	return out
}

// asObserved returns the object as it was observed, with the reason.
func (o *Object) asObserved(why string) Object {
	out := hold(o.footprint.at, evaluate.Reasons{Failed: []string{why}})
	out.Author = o.Author
	out.footprint.bytes = out.bytes()
	return out
}

// Keep keeps objects as they were observed until the response has so many bytes fewer: first those of
// the composite author, and first those that save the most. An object that does not exist is not
// created. Keep reports whether an object was kept.
func (r *Result) Keep(excess int) bool { return objects(r.Objects).keep(excess) }
