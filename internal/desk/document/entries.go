package document

import (
	"slices"

	"go.yaml.in/yaml/v4"
)

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
