package plan

import (
	"context"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"unicode/utf8"

	"google.golang.org/protobuf/types/known/structpb"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/crossplane-contrib/function-export/internal/environment"
	"github.com/crossplane-contrib/function-export/internal/expression"
	"github.com/crossplane-contrib/function-export/internal/limits"
	"github.com/crossplane-contrib/function-export/internal/object"
	"github.com/crossplane-contrib/function-export/internal/sensitive"
)

// A tenantList is a field that lists what the composite's author asks for.
type tenantList struct {
	field string
	kind  object.Kind
	// entry makes an empty entry of the list.
	entry func() tenantEntry
}

// tenantLists, in the order in which they are evaluated.
var tenantLists = []tenantList{ //nolint:gochecknoglobals // a table
	{"secretExpressions", object.Secret, func() tenantEntry { return &destinationExpression{} }},
	{"configMapExpressions", object.ConfigMap, func() tenantEntry { return &destinationExpression{} }},
	{"dynamicSecrets", object.Secret, func() tenantEntry { return &dynamicExport{} }},
	{"dynamicConfigMaps", object.ConfigMap, func() tenantEntry { return &dynamicExport{} }},
}

// A tenantEntry is one entry of a list: one key of an object, or several.
type tenantEntry interface{ asked() asked }

// asked is what an entry asks for.
type asked struct {
	name, key, value    string
	field               string // that value stands in
	want                expression.Want
	several             string // how an entry of this shape gives several keys
	labels, annotations map[string]string
}

// A destinationExpression is an entry as Azure Service Operator has it: without a
// key, value gives several.
type destinationExpression struct {
	Name        string            `json:"name"`
	Key         string            `json:"key"`
	Value       string            `json:"value"`
	Labels      map[string]string `json:"labels"`
	Annotations map[string]string `json:"annotations"`
}

func (d *destinationExpression) asked() asked {
	a := asked{name: d.Name, key: d.Key, value: d.Value, field: "value", labels: d.Labels, annotations: d.Annotations}
	a.want, a.several = expression.WantText, "without a key, value is a map of several"
	if d.Key == "" {
		a.want, a.several = expression.WantTextMap, "with a key, value is its value"
	}
	return a
}

// A dynamicExport is an entry as that operator's design has it: valueMap gives
// several keys.
type dynamicExport struct {
	Name     string `json:"name"`
	Key      string `json:"key"`
	Value    string `json:"value"`
	ValueMap string `json:"valueMap"`
}

func (d *dynamicExport) asked() asked {
	if d.ValueMap != "" {
		return asked{name: d.Name, key: d.Key, value: d.ValueMap, field: "valueMap", want: expression.WantTextMap}
	}
	return asked{name: d.Name, key: d.Key, value: d.Value, field: "value", want: expression.WantText}
}

// A wish is all that the composite's author asks for.
type wish struct {
	exports []export

	// faults of a list, not of an object.
	faults []string

	// unclear are the kinds of which it is not known what is asked for. Nothing of
	// them is dropped.
	unclear map[object.Kind]bool

	characters, entries int
}

// read what the author of a composite asks for.
func (t *tenants) read(composite *structpb.Struct) *wish {
	w := &wish{unclear: map[object.Kind]bool{}}
	at, ok := environment.Get(composite, t.at)
	if _, null := at.GetKind().(*structpb.Value_NullValue); !ok || null {
		return w
	}
	path := field.NewPath(t.at.String())
	if at.GetStructValue() == nil {
		w.refuse(path, "must be an object, but is "+kindOf(at), object.Secret, object.ConfigMap)
		return w
	}
	lists := at.GetStructValue().GetFields()
	for _, l := range tenantLists {
		w.entries += len(lists[l.field].GetListValue().GetValues())
	}
	if w.entries > limits.TenantEntries {
		w.refuse(path, fmt.Sprintf("has %d entries in its lists, over the limit of %d", w.entries, limits.TenantEntries), object.Secret, object.ConfigMap)
		return w
	}
	for _, l := range tenantLists {
		switch v := lists[l.field]; v.GetKind().(type) {
		case nil, *structpb.Value_NullValue:
		case *structpb.Value_ListValue:
			for i, e := range v.GetListValue().GetValues() {
				t.readEntry(w, l, path.Child(l.field).Index(i), e)
			}
		default:
			w.refuse(path.Child(l.field), "must be a list, but is "+kindOf(v), l.kind)
		}
	}
	return w
}

// refuse what the author wrote. Of these kinds it is not known what is asked for.
func (w *wish) refuse(at *field.Path, why string, unclear ...object.Kind) {
	w.faults = append(w.faults, at.String()+": "+why)
	for _, k := range unclear {
		w.unclear[k] = true
	}
}

// readEntry adds one entry to the object that it names.
func (t *tenants) readEntry(w *wish, l tenantList, at *field.Path, v *structpb.Value) {
	entry := l.entry()
	d := &decoder{near: map[string]bool{}}
	d.value(at, v, reflect.ValueOf(entry).Elem())
	a := entry.asked()
	faults := make([]string, 0, len(d.faults))
	for _, f := range d.faults {
		faults = append(faults, f.Field+": "+f.Detail)
	}
	if err := object.ValidateName(a.name); err != nil {
		why := err.Error()
		if a.name == "" {
			why = "must be set: the name of the " + string(l.kind)
		}
		if !d.explains(field.Required(at.Child("name"), why)) {
			faults = append(faults, at.Child("name").String()+": "+why)
		}
		w.faults = append(w.faults, faults...)
		w.unclear[l.kind] = true
		return
	}
	e := w.export(l.kind, a.name, at)
	if len(faults) == 0 {
		faults = append(e.describe(at, a), t.addData(w, e, at, a)...)
	}
	e.faults = append(e.faults, faults...)
}

// export is the object of that name, which several entries may ask for.
func (w *wish) export(kind object.Kind, name string, at *field.Path) *export {
	composed := tenantName(kind, name)
	i := slices.IndexFunc(w.exports, func(e export) bool { return e.name == composed })
	if i < 0 {
		i = len(w.exports)
		w.exports = append(w.exports, export{kind: kind, name: composed, title: name, tenant: true, path: at, metadata: metadata{name: name}})
		if kind == object.Secret {
			w.exports[i].secret.objectType = "Opaque"
		}
	}
	return &w.exports[i]
}

// describe adds the labels and annotations of an entry. Two entries may have the
// same ones, and no others of one key.
func (e *export) describe(at *field.Path, a asked) []string {
	var faults []string
	add := func(what string, all *map[string]string, more map[string]string) {
		if len(more) > limits.TenantLabels {
			faults = append(faults, fmt.Sprintf("%s: has %d items, over the limit of %d", at.Child(what), len(more), limits.TenantLabels))
			return
		}
		for _, k := range sortedKeys(more) {
			if v, ok := (*all)[k]; ok && v != more[k] {
				faults = append(faults, fmt.Sprintf("%s: another entry gives %s another value of %q: keep one of them", at.Child(what), e, k))
			}
		}
		if *all == nil {
			*all = map[string]string{}
		}
		maps.Copy(*all, more)
	}
	add("labels", &e.metadata.labels, a.labels)
	add("annotations", &e.metadata.annotations, a.annotations)
	for _, err := range slices.Concat(object.ValidateLabels(a.labels), object.ValidateAnnotations(a.annotations)) {
		if err != nil {
			faults = append(faults, at.String()+": "+err.Error())
		}
	}
	return faults
}

// addData adds the key of an entry, or its keys.
func (t *tenants) addData(w *wish, e *export, at *field.Path, a asked) []string {
	value := at.Child(a.field)
	switch {
	case a.value == "":
		return []string{at.Child("value").String() + ": must be set"}
	case a.want == expression.WantTextMap && a.key != "":
		return []string{at.Child("key").String() + ": must not be set beside valueMap, which gives its keys itself"}
	case a.want == expression.WantText && a.key == "":
		return []string{at.Child("key").String() + ": must be set, for value is the value of one key"}
	case a.key != "" && object.ValidateKey(a.key) != nil:
		return []string{at.Child("key").String() + ": " + object.ValidateKey(a.key).Error()}
	}
	if w.characters += utf8.RuneCountInString(a.value); w.characters > limits.TenantCharacters {
		return []string{fmt.Sprintf("%s: all expressions of the composite together have more than %d characters: shorten them", value, limits.TenantCharacters)}
	}
	x, faults := t.expression(expression.Source{Text: a.value, Path: value.String(), Want: a.want}, e.kind, a.several)
	if len(faults) > 0 {
		return faults
	}
	added := entry{path: value.String(), key: a.key, value: x}
	for _, k := range added.spelledKeys() {
		if err := object.ValidateKey(k); err != nil {
			faults = append(faults, value.String()+": "+err.Error())
		}
		for _, other := range e.data {
			if slices.Contains(other.spelledKeys(), k) {
				faults = append(faults, fmt.Sprintf("%s: key %q of %s is written by %s, too: keep one of them", value, k, e, other.path))
			}
		}
	}
	e.data = append(e.data, added)
	return faults
}

// spelledKeys of an entry are known before it is evaluated.
func (d entry) spelledKeys() []string {
	if d.key != "" {
		return []string{d.key}
	}
	return d.value.Keys()
}

// expression compiles one, and refuses what it may not use.
func (t *tenants) expression(s expression.Source, kind object.Kind, several string) (*expression.Expression, []string) {
	compile := func() compiledExpression {
		x, faults := t.env.Compile(s)
		var texts []string
		for _, f := range faults {
			text := f.Path + ": " + f.Message
			if f.Mistyped && several != "" {
				text += " (" + several + ")"
			}
			texts = append(texts, text)
		}
		if x != nil {
			texts = t.refuse(x, kind)
		}
		return compiledExpression{x, texts}
	}
	c := t.compile.get(tenantKey{t.plan, s}, compile)
	return c.x, c.faults
}

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
	for _, e := range w.exports {
		o := own.tenantExport(ctx, e, out)
		o.Tenant = true
		out.Objects = append(out.Objects, o)
	}
	out.Objects = append(out.Objects, own.keepUnclear(w)...)
	out.OK += own.budget.OK
	out.Waiting += own.budget.Waiting
	out.Failed += own.budget.Failed
}

// tenantExport is one object. Where the Composition composes the same one, the
// author's gives way.
func (r *run) tenantExport(ctx context.Context, e export, out *Result) Object {
	at := r.place(ctx, e)
	if at.lookUp != nil {
		out.Requirements = append(out.Requirements, *at.lookUp)
	}
	if _, earlier := r.Desired[e.name]; earlier {
		at.conflict = fmt.Sprintf("an earlier step of the pipeline composes it, too: give it another name in %s", e.namePath())
		at.observed = nil // which that step desires
	}
	if who := r.writers[at.target]; len(who) > 0 && at.conflict == "" {
		at.conflict = fmt.Sprintf("the Composition itself composes %s %s: give it another name in %s", e.kind, at, e.namePath())
	}
	return r.exportAt(ctx, e, at)
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
