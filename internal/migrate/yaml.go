package migrate

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode"
)

// A node is a piece of YAML to print: a scalar, a mapping or a list, with the
// comments above it.
//
// There is no encoder of YAML that keeps comments where they are put, and can
// print a piece as a comment.
type node struct {
	above  []string // comments
	off    bool     // print it as a comment, for a person to decide
	scalar string   // as it is printed
	fields []member
	items  []*node
	inline bool // between braces
}

type member struct {
	name  string
	value *node
}

func textNode(s string) *node { return &node{scalar: quote(s)} }

// rawNode is true, a number, or a list of nothing.
func rawNode(v any) *node { return &node{scalar: fmt.Sprint(v)} }

func mapping() *node { return &node{} }

// with a field. Nothing is done for no value.
func (n *node) with(name string, value *node) *node {
	if value != nil {
		n.fields = append(n.fields, member{name, value})
	}
	return n
}

// withText is with, for a text that may be empty, and is left out then.
func (n *node) withText(name, text string) *node {
	if text == "" {
		return n
	}
	return n.with(name, textNode(text))
}

// field of a mapping, or nil. Nothing has no fields.
func (n *node) field(name string) *node {
	if n == nil {
		return nil
	}
	for _, f := range n.fields {
		if f.name == name {
			return f.value
		}
	}
	return nil
}

// short is the node between braces, as are all inside of it.
func (n *node) short() *node {
	n.inline = true
	return n
}

// list is nil without items.
func list(items ...*node) *node {
	if len(items) == 0 {
		return nil
	}
	return &node{items: items}
}

// stringsNode is a list of texts, between brackets.
func stringsNode(texts []string) *node {
	n := list()
	for _, t := range texts {
		if n == nil {
			n = (&node{}).short()
		}
		n.items = append(n.items, textNode(t))
	}
	return n
}

// stringMap has its keys sorted.
func stringMap(m map[string]string) *node {
	if len(m) == 0 {
		return nil
	}
	n := mapping()
	for _, k := range sortedKeys(m) {
		n.with(k, textNode(m[k]))
	}
	return n
}

// note adds comments above the node.
func (n *node) note(lines ...string) *node {
	n.above = append(n.above, lines...)
	return n
}

// disable prints the node as a comment, below why.
func (n *node) disable(why ...string) *node {
	n.off = true
	for _, w := range why {
		n.note(decide + w)
	}
	return n
}

// live are the items that are printed as such.
func (n *node) live() []*node {
	if n == nil {
		return nil
	}
	var out []*node
	for _, i := range n.items {
		if !i.off {
			out = append(out, i)
		}
	}
	return out
}

// onlyComments reports whether nothing is left but comments, which YAML takes for
// null.
func (n *node) onlyComments() bool {
	for _, f := range n.fields {
		if !f.value.off {
			return false
		}
	}
	return len(n.live()) == 0 && len(n.fields)+len(n.items) > 0
}

// lines of a node that is no scalar.
func (n *node) lines() []string {
	var out []string
	for _, f := range n.fields {
		out = append(out, f.lines()...)
	}
	for _, i := range n.items {
		out = append(out, i.item()...)
	}
	return out
}

func (f member) lines() []string {
	v := f.value
	name := quote(f.name)
	var out []string
	switch {
	case v.scalar != "" || v.inline:
		out = []string{name + ": " + v.text()}
	case v.onlyComments():
		out = append(comments(v.above), "# "+name+":")
		for _, l := range v.lines() {
			out = append(out, strings.Repeat("  ", min(len(v.fields), 1))+l)
		}
		return out
	case len(v.items) > 0:
		out = append([]string{name + ":"}, v.lines()...)
	case len(v.fields) == 0:
		out = []string{name + ": {}"}
	default:
		out = []string{name + ":"}
		for _, l := range v.lines() {
			out = append(out, "  "+l)
		}
	}
	return v.commented(out)
}

func (n *node) item() []string {
	if n.scalar != "" || n.inline {
		return n.commented([]string{"- " + n.text()})
	}
	lines := n.lines()
	// A comment at the top stands above the dash.
	top := 0
	for top < len(lines) && strings.HasPrefix(lines[top], "#") {
		top++
	}
	if top == len(lines) {
		return append(comments(n.above), lines...)
	}
	out := slices.Clone(lines[:top])
	for i, l := range lines[top:] {
		if i == 0 {
			out = append(out, "- "+l)
			continue
		}
		out = append(out, "  "+l)
	}
	return n.commented(out)
}

// commented is the node below its comments, and if it is off a comment itself.
func (n *node) commented(lines []string) []string {
	if n.off {
		off := make([]string, 0, len(lines))
		for _, l := range lines {
			off = append(off, "# "+l)
		}
		lines = off
	}
	return append(comments(n.above), lines...)
}

func comments(lines []string) []string {
	out := make([]string, 0, len(lines))
	for _, l := range lines {
		out = append(out, "# "+oneLine(l))
	}
	return out
}

// text is a scalar, or what stands between braces.
func (n *node) text() string {
	if n.scalar != "" {
		return n.scalar
	}
	var parts []string
	for _, f := range n.fields {
		parts = append(parts, inlineScalar(quote(f.name))+": "+f.value.inlineText())
	}
	for _, i := range n.items {
		parts = append(parts, i.inlineText())
	}
	if len(n.items) > 0 {
		return "[" + strings.Join(parts, ", ") + "]"
	}
	return "{" + strings.Join(parts, ", ") + "}"
}

func (n *node) inlineText() string {
	if n.scalar != "" {
		return inlineScalar(n.scalar)
	}
	return n.text()
}

// inlineScalar quotes a scalar without quotes that would mean something between
// braces.
func inlineScalar(s string) string {
	if !strings.ContainsAny(s[:1], `'"`) && strings.ContainsAny(s, ",[]{}?") {
		return singleQuoted(s)
	}
	return s
}

// plain texts need no quotes: they begin with a letter, so that they are no number,
// and hold nothing that YAML has a meaning for.
var plain = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_./()'"\\\[\]?+,$*%{}|<>=@-]*( [A-Za-z0-9_./()'"\\\[\]?+,$*%{}|<>=@-]+)*$`)

// words are those that YAML, in one of its versions, takes for something else.
var words = regexp.MustCompile(`^(?i:y|n|yes|no|on|off|true|false|null|nan|inf)$`)

func quote(s string) string {
	switch {
	case plain.MatchString(s) && !words.MatchString(s):
		return s
	case strings.ContainsFunc(s, needsEscape):
		return doubleQuoted(s)
	case strings.Contains(s, "'") && !strings.ContainsAny(s, `"\`):
		return `"` + s + `"`
	}
	return singleQuoted(s)
}

func singleQuoted(s string) string { return "'" + strings.ReplaceAll(s, "'", "''") + "'" }

func needsEscape(r rune) bool { return !unicode.IsPrint(r) || r == unicode.ReplacementChar }

func doubleQuoted(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case r == '\n':
			b.WriteString(`\n`)
		default:
			b.WriteString(escaped(r))
		}
	}
	b.WriteByte('"')
	return b.String()
}

// escaped is a character as YAML and CEL both escape it, if it is none to be seen.
func escaped(r rune) string {
	switch {
	case !needsEscape(r):
		return string(r)
	case r > 0xffff:
		return fmt.Sprintf(`\U%08x`, r)
	}
	return fmt.Sprintf(`\u%04x`, r)
}

// oneLine makes a text fit for a comment: what came out of a document must not end
// it.
func oneLine(s string) string {
	return strings.TrimSpace(strings.Map(func(r rune) rune {
		if needsEscape(r) {
			return ' '
		}
		return r
	}, s))
}

func sortedKeys[V any](m map[string]V) []string {
	out := make([]string, 0, len(m))
	for k := range m {
		out = append(out, k)
	}
	slices.Sort(out)
	return out
}
