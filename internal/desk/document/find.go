package document

import (
	"slices"

	"go.yaml.in/yaml/v4"
)

// A Place is the place of a value in a document.
type Place struct {
	// Key is the range of its key. An item of a list and the document itself have no key: then it is like Value.
	Key Range

	// Value is the range of the value, after its anchor and tag. An alias is where the value of its anchor is. A
	// missing value is where it would be. The range of an object or a list ends after its first scalar.
	Value Range
}

// Find returns the place of the value at a path of keys (string) and indices (int). A key of a
// merged mapping is found where it is written. If there is no such value, the result is the place
// of the deepest existing value on the path, and exact is false.
func (d *Document) Find(path ...any) (p Place, exact bool) {
	key, value, exact := d.find(path)
	if value == nil {
		start := Range{d.Start(), d.Start()}
		return Place{Key: start, Value: start}, exact
	}
	t := d.tree()
	return Place{Key: t.rangeOf(key), Value: t.rangeOf(value)}, exact
}

// find returns the nodes of a value and of its key. They are nil without a tree.
func (d *Document) find(path []any) (key, value *yaml.Node, exact bool) {
	root := d.tree().root
	if root == nil {
		return nil, nil, len(path) == 0
	}
	key, value = root, root
	for _, step := range path {
		k, v := child(value, step)
		if v == nil {
			return key, value, false
		}
		key, value = k, aliased(v)
	}
	return key, value, true
}

func child(n *yaml.Node, step any) (key, value *yaml.Node) {
	switch step := step.(type) {
	case string:
		if n.Kind == yaml.MappingNode {
			return lookUp(n, step)
		}
	case int:
		if n.Kind == yaml.SequenceNode && step >= 0 && step < len(n.Content) {
			return n.Content[step], n.Content[step]
		}
	}
	return nil, nil
}

// lookUp looks up a key in a mapping, and then in the mappings that it merges. A readable document
// has no mapping that merges itself.
func lookUp(n *yaml.Node, name string) (key, value *yaml.Node) {
	for k, v := range pairs(n) {
		if isMerge(k) {
			continue
		}
		if aliased(k).Value == name {
			return k, v
		}
	}
	for k, v := range pairs(n) {
		if !isMerge(k) {
			continue
		}
		for _, from := range merged(v) {
			if key, value := lookUp(from, name); value != nil {
				return key, value
			}
		}
	}
	return nil, nil
}

// At returns the value at a path, or nil.
func (d *Document) At(path ...any) any {
	v := d.value
	for _, step := range path {
		switch step := step.(type) {
		case string:
			m, _ := v.(map[string]any)
			v = m[step]
		case int:
			items, _ := v.([]any)
			if step < 0 || step >= len(items) {
				return nil
			}
			v = items[step]
		default:
			return nil
		}
	}
	return v
}

// An Entry is a value of a document, with its path and its place.
type Entry struct {
	Place

	Path []any
	End  Position // after the whole value
}

// Entries returns all values of a document in their order, each object or list before the values in it. Values of
// aliases and of merged mappings are only where they are written.
func (d *Document) Entries() []Entry {
	var out []Entry
	t := d.tree()
	if t.root != nil {
		t.entries(t.root, t.root, nil, &out)
	}
	return out
}

func (t *tree) entries(key, value *yaml.Node, path []any, out *[]Entry) {
	place := Place{Key: t.rangeOf(key), Value: t.rangeOf(value)}
	*out = append(*out, Entry{place, path, t.file.position(max(t.offset(value), t.end(value)))})
	switch value.Kind { //nolint:exhaustive // the others have nothing in them
	case yaml.MappingNode:
		for k, v := range pairs(value) {
			if !isMerge(k) {
				t.entries(k, v, append(slices.Clip(path), aliased(k).Value), out)
			}
		}
	case yaml.SequenceNode:
		for i, v := range value.Content {
			t.entries(v, v, append(slices.Clip(path), i), out)
		}
	}
}

// Letters returns the position in the file of each byte of the string at a path, and of its end. It returns nil if
// there is no such string, or if the file has it in another form.
func (d *Document) Letters(path ...any) []Position {
	_, n, found := d.find(path)
	text, isText := d.At(path...).(string)
	if n == nil || !found || !isText {
		return nil
	}
	places := placesOf(text, d.file.text[:d.end], d.tree().offset(n), n.Style)
	out := make([]Position, 0, len(places))
	for _, at := range places {
		out = append(out, d.file.position(at))
	}
	return out
}
