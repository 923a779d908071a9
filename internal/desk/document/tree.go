package document

import (
	"errors"
	"fmt"
	"iter"
	"strconv"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
	k8syaml "sigs.k8s.io/yaml"
)

// A tree is the syntax tree of a document.
type tree struct {
	part
	root   *yaml.Node // nil if it cannot be read
	starts []int
}

// parse never fails: a tree without a root knows only the place of the document.
func (p part) parse() *tree {
	t := &tree{part: p, starts: p.lines()}
	var n yaml.Node
	if decode(yaml.NewDecoder(strings.NewReader(p.text())), &n) == nil && len(n.Content) == 1 {
		t.root = n.Content[0]
	}
	return t
}

// decode converts a panic into an error, because this parser keeps comments and panics for some of
// them.
func decode(d *yaml.Decoder, n *yaml.Node) (err error) {
	defer func() {
		if recover() != nil {
			err = errors.New("yaml: unexpected comment")
		}
	}()
	return d.Decode(n)
}

// lines returns the start of each line of the document, as the parsers count lines.
func (p part) lines() []int {
	out := []int{p.start}
	for i := p.start; i < p.end; {
		end := lineEnd(p.file.text[:p.end], i)
		i = end + breakAt(p.file.text, end)
		if end < i {
			out = append(out, i)
		}
	}
	return out
}

// offset returns the offset of a node in the file, after its anchor and tag.
func (t *tree) offset(n *yaml.Node) int {
	text := t.file.text[:t.end]
	i := t.starts[max(1, min(n.Line, len(t.starts)))-1]
	for column := 1; column < n.Column && i < t.end; column++ {
		_, size := utf8.DecodeRuneInString(text[i:])
		i += size
	}
	if n.Kind == yaml.ScalarNode && n.Value == "" && !isQuoted(n) {
		return i // they have no value
	}
	return t.content(i)
}

func (t *tree) position(n *yaml.Node) Position { return t.file.position(t.offset(n)) }

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

// keyName returns a key in the form of the document's value: yes is "true", 0x10 is "16".
func keyName(key *yaml.Node) (string, bool) {
	key = aliased(key)
	switch tagged := key.Style&yaml.TaggedStyle != 0; {
	case key.Kind != yaml.ScalarNode:
		return "", false
	case !tagged && isQuoted(key), isText(key.Value) && key.Tag != "!!binary":
		return key.Value, true
	case !tagged:
		return asRead(key.Value)
	}
	return asRead(tagOf(key) + " " + strconv.Quote(key.Value))
}

// asRead returns a key as the other parser reads it.
func asRead(key string) (string, bool) {
	var m map[string]any
	if err := k8syaml.Unmarshal(fmt.Appendf(nil, "? %s\n: 0\n", key), &m); err != nil || len(m) != 1 {
		return "", false
	}
	for name := range m {
		return name, true
	}
	return "", false
}

func tagOf(n *yaml.Node) string {
	if strings.HasPrefix(n.Tag, "!") {
		return n.Tag
	}
	return "!<" + n.Tag + ">"
}

// isText reports whether a plain scalar is certainly a string. A number has a digit, and does not
// begin with a letter.
func isText(s string) bool {
	switch strings.ToLower(s) {
	case "y", "n", "yes", "no", "on", "off", "true", "false", "null", "~", "", ".nan", ".inf", "+.inf", "-.inf":
		return false
	}
	const letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
	const figures = "0123456789"
	return strings.Trim(s, letters+figures+"+-._") != "" || strings.Contains(letters, s[:1]) || !strings.ContainsAny(s, figures)
}
