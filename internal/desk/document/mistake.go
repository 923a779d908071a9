package document

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v4"

	"github.com/crossplane-contrib/function-export/internal/engine/lazy"
)

// diagnose returns why a document cannot be read. The parser of values knows at most the line of a mistake, so
// the other parser reads the document again. It says at which character it gave up, and what it was reading. The
// rules turn that into help.
func (p part) diagnose(err error) *Diagnostic {
	if d := p.badCharacter(); d != nil {
		return d
	}
	t := p.parse()
	var found *yaml.LoadError
	switch {
	case errors.As(t.err, &found):
		return p.fromParser(found)
	case t.root == nil:
		return p.unknown(err)
	}
	if d := t.sameKey(t.root); d != nil {
		return d
	}
	if d := t.misused(t.root); d != nil {
		return d
	}
	return p.unknown(err)
}

// parserLine matches the line in a message of the parser of values; the rest of a message may quote the file.
var parserLine = lazy.MustCompile(`^(?:error converting YAML to JSON: )?yaml: line (\d+): `)

// unknown returns a diagnostic for a mistake that only the parser of values finds. That parser often names the line
// above.
func (p part) unknown(err error) *Diagnostic {
	m := parserLine.FindStringSubmatch(err.Error())
	if m == nil {
		return &Diagnostic{p.file.position(p.content(p.start)), unknown}
	}
	n, _ := strconv.Atoi(m[1])
	for _, line := range []int{n, n + 1} {
		if d := p.byRules("only the other parser", p.offsetOf(line, 1)); d != nil {
			return d
		}
	}
	return &Diagnostic{p.file.position(p.offsetOf(n, 1)), unknown}
}

// badCharacter finds a character that YAML cannot contain.
func (p part) badCharacter() *Diagnostic {
	for i, r := range p.text() {
		why := ""
		switch _, size := utf8.DecodeRuneInString(p.text()[i:]); {
		case r == utf8.RuneError && size == 1:
			why = "a character that is not in UTF-8: save the file as UTF-8"
		case r == 0:
			why = "a NUL character: save the file as UTF-8, not as UTF-16"
		case !isYAML(r):
			why = fmt.Sprintf("the control character %U: remove it", r)
		default:
			continue
		}
		return p.at(p.start+i, why)
	}
	return nil
}

// at returns the diagnostic of a mistake at an offset in the file.
func (p part) at(offset int, why string) *Diagnostic {
	return &Diagnostic{p.file.position(offset), notYAML + why}
}

// sameKey finds a key that its mapping already has, directly or by a merge, and says where. It also says how the
// mistake came about if the key shows it.
func (t *tree) sameKey(n *yaml.Node) *Diagnostic {
	seen := map[string]*yaml.Node{}
	for i, child := range n.Content {
		if n.Kind == yaml.MappingNode && i%2 == 0 {
			for _, name := range namesOf(child, n.Content[i+1]) {
				if seen[name] != nil {
					return t.again(child, seen[name])
				}
				seen[name] = child
			}
		}
		if d := t.sameKey(child); d != nil {
			return d
		}
	}
	return nil
}

func (t *tree) again(key, before *yaml.Node) *Diagnostic {
	at := t.position(key)
	where := fmt.Sprintf("the same key as in line %d: ", t.position(before).Line)
	switch {
	case at.Column == 1 && (key.Value == "apiVersion" || key.Value == "kind"):
		return &Diagnostic{at, where + "put a line `---` between the two objects"}
	case strings.HasPrefix(key.Value, "-"):
		return &Diagnostic{at, notYAML + spaceAfterDash}
	case strings.HasSuffix(strings.TrimRight(t.file.text[:t.offset(before)], " "), "-"):
		return &Diagnostic{at, where + "begin it with `- ` if it begins a new item of the list, or remove one of them"}
	}
	return &Diagnostic{at, where + "remove one of them, or move what it contains to the other"}
}

// namesOf returns the names of a key: its own name, or those of the mappings that it merges.
func namesOf(key, value *yaml.Node) []string {
	if !isMerge(key) {
		return []string{keyName(key)}
	}
	var out []string
	for _, from := range merged(value) {
		for k := range pairs(from) {
			if !isMerge(k) {
				out = append(out, keyName(k))
			}
		}
	}
	return out
}

// misused returns the first part of a document that is YAML but cannot be an object of Kubernetes, or nil.
func (t *tree) misused(n *yaml.Node) *Diagnostic {
	for i, child := range n.Content {
		if n.Kind == yaml.MappingNode && i%2 == 0 {
			if at, why := t.misusedKey(child, n.Content[i+1]); why != "" {
				return t.at(at, why)
			}
		}
		if d := t.misused(child); d != nil {
			return d
		}
	}
	switch isPlain := n.Kind == yaml.ScalarNode && !isQuoted(n); {
	case isPlain && n.Tag == "!!float" && strings.Trim(n.Value, "+-.INFAinfa") == "":
		return t.at(t.offset(n), "not a number in JSON: put it in quotes if it is text")
	case !isName.MatchString(n.Anchor):
		return t.at(t.offsetOf(n.Line, n.Column), fmt.Sprintf(cannotBegin+instead, "&"))
	}
	return nil
}

func (t *tree) misusedKey(child, value *yaml.Node) (at int, why string) {
	at = t.offset(child)
	key, value := aliased(child), aliased(value)
	isNull := key.Kind == yaml.ScalarNode && key.Tag == "!!null"
	switch from := merged(value); {
	case isMerge(key) && (value.Kind == yaml.ScalarNode || value.Kind == yaml.SequenceNode && len(from) < len(value.Content)):
		return at, "<< merges mappings, and its value is not a mapping: put the key in quotes if it is text"
	case isNull && key.Value == "":
		return at, "no key before the colon: write one"
	case isNull:
		return at, "null cannot be a key: put it in quotes"
	case key.Kind == yaml.ScalarNode:
		return at, ""
	case strings.HasSuffix(t.file.text[:at], "{"):
		return at - 1, template
	}
	return at, "a list or a mapping cannot be a key: put it in quotes if it is text"
}

var isName = lazy.MustCompile(`^[-\w]*$`)
