package migrate

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"google.golang.org/protobuf/types/known/structpb"

	"github.com/crossplane-contrib/function-export/internal/desk/catalog"
	"github.com/crossplane-contrib/function-export/internal/desk/composition"
	"github.com/crossplane-contrib/function-export/internal/desk/migrate/celtext"
	"github.com/crossplane-contrib/function-export/internal/desk/migrate/gotemplate"
	"github.com/crossplane-contrib/function-export/internal/engine/decode"
	"github.com/crossplane-contrib/function-export/internal/engine/lazy"
)

// connectionKind is the kind with which function-go-templating publishes connection details.
const connectionKind = "CompositeConnectionDetails"

// templated reads the Secrets and the connection details that a step of function-go-templating composes.
type templated struct {
	*step
	name  string // of the step of the pipeline
	xr    xr
	kinds map[string]catalog.Kind // of composed resources

	catalog   *catalog.Catalog
	manifests *gotemplate.Manifests
	generated map[*gotemplate.Generator]string // the names of those that are used
	loop      *gotemplate.Loop                 // around the Secret
	list, key string                           // forEachExpression and keyExpression of the export
}

// goTemplates adds the exports of a step of function-go-templating.
func (s *step) goTemplates(name string, input decode.Value, t templated) {
	if source := input.Get("source").Text(); source != "" && source != "Inline" {
		s.reasons = append(s.reasons, fmt.Sprintf("step %s has its templates elsewhere (source %s), and only inline "+
			"templates are read", name, oneLine(source)))
		return
	}
	inline := input.Get("inline")
	for _, part := range append([]decode.Value{inline.Get("template")}, items(inline.Get("templates"))...) {
		text := part.Text()
		if !composesSecret.MatchString(text) {
			continue
		}
		t.step, t.name = s, name
		m, err := gotemplate.Parse(text, input.Get("delims", "left").Text(), input.Get("delims", "right").Text(), t.data())
		if err != nil {
			t.byHandOnly("its template "+err.Error(), text)
			continue
		}
		t.manifests, t.generated = m, map[*gotemplate.Generator]string{}
		for _, d := range m.Documents {
			if composesSecret.MatchString(d.Source()) {
				t.document(d)
			}
		}
	}
}

var composesSecret = lazy.MustCompile(`(?m)^\s*["']?kind["']?:\s*["']?(?:Secret|` + connectionKind + `)\b`)

// byHandOnly adds a comment with a part of the template that is not translated.
func (t *templated) byHandOnly(why, text string) {
	reason := fmt.Sprintf("step %s composes a Secret that is not translated: %s", t.name, why)
	t.reasons = append(t.reasons, reason)
	t.byHand = append(t.byHand, decide+reason+". Write an export for it:")
	for line := range strings.Lines(text) {
		if strings.TrimSpace(line) != "" {
			t.byHand = append(t.byHand, "  "+strings.TrimRight(line, "\n"))
		}
	}
}

// document adds the export of a manifest.
func (t *templated) document(d *gotemplate.Document) {
	if err := d.Read(); err != nil {
		t.byHandOnly("its template "+err.Error(), d.Source())
		return
	}
	kind, _ := d.Field("kind")
	apiVersion, _ := d.Field("apiVersion")
	loop, err := d.Loop()
	switch {
	case kind.Source() == connectionKind:
		t.details = append(t.details, t.entries(d)...)
		t.remove = append(t.remove, connectionKind+" of step "+t.name)
	case kind.Source() != "Secret" && d.Contains("Secret"):
		t.byHandOnly("it is a part of another object, which writes it: remove that part", d.Source())
	case kind.Source() != "Secret" || apiVersion.Source() != "v1":
	case err != nil:
		t.byHandOnly("it "+err.Error(), d.Source())
	default:
		t.loop, t.list, t.key = loop, "", ""
		t.secret(d)
	}
}

// secret adds the export of a Secret with the same name. The export has another composition resource name, so that it
// takes the Secret over with all of its keys.
func (t *templated) secret(d *gotemplate.Document) {
	annotation, _ := d.Field("metadata", "annotations", gotemplate.ResourceName)
	own, composed := "secret", cmp.Or(annotation.Source(), "secret")
	if text, err := annotation.Expr(); err == nil {
		if constant, ok := text.Constant(); ok && constant != "" {
			own, composed = constant, constant
		}
	}
	e := mapping().withText("name", t.exportName(own+"-export"))
	metadata := t.metadata(e, own, d)
	if !t.repeat(e, metadata, d, annotation) {
		t.byHandOnly("it is in a loop, and nothing in its name depends on the item: use forEachExpression", d.Source())
		return
	}
	if len(metadata.fields)+len(metadata.above) > 0 {
		e.with("metadata", metadata)
	}
	if kind, ok := d.Field("type"); ok && !kind.HasActions() {
		e.withText("type", kind.Source())
	}
	if immutable, _ := d.Field("immutable"); immutable.Source() == "true" {
		e.with("immutable", rawNode(true))
	}
	entries := t.entries(d)
	if len(entries) == 0 {
		return
	}
	e.with("data", list(entries...))
	e.note(takenOver...)
	t.remove = append(t.remove, "the Secret "+composed+" of step "+t.name)
	t.secrets.items = append(t.secrets.items, e)
}

// repeat adds the loop and the conditions around a Secret. It is false if the items have no key. A condition alone is a
// list with the name of the Secret, or without items.
func (t *templated) repeat(e, metadata *node, d *gotemplate.Document, own gotemplate.Scalar) bool {
	conditions, lost := d.Conditions()
	condition := ""
	if len(conditions) > 0 {
		condition = strings.Join(conditions, " && ") + " ? "
	}
	switch {
	case t.loop != nil:
		name, _ := d.Field("metadata", "name")
		t.list, t.key = t.loop.List, cmp.Or(itemKey(own), itemKey(name))
		if t.key == "" {
			return false
		}
		if condition != "" {
			t.list = condition + t.list + " : []"
		}
		e.with("forEachExpression", textNode(t.list)).with("keyExpression", textNode(t.key))
		if strings.Contains(t.key, "index") {
			e.note(decide + "keyExpression is the position in the list, as in the template: use a field of the item, so " +
				"that an item keeps its Secret when the order changes.")
		}
	case condition != "" && metadata.field("nameExpression") != nil:
		name := metadata.field("nameExpression")
		e.with("forEachExpression", textNode(condition+"["+name.value+"] : []")).with("keyExpression", textNode("item"))
		*name = *textNode("key")
		e.note("As in the template, it exists only under this condition. Its name is the key, which has at most 63 " +
			"characters.")
	default:
		lost = append(lost, conditions...)
	}
	for _, c := range lost {
		e.note(decide + "the template composes it only under this condition, and here it always exists: " + c)
	}
	return true
}

// itemKey returns the expression of the part of a name that depends on the item.
func itemKey(name gotemplate.Scalar) string {
	e, err := name.Expr()
	if err != nil {
		return ""
	}
	for _, value := range e.Values() {
		if strings.Contains(value, "item") || strings.Contains(value, "index") {
			return value
		}
	}
	return ""
}

// metadata returns the same name and namespace. A Secret without a name has one that Crossplane chose.
func (t *templated) metadata(e *node, own string, d *gotemplate.Document) *node {
	n := mapping()
	composed := celtext.Literal(own)
	last := celtext.Literal("-" + freeName(own, func(string) bool { return false }))
	if annotation, _ := d.Field("metadata", "annotations", gotemplate.ResourceName); t.loop != nil &&
		annotation.HasActions() {
		x, _ := annotation.Expr() // an error leaves the key of the loop out
		composed, last = x.Text(), "'-' + "+x.Text()
	}
	chosen := fmt.Sprintf("resources[?%s].?metadata.?name.orValue(composite.metadata.name + %s)", composed, last)
	name, ok := d.Field("metadata", "name")
	if ok {
		t.place(n, "name", name, chosen)
		if text := n.field("name"); text != nil && d.Repeated() { // each object needs an expression
			n.fields[0] = member{"nameExpression", textNode(celtext.Literal(text.value))}
		}
	} else {
		n.with("nameExpression", textNode(chosen))
	}
	if namespace, ok := d.Field("metadata", "namespace"); ok {
		t.place(n, "namespace", namespace, "")
	}
	t.texts(e, n, d, "labels")
	t.texts(e, n, d, "annotations")
	return n
}

// texts adds labels or annotations to the metadata.
func (t *templated) texts(e, metadata *node, d *gotemplate.Document, field string) {
	plain, computed := map[string]string{}, map[string]string{}
	for _, k := range d.Keys("metadata", field) {
		name := k.Name.Source()
		if strings.HasPrefix(name, "gotemplating.fn.crossplane.io/") {
			continue
		}
		text, constant := k.Value.Constant()
		switch {
		case k.Err != nil || k.Value.IsRandom() || k.Loop != nil || k.Name.HasActions():
			e.note(templateIn(field, name))
		case constant:
			plain[name] = text
		default:
			computed[name] = k.Value.Text()
		}
	}
	metadata.withTexts(field, plain, computed)
}

// place sets the name or the namespace. The composite's own namespace is the default.
func (t *templated) place(n *node, field string, text gotemplate.Scalar, otherwise string) {
	x, err := text.Expr()
	literal, constant := x.Constant()
	if err == nil && x.IsRandom() {
		err = errors.New("makes a random value, which only the data of a Secret can have")
	}
	switch {
	case err != nil:
		n.note(fmt.Sprintf("%sthe %s is %s, and the template %s: write it in CEL.", decide, field, text.Source(), err))
	case constant:
		n.withText(field, literal)
	case field == "namespace" && x.Text() == "composite.metadata.namespace":
	case otherwise != "" && x.IsOptional():
		n.with(field+"Expression", textNode(x.Value(false)+".orValue("+otherwise+")"))
	default:
		n.with(field+"Expression", textNode(x.Text()))
	}
}

// entries returns the keys of data and of stringData, which has precedence.
func (t *templated) entries(d *gotemplate.Document) []*node {
	var out []*node
	texts := d.Keys("stringData")
	for _, k := range d.Keys("data") {
		same := func(other gotemplate.Key) bool { return other.Name.Source() == k.Name.Source() }
		if !slices.ContainsFunc(texts, same) {
			out = append(out, t.entry(k, true))
		}
	}
	for _, k := range texts {
		out = append(out, t.entry(k, false))
	}
	return out
}

func (t *templated) entry(k gotemplate.Key, inData bool) *node {
	return entryOf(k, inData, func(cel string) string { return t.manifests.Named(cel, t.generator(k.Name.Source())) })
}

// entryOf returns the entry of a key of a template. The function named replaces its generators.
func entryOf(k gotemplate.Key, inData bool, named func(cel string) string) *node {
	name := k.Name.Source()
	value := k.Value.Value(inData)
	key, err := k.Name.Expr()
	if k.Err != nil {
		err = k.Err
	}
	repeated := k.Name.HasActions() || k.Loop != nil
	switch {
	case err != nil:
		return entry(name, k.Source).disable("this value " + err.Error() + ": write it in CEL")
	case value == "":
		return entry(name, celtext.Literal("")).disable(emptyValue)
	case repeated && strings.Contains(value, "optional."):
		return entry(name, k.Source).disable("this value has a key that is a template, and a condition: " +
			"write valueMap in CEL")
	case k.Loop != nil:
		value = fmt.Sprintf("%s.transformMapEntry(%s, %s, {%s: %s})", k.Loop.List, k.Loop.Index, k.Loop.Item, key.Text(),
			value)
	case repeated:
		value = "{" + key.Text() + ": " + value + "}"
	}
	if value = named(value); repeated {
		return mapping().with("valueMap", textNode(value))
	}
	n := entry(name, value)
	if k.Optional {
		n.with("optional", rawNode(true))
	}
	return n
}

// The paths of the data of function-go-templating.
const (
	observedState = "observed"
	ofComposite   = "composite"
	ofResources   = "resources"
	fieldsOf      = "resource"
	detailsOf     = "connectionDetails"
)

// data describes what function-go-templating gives to a template.
func (t *templated) data() gotemplate.Data {
	observed := func(path []any) bool {
		return len(path) > 1 && path[0] == any(observedState) && path[1] == any(ofResources)
	}
	return gotemplate.Data{Lookup: t.lookup, Observed: observed, Path: gotemplate.PathOf}
}

// environmentKey is the key of the merged environment in the context.
const environmentKey = "apiextensions.crossplane.io/environment"

// lookup returns the CEL of a field of the request.
func (t *templated) lookup(path []any, optional bool) (gotemplate.Expr, error) {
	begins := func(names ...any) bool { return len(path) >= len(names) && slices.Equal(path[:len(names)], names) }
	switch {
	case begins(observedState, ofComposite, fieldsOf):
		return of(ofComposite, t.xr.schema, path[3:], optional), nil
	case begins(observedState, ofResources) && len(path) == 3:
		return gotemplate.Of(celtext.Path("resources", path[2:], optional), gotemplate.Any), nil
	case begins(observedState, ofResources) && len(path) > 3:
		return t.composed(path[2], path[3], path[4:], optional)
	case begins("context", environmentKey):
		return of("environment", nil, path[2:], optional), nil
	case begins("context") && len(path) > 1:
		return of("context", nil, path[1:], optional), nil
	}
	return gotemplate.Expr{}, errUnread
}

var errUnread = errors.New("reads something other than observed resources and the context")

// composed returns the CEL of a field or of a connection detail of a composed resource.
func (t *templated) composed(name, part any, path []any, optional bool) (gotemplate.Expr, error) {
	if part == detailsOf && len(path) == 1 {
		return gotemplate.Of(celtext.Path("secrets", []any{name, path[0]}, optional), gotemplate.Encoded), nil
	}
	if part != fieldsOf {
		return gotemplate.Expr{}, errUnread
	}
	text, _ := name.(string)
	if t.kinds[text] == (catalog.Kind{APIVersion: "v1", Kind: "Secret"}) && len(path) > 0 && path[0] == "data" {
		return gotemplate.Expr{}, errors.New("reads the data of a composed Secret, which is hidden: add the Secret to " +
			"sources")
	}
	return of(celtext.Path("resources", []any{name}, optional), t.catalog.Find(t.kinds[text]), path, optional), nil
}

// of returns a field of an object with a schema. Its type is a string if the schema says so.
func of(variable string, s *structpb.Struct, path []any, optional bool) gotemplate.Expr {
	kind := gotemplate.Any
	switch typed := typeAt(s, path...); {
	case isText(path) || typed == "string":
		kind = gotemplate.Text
	case typed == "boolean":
		kind = gotemplate.Bool
	}
	return gotemplate.Of(celtext.Path(variable, path, optional), kind)
}

// kindsOf returns the kinds of the resources that a pipeline composes, by composition resource name.
func kindsOf(o map[string]any) map[string]catalog.Kind {
	kinds := map[string]catalog.Kind{}
	read, _ := composition.Read(o) // parts that cannot be read have no kinds
	if read == nil {
		return kinds
	}
	for _, s := range read.Steps {
		for _, r := range s.Resources {
			kinds[r.Name] = catalog.Kind{APIVersion: r.APIVersion, Kind: r.Kind}
		}
	}
	return kinds
}
