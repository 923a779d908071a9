package gotemplate

import (
	"errors"
	"maps"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v4"
)

// A Document is a YAML document of a template.
type Document struct {
	manifests *Manifests
	text      strings.Builder
	open      [][]*control // around each line
	root      *yaml.Node
	around    []*control // around the document
}

// A Key is a key of a mapping, with its value. A key without a name does not exist.
type Key struct {
	Name     string
	Value    Expr
	Err      error  // why the value has no equivalent
	Source   string // the value, as in the template
	Optional bool   // the key exists once composed resources are observed
}

// Source returns the document as it is in the template.
func (d *Document) Source() string {
	before := ""
	for _, c := range d.open[0] {
		before += c.source + "\n"
	}
	return before + d.manifests.source(d.text.String())
}

// Read reads the YAML of the document.
func (d *Document) Read() error { return d.read(d.text.String()) }

// ReadPartly reads the document even if some of its actions write several keys, which are unknown then.
func (d *Document) ReadPartly() error {
	text := d.text.String()
	if err := d.read(text); err == nil {
		return nil
	}
	text = onlyAction().ReplaceAllString(text, "$1: x")
	return d.read(afterColon().ReplaceAllString(text, ": $1"))
}

func (d *Document) read(text string) error {
	var all yaml.Node
	if err := yaml.Load([]byte(text), &all, yaml.WithUniqueKeys(false)); err != nil ||
		len(all.Content) != 1 || all.Content[0].Kind != yaml.MappingNode {
		return errors.New("is not valid YAML without its actions") // the error may quote the text
	}
	d.root = all.Content[0]
	for _, f := range d.fields("kind") {
		d.around = d.at(f.key)
	}
	return nil
}

// at returns the controls around a node.
func (d *Document) at(n *yaml.Node) []*control {
	if n == nil || n.Line < 1 || n.Line > len(d.open) {
		return nil
	}
	return d.open[n.Line-1]
}

// A field is a key of a mapping with its value.
type field struct{ key, value *yaml.Node }

func fieldsOf(n *yaml.Node) []field {
	var out []field
	for i := 0; n.Kind == yaml.MappingNode && i+1 < len(n.Content); i += 2 {
		out = append(out, field{n.Content[i], n.Content[i+1]})
	}
	return out
}

// fields returns all fields with a path. Branches can repeat a field.
func (d *Document) fields(path ...string) []field {
	list := []field{{value: d.root}}
	for _, name := range path {
		var next []field
		for _, f := range list {
			for _, inner := range fieldsOf(f.value) {
				if inner.key.Value == name {
					next = append(next, inner)
				}
			}
		}
		list = next
	}
	return list
}

// Field returns a field of the document. In branches, it is the last one.
func (d *Document) Field(path ...string) Key {
	list := d.fields(path...)
	if len(list) == 0 {
		return Key{}
	}
	section := d.fields(path[:len(path)-1]...)
	return d.key(section[len(section)-1], list[len(list)-1])
}

// Literals returns the different texts that a field has in the branches of the template. It is false if the field can
// also be something else.
func (d *Document) Literals(path ...string) (texts []string, all bool) {
	all = true
	for _, f := range d.fields(path...) {
		e, err := d.manifests.expr(f.value)
		switch text, constant := e.Constant(); {
		case err != nil || !constant || text == "":
			all = false
		case !slices.Contains(texts, text):
			texts = append(texts, text)
		}
	}
	return texts, all
}

// Conditions returns the conditions of the document, as they are in the template. It leaves out those that only wait
// for composed resources, as an export does anyway.
func (d *Document) Conditions() []string {
	var out []string
	for _, c := range d.around {
		if !c.waits {
			out = append(out, c.source)
		}
	}
	return out
}

// Repeated reports whether a loop repeats the document.
func (d *Document) Repeated() bool {
	return slices.ContainsFunc(d.around, func(c *control) bool { return c.loop })
}

// Keys returns the keys of a mapping, sorted.
func (d *Document) Keys(path ...string) []Key {
	found := map[string]Key{}
	for _, section := range d.fields(path...) {
		for _, f := range fieldsOf(section.value) {
			k := d.key(section, f)
			if other, again := found[f.key.Value]; again { // in another branch
				k.Source, k.Err = other.Source+k.Source, errBranch
			}
			found[f.key.Value] = k
		}
	}
	out := make([]Key, 0, len(found))
	for _, name := range slices.Sorted(maps.Keys(found)) {
		out = append(out, found[name])
	}
	return out
}

// key returns a key of a section. A condition or a loop around it is an error, unless it only waits for composed
// resources.
func (d *Document) key(section, f field) Key {
	k := Key{Name: d.manifests.source(f.key.Value), Source: d.manifests.source(f.value.Value)}
	if k.Value, k.Err = d.manifests.expr(f.value); marker().MatchString(f.key.Value) {
		k.Err = errors.New("has a key that is a template")
	}
	controls := d.at(f.key)
	for i, c := range slices.Backward(controls[min(len(d.around), len(controls)):]) {
		k.Source = c.source + k.Source + "{{end}}"
		if !c.waits {
			k.Err = errBranch
		}
		k.Optional = k.Optional || i+len(d.around) >= len(d.at(section.key))
	}
	return k
}

// expr translates a value.
func (m *Manifests) expr(n *yaml.Node) (Expr, error) {
	switch {
	case n.Kind != yaml.ScalarNode:
		return Expr{}, errors.New("is not a text")
	case n.Tag == "!!null":
		return Expr{}, nil
	}
	var out []Expr
	last := 0
	for _, at := range marker().FindAllStringSubmatchIndex(n.Value, -1) {
		i, err := strconv.Atoi(n.Value[at[4]:at[5]])
		switch {
		case at[2] < at[3]:
			return Expr{}, errBranch
		case err != nil || i >= len(m.actions):
			return Expr{}, errParse
		}
		a := m.actions[i]
		if a.err != nil {
			return Expr{}, a.err
		}
		const quoted = yaml.SingleQuotedStyle | yaml.DoubleQuotedStyle | yaml.LiteralStyle | yaml.FoldedStyle
		if a.expr.unquoted != nil && n.Style&quoted == 0 && at[0] == 0 && at[1] == len(n.Value) {
			return *a.expr.unquoted, nil // the quotes are YAML's
		}
		out = append(out, Literal(n.Value[last:at[0]]), a.expr)
		last = at[1]
	}
	return Join(append(out, Literal(n.Value[last:]))...), nil
}

// source returns a text as it is in the template.
func (m *Manifests) source(text string) string {
	return marker().ReplaceAllStringFunc(text, func(found string) string {
		parts := marker().FindStringSubmatch(found)
		i, err := strconv.Atoi(parts[2])
		switch {
		case parts[1] == "-":
			return "{{end}}"
		case parts[1] == "+" && err == nil && i < len(m.controls):
			return m.controls[i].source
		case err == nil && i < len(m.actions):
			return m.actions[i].source
		}
		return found
	})
}
