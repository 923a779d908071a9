package plan

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"sync"
	"unicode/utf8"

	"google.golang.org/protobuf/types/known/structpb"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/crossplane-contrib/function-export/internal/engine/definition"
	"github.com/crossplane-contrib/function-export/internal/engine/expression"
	"github.com/crossplane-contrib/function-export/internal/engine/limits"
	"github.com/crossplane-contrib/function-export/internal/engine/object"
	"github.com/crossplane-contrib/function-export/internal/engine/strict"
	"github.com/crossplane-contrib/function-export/internal/engine/suggest"
	"github.com/crossplane-contrib/function-export/internal/engine/wire"
)

// An authorList is a field that lists what a composite author asks for.
type authorList struct {
	field  string
	kind   object.Kind
	schema func() *definition.Schema // of an entry
}

// authorLists are in the order in which they are evaluated. The first two are those of Azure Service Operator: without
// a key, value returns several keys. The last two have the form of its design document, in which valueMap does.
var authorLists = []authorList{ //nolint:gochecknoglobals // a table
	{"secretExpressions", object.Secret, ofOperator},
	{"configMapExpressions", object.ConfigMap, ofOperator},
	{"dynamicSecrets", object.Secret, ofDesign},
	{"dynamicConfigMaps", object.ConfigMap, ofDesign},
}

// An entry has the fields of an item of data in the input, and the name of the object.
var (
	ofDesign = sync.OnceValue(func() *definition.Schema { //nolint:gochecknoglobals // made at most once
		export := definition.Exports().Properties["secrets"].Items
		s := *export.Properties["data"].Items
		s.Names, s.Required, s.Properties = []string{"name", "key", "value", "valueMap"}, []string{"name"},
			maps.Clone(s.Properties)
		s.Properties["name"] = export.Properties["metadata"].Properties["name"]
		delete(s.Properties, "optional")
		return &s
	})
	ofOperator = sync.OnceValue(func() *definition.Schema { //nolint:gochecknoglobals // made at most once
		s := *ofDesign()
		s.Names, s.Required, s.Rules = []string{"name", "key", "value", "labels", "annotations"}, []string{"name",
			"value"}, nil
		s.Properties = maps.Clone(s.Properties)
		delete(s.Properties, "valueMap")
		texts := &definition.Schema{Type: "object", AdditionalProperties: &definition.Schema{Type: "string"}}
		s.Properties["labels"], s.Properties["annotations"] = texts, texts
		return &s
	})
)

// An Authored is everything that a composite author asks for.
type Authored struct {
	Exports []Export

	// Diagnostics of the lists themselves. Those of an object are in its export.
	Faults []string

	// Unclear are the kinds whose objects are not all known. No object of them is deleted.
	Unclear map[object.Kind]bool

	characters, entries int
}

// AsksFor reports whether the author asks for a composed resource.
func (w *Authored) AsksFor(composed string) bool {
	return slices.ContainsFunc(w.Exports, func(e Export) bool { return e.Name == composed })
}

// Keeps reports whether the author asks for a composed resource, or may ask for it.
func (w *Authored) Keeps(composed string) bool {
	kind, _ := AuthorsKind(composed)
	return w.Unclear[kind] || w.AsksFor(composed)
}

// Read what a composite author asks for. Without fromComposite it is nothing.
func (t *Authors) Read(composite wire.Struct) *Authored {
	if t == nil {
		return &Authored{}
	}
	w := &Authored{Unclear: map[object.Kind]bool{}}
	path := field.NewPath(t.At.String())
	at, free := t.At.Find(composite)
	switch {
	case !free:
		w.refuse(path, "cannot be read: a field above it is not an object", object.Secret, object.ConfigMap)
		return w
	case at.IsNull():
		return w
	}
	if at.Kind() != wire.Object {
		w.refuse(path, "must be an object, but is "+strict.KindText(at.Kind()), object.Secret, object.ConfigMap)
		return w
	}
	lists := at.Struct()
	w.refuseMisspelt(path, lists)
	for _, l := range authorLists {
		w.entries += lists.Get(l.field).List().Len()
	}
	if w.entries > limits.AuthorEntries {
		w.refuse(path, fmt.Sprintf("has %d entries in its lists, over the limit of %d", w.entries,
			limits.AuthorEntries),
			object.Secret, object.ConfigMap)
		return w
	}
	for _, l := range authorLists {
		switch v := lists.Get(l.field); v.Kind() {
		case wire.Absent, wire.Null:
		case wire.Array:
			for i, e := range v.List().All() {
				t.readEntry(w, l, path.Child(l.field).Index(i), e.Proto())
			}
		default:
			w.refuse(path.Child(l.field), "must be a list, but is "+strict.KindText(v.Kind()), l.kind)
		}
	}
	return w
}

// refuseMisspelt refuses a field whose name is similar to the name of a list, because the objects
// of that list would be deleted silently. Other fields are not read.
func (w *Authored) refuseMisspelt(at *field.Path, fields wire.Struct) {
	if fields.Len() > limits.ListItems {
		return
	}
	kinds, names := map[string]object.Kind{}, make([]string, 0, len(authorLists))
	for _, l := range authorLists {
		if !fields.Get(l.field).Exists() {
			kinds[l.field], names = l.kind, append(names, l.field)
		}
	}
	for k, v := range fields.All() {
		if meant := suggest.Nearest(k, names); v.Kind() == wire.Array && meant != "" && !isAuthorList(k) {
			w.refuse(at.Child(k), "is an unknown field"+suggest.DidYouMean(meant), kinds[meant])
		}
	}
}

func isAuthorList(name string) bool {
	return slices.ContainsFunc(authorLists, func(l authorList) bool { return l.field == name })
}

// refuse adds a diagnostic. Not all objects of the unclear kinds are known.
func (w *Authored) refuse(at *field.Path, why string, unclear ...object.Kind) {
	w.Faults = append(w.Faults, at.String()+": "+why)
	for _, k := range unclear {
		w.Unclear[k] = true
	}
}

// readEntry adds one entry to the object that it names.
func (t *Authors) readEntry(w *Authored, l authorList, at *field.Path, v *structpb.Value) {
	fields := v.GetStructValue().GetFields()
	name, texts := fields["name"].GetStringValue(), Texts(wire.OfValue(v))
	var wrong []string
	for _, d := range strict.Fields(l.schema(), at, v, adviserOf(t.env)) {
		wrong = append(wrong, d.Error())
	}
	if more := len(wrong) - limits.MessageItems; more > 0 {
		wrong = append(wrong[:limits.MessageItems], fmt.Sprintf("%s: has %d more errors", at, more))
	}
	if object.ValidateName(name) != nil {
		w.Faults, w.Unclear[l.kind] = append(w.Faults, wrong...), true
		return
	}
	e := w.export(l.kind, name, at)
	if len(wrong) == 0 {
		m := &e.Metadata
		wrong = slices.Concat(
			t.describe(w, e, at.Child("labels"), Texts(wire.OfValue(fields["labels"])),
				description{t.Labels, object.ValidateLabels, &m.Labels, &m.LabelValues}),
			t.describe(w, e, at.Child("annotations"), Texts(wire.OfValue(fields["annotations"])),
				description{t.Annotations, object.ValidateAnnotations, &m.Annotations, &m.AnnotationValues}),
			t.addData(w, e, at, texts))
	}
	e.Faults = append(e.Faults, wrong...)
}

// export returns the object of a name. Several entries may ask for the same object.
func (w *Authored) export(kind object.Kind, name string, at *field.Path) *Export {
	composed := authorName(kind, name)
	i := slices.IndexFunc(w.Exports, func(e Export) bool { return e.Name == composed })
	if i < 0 {
		i = len(w.Exports)
		w.Exports = append(w.Exports,
			Export{Kind: kind, Name: composed, title: name, Author: true, Path: at, Metadata: metadata{Name: name}})
		if kind == object.Secret {
			w.Exports[i].Secret.ObjectType = "Opaque"
		}
	}
	return &w.Exports[i]
}

// count the characters of an expression, and refuse it if all expressions together are over the
// limit.
func (w *Authored) count(s expression.Source) []string {
	if w.characters += utf8.RuneCountInString(s.Text); w.characters <= limits.AuthorCharacters {
		return nil
	}
	const text = "%s: all expressions of the composite together have more than %d characters: shorten them"
	return []string{fmt.Sprintf(text, s.Path, limits.AuthorCharacters)}
}

// addData adds the key or keys of an entry.
func (t *Authors) addData(w *Authored, e *Export, at *field.Path, texts map[string]string) []string {
	s := source(at.Child("value"), texts["value"], expression.WantText)
	switch {
	case texts["valueMap"] != "":
		s = source(at.Child("valueMap"), texts["valueMap"], expression.WantTextMap)
	case texts["key"] == "": // an entry of the design document always has one
		s.Want, s.Note = expression.WantTextMap, "with a key, value must return the value of that key"
	}
	if refused := w.count(s); refused != nil {
		return refused
	}
	x, wrong := t.expression(s, e.Kind)
	if len(wrong) > 0 {
		return wrong
	}
	added := Entry{Path: s.Path, Key: texts["key"], Value: x}
	for _, k := range added.spelledKeys() {
		if err := object.ValidateKey(k); err != nil {
			wrong = append(wrong, s.Path+": "+err.Error())
		}
		for _, other := range e.Data {
			if slices.Contains(other.spelledKeys(), k) {
				wrong = append(wrong,
					fmt.Sprintf("%s: key %q of %s is also written by %s: keep one of them", s.Path, k, e, other.Path))
			}
		}
	}
	e.Data = append(e.Data, added)
	return wrong
}

// expression compiles an expression, and refuses uses that are not allowed.
func (t *Authors) expression(s expression.Source, kind object.Kind) (*expression.Expression, []string) {
	s.Scope = expression.AuthorScope
	x, diagnostics := t.env.Compile(s)
	var wrong []string
	for _, d := range diagnostics {
		wrong = append(wrong, d.Error())
	}
	if x != nil {
		wrong = t.refuse(x, kind)
	}
	return x, wrong[:min(len(wrong), limits.MessageItems)]
}

// A description collects the labels or the annotations of an object: literal texts and expressions.
type description struct {
	allowed  allowList
	validate func(map[string]string) []error
	texts    *map[string]string
	values   *map[string]*expression.Expression
}

// describe adds the labels or the annotations of an entry. In Azure Service Operator each text is an expression. Here,
// a text that is not an expression of type string is literal: app: shop means the same as app: "'shop'".
func (t *Authors) describe(w *Authored, e *Export, at *field.Path, entry map[string]string,
	d description) (wrong []string) {
	if len(entry) > limits.AuthorLabels {
		return []string{fmt.Sprintf("%s: has %d items, over the limit of %d", at, len(entry), limits.AuthorLabels)}
	}
	var refused []string
	for _, k := range SortedKeys(entry) {
		before, twice := (*d.texts)[k]
		if x := (*d.values)[k]; x != nil {
			before, twice = x.Source().Text, true
		}
		errs := d.validate(map[string]string{k: ""})
		switch {
		case len(errs) > 0:
			wrong = append(wrong, at.String()+": "+errs[0].Error())
		case !d.allowed.allows(k):
			refused = append(refused, strconv.Quote(k))
		case twice && before != entry[k]:
			wrong = append(wrong, fmt.Sprintf("%s: another entry sets another value of %q for %s: keep one of them",
				at, k, e))
		case !twice:
			wrong = append(wrong, t.describeBy(w, source(at.Key(k), entry[k], expression.WantString), k, d)...)
		}
	}
	if len(refused) > 0 {
		wrong = append(wrong, at.String()+": "+d.allowed.refuse(refused))
	}
	return wrong
}

// describeBy adds one label or annotation. A word, a text that is too long, and a text that does not compile as a
// string are literal.
func (t *Authors) describeBy(w *Authored, s expression.Source, key string, d description) (wrong []string) {
	if !identifier().MatchString(s.Text) && len(s.Text) <= limits.ExpressionCharacters {
		if refused := w.count(s); refused != nil {
			return refused
		}
		switch x, wrong := t.expression(s, object.ConfigMap); {
		case x != nil && len(wrong) > 0:
			return wrong
		case x != nil:
			*d.values = With(*d.values, key, x)
			return nil
		}
	}
	for _, err := range d.validate(map[string]string{key: s.Text}) {
		wrong = append(wrong, s.Path+": "+err.Error())
	}
	*d.texts = With(*d.texts, key, s.Text)
	return wrong
}
