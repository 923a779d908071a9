package lsp

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/crossplane-contrib/function-export/internal/desk/document"
	"github.com/crossplane-contrib/function-export/internal/desk/vocabulary"
	"github.com/crossplane-contrib/function-export/internal/engine/expression"
	"github.com/crossplane-contrib/function-export/internal/engine/lazy"
)

// Before the cursor, a line has the beginning of a key, or a key and the beginning of its value.
var (
	keyBefore   = lazy.MustCompile(`^(\s*(?:- +)*)([\w./-]*)$`)
	valueBefore = lazy.MustCompile(`^(\s*(?:- +)*)([\w./-]+):\s+["']?([\w./-]*)$`)
)

// completeField returns the fields or the values of the input that can be written at a position.
func (v *view) completeField(p document.Position) []CompletionItem {
	before := v.before(p)
	if m := valueBefore().FindStringSubmatch(before); m != nil {
		key := document.Position{Line: p.Line, Column: len([]rune(m[1])) + 1}
		for _, s := range v.steps {
			for _, f := range s.fields {
				place, exact := s.Document().Find(s.At(f.path...)...)
				if _, isItem := f.last().(int); exact && !isItem && place.Key.Position == key {
					return v.items(p, m[3], s.valuesOf(f))
				}
			}
		}
		return nil
	}
	m := keyBefore().FindStringSubmatch(before)
	if m == nil {
		return nil
	}
	column := len([]rune(m[1])) + 1
	for _, s := range v.steps {
		if f, ok := s.container(p.Line, column); ok {
			return v.items(p, m[2], s.below(f, strings.Contains(m[1], "-")))
		}
	}
	return nil
}

// items returns completions that replace the word before a position.
func (v *view) items(p document.Position, word string, items []CompletionItem) []CompletionItem {
	from := document.Position{Line: p.Line, Column: p.Column - len([]rune(word))}
	for i := range items {
		items[i].TextEdit.Range = v.text.editorRange(document.Range{Position: from, End: p})
	}
	return items
}

// container returns the object or list that a key in a line and a column belongs to.
func (s *step) container(line, column int) (inputField, bool) {
	var found *document.Entry
	for _, e := range s.Document().Entries() {
		if e.Key.Line > line || e.Key.Line == line && e.Key.Column > column {
			break
		}
		if e.Key.Column <= column && len(e.Path) >= len(s.At()) {
			found = &e
		}
	}
	if found == nil {
		return inputField{}, false
	}
	path := found.Path
	if _, isItem := found.Path[max(len(path)-1, 0):][0].(int); found.Key.Column == column && !isItem {
		path = path[:len(path)-1]
	}
	if len(path) < len(s.At()) || !slices.Equal(path[:len(s.At())], s.At()) {
		return inputField{}, false
	}
	for _, f := range s.fields {
		if slices.Equal(f.path, path[len(s.At()):]) {
			return f, true
		}
	}
	return inputField{}, false
}

// below returns what an object or a list can have.
func (s *step) below(f inputField, item bool) (out []CompletionItem) {
	schema, has := f.schema, f.value
	begin := ""
	if schema.Items != nil {
		if schema, has = schema.Items, nil; !item {
			begin = "- "
		}
	}
	if schema.Type != objectType {
		f.path, f.schema = append(slices.Clip(f.path), 0), schema
		return s.valuesOf(f)
	}
	if schema.AdditionalProperties != nil && f.name == "labels" {
		for _, key := range s.view.labels() {
			out = append(out, CompletionItem{Label: key, Kind: kindProperty, TextEdit: &TextEdit{NewText: key + ": "}})
		}
	}
	object, _ := has.(map[string]any)
	for i, name := range schema.Names {
		if _, exists := object[name]; exists {
			continue
		}
		below := schema.Properties[name]
		c := CompletionItem{
			Label: name, Kind: kindProperty, Detail: below.Type, SortText: fmt.Sprintf("%03d", i),
			Documentation: markdown(vocabulary.Field(schema.GoType, name)),
			TextEdit:      &TextEdit{NewText: begin + name + ": "},
		}
		if below.Expression {
			c.Detail = "expression"
		}
		out = append(out, c)
	}
	return out
}

// valuesOf returns the values of a field that are known.
func (s *step) valuesOf(f inputField) (out []CompletionItem) {
	add := func(kind int, detail string, texts ...string) {
		for _, text := range texts {
			edit := &TextEdit{NewText: text}
			out = append(out, CompletionItem{Label: text, Kind: kind, Detail: detail, TextEdit: edit})
		}
	}
	for _, value := range f.schema.Enum {
		add(kindEnum, "", fmt.Sprint(value))
	}
	if f.schema.Type == "boolean" {
		add(kindValue, "", "true", "false")
	}
	if f.schema.Default != nil && f.schema.Enum == nil {
		add(kindValue, "default", fmt.Sprint(f.schema.Default))
	}
	switch kind, declares := kindOfField(f); {
	case kind == ofResource:
		for _, name := range s.resources() {
			add(kindValue, s.Known.Resources[name].Kind, name)
		}
		add(kindValue, "source", s.namesIn(string(ofSource), "")...)
	case kind == ofGenerator && !declares:
		add(kindValue, "generator", s.namesIn(string(ofGenerator), "")...)
	}
	if f.name == "key" && f.above != nil && f.above.GoType == "SecretData" {
		from := cmp.Or(textOf(s.declaration(f.path)["from"]), expression.Composite)
		add(kindValue, "connection key", s.Known.ConnectionKeys[from]...)
	}
	return out
}
