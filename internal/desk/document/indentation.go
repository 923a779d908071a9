package document

import (
	"fmt"
	"strings"

	"go.yaml.in/yaml/v4"

	"github.com/crossplane-contrib/function-export/internal/engine/lazy"
)

// indentation returns the mistake of a line in the wrong column, with the columns that are possible there. They are
// those of the lists and mappings which are open after the lines above it.
func (p part) indentation(at int) *Diagnostic {
	begin, end := p.lineOf(at)
	line := p.file.text[begin:end]
	m := keyOrItem.FindStringSubmatch(line)
	before := part{p.file, p.start, begin}.parse()
	if m == nil || before.root == nil {
		return p.notALine(at, before)
	}
	start, isItem := begin+len(m[1]), m[2] != ""
	switch columns := before.columns(len(m[1])+1, isItem); {
	case len(columns) > 0:
		return p.at(start, wrongIndent+strings.Join(columns, ", or "))
	case isItem:
		return p.at(start, wrongIndent+"in the column of the first item of its list")
	}
	return p.at(start, "a key where an item of a list must be: begin the line with `- `")
}

// columns returns the columns in which a key or an item can begin instead of a column: that of the next deeper list or
// mapping, and that of the one around it.
func (t *tree) columns(column int, isItem bool) []string {
	kind, name := yaml.MappingNode, "key"
	if isItem {
		kind, name = yaml.SequenceNode, "item"
	}
	var deeper, around *yaml.Node
	for _, n := range lastOf(t.root) {
		switch {
		case n.Kind != kind || n.Style&yaml.FlowStyle != 0:
		case n.Column > column && deeper == nil:
			deeper = n
		case n.Column <= column:
			around = n
		}
	}
	var out []string
	for _, n := range []*yaml.Node{deeper, around} {
		if n != nil {
			out = append(out, fmt.Sprintf("in column %d, like the %s in line %d", n.Column, name, t.position(n).Line))
		}
	}
	if isItem && deeper == nil && around != nil {
		out = append(out, "write the key of its list above it")
	}
	return out
}

const wrongIndent = "wrong indentation here or above: begin it "

// notALine returns the mistake of a line that begins neither a key nor an item.
func (p part) notALine(at int, before *tree) *Diagnostic {
	if hasComment.MatchString(strings.TrimRight(before.text(), " \t\r\n")) {
		return p.at(at, tooEarly)
	}
	if before.root != nil {
		last := lastOf(before.root)
		if n := last[len(last)-1]; n.Style&(yaml.LiteralStyle|yaml.FoldedStyle) != 0 {
			return p.at(at, "a line of a text block that is indented less than its first line: indent all of its lines equally")
		}
	}
	return &Diagnostic{p.file.position(at), unknown}
}

// hasComment matches a text whose last line has a comment.
var hasComment = lazy.MustCompile(`(?:^|\s)#[^\r\n]*$`)

// lastOf returns a value, its last child, the last child of that, and so on.
func lastOf(n *yaml.Node) []*yaml.Node {
	out := []*yaml.Node{n}
	for len(n.Content) > 0 {
		n = n.Content[len(n.Content)-1]
		out = append(out, n)
	}
	return out
}
