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

// A Diagnostic says why a document cannot be read, at which position, and what to write instead. It never quotes
// the file, because a value in it may be a secret.
type Diagnostic struct {
	Position
	Message string
}

// Error returns the position and the message.
func (d *Diagnostic) Error() string { return fmt.Sprintf("%d:%d: %s", d.Line, d.Column, d.Message) }

const (
	notYAML  = "not valid YAML: "
	tooLarge = "aliases repeat too much: write the values that they repeat, or split the document"
	unknown  = notYAML + "compare the indentation, the quotes and the colons of this line with the lines above it"
)

// The start of the parser's messages; the rest of a message may quote the file.
var (
	parserLine      = regexp.MustCompile(`^(?:error converting YAML to JSON: )?yaml: (?:unmarshal errors:\n  )?line (\d+): `)
	parserDuplicate = regexp.MustCompile(`^key .* already set in map`)

	// Syntax errors for which the parser names the line above.
	parserGrammar = regexp.MustCompile(`^(did not find expected (<|node content|'-'|key|',')|found (undefined tag|duplicate %|incompatible YAML))`)
)

// diagnose finds the mistake that err of the parser is about. The parser knows at most its line, and often only the
// line at which it gave up.
func (p part) diagnose(err error) *Diagnostic {
	if f := p.badCharacter(); f != nil {
		return p.diagnostic(f)
	}
	t := p.parse()
	m := parserLine.FindStringSubmatchIndex(err.Error())
	if m != nil && parserDuplicate.MatchString(err.Error()[m[1]:]) {
		n, _ := strconv.Atoi(err.Error()[m[2]:m[3]])
		return t.sameKey(n)
	}
	if f := t.misused(); f != nil {
		return p.diagnostic(f)
	}
	last := p.file.position(p.end)
	if m != nil {
		n, _ := strconv.Atoi(err.Error()[m[2]:m[3]])
		if parserGrammar.MatchString(err.Error()[m[1]:]) {
			n++
		}
		last = p.lineStart(n)
	}
	if f := p.mistake(); f != nil && p.file.position(f.at).Line <= last.Line {
		return p.diagnostic(f)
	}
	if m == nil {
		last = p.file.position(p.content(p.start))
	}
	return &Diagnostic{last, unknown}
}

func (p part) diagnostic(f *mistake) *Diagnostic {
	return &Diagnostic{p.file.position(f.at), notYAML + f.why}
}

// badCharacter finds a character that YAML cannot contain.
func (p part) badCharacter() *mistake {
	for i, r := range p.text() {
		_, size := utf8.DecodeRuneInString(p.text()[i:])
		switch {
		case r == utf8.RuneError && size == 1:
			return &mistake{p.start + i, "a character that is not in UTF-8: save the file as UTF-8"}
		case r == 0:
			return &mistake{p.start + i, "a NUL character: save the file as UTF-8, not as UTF-16"}
		case !isYAML(r):
			return &mistake{p.start + i, fmt.Sprintf("the control character %U: remove it", r)}
		}
	}
	return nil
}

func isYAML(r rune) bool {
	isControl := r < 0x20 || r >= 0x7f && r < 0xa0
	return !isControl && r != 0xfffe && r != 0xffff || strings.ContainsRune("\t\n\r\u0085", r)
}

// sameKey says where a key is before, and how the mistake came about if the key shows it. The parser names the line of
// the key's value.
func (t *tree) sameKey(line int) *Diagnostic {
	again, before := duplicate(t.root)
	if again == nil {
		return &Diagnostic{t.lineStart(line), "the same key twice, because of a merge: remove one of them"}
	}
	at := t.position(again)
	where := fmt.Sprintf("the same key as in line %d: ", t.position(before).Line)
	isItem := strings.HasSuffix(strings.TrimRight(t.file.text[:t.offset(before)], " "), "-")
	switch {
	case at.Column == 1 && (again.Value == "apiVersion" || again.Value == "kind"):
		return &Diagnostic{at, where + "put a line `---` between the two objects"}
	case strings.HasPrefix(again.Value, "-"):
		return &Diagnostic{at, notYAML + spaceAfterDash}
	case isItem:
		return &Diagnostic{at, where + "begin it with `- ` if it begins a new item of the list, or remove one of them"}
	}
	return &Diagnostic{at, where + "remove one of them, or move what it contains to the other"}
}

// lineStart returns the start of the text of line n of the document. If something is missing at the
// end of the document, the parser may name a line after the last one.
func (p part) lineStart(n int) Position {
	starts := p.lines()
	last := sort.SearchInts(starts, p.start+len(strings.TrimRight(p.text(), " \t\r\n"))+1)
	return p.file.position(pastBlanks(p.file.text[:p.end], starts[min(n, last)-1]))
}

// duplicate returns the first key that its mapping already has, directly or by a merge, and the one before it.
func duplicate(n *yaml.Node) (again, before *yaml.Node) {
	if n == nil {
		return nil, nil
	}
	if n.Kind == yaml.MappingNode {
		seen := map[string]*yaml.Node{}
		for key, value := range pairs(n) {
			for name := range namesOf(key, value) {
				if seen[name] != nil {
					return key, seen[name]
				}
				seen[name] = key
			}
			if again, before := duplicate(value); again != nil {
				return again, before
			}
		}
		return nil, nil
	}
	for _, item := range n.Content {
		if again, before := duplicate(item); again != nil {
			return again, before
		}
	}
	return nil, nil
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
	return &Diagnostic{p.file.position(p.start), tooLarge}
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
	return d.diagnose(errors.New("text after the value"))
}
