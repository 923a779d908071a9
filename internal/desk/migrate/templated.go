package migrate

import (
	"errors"
	"fmt"
	"maps"
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

	catalog *catalog.Catalog
	*gotemplate.Manifests
}

// goTemplates adds the exports of a step of function-go-templating.
func (s *step) goTemplates(name string, input decode.Value, t templated) {
	if source := input.Get("source").Text(); source != "" && source != "Inline" {
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
		t.Manifests = m
		for _, d := range m.Documents {
			if composesSecret.MatchString(d) {
				t.document(d)
			}
		}
		for _, loop := range m.Loops() {
			if composesSecret.MatchString(loop) {
				t.byHandOnly("it is in a loop: use forEachExpression", loop)
			}
		}
	}
}

var composesSecret = lazy.MustCompile(`(?m)^\s*["']?kind["']?:\s*["']?(?:Secret|` + connectionKind + `)\b`)

// byHandOnly adds a comment with a part of the template that is not translated.
func (t templated) byHandOnly(why, text string) {
	t.byHand = append(t.byHand, fmt.Sprintf("%sstep %s composes a Secret that is not translated: %s. Write an export for it:", decide, t.name, why))
	for line := range strings.Lines(text) {
		if strings.TrimSpace(line) != "" {
			t.byHand = append(t.byHand, "  "+strings.TrimRight(line, "\n"))
		}
	}
}

// document adds the export of a manifest.
func (t templated) document(text string) {
	o, err := t.Object(text)
	if err != nil {
		t.byHandOnly("its template "+err.Error(), t.Source(text))
		return
	}
	apiVersion, _ := o["apiVersion"].(string)
	switch {
	case o["kind"] == connectionKind:
		t.details = append(t.details, t.entries(o)...)
		t.remove = append(t.remove, connectionKind+" of step "+t.name)
	case o["kind"] == "Secret" && apiVersion == "v1":
		t.secret(text, o)
	}
}

// secret adds the export of a Secret with the same name. The export has another composition resource name, so that it
// takes the Secret over with all of its keys.
func (t templated) secret(text string, o map[string]any) {
	metadata, _ := o["metadata"].(map[string]any)
	annotations, _ := metadata["annotations"].(map[string]any)
	own, _ := annotations[gotemplate.ResourceName].(string)
	e := mapping()
	own = t.unlessComputed(own, "secret")
	name := t.exportName(own + "-export")
	e.withText("name", name).with("metadata", t.metadata(e, own, metadata))
	if kind, _ := o["type"].(string); kind != "" && !t.HasActions(kind) {
		e.withText("type", kind)
	}
	if o["immutable"] == true {
		e.with("immutable", rawNode(true))
	}
	entries := t.entries(o)
	if len(entries) == 0 {
		return
	}
	e.with("data", list(entries...))
	for _, c := range t.Conditions(text) {
		e.note(decide + "the template composes it only under this condition, and here it always exists: " + c)
	}
	e.note(takenOver...)
	t.remove = append(t.remove, "the Secret "+own+" of step "+t.name)
	t.secrets.items = append(t.secrets.items, e)
}

// unlessComputed returns a text, or another one if the template computes it or has none.
func (t templated) unlessComputed(text, other string) string {
	if text == "" || t.HasActions(text) {
		return other
	}
	return text
}

// metadata returns the same name and namespace. A Secret without a name has one that Crossplane chose.
func (t templated) metadata(e *node, own string, c map[string]any) *node {
	n := mapping()
	switch name, ok := c["name"].(string); {
	case ok:
		t.place(n, "name", name)
	default:
		n.with("nameExpression", textNode(fmt.Sprintf("resources[?%s].?metadata.?name.orValue(composite.metadata.name + %s)",
			celtext.Literal(own), celtext.Literal("-"+freeName(own, func(string) bool { return false })))))
	}
	if namespace, ok := c["namespace"].(string); ok {
		t.place(n, "namespace", namespace)
	}
	for _, field := range []string{"labels", "annotations"} {
		values, _ := c[field].(map[string]any)
		plain := map[string]string{}
		var computed []string
		for _, k := range slices.Sorted(maps.Keys(values)) {
			if strings.HasPrefix(k, "gotemplating.fn.crossplane.io/") {
				continue
			}
			x, err := t.Expr(fmt.Sprint(values[k]))
			text, constant := x.Constant()
			switch {
			case err != nil || t.HasActions(k):
				e.note(fmt.Sprintf("%s%s %s is a template: write it in CEL, in %sExpression.", decide, strings.TrimSuffix(field, "s"), t.Source(k), field))
			case constant:
				plain[k] = text
			default:
				computed = append(computed, celtext.Literal(k)+": "+x.Text())
			}
		}
		n.with(field, stringMap(plain))
		if len(computed) > 0 {
			n.with(field+"Expression", textNode("{"+strings.Join(computed, ", ")+"}"))
		}
	}
	if len(n.fields) == 0 && len(n.above) == 0 {
		return nil
	}
	return n
}

// place sets the name or the namespace. The composite's own namespace is the default.
func (t templated) place(n *node, field, text string) {
	x, err := t.Expr(text)
	literal, constant := x.Constant()
	switch {
	case err != nil:
		n.note(fmt.Sprintf("%sthe %s is %s, and the template %s: write it in CEL.", decide, field, t.Source(text), err))
	case constant:
		n.withText(field, literal)
	case field == "namespace" && x.Text() == "composite.metadata.namespace":
	default:
		n.with(field+"Expression", textNode(x.Text()))
	}
}

// entries returns the keys of data and of stringData, which has precedence.
func (t templated) entries(o map[string]any) []*node {
	var out []*node
	texts, _ := o["stringData"].(map[string]any)
	encoded, _ := o["data"].(map[string]any)
	for _, k := range slices.Sorted(maps.Keys(encoded)) {
		if _, again := texts[k]; !again {
			out = append(out, t.entry(k, encoded[k], gotemplate.Expr.Decoded))
		}
	}
	for _, k := range slices.Sorted(maps.Keys(texts)) {
		out = append(out, t.entry(k, texts[k], gotemplate.Expr.CEL))
	}
	return out
}

func (t templated) entry(key string, raw any, cel func(gotemplate.Expr) string) *node {
	text, optional := t.Optional(key, fmt.Sprint(raw))
	n := mapping().withText("key", t.Source(key))
	x, err := t.Expr(text)
	switch {
	case t.HasActions(key):
		return n.with("value", textNode(t.Source(text))).disable("its key is a template: write valueMap in CEL")
	case err != nil:
		return n.with("value", textNode(t.Source(text))).disable("this value " + err.Error() + ": write it in CEL")
	case raw == nil || x.Empty():
		return n.with("value", textNode(celtext.Literal(""))).disable(emptyValue)
	}
	n.with("value", textNode(cel(x)))
	if optional {
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
func (t templated) data() gotemplate.Data {
	return gotemplate.Data{Lookup: t.lookup, Path: func(function string, args []any) []any {
		switch {
		case function == "getCompositeResource" && len(args) == 0:
			return []any{observedState, ofComposite, fieldsOf}
		case function == "getComposedResource" && len(args) == 1:
			return []any{observedState, ofResources, args[0], fieldsOf}
		case function == "getComposedConnectionDetails" && len(args) == 1:
			return []any{observedState, ofResources, args[0], detailsOf}
		}
		return nil
	}}
}

// environmentKey is the key of the merged environment in the context.
const environmentKey = "apiextensions.crossplane.io/environment"

// lookup returns the CEL of a field of the request.
func (t templated) lookup(path []any, optional bool) (gotemplate.Expr, error) {
	begins := func(names ...any) bool { return len(path) >= len(names) && slices.Equal(path[:len(names)], names) }
	switch {
	case begins(observedState, ofComposite, fieldsOf):
		return of(ofComposite, t.xr.schema, path[3:], optional), nil
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
func (t templated) composed(name, part any, path []any, optional bool) (gotemplate.Expr, error) {
	if part == detailsOf && len(path) == 1 {
		return gotemplate.Of(celtext.Path("secrets", []any{name, path[0]}, optional), gotemplate.Encoded), nil
	}
	if part != fieldsOf {
		return gotemplate.Expr{}, errUnread
	}
	text, _ := name.(string)
	if t.kinds[text] == (catalog.Kind{APIVersion: "v1", Kind: "Secret"}) && len(path) > 0 && path[0] == "data" {
		return gotemplate.Expr{}, errors.New("reads the data of a composed Secret, which is hidden: add the Secret to sources")
	}
	return of(celtext.Path("resources", []any{name}, optional), t.catalog.Find(t.kinds[text]), path, optional), nil
}

// of returns a field of an object with a schema. Its type is a string if the schema says so.
func of(variable string, s *structpb.Struct, path []any, optional bool) gotemplate.Expr {
	kind := gotemplate.Any
	if isText(path) || typeAt(s, path...) == "string" {
		kind = gotemplate.Text
	}
	return gotemplate.Of(celtext.Path(variable, path, optional), kind)
}

// kindsOf returns the kinds of the resources that a pipeline composes, by composition resource name.
func kindsOf(c decode.Value) map[string]catalog.Kind {
	kinds := map[string]catalog.Kind{}
	o, _ := c.Raw.(map[string]any)
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
