package migrate

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"google.golang.org/protobuf/types/known/structpb"

	"github.com/crossplane-contrib/function-export/input/v1beta1"
	"github.com/crossplane-contrib/function-export/internal/desk/catalog"
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
	name    string // of the step of the pipeline
	xr      xr
	kinds   map[string]catalog.Kind // of composed resources
	catalog *catalog.Catalog
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
		if !composesSecret().MatchString(text) {
			continue
		}
		t.step, t.name = s, name
		data := gotemplate.Data{Lookup: t.lookup, Generator: s.generatorName}
		m, err := gotemplate.Parse(text, input.Get("delims", "left").Text(), input.Get("delims", "right").Text(), data)
		if err != nil {
			t.byHandOnly("its template "+err.Error(), text)
			continue
		}
		for _, d := range m.Documents {
			if composesSecret().MatchString(d.Source()) {
				t.document(d)
			}
		}
		t.generate(m.Generators, slices.Concat(s.secrets.lines(), (&node{items: s.details}).lines()))
	}
}

var (
	composesSecret = lazy.MustCompile(`(?m)^\s*["']?kind["']?:\s*["']?(?:Secret|` + connectionKind + `)\b`)
	hasData        = lazy.MustCompile(`(?m)^\s*(?:stringData|data):`)
)

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
	kind, _ := d.Field("kind").Value.Constant()
	apiVersion, _ := d.Field("apiVersion").Value.Constant()
	switch {
	case kind == connectionKind:
		t.details = append(t.details, t.entries(d)...)
		t.remove = append(t.remove, connectionKind+" of step "+t.name)
	case kind != "Secret" && hasData().MatchString(d.Source()):
		t.byHandOnly("it is a part of another object, which writes it: remove that part", d.Source())
	case kind != "Secret" || apiVersion != "v1":
	case d.Repeated():
		t.byHandOnly("it is in a loop: write one export with forEachExpression", d.Source())
	default:
		t.secret(d)
	}
}

// secret adds the export of a Secret with the same name. The export has another composition resource name, so that it
// takes the Secret over with all of its keys. A Secret without a name has one that Crossplane chose.
func (t *templated) secret(d *gotemplate.Document) {
	entries := t.entries(d)
	if len(entries) == 0 {
		return
	}
	annotation := d.Field("metadata", "annotations", gotemplate.ResourceName)
	constant, _ := annotation.Value.Constant() // a name that is a template is "secret" here
	own := cmp.Or(constant, "secret")
	e := mapping().withText("name", t.exportName(own+"-export"))
	metadata := mapping()
	if name := d.Field("metadata", "name"); name.Name != "" {
		putPlace(metadata, "name", name)
	} else {
		metadata.with("nameExpression", textNode(fmt.Sprintf("resources[?%s].?metadata.?name.orValue("+
			"composite.metadata.name + %s)", celtext.Literal(own), celtext.Literal("-"+freeName(own, free)))))
	}
	if namespace := d.Field("metadata", "namespace"); namespace.Name != "" {
		putPlace(metadata, "namespace", namespace)
	}
	labels(e, metadata, d, "labels")
	labels(e, metadata, d, "annotations")
	if len(metadata.fields)+len(metadata.above) > 0 {
		e.with("metadata", metadata)
	}
	kind, _ := d.Field("type").Value.Constant()
	e.withText("type", kind)
	if immutable, _ := d.Field("immutable").Value.Constant(); immutable == "true" {
		e.with("immutable", rawNode(true))
	}
	for _, c := range d.Conditions() {
		e.note(decide + "the template composes it only under this condition, and here it always exists: " + c)
	}
	t.remove = append(t.remove, "the Secret "+cmp.Or(constant, annotation.Source, "secret")+" of step "+t.name)
	t.secrets.items = append(t.secrets.items, e.with("data", list(entries...)).note(takenOver...))
}

func free(string) bool { return false }

// labels adds labels or annotations to the metadata.
func labels(e, metadata *node, d *gotemplate.Document, field string) {
	plain, computed := map[string]string{}, map[string]string{}
	for _, k := range d.Keys("metadata", field) {
		text, constant := k.Value.Constant()
		switch {
		case strings.HasPrefix(k.Name, "gotemplating.fn.crossplane.io/"):
		case k.Err != nil:
			e.note(templateIn(field, k.Name))
		case constant:
			plain[k.Name] = text
		default:
			computed[k.Name] = k.Value.Text()
		}
	}
	metadata.withTexts(field, plain, computed)
}

// putPlace sets the name or the namespace. The composite's own namespace is the default.
func putPlace(n *node, field string, k gotemplate.Key) {
	literal, constant := k.Value.Constant()
	switch {
	case k.Err != nil:
		n.note(fmt.Sprintf("%sthe %s is %s, and the template %s: write it in CEL.", decide, field, k.Source, k.Err))
	case constant:
		n.withText(field, literal)
	case field == "namespace" && k.Value.Text() == "composite.metadata.namespace":
	default:
		n.with(field+"Expression", textNode(k.Value.Text()))
	}
}

// entries returns the keys of data and of stringData, which has precedence.
func (t *templated) entries(d *gotemplate.Document) []*node {
	var out []*node
	texts := d.Keys("stringData")
	for _, k := range d.Keys("data") {
		same := func(other gotemplate.Key) bool { return other.Name == k.Name }
		if !slices.ContainsFunc(texts, same) {
			out = append(out, entryOf(k, true))
		}
	}
	for _, k := range texts {
		out = append(out, entryOf(k, false))
	}
	return out
}

// entryOf returns the entry of a key of a template.
func entryOf(k gotemplate.Key, inData bool) *node {
	value := k.Value.Value(inData)
	switch {
	case k.Err != nil:
		return entry(k.Name, k.Source).disable("this value " + k.Err.Error() + ": write it in CEL")
	case value == "":
		return entry(k.Name, celtext.Literal("")).disable(emptyValue)
	}
	n := entry(k.Name, value)
	if k.Optional {
		n.with("optional", rawNode(true))
	}
	return n
}

// generatorName returns a name that no other generator of the step has.
func (s *step) generatorName(text string) string {
	name := freeName(text, func(name string) bool { return slices.Contains(s.generatorNames, name) })
	s.generatorNames = append(s.generatorNames, name)
	return name
}

// generate adds the generators that lines of the input use, or a later generator.
func (t *templated) generate(all []*gotemplate.Generator, lines []string) {
	var used []*node
	for _, g := range slices.Backward(all) {
		output := celtext.Select("generated", g.Name)
		uses := func(line string) bool {
			return strings.Contains(line, output+".") || strings.Contains(line, output+"[") ||
				strings.TrimSpace(line) == "ca: "+quote(g.Name)
		}
		if !slices.ContainsFunc(lines, uses) {
			continue
		}
		n := mapping().withText("name", g.Name).with(g.Kind, nodeOf(g.Fields))
		for _, other := range g.Instead {
			n.note(decide + "the template also sets this value to " + oneLine(other) +
				", and here it is always this generator's.")
		}
		if g.Kind == "certificate" && g.Fields[0].Name != "isCA" {
			n.withText("refreshPolicy", string(v1beta1.OnChange)) // so that it is renewed
		}
		used = append(used, n)
		lines = append(lines, n.lines()...)
	}
	if len(used) > 0 && len(t.generators.items) == 0 {
		t.generators.note(decide+"a generator makes a new value once, and keeps it. To keep the value that the "+
			"Secret has now, add the Secret to sources, and write secrets.?former.?password.orValue(generated.…).",
			"refreshPolicy says when a value is replaced.")
	}
	slices.Reverse(used)
	t.generators.items = append(t.generators.items, used...)
}

// environmentKey is the key of the merged environment in the context.
const environmentKey = "apiextensions.crossplane.io/environment"

// lookup returns the CEL of a field of the data of function-go-templating.
func (t *templated) lookup(path []any, optional bool) (gotemplate.Expr, error) {
	begins := func(names ...any) bool { return len(path) >= len(names) && slices.Equal(path[:len(names)], names) }
	isResource := begins("observed", "resources") && len(path) > 2
	switch {
	case begins("observed", "composite", "resource"):
		return of("composite", t.xr.schema, path[3:], optional), nil
	case isResource && len(path) == 3:
		return gotemplate.Of(celtext.Path("resources", path[2:], optional), gotemplate.Any), nil
	case isResource && len(path) == 5 && path[3] == "connectionDetails":
		return gotemplate.Of(celtext.Path("secrets", []any{path[2], path[4]}, optional), gotemplate.Encoded), nil
	case isResource && path[3] == "resource":
		return t.composed(path[2], path[4:], optional)
	case begins("context", environmentKey):
		return of("environment", nil, path[2:], optional), nil
	case begins("context") && len(path) > 1:
		return of("context", nil, path[1:], optional), nil
	}
	return gotemplate.Expr{}, errors.New("reads something other than observed resources and the context")
}

// composed returns the CEL of a field of a composed resource.
func (t *templated) composed(name any, path []any, optional bool) (gotemplate.Expr, error) {
	text, _ := name.(string)
	if isHidden(t.kinds[text], path) {
		return gotemplate.Expr{}, errHidden
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
