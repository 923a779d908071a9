package document

import (
	"strings"

	"go.yaml.in/yaml/v3"
)

// misused returns the first part of a document that is YAML but cannot be an object of Kubernetes, or nil.
func (t *tree) misused() *mistake {
	if t.root == nil {
		return nil
	}
	return t.misusedIn(t.root, map[*yaml.Node]bool{})
}

func (t *tree) misusedIn(n *yaml.Node, above map[*yaml.Node]bool) *mistake {
	if n.Kind == yaml.AliasNode {
		if above[n.Alias] {
			return &mistake{t.offset(n), "an alias in the value that it repeats: remove it"}
		}
		return nil // its anchor is above it
	}
	above[n] = true
	defer delete(above, n)
	if n.Kind == yaml.MappingNode {
		for key, value := range pairs(n) {
			if f := t.misusedKey(key, value); f != nil {
				return f
			}
		}
	}
	if n.Kind == yaml.ScalarNode && n.Tag == "!!float" && !isQuoted(n) && strings.Trim(n.Value, "+-.INFAinfa") == "" {
		return &mistake{t.offset(n), "not a number in JSON: put it in quotes if it is text"}
	}
	for _, child := range n.Content {
		if f := t.misusedIn(child, above); f != nil {
			return f
		}
	}
	return nil
}

func (t *tree) misusedKey(key, value *yaml.Node) *mistake {
	if isMerge(key) {
		return t.misusedMerge(key, value)
	}
	at, to := t.offset(key), aliased(key)
	switch {
	case to.Kind == yaml.ScalarNode && to.Tag == "!!null" && to.Value == "":
		return &mistake{at, "no key before the colon: write one"}
	case to.Kind == yaml.ScalarNode && to.Tag == "!!null":
		return &mistake{at, "null cannot be a key: put it in quotes"}
	case to.Kind == yaml.ScalarNode:
		return nil
	case at > t.start && strings.HasPrefix(t.file.text[at-1:], "{{"):
		return &mistake{at - 1, template}
	}
	return &mistake{at, "a list or a mapping cannot be a key: put it in quotes if it is text"}
}

func (t *tree) misusedMerge(key, value *yaml.Node) *mistake {
	value = aliased(value)
	isMerge := value.Kind == yaml.MappingNode
	if value.Kind == yaml.SequenceNode {
		isMerge = len(merged(value)) == len(value.Content)
	}
	if isMerge {
		return nil
	}
	return &mistake{t.offset(key), "<< merges mappings, and its value is not a mapping: put the key in quotes if it is text"}
}
