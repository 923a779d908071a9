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

// A Diagnostic says why a document cannot be read, and where. It never quotes the file, because a value
// in it may be a secret.
type Diagnostic struct {
	Position
	Message string

	whole bool // The parser does not say where in the document.
}

// Error names the line, of the document where no other is known.
func (f *Diagnostic) Error() string {
	if f.whole {
		return fmt.Sprintf("document at line %d: %s", f.Line, f.Message)
	}
	return fmt.Sprintf("line %d: %s", f.Line, f.Message)
}

const (
	// NotYAML is the message of a document that breaks the rules of YAML.
	NotYAML  = "not valid YAML"
	sameKey  = "the same key twice"
	tooLarge = "aliases repeat too much"
)

// What the parser says begins with this; after it a message may quote the file.
var (
	parserLine      = regexp.MustCompile(`^(?:error converting YAML to JSON: )?yaml: (?:unmarshal errors:\n  )?line (\d+): `)
	parserDuplicate = regexp.MustCompile(`^key .* already set in map`)

	// Diagnostics of grammar, of which the parser names the line above.
	parserGrammar = regexp.MustCompile(`^(did not find expected (<|node content|'-'|key|',')|found (undefined tag|duplicate %|incompatible YAML))`)
)

func (p part) diagnose(err error) *Diagnostic {
	m := parserLine.FindStringSubmatchIndex(err.Error())
	if m == nil {
		return p.withoutLine()
	}
	n, _ := strconv.Atoi(err.Error()[m[2]:m[3]])
	said := err.Error()[m[1]:]
	if parserDuplicate.MatchString(said) {
		t := p.parse()
		if key := duplicate(t.root); key != nil {
			return &Diagnostic{Position: t.position(key), Message: sameKey}
		}
		return &Diagnostic{Position: p.lineStart(n), Message: sameKey}
	}
	if parserGrammar.MatchString(said) {
		n++
	}
	return &Diagnostic{Position: p.lineStart(n), Message: NotYAML}
}

// withoutLine finds a character that YAML cannot have. Other diagnostics have only the document.
func (p part) withoutLine() *Diagnostic {
	for i, r := range p.text() {
		if _, size := utf8.DecodeRuneInString(p.text()[i:]); !isYAML(r) || r == utf8.RuneError && size == 1 {
			return &Diagnostic{Position: p.file.position(p.start + i), Message: NotYAML}
		}
	}
	return p.ofDocument(NotYAML)
}

func (p part) ofDocument(message string) *Diagnostic {
	return &Diagnostic{Position: p.file.position(p.start), Message: message, whole: true}
}

func isYAML(r rune) bool {
	isControl := r < 0x20 || r >= 0x7f && r < 0xa0
	return !isControl && r != 0xfffe && r != 0xffff || strings.ContainsRune("\t\n\r\u0085", r)
}

// lineStart is where the text of line n of the document begins. A parser that misses
// something at the end of the document may name a line after its last.
func (p part) lineStart(n int) Position {
	starts := p.lines()
	last := sort.SearchInts(starts, p.start+len(strings.TrimRight(p.text(), " \t\r\n"))+1)
	return p.file.position(pastBlanks(p.file.text[:p.end], starts[min(n, last)-1]))
}

// duplicate returns the first key that its mapping already has, of its own or merged.
func duplicate(n *yaml.Node) *yaml.Node {
	if n == nil {
		return nil
	}
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

// namesOf a key: its own, or those of the mappings that it merges. The parser refuses what merges itself
// before it finds a duplicate.
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

// maxRepeated is how large a document may become by its aliases. The largest object of Kubernetes has
// 1.5 MiB. The parser counts values, not their size, and would fill the memory.
const maxRepeated = 16 << 20

// bomb refuses a document that its aliases make too large.
func (p part) bomb() *Diagnostic {
	if !hasAliases(p.text()) {
		return nil
	}
	t := p.parse()
	if t.root == nil || repeated(t.root, map[*yaml.Node]int{}) < maxRepeated {
		return nil
	}
	return p.ofDocument(tooLarge)
}

// alias matches what may be one. In text that is not YAML's it means nothing.
var alias = regexp.MustCompile(`\*[-_0-9A-Za-z]`)

// hasAliases reports whether the text may have so many aliases that their size matters.
func hasAliases(text string) bool {
	const few = 8
	return len(alias.FindAllString(text, few)) == few
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

// unread returns a diagnostic if there is text after the value, which the parser would lose. A mapping
// or list in block style at the margin goes on to the end.
func (d *Document) unread() *Diagnostic {
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
			return d.diagnose(err)
		}
	}
	return d.ofDocument(NotYAML)
}
