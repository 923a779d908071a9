package lsp

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/crossplane-contrib/function-export/internal/desk/vocabulary"
	"github.com/crossplane-contrib/function-export/internal/engine/expression"
	"github.com/crossplane-contrib/function-export/internal/engine/lazy"
)

// Before the cursor, a line has the beginning of a key, or a key and the beginning of its value.
var (
	keyBefore   = lazy.MustCompile(`^(\s*(?:- +)*)([\w./-]*)$`)
	valueBefore = lazy.MustCompile(`^(\s*(?:- +)*)([\w./-]+):\s+["']?([\w./-]*)$`)
)

// completeField returns the fields or the values of the input that can be written at a place.
func (v *view) completeField(at int) []CompletionItem {
	before := v.text.before(at)
	line := at - len(before)
	if m := valueBefore().FindStringSubmatch(before); m != nil {
		if s, f, key := v.fieldAt(line + len(m[1])); s != nil && key.start == line+len(m[1]) {
			return v.items(at, m[3], s.valuesOf(f))
		}
		return nil
	}
	m := keyBefore().FindStringSubmatch(before)
	if m == nil {
		return nil
	}
	for _, s := range v.steps {
		if f, ok := s.container(line + len(m[1])); ok {
			return v.items(at, m[2], s.below(f, strings.Contains(m[1], "-")))
		}
	}
	return nil
}

// items returns completions that replace the word before a place.
func (v *view) items(at int, word string, items []CompletionItem) []CompletionItem {
	for i := range items {
		items[i].TextEdit.Range = v.text.rangeOf(span{at - len(word), at})
	}
	return items
}

// container returns the object or list that a key at a place belongs to.
func (s *step) container(at int) (inputField, bool) {
	t, column, input := s.view.text, len(s.view.text.before(at)), s.At()
	var path []any
	for _, e := range s.Document().Entries() {
		key := t.offsetIn(e.Key.Position)
		if key > at {
			break
		}
		n := len(e.Path) - 1
		if len(t.before(key)) > column || n+1 < len(input) {
			continue
		}
		path = e.Path
		if len(t.before(key)) == column && n >= 0 && textOf(path[n]) != "" { // it is beside that key
			path = path[:n]
		}
	}
	if len(path) < len(input) || !slices.Equal(path[:len(input)], input) {
		return inputField{}, false
	}
	i := slices.IndexFunc(s.fields, func(f inputField) bool { return slices.Equal(f.path, path[len(input):]) })
	if i < 0 {
		return inputField{}, false
	}
	return s.fields[i], true
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
