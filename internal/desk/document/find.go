package document

import "go.yaml.in/yaml/v4"

// A Place is the place of a value in a document.
type Place struct {
	// Key is the range of its key. An item of a list and the document itself have no key: then it is like Value.
	Key Range

	// Value is the range of the value, after its anchor and tag. An alias is where the value of its anchor is. A missing
	// value is where it would be. The range of an object or a list ends after its first scalar.
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
