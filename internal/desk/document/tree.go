package document

import (
	"iter"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v4"

	"github.com/crossplane-contrib/function-export/internal/engine/lazy"
)

// A tree is the syntax tree of a document.
type tree struct {
	part
	root *yaml.Node // nil if it cannot be read
	err  error      // the reason
}

// parse never fails: a tree without a root knows only the place of the document.
func (p part) parse() *tree {
	t := &tree{part: p}
	var all []yaml.Node
	text := strings.ReplaceAll(p.text(), `\'`, ` '`) // YAML 1.1 has this escape, and both have the same length
	t.err = yaml.Load([]byte(text), &all, yaml.WithAllDocuments(), yaml.WithUniqueKeys(false))
	if len(all) == 1 && len(all[0].Content) == 1 {
		t.root = all[0].Content[0]
	}
	return t
}

// offsetOf returns the offset in the file of a line and a column of the document.
func (p part) offsetOf(line, column int) int {
	first := p.file.position(p.start).Line
	if line < 1 || first+line-2 >= len(p.file.lines) {
		return p.end
	}
	i := max(p.start, p.file.lines[first+line-2])
	for ; column > 1 && i < p.end; column-- {
		_, size := utf8.DecodeRuneInString(p.file.text[i:])
		i += size
	}
	return min(i, p.end)
}

// offset returns the offset of a node in the file, after its anchor and tag.
func (t *tree) offset(n *yaml.Node) int {
	i := t.offsetOf(n.Line, n.Column)
	if n.Kind == yaml.ScalarNode && n.Value == "" && !isQuoted(n) {
		return i // it has no value
	}
	return t.content(i)
}

func (t *tree) position(n *yaml.Node) Position { return t.file.position(t.offset(n)) }

// rangeOf returns the range of a scalar, or that of the first scalar in a value together with what is before it.
func (t *tree) rangeOf(n *yaml.Node) Range {
	start, first := t.offset(n), n
	for len(first.Content) > 0 && first.Kind != yaml.AliasNode {
		first = first.Content[0]
	}
	return Range{t.file.position(start), t.file.position(max(start, t.end(first)))}
}

// end returns the offset after a node in the file.
func (t *tree) end(n *yaml.Node) int {
	start := t.offset(n)
	if n.Kind != yaml.ScalarNode {
		return t.endOfAll(n, start)
	}
	places := placesOf(n.Value, t.file.text[:t.part.end], start, n.Style)
	switch {
	case places == nil:
		return start
	case n.Value == "" && n.Style&(yaml.LiteralStyle|yaml.FoldedStyle) != 0:
		return start + len(restOfLine().FindString(t.file.text[start:t.part.end]))
	case n.Style&(yaml.DoubleQuotedStyle|yaml.SingleQuotedStyle) != 0:
		return places[len(n.Value)] + len(untilQuote().FindString(t.file.text[places[len(n.Value)]:t.part.end]))
	}
	return places[len(n.Value)]
}

// endOfAll returns the offset after an object, a list or an alias that begins at an offset.
func (t *tree) endOfAll(n *yaml.Node, start int) int {
	if n.Kind == yaml.AliasNode {
		return start + len("*") + len(n.Value)
	}
	end := start
	if len(n.Content) > 0 {
		end = t.end(n.Content[len(n.Content)-1])
	}
	if n.Style&yaml.FlowStyle != 0 {
		end = min(max(end, start+1)+len(untilClosed().FindString(t.file.text[max(end, start+1):t.part.end])), t.part.end)
	}
	return end
}

// untilQuote matches the blanks at the end of a quoted text, and its quote.
var untilQuote = lazy.MustCompile(`^[^'"]*['"]`)

// untilClosed matches what is between the last value in brackets and the end of the brackets.
var untilClosed = lazy.MustCompile(`^(?:[\s,]|\s#.*)*[\]}]`)

func isQuoted(n *yaml.Node) bool {
	return n.Style&(yaml.DoubleQuotedStyle|yaml.SingleQuotedStyle|yaml.LiteralStyle|yaml.FoldedStyle) != 0
}

func isMerge(key *yaml.Node) bool { return key.Kind == yaml.ScalarNode && key.Tag == "!!merge" }

// aliased returns the target of an alias.
func aliased(n *yaml.Node) *yaml.Node {
	if n.Kind == yaml.AliasNode {
		return n.Alias
	}
	return n
}

// pairs returns the keys and values of a mapping.
func pairs(n *yaml.Node) iter.Seq2[*yaml.Node, *yaml.Node] {
	return func(yield func(k, v *yaml.Node) bool) {
		for i := 0; i+1 < len(n.Content); i += 2 {
			if !yield(n.Content[i], n.Content[i+1]) {
				return
			}
		}
	}
}

// merged returns the mappings of a merge key. The first mapping takes precedence.
func merged(value *yaml.Node) []*yaml.Node {
	value = aliased(value)
	if value.Kind == yaml.MappingNode {
		return []*yaml.Node{value}
	}
	var out []*yaml.Node
	for _, item := range value.Content {
		if m := aliased(item); m.Kind == yaml.MappingNode {
			out = append(out, m)
		}
	}
	return out
}

// maxRepeated is the maximum size of a document with its aliases expanded. The largest object of
// Kubernetes has 1.5 MiB. The parser counts values, not their size, and would fill the memory.
const maxRepeated = 16 << 20

// repeatsTooMuch reports whether the aliases of a document make it too large. Few aliases cannot.
func (p part) repeatsTooMuch() bool {
	const few = 8
	if strings.Count(p.text(), "*") < few {
		return false
	}
	t := p.parse()
	return t.root != nil && repeated(t.root, map[*yaml.Node]int{}) >= maxRepeated
}

// repeated returns the size of a value with its aliases expanded, up to maxRepeated.
func repeated(n *yaml.Node, known map[*yaml.Node]int) int {
	if size, ok := known[n]; ok {
		return size
	}
	known[n] = 0 // a value that contains itself is refused by the parser
	size := len(n.Value)
	if n.Kind == yaml.AliasNode {
		size = repeated(n.Alias, known)
	}
	for _, child := range n.Content {
		size = min(maxRepeated, size+repeated(child, known))
	}
	known[n] = size
	return size
}
