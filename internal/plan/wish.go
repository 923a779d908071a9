package plan

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"google.golang.org/protobuf/types/known/structpb"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/crossplane-contrib/function-export/internal/environment"
	"github.com/crossplane-contrib/function-export/internal/expression"
	"github.com/crossplane-contrib/function-export/internal/limits"
	"github.com/crossplane-contrib/function-export/internal/object"
	"github.com/crossplane-contrib/function-export/internal/suggest"
	"github.com/crossplane-contrib/function-export/internal/wire"
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
	both                bool   // value and valueMap are there
	lacks               string // what to say without a value
	want                expression.Want
	several             string // how an entry of this shape gives several keys
	labels, annotations map[string]string
}

// A destinationExpression is an entry as Azure Service Operator has it: without a
// key, value gives several.
type destinationExpression struct {
	Name        string            `json:"name"`
	Key         string            `json:"key,omitempty"`
	Value       string            `json:"value"`
	Labels      map[string]string `json:"labels,omitempty"`
	Annotations map[string]string `json:"annotations,omitempty"`
}

func (d *destinationExpression) asked() asked {
	a := asked{name: d.Name, key: d.Key, value: d.Value, field: "value", lacks: ".value: must be set", labels: d.Labels, annotations: d.Annotations}
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
	Key      string `json:"key,omitempty"`
	Value    string `json:"value,omitempty"`
	ValueMap string `json:"valueMap,omitempty"`
}

func (d *dynamicExport) asked() asked {
	if d.ValueMap != "" {
		return asked{name: d.Name, key: d.Key, value: d.ValueMap, field: "valueMap", want: expression.WantTextMap, both: d.Value != ""}
	}
	return asked{name: d.Name, key: d.Key, value: d.Value, field: "value", lacks: ": must have value or valueMap", want: expression.WantText}
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

	// described has the texts of labels and annotations, as they were written.
	described map[string]string
}

// asksFor a composed resource.
func (w *wish) asksFor(composed string) bool {
	return slices.ContainsFunc(w.exports, func(e export) bool { return e.name == composed })
}

// keeps a composed resource: it is asked for, or it may be.
func (w *wish) keeps(composed string) bool {
	kind, _, _ := strings.Cut(strings.TrimPrefix(composed, tenantPrefix), "/")
	return w.unclear[object.Kind(kind)] || w.asksFor(composed)
}

// wish of a composite's author, or none without fromComposite.
func (t *tenants) wish(composite wire.Struct) *wish {
	if t == nil {
		return nil
	}
	return t.read(composite)
}

// read what the author of a composite asks for.
func (t *tenants) read(composite wire.Struct) *wish {
	w := &wish{unclear: map[object.Kind]bool{}, described: map[string]string{}}
	path := field.NewPath(t.at.String())
	at, ok := environment.Get(composite, t.at)
	switch {
	case !environment.Fits(composite, t.at):
		w.refuse(path, "cannot be there: something that is no object is above it", object.Secret, object.ConfigMap)
		return w
	case !ok || at.IsNull():
		return w
	}
	if at.Kind() != wire.Object {
		w.refuse(path, "must be an object, but is "+kindText(at.Kind()), object.Secret, object.ConfigMap)
		return w
	}
	lists := at.Struct()
	w.refuseMisspelt(path, lists)
	for _, l := range tenantLists {
		w.entries += lists.Get(l.field).List().Len()
	}
	if w.entries > limits.TenantEntries {
		w.refuse(path, fmt.Sprintf("has %d entries in its lists, over the limit of %d", w.entries, limits.TenantEntries), object.Secret, object.ConfigMap)
		return w
	}
	for _, l := range tenantLists {
		switch v := lists.Get(l.field); v.Kind() {
		case wire.Absent, wire.Null:
		case wire.Array:
			for i, e := range v.List().All() {
				t.readEntry(w, l, path.Child(l.field).Index(i), e.Proto())
			}
		default:
			w.refuse(path.Child(l.field), "must be a list, but is "+kindText(v.Kind()), l.kind)
		}
	}
	return w
}

// refuseMisspelt refuses a field that is near to a list's name: without a word its
// objects would be dropped. What else is there is not ours.
func (w *wish) refuseMisspelt(at *field.Path, fields wire.Struct) {
	if fields.Len() > limits.ListItems {
		return
	}
	kinds, names := map[string]object.Kind{}, make([]string, 0, len(tenantLists))
	for _, l := range tenantLists {
		if !fields.Get(l.field).Exists() {
			kinds[l.field], names = l.kind, append(names, l.field)
		}
	}
	for k, v := range fields.All() {
		if meant := suggest.Nearest(k, names); v.Kind() == wire.Array && meant != "" && !isTenantList(k) {
			w.refuse(at.Child(k), "is an unknown field"+suggest.DidYouMean(meant), kinds[meant])
		}
	}
}

func isTenantList(name string) bool {
	return slices.ContainsFunc(tenantLists, func(l tenantList) bool { return l.field == name })
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
	var faults []string
	for i, f := range d.faults {
		if i == limits.MessageItems {
			faults = append(faults, fmt.Sprintf("%s: has %d more faults", at, len(d.faults)-i))
			break
		}
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
		m := &e.metadata
		faults = slices.Concat(
			t.describe(w, e, at.Child("labels"), a.labels, description{t.labels, object.ValidateLabels, &m.labels, &m.labelValues}),
			t.describe(w, e, at.Child("annotations"), a.annotations, description{t.annotations, object.ValidateAnnotations, &m.annotations, &m.annotationValues}),
			t.addData(w, e, at, a))
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

// A description is the labels of an object, or its annotations, while they are put
// together: the texts that stand for themselves, and the expressions.
type description struct {
	allowed  allowList
	validate func(map[string]string) []error
	texts    *map[string]string
	values   *map[string]*expression.Expression
}

// describe adds the labels of an entry, or its annotations. Two entries may have the
// same ones, and no others of one key. In Azure Service Operator each is an
// expression; what is none that gives a string stands for itself here, so that app:
// shop need not be app: "'shop'".
func (t *tenants) describe(w *wish, e *export, at *field.Path, entry map[string]string, d description) []string {
	if len(entry) > limits.TenantLabels {
		return []string{fmt.Sprintf("%s: has %d items, over the limit of %d", at, len(entry), limits.TenantLabels)}
	}
	var faults, refused []string
	for _, k := range sortedKeys(entry) {
		if err := first(d.validate(map[string]string{k: ""})); err != nil {
			faults = append(faults, at.String()+": "+err.Error())
			continue
		}
		if !d.allowed.allows(k) {
			refused = append(refused, strconv.Quote(k))
			continue
		}
		id := strings.Join([]string{e.name, at.String()[strings.LastIndex(at.String(), ".")+1:], k}, "\x00")
		if before, ok := w.described[id]; ok {
			if before != entry[k] {
				faults = append(faults, fmt.Sprintf("%s: another entry gives %s another value of %q: keep one of them", at, e, k))
			}
			continue
		}
		w.described[id] = entry[k]
		x, fs := t.described(w, expression.Source{Text: entry[k], Path: at.Key(k).String(), Want: expression.WantString})
		err := first(d.validate(map[string]string{k: entry[k]}))
		switch {
		case len(fs) > 0:
			faults = append(faults, fs...)
		case x != nil:
			put(d.values, k, x)
		case err != nil:
			faults = append(faults, at.String()+": "+err.Error())
		default:
			put(d.texts, k, entry[k])
		}
	}
	if len(refused) > 0 {
		faults = append(faults, at.String()+": "+d.allowed.refuse(refused))
	}
	return faults
}

func first(errs []error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

func put[V any](m *map[string]V, k string, v V) {
	if *m == nil {
		*m = map[string]V{}
	}
	(*m)[k] = v
}

// described is nil for a text that stands for itself: a word, a text that is too
// long, or that does not compile as a string.
func (t *tenants) described(w *wish, s expression.Source) (*expression.Expression, []string) {
	if s.Text == "" || identifier.MatchString(s.Text) || len(s.Text) > limits.ExpressionCharacters {
		return nil, nil
	}
	if w.characters += utf8.RuneCountInString(s.Text); w.characters > limits.TenantCharacters {
		return nil, []string{fmt.Sprintf("%s: all expressions of the composite together have more than %d characters: shorten them", s.Path, limits.TenantCharacters)}
	}
	x, faults := t.expression(s, object.ConfigMap, "")
	if x == nil {
		return nil, nil
	}
	return x, faults
}

// addData adds the key of an entry, or its keys.
func (t *tenants) addData(w *wish, e *export, at *field.Path, a asked) []string {
	value := at.Child(a.field)
	switch {
	case a.value == "":
		return []string{at.String() + a.lacks}
	case a.both:
		return []string{value.String() + ": must not be set beside value: keep one of them"}
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
		return compiledExpression{x, texts[:min(len(texts), limits.MessageItems)]}
	}
	c := t.compile.get(tenantKey{t.plan, s}, compile)
	return c.x, c.faults
}
