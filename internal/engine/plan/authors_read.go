package plan

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"google.golang.org/protobuf/types/known/structpb"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/crossplane-contrib/function-export/internal/engine/definition"
	"github.com/crossplane-contrib/function-export/internal/engine/environment"
	"github.com/crossplane-contrib/function-export/internal/engine/expression"
	"github.com/crossplane-contrib/function-export/internal/engine/limits"
	"github.com/crossplane-contrib/function-export/internal/engine/object"
	"github.com/crossplane-contrib/function-export/internal/engine/strict"
	"github.com/crossplane-contrib/function-export/internal/engine/suggest"
	"github.com/crossplane-contrib/function-export/internal/engine/wire"
)

// An authorList is a field that lists what a composite author asks for.
type authorList struct {
	field    string
	kind     object.Kind
	operator bool               // in the form of Azure Service Operator: without a key, value returns several keys
	schema   *definition.Schema // of an entry
}

// authorLists are in the order in which they are evaluated. The last two have the form of the operator's design
// document, in which valueMap returns several keys.
var authorLists = []authorList{ //nolint:gochecknoglobals // a table
	{"secretExpressions", object.Secret, true, ofOperator},
	{"configMapExpressions", object.ConfigMap, true, ofOperator},
	{"dynamicSecrets", object.Secret, false, ofDesign},
	{"dynamicConfigMaps", object.ConfigMap, false, ofDesign},
}

var (
	ofOperator = entrySchema("name", "key", "value", "labels", "annotations")
	ofDesign   = entrySchema("name", "key", "value", "valueMap")
)

// entrySchema returns the schema of an entry with these fields: texts, and maps of texts.
func entrySchema(names ...string) *definition.Schema {
	s := &definition.Schema{Type: "object", Names: names, Properties: map[string]*definition.Schema{}}
	for _, name := range names {
		s.Properties[name] = &definition.Schema{Type: "string", Expression: strings.HasPrefix(name, "value")}
		if name == "labels" || name == "annotations" {
			s.Properties[name] = &definition.Schema{Type: "object", AdditionalProperties: &definition.Schema{Type: "string"}}
		}
	}
	return s
}

// An Authored is everything that a composite author asks for.
type Authored struct {
	Exports []Export

	// Diagnostics of the lists themselves. Those of an object are in its export.
	Faults []string

	// Unclear are the kinds whose objects are not all known. No object of them is deleted.
	Unclear map[object.Kind]bool

	characters, entries int

	// described contains the texts of labels and annotations as the author wrote them.
	described map[describedKey]string
}

// A describedKey is one label or annotation of an object.
type describedKey struct{ object, list, key string }

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
	w := &Authored{Unclear: map[object.Kind]bool{}, described: map[describedKey]string{}}
	path := field.NewPath(t.At.String())
	at, ok := environment.Get(composite, t.At)
	switch {
	case !environment.Fits(composite, t.At):
		w.refuse(path, "cannot be read: a field above it is not an object", object.Secret, object.ConfigMap)
		return w
	case !ok || at.IsNull():
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
		w.refuse(path, fmt.Sprintf("has %d entries in its lists, over the limit of %d", w.entries, limits.AuthorEntries),
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
	text := func(name string) string { return fields[name].GetStringValue() }
	var diagnostics []string
	wrong := strict.Fields(l.schema, at, v, adviserOf(t.env))
	for i, f := range wrong {
		if i == limits.MessageItems {
			diagnostics = append(diagnostics, fmt.Sprintf("%s: has %d more errors", at, len(wrong)-i))
			break
		}
		diagnostics = append(diagnostics, f.Error())
	}
	if err := object.ValidateName(text("name")); err != nil {
		switch {
		case len(wrong) > 0:
		case text("name") == "":
			diagnostics = append(diagnostics, at.Child("name").String()+": must be set to the name of the "+string(l.kind))
		default:
			diagnostics = append(diagnostics, at.Child("name").String()+": "+err.Error())
		}
		w.Faults = append(w.Faults, diagnostics...)
		w.Unclear[l.kind] = true
		return
	}
	e := w.export(l.kind, text("name"), at)
	if len(diagnostics) == 0 {
		m := &e.Metadata
		diagnostics = slices.Concat(
			t.describe(w, e, at.Child("labels"), Texts(wire.OfValue(fields["labels"])),
				description{t.Labels, object.ValidateLabels, &m.Labels, &m.LabelValues}),
			t.describe(w, e, at.Child("annotations"), Texts(wire.OfValue(fields["annotations"])),
				description{t.Annotations, object.ValidateAnnotations, &m.Annotations, &m.AnnotationValues}),
			t.addData(w, e, at, l, text))
	}
	e.Faults = append(e.Faults, diagnostics...)
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

// valueOf returns the expression of an entry, or what is wrong.
func (l authorList) valueOf(at *field.Path, text func(name string) string) (s expression.Source, wrong string) {
	s = expression.Source{Text: text("value"), Path: at.Child("value").String(), Want: expression.WantText}
	switch key := text("key"); {
	case !l.operator:
		return valueOrMap(s, at, key, text("valueMap"))
	case s.Text == "":
		return s, ".value: must be set"
	case key == "":
		s.Want, s.Note = expression.WantTextMap, "with a key, value must return the value of that key"
	default:
		s.Note = "without a key, value must return a map of keys and values"
	}
	return s, ""
}

// valueOrMap returns the one of value and valueMap that an entry has, or what is wrong.
func valueOrMap(value expression.Source, at *field.Path, key, valueMap string) (s expression.Source, wrong string) {
	switch {
	case value.Text == "" && valueMap == "":
		return value, ": must have value or valueMap"
	case value.Text != "" && valueMap != "":
		return value, ".valueMap: must not be set together with value: keep one of them"
	case value.Text != "" && key == "":
		return value, ".key: must be set, because value is the value of one key"
	case value.Text != "":
		return value, ""
	case key != "":
		return value, ".key: must not be set together with valueMap, which returns the keys"
	}
	return expression.Source{Text: valueMap, Path: at.Child("valueMap").String(), Want: expression.WantTextMap}, ""
}

// addData adds the key or keys of an entry.
func (t *Authors) addData(
	w *Authored, e *Export, at *field.Path, l authorList, text func(name string) string,
) []string {
	s, wrong := l.valueOf(at, text)
	if err := object.ValidateKey(text("key")); wrong == "" && text("key") != "" && err != nil {
		wrong = ".key: " + err.Error()
	}
	if wrong != "" {
		return []string{at.String() + wrong}
	}
	if refused := w.count(s); refused != nil {
		return refused
	}
	x, diagnostics := t.expression(s, e.Kind)
	if len(diagnostics) > 0 {
		return diagnostics
	}
	added := Entry{Path: s.Path, Key: text("key"), Value: x}
	for _, k := range added.spelledKeys() {
		if err := object.ValidateKey(k); err != nil {
			diagnostics = append(diagnostics, s.Path+": "+err.Error())
		}
		for _, other := range e.Data {
			if slices.Contains(other.spelledKeys(), k) {
				diagnostics = append(diagnostics,
					fmt.Sprintf("%s: key %q of %s is also written by %s: keep one of them", s.Path, k, e, other.Path))
			}
		}
	}
	e.Data = append(e.Data, added)
	return diagnostics
}

// expression compiles an expression, and refuses uses that are not allowed.
func (t *Authors) expression(s expression.Source, kind object.Kind) (*expression.Expression, []string) {
	s.Scope = expression.AuthorScope
	compile := func() compiledExpression {
		x, wrong := t.env.Compile(s)
		var texts []string
		for _, d := range wrong {
			texts = append(texts, d.Error())
		}
		if x != nil {
			texts = t.refuse(x, kind)
		}
		return compiledExpression{x, texts[:min(len(texts), limits.MessageItems)]}
	}
	c := t.compile.get(authorKey{t.plan, s}, compile)
	return c.x, c.diagnostics
}
