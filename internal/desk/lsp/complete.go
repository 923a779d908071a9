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
	*expr

	snippets bool // the client knows places to fill in
	in       span
	items    []CompletionItem
}

// completion returns what can be written at the position.
func (v *question) completion() any {
	snippets := v.client.TextDocument.Completion.CompletionItem.SnippetSupport
	if e, offset := v.expr(v.at); e != nil {
		return append([]CompletionItem{}, e.complete(offset, snippets)...)
	}
	return append([]CompletionItem{}, v.completeField(v.at)...)
}

// complete returns what can be written at an offset.
func (e *expr) complete(offset int, snippets bool) []CompletionItem {
	c := &completion{expr: e, snippets: snippets}
	before := tokensOf(e.text[:offset])
	start, n := offset, len(before)
	if n > 0 && before[n-1].end == offset {
		last := before[n-1]
		_, closed := last.textValue()
		switch {
		case last.kind == tokenText && !closed && n > 2 && before[n-2].is("[", "[?"):
			return c.quoted(before, offset)
		case last.kind == tokenComment || last.kind == tokenNumber || last.kind == tokenText:
			return nil
		case last.isName():
			start, n = last.start, n-1
		}
	}
	c.in = e.span(start, e.nameEnd(offset))
	if n > 1 && before[n-1].is(".", ".?") {
		c.members(before[:n-1], before[n-1])
	} else {
		c.names()
	}
	return c.items
}

// nameEnd returns the end of the name that an offset is in, or the offset.
func (e *expr) nameEnd(offset int) int {
	for _, t := range e.tokens {
		if t.isName() && t.start <= offset && offset < t.end {
			return t.end
		}
	}
	return offset
}

// quoted completes a key in quotes: secret['|.
func (c *completion) quoted(before []token, offset int) []CompletionItem {
	n := len(before) - 1
	c.in = c.span(min(before[n].start+len(textStart().FindString(before[n].text)), offset), offset)
	for _, m := range c.membersOf(before[:n-1]) {
		c.add(m.name, kindField, m.detail, m.name, "0").Documentation = markdown(m.does)
	}
	return c.items
}

func (c *completion) add(name string, kind int, detail, text string, order string) *CompletionItem {
	c.items = append(c.items, CompletionItem{
		Label: name, Kind: kind, Detail: detail, SortText: order + name,
		TextEdit: &TextEdit{Range: c.view.text.rangeOf(c.in), NewText: text},
	})
	return &c.items[len(c.items)-1]
}

// members adds what can be selected from the operand before a dot.
func (c *completion) members(before []token, dot token) {
	afterDot := c.in
	for _, m := range c.membersOf(before) {
		c.in = afterDot
		text := m.name
		if !isIdentifier().MatchString(m.name) { // the dot is replaced
			text = "[" + strings.TrimPrefix(dot.text, ".") + "'" + m.name + "']"
			c.in.start = c.letters[dot.start]
		}
		i := c.add(m.name, kindField, m.detail, text, "0")
		i.Documentation = markdown(m.does)
		if text != m.name {
			i.FilterText = dot.text + m.name
		}
	}
	c.in = afterDot
	if before[len(before)-1].isName() {
		c.functions(before[len(before)-1].text + ".")
	}
	s := c.site(before[len(before)-1].end)
	if len(c.items) > 0 && s.of != nil && s.of.Kind() == types.ErrorKind { // it is a namespace
		return
	}
	for _, f := range functions() {
		if f.receiver != "" && s.of != nil && s.accepts(f.receiver) {
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
	if !c.snippets {
		snippet = name + "("
	}
	i := c.add(name, kind, f.signature, snippet, "2")
	i.Documentation = markdown(f.help())
	if c.snippets {
		i.InsertTextFormat = formatSnippet
	}
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
func (c *completion) names() {
	source, env, _ := c.source()
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
