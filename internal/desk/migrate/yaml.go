package migrate

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/crossplane-contrib/function-export/internal/desk/migrate/celtext"
	"github.com/crossplane-contrib/function-export/internal/engine/decode"
	"github.com/crossplane-contrib/function-export/internal/engine/lazy"
)

// A node is a part of YAML to print: a scalar, a mapping or a list, with the comments above it. YAML
// encoders cannot keep comments in their place and print a part as a comment.
type node struct {
	above  []string // comments
	value  string   // of a text
	off    bool     // print it as a comment, for a person to decide
	scalar string   // as it is printed
	fields []member
	items  []*node
}

type member struct {
	name  string
	value *node
}

func textNode(s string) *node { return &node{scalar: quote(s), value: s} }

// rawNode returns a node that is true, a number, or an empty list.
func rawNode(v any) *node { return &node{scalar: fmt.Sprint(v)} }

func mapping() *node { return &node{} }

// with adds a field, unless it has no value.
func (n *node) with(name string, value *node) *node {
	if value != nil {
		n.fields = append(n.fields, member{name, value})
	}
	return n
}

// withText adds a text, unless it is empty.
func (n *node) withText(name, text string) *node {
	if text == "" {
		return n
	}
	return n.with(name, textNode(text))
}

// entry returns an entry of data.
func entry(key, value string) *node {
	return mapping().withText("key", key).with("value", textNode(value))
}

// withTexts adds labels or annotations: texts, and expressions.
func (n *node) withTexts(field string, plain, computed map[string]string) {
	var literals *node
	for _, k := range slices.Sorted(maps.Keys(plain)) {
		literals = cmp.Or(literals, mapping()).with(k, textNode(plain[k]))
	}
	n.with(field, literals)
	entries := make([]string, 0, len(computed))
	for _, k := range slices.Sorted(maps.Keys(computed)) {
		entries = append(entries, celtext.Literal(k)+": "+computed[k])
	}
	if len(entries) > 0 {
		n.with(field+"Expression", textNode("{"+strings.Join(entries, ", ")+"}"))
	}
}

// field returns a field of a mapping, or nil.
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

// list is nil without items.
func list(items ...*node) *node {
	if len(items) == 0 {
		return nil
	}
	return &node{items: items}
}

// copied returns what an object has: all of its fields, or some.
func copied(v decode.Value, some ...string) *node {
	n := mapping()
	if len(some) == 0 {
		some = v.Keys()
	}
	for _, name := range some {
		n.with(name, copiedValue(v.Get(name)))
	}
	return n
}

func copiedValue(v decode.Value) *node {
	switch raw := v.Raw.(type) {
	case nil:
		return nil
	case map[string]any:
		return copied(v)
	case []any:
		var all []*node
		for _, item := range v.List() {
			all = append(all, cmp.Or(copiedValue(item), rawNode("null")))
		}
		return list(all...)
	case string:
		return textNode(raw)
	case float64:
		return rawNode(strconv.FormatFloat(raw, 'f', -1, 64))
	default:
		return rawNode(raw)
	}
}

// note adds comments above the node.
func (n *node) note(lines ...string) *node {
	n.above = append(n.above, lines...)
	return n
}

// disable prints the node as a comment, below the reason.
func (n *node) disable(why ...string) *node {
	n.off = true
	for _, w := range why {
		n.note(decide + w)
	}
	return n
}

// live returns the items that are not comments.
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

// onlyComments reports whether only comments are printed, which are null in YAML.
func (n *node) onlyComments() bool {
	for _, f := range n.fields {
		if !f.value.off {
			return false
		}
	}
	return len(n.live()) == 0 && len(n.fields)+len(n.items) > 0
}

// lines returns the lines of a node that is not a scalar.
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
	v, name := f.value, quote(f.name)
	indent := strings.Repeat("  ", min(len(v.fields), 1)) // none for items
	switch {
	case v.scalar != "":
		return v.commented([]string{name + ": " + v.scalar})
	case v.onlyComments():
		return append(append(comments(v.above), "# "+name+":"), prefixed(indent, v.lines())...)
	case len(v.items)+len(v.fields) == 0:
		return v.commented([]string{name + ": {}"})
	}
	return v.commented(append([]string{name + ":"}, prefixed(indent, v.lines())...))
}

func (n *node) item() []string {
	if n.scalar != "" {
		return n.commented([]string{"- " + n.scalar})
	}
	lines := n.lines()
	// A comment at the top is above the dash.
	top := slices.IndexFunc(lines, func(l string) bool { return !strings.HasPrefix(l, "#") })
	if top < 0 {
		return append(comments(n.above), lines...)
	}
	body := prefixed("  ", lines[top:])
	body[0] = "- " + lines[top]
	return n.commented(append(lines[:top], body...))
}

// commented returns the lines of the node below its comments, or as a comment if it is off.
func (n *node) commented(lines []string) []string {
	if n.off {
		lines = prefixed("# ", lines)
	}
	return append(comments(n.above), lines...)
}

func prefixed(prefix string, lines []string) []string {
	out := make([]string, len(lines))
	for i, l := range lines {
		out[i] = prefix + l
	}
	return out
}

func comments(lines []string) []string {
	out := make([]string, 0, len(lines))
	for _, l := range lines {
		out = append(out, strings.TrimRight("# "+visible(l), " "))
	}
	return out
}

// plain matches texts that need no quotes: they begin with a letter, and contain nothing with a meaning in YAML.
var plain = lazy.MustCompile(`^[A-Za-z][A-Za-z0-9_./()'"\\\[\]?+,$*%{}|<>=@-]*` +
	`( [A-Za-z0-9_./()'"\\\[\]?+,$*%{}|<>=@-]+)*$`)

// words are words that have another value in some version of YAML.
var words = lazy.MustCompile(`^(?i:y|n|yes|no|on|off|true|false|null|nan|inf)$`)

func quote(s string) string {
	switch {
	case plain().MatchString(s) && !words().MatchString(s):
		return s
	case strings.ContainsFunc(s, celtext.NeedsEscape):
		return celtext.Quoted('"', s)
	case strings.Contains(s, "'") && !strings.ContainsAny(s, `"\`):
		return `"` + s + `"`
	}
	return singleQuoted(s)
}

func singleQuoted(s string) string { return "'" + strings.ReplaceAll(s, "'", "''") + "'" }

// oneLine returns a text that does not end a comment.
func oneLine(s string) string { return strings.TrimSpace(visible(s)) }

func visible(s string) string {
	return strings.Map(func(r rune) rune {
		if celtext.NeedsEscape(r) {
			return ' '
		}
		return r
	}, s)
}
