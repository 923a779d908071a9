package document

import (
	"slices"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v4"
	k8syaml "sigs.k8s.io/yaml"

	"github.com/crossplane-contrib/function-export/internal/engine/lazy"
)

// A Range is a part of a file, from its position to its end, which is after its last character.
type Range struct {
	Position

	End Position `json:"end"`
}

// An Edit replaces a range of a file with a text.
type Edit struct {
	Range

	Text string `json:"text"`
}

// Apply returns the text of a file with fixes, and how many were applied. Each fix is applied as a whole, unless it
// touches one before it. Files in UTF-16 are not changed.
func Apply(text string, fixes [][]Edit) (out string, applied int) {
	if Text(text) != text {
		return text, 0
	}
	f := newFile(text)
	var edits []Edit
	for _, fix := range fixes {
		touches := func(e Edit) bool {
			return slices.ContainsFunc(edits, func(o Edit) bool {
				return !e.End.Before(o.Position) && !o.End.Before(e.Position)
			})
		}
		if len(fix) > 0 && !slices.ContainsFunc(fix, touches) {
			edits, applied = append(edits, fix...), applied+1
		}
	}
	slices.SortFunc(edits, func(a, b Edit) int { return f.offset(a.Position) - f.offset(b.Position) })
	end := 0
	out = strings.TrimSuffix(text, f.text) // a byte order mark
	for _, e := range edits {
		out += f.text[end:f.offset(e.Position)] + e.Text
		end = f.offset(e.End)
	}
	return out + f.text[end:], applied
}

// Before reports whether a position is before another one.
func (p Position) Before(o Position) bool {
	return p.Line < o.Line || p.Line == o.Line && p.Column < o.Column
}

// offset returns the offset of a position in the text.
func (f *file) offset(p Position) int { return part{f, 0, len(f.text)}.offsetOf(p.Line, p.Column) }

// own returns the nodes of a value and of its key, and whether it is in braces. ok is false if the document also
// uses the value at another place, by an anchor or a merge key.
func (d *Document) own(path []any) (key, value *yaml.Node, flow, ok bool) {
	value = d.tree().root
	for _, step := range path {
		if value == nil || value.Anchor != "" || value.Kind == yaml.AliasNode {
			return nil, nil, false, false
		}
		flow = flow || value.Style&yaml.FlowStyle != 0
		above := value
		if key, value = child(above, step); !slices.Contains(above.Content, key) {
			return nil, nil, false, false
		}
	}
	return key, value, flow, value != nil && value.Anchor == "" && value.Kind != yaml.AliasNode
}

// Lines returns the first and the last line of the value at a path.
func (d *Document) Lines(path ...any) (first, last int) {
	_, n, _ := d.find(path)
	if n == nil {
		return d.Start().Line, d.Start().Line
	}
	t := d.tree()
	return t.position(n).Line, t.file.position(t.end(n)).Line
}

// replace returns the edit of a part of the text of the file.
func (f *file) replace(from, to int, text string) Edit {
	return Edit{Range{f.position(from), f.position(to)}, text}
}

// SetText returns the edit that sets the text at a path. The edit is as small as possible, and keeps the style of the
// text unless the style cannot represent the new one.
func (d *Document) SetText(text string, path ...any) (e Edit, ok bool) {
	old, isText := d.At(path...).(string)
	_, n, flow, ok := d.own(path)
	if !ok || !isText || old == "" && !isQuoted(n) { // a tag without a value is an empty text
		return e, false
	}
	t := d.tree()
	start, end, whole := t.offset(n), t.end(n), d.file.text
	means := func(from, to int, part string) bool {
		source := whole[start:from] + part + whole[to:end]
		source = map[bool]string{true: "{a: " + source + "}", false: "a: " + source + "\n"}[flow]
		var m map[string]any
		return k8syaml.UnmarshalStrict([]byte(source), &m) == nil && m["a"] == text
	}
	if places := placesOf(old, whole[:d.end], start, n.Style); places != nil {
		before, after := shared(old, text)
		from, to := places[before], places[before]
		if last := len(old) - after; last > before {
			r, size := utf8.DecodeLastRuneInString(old[:last])
			to = places[last-size] + max(1, lengthOf(r, whole[places[last-size]:d.end], n.Style))
		}
		part := escaped(text[before:len(text)-after], n.Style)
		if to <= end && means(from, to, part) {
			return d.file.replace(from, to, part), true
		}
	}
	part := "'" + escaped(text, yaml.SingleQuotedStyle) + "'"
	if strings.Contains(text, "'") {
		part = `"` + escaped(text, yaml.DoubleQuotedStyle) + `"`
	}
	isBlock := n.Style&(yaml.LiteralStyle|yaml.FoldedStyle) != 0
	return d.file.replace(start, end, part), !isBlock && !strings.Contains(text, "\n") && means(start, end, part)
}

// shared returns the lengths of the beginning and of the end that two texts share.
func shared(a, b string) (before, after int) {
	for before < min(len(a), len(b)) && a[before] == b[before] {
		before++
	}
	for before > 0 && before < len(a) && !utf8.RuneStart(a[before]) {
		before--
	}
	for after < min(len(a), len(b))-before && a[len(a)-1-after] == b[len(b)-1-after] {
		after++
	}
	for after > 0 && !utf8.RuneStart(a[len(a)-after]) {
		after--
	}
	return before, after
}

// escaped returns a part of a text as it is written in a style.
func escaped(text string, style yaml.Style) string {
	switch {
	case style&yaml.DoubleQuotedStyle != 0:
		return strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`).Replace(text)
	case style&yaml.SingleQuotedStyle != 0:
		return strings.ReplaceAll(text, "'", "''")
	}
	return text
}

// Quote returns the edit that puts quotes around the scalar at a path.
func (d *Document) Quote(path ...any) (e Edit, ok bool) {
	_, n, _, ok := d.own(path)
	if !ok || d.isJSON() || n.Kind != yaml.ScalarNode || isQuoted(n) {
		return e, false
	}
	start, end := d.tree().offset(n), d.tree().end(n)
	text := d.file.text[start:end]
	return d.file.replace(start, end, "'"+text+"'"), end > start && !strings.ContainsAny(text, `'"\`)
}

// isJSON reports whether the document is in JSON, where only texts and names are replaced.
func (d *Document) isJSON() bool {
	root := d.tree().root
	return root != nil && len(root.Content) > 0 && root.Content[0].Style&yaml.DoubleQuotedStyle != 0
}

// Rename returns the edit that renames the key at a path. Its object must not have a field with the new name.
func (d *Document) Rename(name string, path ...any) (e Edit, ok bool) {
	key, _, _, ok := d.own(path)
	_, isKey := path[len(path)-1].(string)
	if _, _, _, exists := d.own(append(slices.Clone(path[:len(path)-1]), name)); !ok || !isKey || exists {
		return e, false
	}
	if key.Style&yaml.DoubleQuotedStyle != 0 {
		name = `"` + name + `"`
	}
	start, end := d.tree().offset(key), d.tree().end(key)
	return d.file.replace(start, end, name), end > start
}

// SetValue returns the edit that sets the value at a path to a value in YAML. A missing field is
// added before the first list of its object, or at its end. An edit that would remove a comment is not possible.
func (d *Document) SetValue(value string, path ...any) (e Edit, ok bool) {
	t, f := d.tree(), d.file
	if d.isJSON() {
		return e, false
	}
	if _, n, _, ok := d.own(path); ok {
		start, end := t.offset(n), t.end(n)
		if start == end { // there is no value
			value = " " + value
		}
		return f.replace(start, end, value), !strings.Contains(f.text[start:end], "#")
	}
	_, above, flow, ok := d.own(path[:len(path)-1])
	name, isField := path[len(path)-1].(string)
	if !ok || !isField || above.Kind != yaml.MappingNode || len(above.Content) == 0 {
		return e, false
	}
	flow = flow || above.Style&yaml.FlowStyle != 0
	value = name + ": " + value
	if i := slices.IndexFunc(above.Content, func(n *yaml.Node) bool { return n.Kind == yaml.SequenceNode }); i > 0 {
		first := t.offset(above.Content[i-1])
		return f.replace(first, first, value+map[bool]string{true: ", ", false: t.newLine(above)}[flow]), true
	}
	end := t.end(above.Content[len(above.Content)-1])
	if flow {
		return f.replace(end, end, ", "+value), true
	}
	end += len(restOfLine().FindString(f.text[end:]))
	return f.replace(end, end, t.newLine(above)+value), true
}

var restOfLine = lazy.MustCompile(`^[^\r\n]*`)

// newLine returns a line break and the indentation of the fields of an object.
func (t *tree) newLine(above *yaml.Node) string {
	at := t.file.position(t.offset(above.Content[0]))
	end := "\n"
	if strings.Contains(t.file.text, "\r\n") {
		end = "\r\n"
	}
	return end + strings.Repeat(" ", at.Column-1)
}

// Remove returns the edit that removes the field at a path. An edit that would remove a comment, or the only field of
// an object, is not possible.
func (d *Document) Remove(path ...any) (e Edit, ok bool) {
	key, n, _, ok := d.own(path)
	_, above, _, _ := d.own(path[:len(path)-1])
	if !ok || d.isJSON() || above.Kind != yaml.MappingNode || len(above.Content) <= 2 {
		return e, false
	}
	t, i := d.tree(), slices.Index(above.Content, key)
	from, to := t.offset(key), t.end(n)
	if i+2 < len(above.Content) {
		to = t.offset(above.Content[i+2])
	} else {
		from = t.end(above.Content[i-1])
	}
	return d.file.replace(from, to, ""), !strings.Contains(d.file.text[from:to], "#")
}
