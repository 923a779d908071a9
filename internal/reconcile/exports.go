package reconcile

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"google.golang.org/protobuf/proto"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/crossplane-contrib/function-export/internal/budget"
	"github.com/crossplane-contrib/function-export/internal/expression"
	"github.com/crossplane-contrib/function-export/internal/generator"
	"github.com/crossplane-contrib/function-export/internal/limits"
	"github.com/crossplane-contrib/function-export/internal/object"
	"github.com/crossplane-contrib/function-export/internal/plan"
	"github.com/crossplane-contrib/function-export/internal/sensitive"
	"github.com/crossplane-contrib/function-export/internal/wire"
)

// An exporter makes the objects of exports.
type exporter struct {
	*session

	desired map[string]wire.Struct   // by earlier steps
	from    map[string]generatedFrom // by generator: what its values come from
}

// objects are the exported objects, in the order of the input.
type objects []Object

// makeExports makes the objects of all exports. Two exports of the same object are in conflict.
func makeExports(s *session, req *request, placed placements, made generations) objects {
	out := objects(placed.possible) // they are in the response in any case
	warned := map[*field.Path]int{} // the items of an export must not flood the events
	for i, e := range placed.exports {
		ex := exporter{s.forItem(e.Item), req.Desired, made.inUse}
		at := placed.at[i]
		if who := made.writers[at.target]; at.conflict == "" && len(who) > 1 {
			at.conflict = fmt.Sprintf("%s compose the same %s %s: give each a name of its own", writersText(who), e.Kind, at)
		}
		o := ex.export(e, at)
		if o.Warn {
			warned[e.Path]++
			o.Warn = warned[e.Path] <= limits.MessageItems
		}
		out = out.add(o)
	}
	return out
}

// add adds an object. Objects that do not fit into any response are kept as they were observed immediately,
// so that their data is not in memory together.
func (all objects) add(o Object) objects {
	if o.footprint.build == nil {
		o.footprint.bytes = o.bytes()
	}
	all = append(all, o)
	total := 0
	for _, o := range all {
		total += o.footprint.bytes
	}
	all.keep(total - limits.ResponseBytes)
	if last := &all[len(all)-1]; last.footprint.build != nil {
		last.Desired = last.footprint.build()
		last.footprint.build = nil // with the data
	}
	return all
}

// bytes of the object and its connection details in a response.
func (o Object) bytes() int {
	n := proto.Size(o.Desired)
	for k, v := range o.ConnectionDetails {
		n += len(k) + v.Len()
	}
	return n
}

func (all objects) keep(excess int) bool {
	if excess <= 0 {
		return false
	}
	var changed []int // the last ones first
	for i := len(all) - 1; i >= 0; i-- {
		if f := &all[i].footprint; f.keep != nil {
			if f.saved == 0 {
				f.saved = f.bytes - f.keep("").bytes()
			}
			changed = append(changed, i)
		}
	}
	slices.SortStableFunc(changed, func(i, j int) int {
		a, b := &all[i], &all[j]
		switch {
		case a.Author && !b.Author:
			return -1
		case b.Author && !a.Author:
			return 1
		}
		return cmp.Compare(b.footprint.saved, a.footprint.saved)
	})
	kept := false
	for _, i := range changed {
		o := &all[i]
		if excess > 0 && o.footprint.saved > 0 {
			excess -= o.footprint.saved
			kept, *o = true, o.asObserved()
		}
	}
	return kept
}

// asObserved returns the object as it was observed, and says why.
func (o Object) asObserved() Object {
	out := o.footprint.keep(fmt.Sprintf("with its %d bytes the response is larger than the %d that Crossplane accepts: "+
		"export fewer keys, or export it in another composite", o.footprint.bytes, limits.ResponseBytes))
	out.Author = o.Author
	out.footprint.bytes = out.bytes()
	return out
}

// export makes the object of an export. If only its place is not the one that the input wants, the
// composite can still be ready.
func (ex exporter) export(e plan.Export, at placement) Object {
	out := ex.decide(e, at)
	stays := fmt.Sprintf("keeps the name %s, because %s", at, at.stays)
	switch {
	case at.stays == "":
	case out.State == Available:
		if out.Message != "" {
			stays = out.Message + "; it " + stays
		} else {
			stays = fmt.Sprintf("%s %s", e, stays)
		}
		out.Outcome = Outcome{State: Held, Message: stays, Warn: true, Aside: true}
	default:
		out.Message += "; it " + stays
	}
	return out
}

// decide evaluates an export, and decides whether its object is created or changed as a whole, kept as it
// is, or not touched.
func (ex exporter) decide(e plan.Export, at placement) Object {
	switch {
	case at.kept:
		out := keep(e, at)
		out.State = Held
		return out
	case at.conflict != "":
		return inConflict(e, at)
	case len(e.Faults) > 0:
		return hold(e, at, reasons{failed: e.Faults})
	case !at.unknown.empty():
		return hold(e, at, at.unknown)
	}
	o, left, why := ex.make(e, at)
	if !why.empty() {
		return hold(e, at, why)
	}
	if at.conflict = ofAnother(e, at, o); at.conflict != "" {
		at.see = see(at.observed)
		return inConflict(e, at)
	}
	if failed := refuse(e, at, o); len(failed) > 0 {
		return hold(e, at, reasons{failed: failed})
	}
	out := Object{
		Outcome: taken(e, at, left), Name: at.resource, Kind: e.Kind, footprint: footprint{bytes: o.Bytes(), build: o.Struct},
	}
	if !at.observed.Exists() {
		out.Outcome, _ = ex.creating(fmt.Sprintf("%s (%s)", e, at))
	}
	if e.Secret.ConnectionDetails {
		out.ConnectionDetails = published(o.Data, func(key string) bool { return slices.Contains(left, key) })
		out.footprint.bytes += o.Bytes()
	}
	out.footprint.keep = func(why string) Object { return hold(e, at, reasons{failed: []string{why}}) }
	return out
}

func inConflict(e plan.Export, at placement) Object {
	out := keep(e, at)
	if at.mayBeForged(e) {
		out.Desired = nil
	}
	message := fmt.Sprintf("%s: %s", e, at.conflict)
	out.Outcome = Outcome{State: Conflict, Message: message, See: at.see, Warn: true, Wrong: true}
	return out
}

// keep desires the observed object unchanged, and publishes the same connection details: the function's
// own keys, without keys that others have added.
func keep(e plan.Export, at placement) Object {
	out := Object{Name: at.resource, Kind: e.Kind, Desired: object.Held(at.observed)}
	held := wire.Of(out.Desired)
	if _, kind, _, _ := object.Identity(held); e.Secret.ConnectionDetails && kind == string(e.Kind) {
		data, _ := object.DataOf(held) // an API server returns no invalid object
		out.ConnectionDetails = published(data, isLeft(e, at))
	}
	return out
}

// published returns the data to publish as connection details: not what only an object has that the export takes over,
// because the object may belong to a later step.
func published(data map[string]sensitive.Bytes, isLeft func(key string) bool) map[string]sensitive.Bytes {
	out := maps.Clone(data)
	maps.DeleteFunc(out, func(key string, _ sensitive.Bytes) bool { return isLeft(key) })
	return out
}

// hold keeps an existing object exactly as it is, and says why.
func hold(e plan.Export, at placement, why reasons) Object {
	out := keep(e, at)
	what := e.String()
	if at.name != "" && len(at.unknown.failed) == 0 && !e.Author { // the composite author has named the object
		what += " (" + at.String() + ")"
	}
	out.Outcome = why.outcome(what, "is not created", out.Desired != nil)
	if !rulesHold || at.mayBeForged(e) {
		out.Desired = nil
	}
	return out
}

var tooMuch = fmt.Sprintf("all exports of the composite's author together can have at most %d keys and %d bytes",
	limits.AuthorKeys, limits.AuthorBytes)

// make makes the object, unless there is a reason not to. left are the keys that only an object that is taken over has.
func (ex exporter) make(e plan.Export, at placement) (o *object.Object, left []string, why reasons) {
	c := ex.collect(e)
	data, m := c.Data(), e.Metadata
	why = reasons{waiting: c.Waiting(), failed: c.Failed(), see: c.See()}
	if data != nil {
		data, left = ex.withLeftover(e, at, data, &why)
	}
	if err := ex.budget.Spend(budget.Copied(2*len(data), c.Bytes())); data != nil && err != nil { // check and encode
		why.failed = append(why.failed, e.Path.String()+": was stopped: "+err.Error()+": export fewer keys")
	}
	labels := ex.texts(e, m.Labels, m.LabelsExpression, m.LabelValues, &why)
	annotations := ex.texts(e, m.Annotations, m.AnnotationsExpression, m.AnnotationValues, &why)
	if !ex.quota.exceeded() && !ex.quota.spend(0, sizeOfTexts(labels)+sizeOfTexts(annotations)) {
		why.failed = append(why.failed, e.Path.String()+": is too large: "+tooMuch)
	}
	if !why.empty() {
		return nil, nil, why
	}
	o = &object.Object{
		Kind: e.Kind, Namespace: at.namespace, Name: at.name, Labels: labels, Annotations: annotations,
		State: stateOf(e, at, left, generatedState(e, ex.from), data), Type: typeOf(e, at), Immutable: e.Immutable, Data: data,
	}
	if ex.inputs.req.Later && !e.Author {
		o.State[annotationStep] = stepLater
	}
	return o, left, reasons{}
}

// texts returns the labels, or annotations, of an export: the literal ones, those that one expression
// computes, and those that have an expression each. A key must not be both literal and computed.
func (ex exporter) texts(
	e plan.Export, spelled map[string]string, all *expression.Expression, each map[string]*expression.Expression,
	why *reasons,
) map[string]string {
	if all == nil && len(each) == 0 {
		return spelled
	}
	out := map[string]string{}
	maps.Copy(out, spelled)
	if all != nil {
		path := all.Source().Path
		computed, _, err := valueOf(ex.session, all, ex.scope(e.From), all.Labels)
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
		text, ok, err := valueOf(ex.session, each[k], ex.scope(e.From), each[k].Name)
		why.add(each[k].Source().Path, err)
		if ok {
			out[k] = text
		}
	}
	return out
}

// generatedState returns the record of the generations whose values an export may have.
func generatedState(e plan.Export, from map[string]generatedFrom) map[string]generatedFrom {
	all := map[string]generatedFrom{}
	for _, name := range e.Generators {
		if f := from[name]; f.UID != "" {
			f.Candidate = nil
			all[name] = f
		}
	}
	for _, name := range e.Candidates {
		if f := from[name]; f.Candidate != nil {
			one := all[name]
			one.Candidate = f.Candidate
			all[name] = one
		}
	}
	return all
}

// stateOf returns the annotations with the revision of an object, and with its record: the generations that its
// values come from, and what it has because it was taken over.
func stateOf(
	e plan.Export, at placement, left []string, generated map[string]generatedFrom, data map[string]sensitive.Bytes,
) map[string]string {
	out := map[string]string{annotationRevision: strconv.FormatInt(nextRevision(e, at, data), 10)}
	rec := exportRecord{Generators: generated}
	if at.isTakenOver(e) || e.Author {
		rec.Export, rec.Kept = e.Name, left
	}
	if len(generated) > 0 || rec.Export != "" {
		text, _ := json.Marshal(rec) //nolint:errchkjson // it has only strings, numbers and truth values
		out[generator.AnnotationRecord] = generator.Seal(generator.AnnotationRecord, data, string(text))
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
	anew := fmt.Sprintf("delete %s %s so that it is created again", e.Kind, at)
	if have := object.TypeOf(at.observed); have != o.Type { // both are empty for a ConfigMap
		failed = append(failed, fmt.Sprintf("%s: is %q, but the Secret was created as %q, which is fixed: %s",
			e.At("type"), o.Type, have, anew))
	}
	switch {
	case !object.IsImmutable(at.observed):
	case object.Changed(at.observed, o):
		failed = append(failed, fmt.Sprintf("%s: its data changed, but the %s is immutable: %s",
			e.At("immutable"), e.Kind, anew))
	case o.Immutable == nil || !*o.Immutable:
		failed = append(failed, fmt.Sprintf("%s: is not true, but the %s was created as immutable, which is fixed: %s",
			e.At("immutable"), e.Kind, anew))
	}
	return failed
}

// Keep keeps objects as they were observed until the response has so many bytes fewer: first those of
// the composite author, and first those that save the most. An object that does not exist is not
// created. Keep reports whether an object was kept.
func (r *Result) Keep(excess int) bool { return objects(r.Objects).keep(excess) }
