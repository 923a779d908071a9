package document

import (
	"errors"
	"fmt"
	"io"
	"regexp"
	"sort"
	"strconv"
	"strings"
	"unicode/utf8"

	yamlv2 "go.yaml.in/yaml/v2"
	"go.yaml.in/yaml/v3"
)

// A Fault is why a document cannot be read, and where. It never quotes the file: a
// value in it may be a secret.
type Fault struct {
	Position
	Message string

	whole bool // The parser does not say where in the document.
}

// Error names the line, of the document where no other is known.
func (f *Fault) Error() string {
	if f.whole {
		return fmt.Sprintf("document at line %d: %s", f.Line, f.Message)
	}
	return fmt.Sprintf("line %d: %s", f.Line, f.Message)
}

const (
	// NotYAML is the message of a document that is none, or breaks its rules.
	NotYAML  = "not valid YAML"
	sameKey  = "the same key twice"
	tooLarge = "aliases repeat too much"
)

// What the parser says begins with this; behind it a message may quote the file.
var (
	parserLine      = regexp.MustCompile(`^(?:error converting YAML to JSON: )?yaml: (?:unmarshal errors:\n  )?line (\d+): `)
	parserDuplicate = regexp.MustCompile(`^key .* already set in map`)

	// Faults of grammar, of which the parser names the line above.
	parserGrammar = regexp.MustCompile(`^(did not find expected (<|node content|'-'|key|',')|found (undefined tag|duplicate %|incompatible YAML))`)
)

func (p part) fault(err error) *Fault {
	m := parserLine.FindStringSubmatchIndex(err.Error())
	if m == nil {
		return p.faultWithoutLine()
	}
	n, _ := strconv.Atoi(err.Error()[m[2]:m[3]])
	said := err.Error()[m[1]:]
	if parserDuplicate.MatchString(said) {
		t := p.parse()
		if key := t.duplicate(); key != nil {
			return &Fault{Position: t.position(key), Message: sameKey}
		}
		return &Fault{Position: p.lineStart(n), Message: sameKey}
	}
	if parserGrammar.MatchString(said) {
		n++
	}
	return &Fault{Position: p.lineStart(n), Message: NotYAML}
}

// faultWithoutLine finds a character that no YAML has; for the other faults it has
// but the document.
func (p part) faultWithoutLine() *Fault {
	for i, r := range p.text() {
		if _, size := utf8.DecodeRuneInString(p.text()[i:]); !isYAML(r) || r == utf8.RuneError && size == 1 {
			return &Fault{Position: p.file.position(p.start + i), Message: NotYAML}
		}
	}
	return p.wholeFault(NotYAML)
}

func (p part) wholeFault(message string) *Fault {
	return &Fault{Position: p.file.position(p.start), Message: message, whole: true}
}

func isYAML(r rune) bool {
	switch {
	case r == '\t', r == '\n', r == '\r', r == 0x85:
		return true
	case r < 0x20, r >= 0x7f && r < 0xa0, r == 0xfffe, r == 0xffff:
		return false
	}
	return true
}

// lineStart is where the text of line n of the document begins. A parser that misses
// something at the end of the document may name a line behind its last.
func (p part) lineStart(n int) Position {
	starts := p.lines()
	last := sort.SearchInts(starts, p.start+len(strings.TrimRight(p.text(), " \t\r\n"))+1)
	return p.file.position(pastBlanks(p.file.text[:p.end], starts[min(n, last)-1]))
}

// duplicate is the first key that its mapping has already: its own, or one that is
// merged into it.
func (t *tree) duplicate() *yaml.Node {
	if t.root == nil {
		return nil
	}
	return duplicate(t.root)
}

func duplicate(n *yaml.Node) *yaml.Node {
	if n.Kind == yaml.MappingNode {
		seen := map[string]bool{}
		for key, value := range pairs(n) {
			for name := range namesOf(key, value) {
				if seen[name] {
					return key
				}
				seen[name] = true
			}
			if d := duplicate(value); d != nil {
				return d
			}
		}
		return nil
	}
	for _, item := range n.Content {
		if d := duplicate(item); d != nil {
			return d
		}
	}
	return nil
}

// namesOf a key: its own, or those of the mappings that it merges. Before it says
// that a key is there twice, the parser refuses what merges itself.
func namesOf(key, value *yaml.Node) map[string]bool {
	out := map[string]bool{}
	if !isMerge(key) {
		if name, ok := keyName(key); ok {
			out[name] = true
		}
		return out
	}
	for _, from := range merged(value) {
		for k, v := range pairs(from) {
			for name := range namesOf(k, v) {
				out[name] = true
			}
		}
	}
	return out
}

// maxRepeated is how large a document may become by its aliases. The largest object
// of Kubernetes has 1.5 MiB; the parser counts values, not their size, and would fill
// the memory.
const maxRepeated = 16 << 20

// bomb refuses a document that its aliases make too large.
func (p part) bomb() *Fault {
	if !hasAliases(p.text()) {
		return nil
	}
	t := p.parse()
	if t.root == nil || repeated(t.root, map[*yaml.Node]int{}) < maxRepeated {
		return nil
	}
	return p.wholeFault(tooLarge)
}

// hasAliases says whether the text has so many stars that could be aliases that it is
// worth a look.
func hasAliases(text string) bool {
	const few = 8
	found := 0
	for found < few {
		i := strings.IndexByte(text, '*')
		if i < 0 || i+1 == len(text) {
			return false
		}
		if isNameByte(text[i+1]) {
			found++
		}
		text = text[i+1:]
	}
	return true
}

// repeated is the size of a value with its aliases written out, up to maxRepeated.
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

// unread is a fault if something stands behind the value: the parser stops at its
// end, and would lose it. Lines that begin at the margin go on to the end.
func (d *Document) unread() *Fault {
	at := d.content(d.start)
	if d.value == nil || at == d.end {
		return nil
	}
	_, isMap := d.value.(map[string]any)
	_, isList := d.value.([]any)
	if d.file.position(at).Column == 1 && !strings.ContainsRune("{[", rune(d.file.text[at])) && (isMap || isList) {
		return nil
	}
	decoder := yamlv2.NewDecoder(strings.NewReader(d.text()))
	for range 2 {
		switch err := decoder.Decode(new(any)); {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return d.fault(err)
		}
	}
	return d.wholeFault(NotYAML)
}
