package plan

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/crossplane-contrib/function-export/input/v1beta1"
	"github.com/crossplane-contrib/function-export/internal/engine/expression"
	"github.com/crossplane-contrib/function-export/internal/engine/object"
	"github.com/crossplane-contrib/function-export/internal/engine/observation"
)

// An Export is one object to compose.
type Export struct {
	Kind      object.Kind
	Name      string // the composition resource name
	title     string // in messages
	Path      *field.Path
	ForEach   *ForEach          // nil if it makes one object
	Item      *observation.Item // that it is made for; nil in a plan
	Author    bool              // the composite author asks for it; Path is in the composite
	Faults    []string          // diagnostics of what the author wrote
	Metadata  metadata
	From      string
	DataFrom  []DataFrom
	Data      []Entry
	LastWins  bool // if two entries write one key
	Secret    secretFields
	Immutable *bool // as it is in the input
	Prune     bool  // if it takes over an object, remove the keys that only that object has

	Generators []string // whose generated outputs it may contain
	Candidates []string // generators whose candidate outputs it may contain
}

// String returns the export for messages.
func (e Export) String() string { return fmt.Sprintf("%s %q", e.Kind, e.title) }

// At returns the path of a field of the export. An export of a composite author has only its own
// path.
func (e Export) At(names ...string) *field.Path {
	if e.Author {
		return e.Path
	}
	return e.Path.Child(names[0], names[1:]...)
}

// NamePath returns the path of the field that names the object.
func (e Export) NamePath() *field.Path {
	switch {
	case e.Author:
		return e.Path.Child("name")
	case e.ForEach != nil:
		return e.Path.Child("metadata", "nameExpression")
	}
	return e.Path.Child("metadata", "name")
}

// DefaultType is the type of a Secret whose type the input does not set.
const DefaultType = "Opaque"

// secretFields are the fields that only the export of a Secret has.
type secretFields struct {
	ObjectType        string
	ConnectionDetails bool
}

// metadata of the object. A field that the input does not set is empty.
type metadata struct {
	Name, Namespace                                                  string
	Labels, Annotations                                              map[string]string
	NameExpr, NamespaceExpr, LabelsExpression, AnnotationsExpression *expression.Expression

	LabelValues, AnnotationValues map[string]*expression.Expression // of a composite author, by key
}

// An Entry is one key of an object with its value. Without a key, it is all keys of a map.
type Entry struct {
	Path     string
	Key      string
	Optional bool
	Value    *expression.Expression
}

// An exportInput is an item of secrets or configMaps. An item of configMaps has fewer fields.
type exportInput struct {
	v1beta1.SecretExport

	kind         object.Kind
	at           *field.Path
	nonSensitive [][]string // of the data of a ConfigMap
}

func exportsOf(in *v1beta1.Exports) []exportInput {
	out := make([]exportInput, 0, len(in.Secrets)+len(in.ConfigMaps))
	for i, s := range in.Secrets {
		s.Type = cmp.Or(s.Type, DefaultType)
		out = append(out, exportInput{SecretExport: s, kind: object.Secret, at: field.NewPath("secrets").Index(i)})
	}
	for i, m := range in.ConfigMaps {
		x := exportInput{kind: object.ConfigMap, at: field.NewPath("configMaps").Index(i),
			SecretExport: v1beta1.SecretExport{Export: m.Export, DataFrom: m.DataFrom}}
		for _, d := range m.Data {
			x.Data, x.nonSensitive = append(x.Data, d.SecretData), append(x.nonSensitive, d.NonSensitive)
		}
		out = append(out, x)
	}
	return out
}

func (c *compiler) export(x exportInput) Export {
	c.refuseName(x)
	c.refuseItemNames(x)
	e := Export{
		Kind: x.kind, Name: x.Name, title: x.Name, Path: x.at, Immutable: x.Immutable, Prune: x.Prune,
		Secret: secretFields{x.Type, x.ConnectionDetails}, LastWins: x.ConflictPolicy == v1beta1.ConflictLastWins,
	}
	e.ForEach = c.forEach(x.at, x.ForEachExpression, x.KeyExpression)
	defer func() { c.each = nil }()
	e.From = c.from(x)
	e.Metadata = c.metadata(x.at.Child("metadata"), x, e.From)
	for i, d := range x.Data {
		entry := c.entry(x.at.Child("data").Index(i), d, e.From)
		if x.kind != object.Secret {
			c.refuseSecrets(entry.Value, x.nonSensitive[i])
		}
		e.Data = append(e.Data, entry)
	}
	c.refuseKeys(e)
	e.DataFrom = c.dataFrom(x.at, x.DataFrom, e.From, x.kind == object.Secret)
	e.Generators, e.Candidates = c.usedGenerators(e, expression.Generated), c.usedGenerators(e, expression.Candidate)
	return e
}

func (c *compiler) entry(at *field.Path, d v1beta1.SecretData, from string) Entry {
	name, s := "value", expression.Source{Text: d.Value, From: from, Want: expression.WantText}
	if d.ValueMap != "" {
		name, s.Text, s.Want = "valueMap", d.ValueMap, expression.WantTextMap
	}
	s.Path, c.optional = at.Child(name).String(), d.Optional
	defer func() { c.optional = false }()
	return Entry{Path: s.Path, Key: d.Key, Optional: d.Optional, Value: c.output(s)}
}

// spelledKeys returns the keys of an entry that are known before it is evaluated.
func (d Entry) spelledKeys() []string {
	switch {
	case d.Key != "":
		return []string{d.Key}
	case d.Value == nil:
		return nil
	}
	return d.Value.Keys()
}

// writtenTwice is the message about a key that two entries write.
const writtenTwice = "key %q is written by %s and %s: keep one of them"

// refuseKeys refuses invalid keys, and keys that two entries write.
func (c *compiler) refuseKeys(x Export) {
	first := map[string]int{} // entries by key
	for i, e := range x.Data {
		at := e.Path
		if e.Key != "" {
			at = x.At("data").Index(i).Child("key").String()
		}
		for _, k := range e.spelledKeys() {
			if err := object.ValidateKey(k); err != nil {
				c.report(at, "%s", err.Error())
			}
			if other, ok := first[k]; ok && !x.LastWins {
				c.report(at, writtenTwice, k, x.At("data").Index(other), x.At("data").Index(i))
				continue
			}
			first[k] = i
		}
	}
}

func (c *compiler) metadata(at *field.Path, x exportInput, from string) metadata {
	m := x.SecretExport.Metadata
	if m == nil {
		m = &v1beta1.Metadata{}
	}
	c.refuseMetadata(at, x.Name, m)
	out := metadata{Name: m.Name, Namespace: m.Namespace, Labels: m.Labels, Annotations: m.Annotations}
	compile := func(name, text string, want expression.Want) *expression.Expression {
		if text == "" {
			return nil
		}
		return c.output(expression.Source{Text: text, Path: at.Child(name).String(), From: from, Want: want})
	}
	out.NameExpr = compile("nameExpression", m.NameExpression, expression.WantString)
	out.NamespaceExpr = compile("namespaceExpression", m.NamespaceExpression, expression.WantString)
	out.LabelsExpression = compile("labelsExpression", m.LabelsExpression, expression.WantLabels)
	out.AnnotationsExpression = compile("annotationsExpression", m.AnnotationsExpression, expression.WantLabels)
	for _, x := range []*expression.Expression{out.NameExpr, out.NamespaceExpr} {
		c.refuseUnknown(x, "the name")
	}
	c.refuseSecrets(out.LabelsExpression, m.NonSensitive)
	c.refuseSecrets(out.AnnotationsExpression, m.NonSensitive)
	return out
}

// usedGenerators are the generators whose outputs an export may hold from a variable.
func (c *compiler) usedGenerators(e Export, variable string) []string {
	m := e.Metadata
	all := make([]*expression.Expression, 0, 4+len(e.Data)+len(e.DataFrom))
	all = append(all, m.NameExpr, m.NamespaceExpr, m.LabelsExpression, m.AnnotationsExpression)
	for _, d := range e.Data {
		all = append(all, d.Value)
	}
	for _, b := range e.DataFrom {
		all = append(all, b.Value)
	}
	used := map[string]bool{}
	for _, x := range all {
		for _, u := range c.withSources(c.reading(x).uses) {
			switch {
			case u.variable != variable:
			case u.input == Anything:
				for _, n := range c.generatorNames() {
					if c.declaredGenerators.List(n) != nil {
						n = ItemName(n, Anything)
					}
					used[n] = true
				}
			default:
				used[u.generator()] = true
			}
		}
	}
	return SortedKeys(used)
}

// refuseMetadata refuses literal metadata that objects cannot have.
func (c *compiler) refuseMetadata(at *field.Path, export string, m *v1beta1.Metadata) {
	if m.Name == "" && m.NameExpression == "" && len(validation.IsDNS1123Subdomain("x-"+export)) > 0 {
		c.refuse(at.Child("name"), "must be set, because %q cannot be part of an object's name: set it, or rename "+
			"the export in lower case without '_'", export)
	}
	for _, k := range SortedKeys(m.Labels) {
		c.refuseErr(at.Child("labels").Key(k), object.ValidateLabels(map[string]string{k: m.Labels[k]})...)
	}
	c.refuseErr(at.Child("annotations"), object.ValidateAnnotations(m.Annotations)...)
}

// refuseName refuses the name of an export that another export has, or that would also mean a source.
func (c *compiler) refuseName(x exportInput) {
	at := x.at.Child("name")
	if other, ok := c.taken[x.Name]; ok {
		c.refuse(at, "composition resource name %q is also used by %s: rename one of them", x.Name, other)
		return
	}
	c.taken[x.Name] = at
}

// from returns the composed resource that an export reads.
func (c *compiler) from(x exportInput) string {
	isSource := func(s v1beta1.Source) bool { return IsSecret(s) && s.Name == x.From }
	if slices.ContainsFunc(c.sources, isSource) {
		c.refuse(x.at.Child("from"), "%q is a source, not a composed resource: leave it out, and read the source as %s",
			x.From, expression.PathText(expression.Secrets, x.From))
	}
	return x.From
}

// A ForEach is the list for whose items an export or a generator is made.
type ForEach struct {
	List *expression.Expression
	Key  *expression.Expression // identifies an item
}

// ItemName returns the composition resource name of the object for an item.
func ItemName(export, key string) string { return export + "/" + key }

// DefaultName returns the name of the object, after the name of the composite and a dash.
func (e Export) DefaultName() string {
	if e.Item == nil {
		return e.Name
	}
	return strings.TrimSuffix(e.Name, ItemName("", e.Item.Key)) + "-" + e.Item.Key
}

// ItemPath returns the path of the export, with the key of its item.
func (e Export) ItemPath() *field.Path {
	if e.Item == nil {
		return e.Path
	}
	return e.Path.Key(e.Item.Key)
}

// For returns the export of the object for an item.
func (e Export) For(item *observation.Item) Export {
	e.Name, e.title = ItemName(e.Name, item.Key), ItemName(e.title, item.Key)
	e.Item = item
	e.Generators, e.Candidates = ofItem(e.Generators, item.Key), ofItem(e.Candidates, item.Key)
	return e
}

// forEach compiles the list of an export or a generator at a path, whose item all expressions see that are
// compiled after it. It returns nil if there is none.
func (c *compiler) forEach(at *field.Path, list, key string) *ForEach {
	if list == "" && key == "" {
		return nil
	}
	l := source(at.Child("forEachExpression"), list, expression.WantList)
	l.Items = expression.ItemList
	c.each = &ForEach{List: c.output(l)}
	k := source(at.Child("keyExpression"), key, expression.WantString)
	k.Items = expression.ItemKey
	c.each.Key = c.output(k)
	c.refuseUnknown(c.each.List, "the list")
	c.refuseUnknown(c.each.Key, "the key")
	return c.each
}

// refuseItemNames refuses an export whose name can be the composition resource name of an item of another one.
func (c *compiler) refuseItemNames(x exportInput) {
	for _, list := range c.exports {
		if prefix := ItemName(list.Name, ""); list.ForEachExpression != "" && strings.HasPrefix(x.Name, prefix) {
			c.refuse(x.at.Child("name"),
				"begins with %s, as the composition resource names of the items of %s: rename one of them",
				prefix, list.at)
		}
	}
}
