package migrate

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/crossplane-contrib/function-export/internal/desk/migrate/celtext"
	"github.com/crossplane-contrib/function-export/internal/desk/migrate/gotemplate"
	"github.com/crossplane-contrib/function-export/internal/engine/lazy"
	"github.com/crossplane-contrib/function-export/internal/engine/plan"
)

// A node is a part of YAML to print: a scalar, a mapping or a list, with the comments above it. YAML
// encoders cannot keep comments in their place and print a part as a comment.
type node struct {
	above  []string // comments
	value  string   // of a text
	off    bool     // an item that is printed as a comment, for a person to decide
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

// nodeOf returns the node of a decoded value, or nil.
func nodeOf(v any) *node {
	switch v := v.(type) {
	case nil:
		return nil
	case map[string]any:
		n := mapping()
		for _, name := range plan.SortedKeys(v) {
			n.with(name, nodeOf(v[name]))
		}
		return n
	case []any:
		items := make([]*node, len(v))
		for i, item := range v {
			items[i] = cmp.Or(nodeOf(item), rawNode("null"))
		}
		return list(items...)
	case []gotemplate.Field:
		n := mapping()
		for _, f := range v {
			n.with(f.Name, nodeOf(f.Value))
		}
		return n
	case string:
		return textNode(v)
	case float64:
		return rawNode(strconv.FormatFloat(v, 'f', -1, 64))
	}
	return rawNode(v)
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

// leaveOut removes the type or a field of the metadata of an export, for a person to decide, and reports whether it
// did.
func (n *node) leaveOut(place, why string) bool {
	holder, name := n, place
	if inner, ok := strings.CutPrefix(place, "metadata."); ok {
		holder, name = n.field("metadata"), inner
	} else if place != "type" {
		return false
	}
	if end := strings.IndexAny(name, ":.["); end >= 0 {
		name = name[:end]
	}
	value := holder.field(name)
	if value == nil {
		return false
	}
	n.note(decide + place + ": " + why + ": " + strings.Join(value.lines(), ", "))
	isValue := func(f member) bool { return f.value == value }
	if holder.fields = slices.DeleteFunc(holder.fields, isValue); len(holder.fields) == 0 { // of the metadata
		n.note(holder.above...)
		n.fields = slices.DeleteFunc(n.fields, func(f member) bool { return f.value == holder })
	}
	return true
}

// unless makes the node a comment if there is a reason.
func (n *node) unless(why string) *node {
	if why != "" {
		n.disable(why)
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

// lines returns the lines of a node.
func (n *node) lines() []string {
	var out []string
	switch {
	case n.scalar != "":
		return []string{n.scalar}
	case len(n.fields)+len(n.items) == 0:
		return []string{"{}"}
	}
	for _, f := range n.fields {
		out = append(out, f.lines()...)
	}
	for _, i := range n.items {
		lines := prefixed("  ", i.lines())
		lines[0] = "- " + lines[0][2:] // no comment is above the first field of an item
		if i.off {
			lines = prefixed("# ", lines)
		}
		out = append(append(out, comments(i.above)...), lines...)
	}
	return out
}

func (f member) lines() []string {
	v, head := f.value, quote(f.name)+":"
	lines := v.lines()
	switch {
	case len(v.fields) > 0:
		lines = prefixed("  ", lines)
	case len(v.items) == 0:
		head, lines = head+" "+lines[0], nil
	case len(v.live()) == 0: // a list without items would be null
		head = "# " + head
	}
	return slices.Concat(comments(v.above), []string{head}, lines)
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
