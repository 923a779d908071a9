package lsp

import (
	"slices"
	"strings"

	"github.com/crossplane-contrib/function-export/internal/desk/composition"
	"github.com/crossplane-contrib/function-export/internal/desk/document"
	"github.com/crossplane-contrib/function-export/internal/engine/expression"
)

// A symbolKind is a class of named parts of an input.
type symbolKind string

// The kinds are the lists of the input that declare them, except for resources.
const (
	ofVariable  symbolKind = "variables"
	ofGenerator symbolKind = "generators"
	ofSource    symbolKind = "sources"
	ofExport    symbolKind = "exports"
	ofResource  symbolKind = "resources" // of another step
)

// A symbol is what a name stands for.
type symbol struct {
	kind symbolKind
	name string
}

// An occurrence is a place in the file that names a symbol.
type occurrence struct {
	symbol

	in       span
	declares bool
	dotted   bool // it must be an identifier
}

// kindsOfVariables are what the names below variables stand for.
var kindsOfVariables = map[string]symbolKind{
	expression.Variables: ofVariable, expression.Generated: ofGenerator, expression.Candidate: ofGenerator,
	expression.Previous: ofGenerator, expression.Revisions: ofExport, expression.Sources: ofSource,
	expression.Resources: ofResource, expression.Secrets: ofResource,
}

// resolve returns what a name of a composed resource or of an input stands for.
func (s *step) resolve(sym symbol) symbol {
	switch {
	case sym.kind != ofResource:
	case slices.Contains(s.exports(), sym.name):
		sym.kind = ofExport
	case slices.Contains(s.namesIn("sources", ""), sym.name):
		sym.kind = ofSource
	}
	return sym
}

// exportLists are the lists that declare exports.
var exportLists = []string{"secrets", "configMaps"} //nolint:gochecknoglobals // a table

func (s *step) exports() []string {
	return slices.Concat(s.namesIn(exportLists[0], ""), s.namesIn(exportLists[1], ""))
}

// occurrences returns all names in an input, in its order.
func (s *step) occurrences() (out []occurrence) {
	for _, e := range s.expressions {
		out = append(out, e.occurrences()...)
	}
	for _, f := range s.fields {
		text, ok := f.value.(string)
		kind, declares := kindOfField(f)
		if !ok || kind == "" || text == "" {
			continue
		}
		letters := s.Document().Letters(s.At(f.path...)...)
		name := text
		if f.name == "nonSensitive" {
			name, _, _ = strings.Cut(text, ".")
		}
		if letters != nil {
			in := s.view.text.spanOf(document.Range{Position: letters[0], End: letters[len(name)]})
			out = append(out, occurrence{symbol: s.resolve(symbol{kind, name}), declares: declares, in: in})
		}
	}
	return out
}

// kindOfField returns what the text of a literal field names, or nothing.
func kindOfField(f inputField) (kind symbolKind, declares bool) {
	depth := len(f.path)
	if depth == 0 {
		return "", false
	}
	list := textOf(f.path[0])
	switch {
	case f.name == "name" && depth == 3 && slices.Contains(exportLists, list):
		return ofExport, true
	case f.name == "name" && depth == 3:
		return symbolKind(list), true
	case f.name == "from", f.name == "key" && f.above != nil && f.above.GoType == "Extract",
		f.name == "nonSensitive" && depth > 1,
		list == "fromComposite" && (f.name == "secrets" || f.name == "resources"):
		return ofResource, false
	case f.name == "ca" && list == "generators":
		return ofGenerator, false
	}
	return "", false
}

// occurrences returns the names in an expression: those below variables, unless a macro declares a variable of that
// name.
func (e *expr) occurrences() (out []occurrence) {
	for i, t := range e.tokens {
		n := e.nameOf(i)
		if n == nil || len(n.path) != 2 || kindsOfVariables[n.path[0]] == "" || e.declaresLocal(n.path[0]) {
			continue
		}
		o := occurrence{in: e.span(t.start, t.end), dotted: t.kind == tokenName}
		if !o.dotted {
			start := t.start + len(textStart().FindString(t.text))
			o.in = e.span(start, start+len(n.path[1]))
		}
		o.symbol = e.resolve(symbol{kindsOfVariables[n.path[0]], n.path[1]})
		out = append(out, o)
	}
	return out
}

// declaresLocal reports whether a macro declares a variable: name.map(x, …), cel.bind(x, …).
func (e *expr) declaresLocal(name string) bool {
	for i := 1; i+1 < len(e.tokens); i++ {
		if e.tokens[i].text == name && e.tokens[i-1].is("(", ",") && e.tokens[i+1].is(",") {
			return true
		}
	}
	return false
}

// occurrenceAt returns the name at a place.
func (v *view) occurrenceAt(at int) (*step, *occurrence) {
	for _, s := range v.steps {
		for _, o := range s.occurrences() {
			if o.in.has(at) {
				return s, &o
			}
		}
	}
	return nil, nil
}

// all returns the occurrences of a symbol in the file: in its step, and for what other steps can name, in all steps of
// the pipeline.
func (s *step) all(sym symbol) (out []occurrence) {
	for _, other := range s.view.steps {
		for _, o := range other.occurrences() {
			same := o.symbol == sym && (other == s || sym.kind == ofResource)
			elsewhere := other != s && sym.kind == ofExport && o.symbol == symbol{ofResource, sym.name}
			if (same || elsewhere) && other.Document() == s.Document() {
				out = append(out, o)
			}
		}
	}
	return out
}

// definition returns where a symbol is declared, or false.
func (s *step) definition(sym symbol) (span, bool) {
	for _, o := range s.all(sym) {
		if o.declares {
			return o.in, true
		}
	}
	if i := s.composer(sym.name); i >= 0 && sym.kind == ofResource {
		_, at := s.Pipeline()
		place, _ := s.Document().Find(append(slices.Clone(at), i, "step")...)
		return s.view.text.spanOf(place.Value), true
	}
	return span{}, false
}

// composer returns the index of the step that composes a resource, or -1.
func (s *step) composer(name string) int {
	steps, _ := s.Pipeline()
	return slices.IndexFunc(steps, func(other composition.Step) bool {
		return slices.ContainsFunc(other.Resources, func(r composition.Resource) bool { return r.Name == name })
	})
}
