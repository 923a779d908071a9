package lsp

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"cel.dev/cel-go/common/types"

	"github.com/crossplane-contrib/function-export/internal/engine/expression"
	"github.com/crossplane-contrib/function-export/internal/engine/lazy"
)

// A completion collects what can be written at one place.
type completion struct {
	*view

	in    span // what is replaced
	items []CompletionItem
}

// completion returns what can be written at the position.
func (v *question) completion() any {
	c := &completion{view: v.view, items: []CompletionItem{}}
	if e, offset := v.expr(v.at); e != nil {
		c.expression(e, offset)
	} else {
		c.field(v.at)
	}
	return c.items
}

func (c *completion) add(name string, kind int, detail, text string, order string) *CompletionItem {
	c.items = append(c.items, CompletionItem{
		Label: name, Kind: kind, Detail: detail, SortText: order + name,
		TextEdit: &TextEdit{Range: c.text.rangeOf(c.in), NewText: text},
	})
	return &c.items[len(c.items)-1]
}

// nameBegin matches the rest of a name after the cursor.
var nameBegin = lazy.MustCompile(`^\w*`)

// expression adds what can be written at an offset of an expression.
func (c *completion) expression(e *expr, offset int) {
	before := tokensOf(e.text[:offset])
	start, n := offset, len(before)
	if n > 0 && before[n-1].end == offset {
		last := before[n-1]
		_, closed := last.textValue()
		switch {
		case last.kind == tokenText && !closed && n > 2 && before[n-2].is("[", "[?"): // a key: secret['|
			c.in = e.span(min(last.start+len(textStart().FindString(last.text)), offset), offset)
			c.members(e, before[:n-2], nil)
			return
		case last.kind == tokenComment || last.kind == tokenNumber || last.kind == tokenText:
			return
		case last.isName():
			start, n = last.start, n-1
		}
	}
	c.in = e.span(start, offset+len(nameBegin().FindString(e.text[offset:])))
	if n > 1 && before[n-1].is(".", ".?") {
		c.members(e, before[:n-1], &before[n-1])
		c.methods(e, before[n-2])
	} else {
		c.names(e)
	}
}

// members adds what can be selected from the operand that ends tokens, after a dot or in quotes. The dot is replaced
// if it cannot select the name.
func (c *completion) members(e *expr, before []token, dot *token) {
	afterDot := c.in
	for _, m := range e.membersOf(before) {
		text, filter := m.name, ""
		if dot != nil && !isIdentifier().MatchString(m.name) {
			text, filter = "["+strings.TrimPrefix(dot.text, ".")+"'"+m.name+"']", dot.text+m.name
			c.in.start = e.letters[dot.start]
		}
		i := c.add(m.name, kindField, m.detail, text, "0")
		i.Documentation, i.FilterText = markdown(m.does), filter
		c.in = afterDot
	}
}

// methods adds the functions of a namespace, or the methods of the operand that a token ends.
func (c *completion) methods(e *expr, last token) {
	if last.isName() {
		c.functions(last.text + ".")
	}
	s := e.site(last.end)
	if s.of == nil || s.of.Kind() == types.ErrorKind && len(c.items) > 0 { // it is a namespace
		return
	}
	for _, f := range functions() {
		if f.receiver != "" && s.accepts(f.receiver) {
			c.function(f, f.snippet(), kindMethod)
		}
	}
}

// function adds a function once.
func (c *completion) function(f function, snippet string, kind int) {
	name, _, _ := strings.Cut(snippet, "(")
	if slices.ContainsFunc(c.items, func(i CompletionItem) bool { return i.Label == name && i.Kind == kind }) {
		return
	}
	if !c.client.TextDocument.Completion.CompletionItem.SnippetSupport {
		c.add(name, kind, f.signature, name+"(", "2").Documentation = markdown(f.help())
		return
	}
	i := c.add(name, kind, f.signature, snippet, "2")
	i.Documentation, i.InsertTextFormat = markdown(f.help()), formatSnippet
}

// functions adds the functions whose names begin with a namespace, without the namespace.
func (c *completion) functions(namespace string) {
	for _, f := range functions() {
		if name, ok := strings.CutPrefix(f.snippet(), namespace); ok && f.receiver == "" {
			c.function(f, name, kindFunction)
		}
	}
}

// names adds what an expression can begin with.
func (c *completion) names(e *expr) {
	source, env, _ := e.source()
	for _, name := range env.Names(source) {
		v := variableNamed(name)
		detail := v.Type
		if v.Secret {
			detail += ", secret"
		}
		c.add(name, kindVariable, detail, name, "1").Documentation = markdown(v.Does)
	}
	c.functions("")
}

var isIdentifier = lazy.MustCompile(`^[A-Za-z_]\w*$`)

// A member is what can be selected from an operand.
type member struct{ name, detail, does string }

// membersOf returns the names that can be selected from the operand that ends the tokens.
func (e *expr) membersOf(before []token) []member {
	s := e.site(before[len(before)-1].end)
	if _, path := pathBefore(before); path != nil {
		if found := e.known(path); found != nil {
			return found
		}
	}
	var out []member
	for _, name := range e.Types.Names(s.object()) {
		t, _ := e.Types.Field(s.object(), name)
		out = append(out, member{name, s.typeName(t), e.Types.Schema(s.object(), name).Get("description").Text()})
	}
	return out
}

// known returns the names below a path that are not in schemas: keys of connection details, outputs of generators, and
// labels.
func (e *expr) known(path []string) (out []member) {
	add := func(detail string, names ...string) []member {
		for _, name := range names {
			out = append(out, member{name: name, detail: detail})
		}
		return out
	}
	root, depth := path[0], len(path)
	switch kind := kindsOfVariables[root]; {
	case root == expression.Secrets && depth == 1:
		add("connection details, secret", e.resources()...)
		return add("data of a Secret, secret", e.namesIn("sources", "Secret")...)
	case kind == ofGenerator && depth == 1:
		return add("outputs, secret", e.namesIn(string(ofGenerator), "")...)
	case kind == ofExport && depth == 1:
		return add("int", e.exports()...)
	case depth > 2 && slices.Equal(path[depth-2:], []string{"metadata", "labels"}):
		return add("string", e.view.labels()...)
	}
	return add("string, secret", e.secretKeys(path)...)
}

// secretKeys returns the keys of connection details, or the outputs of a generator, at a path.
func (e *expr) secretKeys(path []string) []string {
	source, _, _ := e.source()
	switch root, depth := path[0], len(path); {
	case root == expression.Secret && depth == 1:
		return e.Known.ConnectionKeys[cmp.Or(source.From, expression.Composite)]
	case root == expression.Secrets && depth == 2:
		return e.Known.ConnectionKeys[path[1]]
	case expression.HasOutputs(root) && depth == 2:
		return e.outputs(path[1])
	}
	return nil
}

// resources returns the names of the composed resources of other steps.
func (s *step) resources() []string {
	return slices.Sorted(maps.Keys(s.Known.Resources))
}

// namesIn returns the names in a list of the input, of objects of a kind if there is one.
func (s *step) namesIn(list, kind string) (names []string) {
	items, _ := s.Input[list].([]any)
	for _, item := range items {
		m, _ := item.(map[string]any)
		if name := textOf(m["name"]); name != "" && (kind == "" || m["kind"] == kind) {
			names = append(names, name)
		}
	}
	return names
}

// outputs returns the outputs of a generator.
func (s *step) outputs(name string) []string {
	for i := range s.Plan.Generators {
		if g := &s.Plan.Generators[i]; g.Name == name {
			return g.Keys
		}
	}
	return nil
}

// labels returns the keys of labels that the file has, and those that Crossplane and Kubernetes' tools write.
func (v *view) labels() []string {
	out := []string{"app.kubernetes.io/instance", "app.kubernetes.io/name", "app.kubernetes.io/part-of",
		"crossplane.io/claim-name", "crossplane.io/claim-namespace", "crossplane.io/composite"}
	for _, s := range v.steps {
		for _, e := range s.Document().Entries() {
			if n := len(e.Path) - 2; n >= 0 && (e.Path[n] == "labels" || e.Path[n] == "matchLabels") {
				out = append(out, textOf(e.Path[n+1]))
			}
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}
