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

// A Scalar is a text of a document, with markers.
type Scalar struct {
	manifests *Manifests
	text      string
	plain     bool // without quotes
}

// A Key is a key of a mapping, with the value that it has under the conditions of the template.
type Key struct {
	Name     Scalar
	Value    Expr
	Err      error
	Source   string // the value, as in the template
	Optional bool   // a condition only waits for composed resources
	Loop     *Loop  // that repeats the key
}

// Source returns the document as it is in the template.
func (d *Document) Source() string {
	var b strings.Builder
	for i, line := range strings.SplitAfter(d.text.String(), "\n") {
		for _, c := range d.opened(i) {
			b.WriteString(c.source + "\n")
		}
		b.WriteString(line)
	}
	return d.manifests.source(b.String())
}

// opened returns the controls that begin at a line.
func (d *Document) opened(line int) []*control {
	if line >= len(d.open) {
		return nil
	}
	before := 0
	if line > 0 {
		before = len(d.open[line-1])
	}
	return d.open[line][min(before, len(d.open[line])):]
}

// Read reads the YAML of the document.
func (d *Document) Read() error { return d.read(d.text.String()) }

// ReadPartly reads the document even if some of its actions write several keys, which are unknown then.
func (d *Document) ReadPartly() error {
	text := d.text.String()
	if err := d.read(text); err == nil {
		return nil
	}
	text = onlyAction.ReplaceAllString(text, "$1: x")
	return d.read(afterColon.ReplaceAllString(text, ": $1"))
}

func (d *Document) read(text string) error {
	var all yaml.Node
	if err := yaml.Load([]byte(text), &all, yaml.WithUniqueKeys(false)); err != nil ||
		len(all.Content) != 1 || all.Content[0].Kind != yaml.MappingNode {
		return errors.New("is not valid YAML without its actions") // the error may quote the text
	}
	d.root = all.Content[0]
	if len(d.root.Content) > 0 {
		d.around = d.at(d.root.Content[0])
	}
	for _, f := range d.fields("kind") {
		d.around = d.at(f.key)
	}
	return nil
}

// at returns the controls around a node.
func (d *Document) at(n *yaml.Node) []*control {
	if n.Line < 1 || n.Line > len(d.open) {
		return nil
	}
	return d.open[n.Line-1]
}

// inside returns the controls around a node that are not around the document.
func (d *Document) inside(n *yaml.Node) []*control {
	all := d.at(n)
	return all[min(len(d.around), len(all)):]
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

// Field returns a text of the document, and whether it is there.
func (d *Document) Field(path ...string) (Scalar, bool) {
	list := d.fields(path...)
	if len(list) == 0 || list[len(list)-1].value.Kind != yaml.ScalarNode {
		return Scalar{}, false
	}
	return d.textOf(list[len(list)-1].value), true
}

// Literals returns the different texts that a field has in the branches of the template. It is false if the field can
// also be something else.
func (d *Document) Literals(path ...string) (texts []string, all bool) {
	all = true
	for _, f := range d.fields(path...) {
		e, err := d.textOf(f.value).Expr()
		switch text, constant := e.Constant(); {
		case err != nil || !constant || text == "":
			all = false
		case !slices.Contains(texts, text):
			texts = append(texts, text)
		}
	}
	return texts, all
}

// Contains reports whether an object of a kind with data is a part of the document's object.
func (d *Document) Contains(kind string) bool {
	var in func(n *yaml.Node) bool
	in = func(n *yaml.Node) bool {
		is, data := false, false
		for _, f := range fieldsOf(n) {
			is = is || f.key.Value == "kind" && f.value.Value == kind
			data = data || f.key.Value == "data" || f.key.Value == "stringData"
		}
		return is && data || slices.ContainsFunc(n.Content, in)
	}
	return slices.ContainsFunc(d.root.Content, in)
}

func (d *Document) textOf(n *yaml.Node) Scalar {
	if n.Tag == "!!null" || n.Kind != yaml.ScalarNode {
		return Scalar{manifests: d.manifests}
	}
	return Scalar{d.manifests, n.Value,
		n.Style&(yaml.SingleQuotedStyle|yaml.DoubleQuotedStyle|yaml.LiteralStyle|yaml.FoldedStyle) == 0}
}

// Conditions returns the conditions of the document in CEL, or as they are in the template if they have no equivalent.
// It leaves out those that only wait for composed resources, as an export does anyway.
func (d *Document) Conditions() (cel, lost []string) {
	for _, c := range d.around {
		switch {
		case c.waits || c.loop != nil:
		case c.err != nil:
			lost = append(lost, c.source)
		default:
			cel = append(cel, operand(c.condition))
		}
	}
	return cel, lost
}

// Repeated reports whether the document exists only under a condition, or once for each item of a loop.
func (d *Document) Repeated() bool {
	cel, _ := d.Conditions()
	loop, _ := d.Loop()
	return len(cel) > 0 || loop != nil
}

// Loop returns the loop that repeats the document, or nil. It returns an error if it has no equivalent.
func (d *Document) Loop() (*Loop, error) {
	for _, c := range d.around {
		if c.loop != nil {
			return c.loop, c.err
		}
	}
	return nil, nil
}

// Keys returns the keys of a mapping, sorted. A key that several branches have depends on their conditions.
func (d *Document) Keys(path ...string) []Key {
	found := map[string][]branch{}
	for _, section := range d.fields(path...) {
		for _, f := range fieldsOf(section.value) {
			b := branch{key: d.textOf(f.key), text: d.textOf(f.value), conditions: d.inside(f.key)}
			b.inside = len(b.conditions)
			if section.key != nil {
				b.inside -= len(d.inside(section.key))
			}
			if f.value.Kind != yaml.ScalarNode {
				b.err = errors.New("is not a text")
			}
			found[f.key.Value] = append(found[f.key.Value], b)
		}
	}
	out := make([]Key, 0, len(found))
	for _, name := range slices.Sorted(maps.Keys(found)) {
		out = append(out, keyOf(found[name]))
	}
	return out
}

// A branch is one of the values of a key.
type branch struct {
	key, text  Scalar
	conditions []*control
	inside     int // how many of them the mapping is not in
	err        error
}

// keyOf returns a key with all its branches.
func keyOf(list []branch) Key {
	k := Key{Name: list[0].key}
	for i := len(list) - 1; i >= 0; i-- {
		b := list[i]
		e, err := b.text.Expr()
		if b.err != nil {
			err = b.err
		}
		source := b.text.Source()
		var condition []string
		for i, c := range b.conditions {
			switch {
			case c.loop != nil && (k.Loop != nil || len(list) > 1):
				err = errors.New("is in several loops")
			case c.loop != nil:
				k.Loop = c.loop
				err = firstOf(err, c.err)
			case c.waits && len(list) == 1:
				k.Optional = k.Optional || i >= len(b.conditions)-b.inside
				continue
			default:
				condition = append(condition, c.condition)
				err = firstOf(err, c.err)
			}
			source = c.source + source + "{{end}}"
		}
		k.Err = firstOf(err, k.Err)
		k.Source = source + k.Source
		if len(condition) == 0 {
			k.Value = e
			continue
		}
		c, other := both(condition), k.Value
		if other.choice != nil && other.choice.condition == not(c) {
			other = other.choice.yes
		}
		k.Value = If(c, e, other)
	}
	return k
}

func firstOf(a, b error) error {
	if a != nil {
		return a
	}
	return b
}

// both joins conditions.
func both(list []string) string {
	if len(list) == 1 {
		return list[0]
	}
	out := make([]string, len(list))
	for i, c := range list {
		out[i] = operand(c)
	}
	return strings.Join(out, " && ")
}

// Expr translates a text.
func (t Scalar) Expr() (Expr, error) {
	var out []Expr
	last := 0
	for _, at := range marker.FindAllStringSubmatchIndex(t.text, -1) {
		a := t.manifests.action(t.text[at[2]:at[3]])
		if a.err != nil {
			return Expr{}, a.err
		}
		if t.plain && a.expr.unquoted != nil && at[0] == 0 && at[1] == len(t.text) {
			return *a.expr.unquoted, nil // the quotes are YAML's
		}
		out = append(out, Literal(t.text[last:at[0]]), a.expr)
		last = at[1]
	}
	return Join(append(out, Literal(t.text[last:]))...), nil
}

// Source returns a text as it is in the template.
func (t Scalar) Source() string { return t.manifests.source(t.text) }

// HasActions reports whether a text depends on the data.
func (t Scalar) HasActions() bool { return marker.MatchString(t.text) }

func (m *Manifests) source(text string) string {
	return marker.ReplaceAllStringFunc(text, func(found string) string {
		return m.action(strings.Trim(found, markerStart+markerEnd)).source
	})
}

func (m *Manifests) action(index string) action {
	i, err := strconv.Atoi(index)
	if err != nil || i >= len(m.actions) {
		return action{err: errParse}
	}
	return m.actions[i]
}
