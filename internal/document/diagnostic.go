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

// A Diagnostic says why a document cannot be read, and at which position. It never quotes the file, because
// a value in it may be a secret.
type Diagnostic struct {
	Position
	Message string

	whole bool // The parser does not report the position in the document.
}

// Error names the line of the error, or of the document if the line is unknown.
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

// The start of the parser's messages; the rest of a message may quote the file.
var (
	parserLine      = regexp.MustCompile(`^(?:error converting YAML to JSON: )?yaml: (?:unmarshal errors:\n  )?line (\d+): `)
	parserDuplicate = regexp.MustCompile(`^key .* already set in map`)

	// Syntax errors for which the parser names the line above.
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

// withoutLine finds a character that YAML cannot have. Other diagnostics name only the document.
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

// lineStart returns the start of the text of line n of the document. If something is missing at the
// end of the document, the parser may name a line after the last one.
func (p part) lineStart(n int) Position {
	starts := p.lines()
	last := sort.SearchInts(starts, p.start+len(strings.TrimRight(p.text(), " \t\r\n"))+1)
	return p.file.position(pastBlanks(p.file.text[:p.end], starts[min(n, last)-1]))
}

// duplicate returns the first key that its mapping already has, directly or by a merge.
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

// namesOf returns the names of a key: its own name, or those of the mappings that it merges. The parser
// refuses a mapping that merges itself before it finds a duplicate.
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

// maxRepeated is the maximum size of a document with its aliases expanded. The largest object of
// Kubernetes has 1.5 MiB. The parser counts values, not their size, and would fill the memory.
const maxRepeated = 16 << 20

// bomb refuses a document whose aliases make it too large.
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

// alias matches a possible alias. In other text the match means nothing.
var alias = regexp.MustCompile(`\*[-_0-9A-Za-z]`)

// hasAliases reports whether the text may have so many aliases that their size matters.
func hasAliases(text string) bool {
	const few = 8
	return len(alias.FindAllString(text, few)) == few
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

// unread returns a diagnostic if there is text after the value, which the parser would ignore. A mapping
// or list in block style without indentation continues to the end.
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
