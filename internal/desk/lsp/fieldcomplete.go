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

// field adds the fields or the values of the input that can be written at a place.
func (c *completion) field(at int) {
	before := c.text.before(at)
	line := at - len(before)
	if m := valueBefore().FindStringSubmatch(before); m != nil {
		c.in = span{at - len(m[3]), at}
		if s, f, key := c.fieldAt(line + len(m[1])); s != nil && key.start == line+len(m[1]) {
			c.values(s, f)
		}
		return
	}
	m := keyBefore().FindStringSubmatch(before)
	if m == nil {
		return
	}
	c.in = span{at - len(m[2]), at}
	for _, s := range c.steps {
		if f, ok := s.container(line + len(m[1])); ok {
			c.below(s, f, strings.Contains(m[1], "-"))
			return
		}
	}
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

// below adds what an object or a list can have.
func (c *completion) below(s *step, f inputField, item bool) {
	schema, has := f.schema, f.value
	begin := ""
	if schema.Items != nil {
		if schema, has = schema.Items, nil; !item {
			begin = "- "
		}
	}
	if schema.Type != objectType {
		f.path, f.schema = append(slices.Clip(f.path), 0), schema
		c.values(s, f)
		return
	}
	if schema.AdditionalProperties != nil && f.name == "labels" {
		for _, key := range c.labels() {
			c.add(key, kindProperty, "", key+": ", "")
		}
	}
	object, _ := has.(map[string]any)
	for i, name := range schema.Names {
		if _, exists := object[name]; exists {
			continue
		}
		detail := schema.Properties[name].Type
		if schema.Properties[name].Expression {
			detail = "expression"
		}
		c.add(name, kindProperty, detail, begin+name+": ", fmt.Sprintf("%03d", i)).Documentation =
			markdown(vocabulary.Field(schema.GoType, name))
	}
}

// values adds the values of a field that are known.
func (c *completion) values(s *step, f inputField) {
	add := func(kind int, detail string, texts ...string) {
		for _, text := range texts {
			c.add(text, kind, detail, text, "")
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
}
