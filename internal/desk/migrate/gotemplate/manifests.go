package gotemplate

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"text/template/parse"

	"sigs.k8s.io/yaml"

	"github.com/crossplane-contrib/function-export/internal/engine/lazy"
)

// Manifests are the YAML documents of a template, with a marker for each of its actions.
type Manifests struct {
	Documents []string
	actions   []action
}

// An action is the part of a template between its delimiters, or a whole loop.
type action struct {
	source string // for comments
	expr   Expr
	err    error
	guard  bool   // it is the condition of a document
	waits  bool   // the condition only waits for composed resources
	key    string // it is the condition of this key
	loop   bool
	plain  bool // it is a value in YAML, without anything else
}

// The marker of an action is its index between two characters that YAML allows in plain text.
const (
	markerStart = "\ue000"
	markerEnd   = "\ue001"
)

var marker = lazy.MustCompile(markerStart + `(\d+)` + markerEnd)

// ResourceName is the annotation with the composition resource name.
const ResourceName = "gotemplating.fn.crossplane.io/composition-resource-name"

// Parse returns the documents of a template that renders YAML. Of a condition around documents, only the
// branch that has data is there.
func Parse(text, left, right string, data Data) (*Manifests, error) {
	if strings.ContainsAny(text, markerStart+markerEnd) {
		return nil, errParse
	}
	root, err := parseTemplate(text, left, right)
	if err != nil {
		return nil, err
	}
	m := &Manifests{}
	rendered := m.list(newTranslation(data, root), root)
	for _, found := range plainValue.FindAllStringSubmatch(rendered, -1) {
		if i, err := strconv.Atoi(found[1]); err == nil && i < len(m.actions) {
			m.actions[i].plain = true
		}
	}
	m.Documents = separator.Split("\n"+rendered, -1)
	return m, nil
}

// plainValue matches an action that is a whole value, with its condition.
var plainValue = lazy.MustCompile(`(?m):[ \t]+` + markerStart + `(\d+)` + markerEnd + `(?:` + markerStart + `\d+` + markerEnd + `)?[ \t]*$`)

var separator = lazy.MustCompile(`\n---[^\n]*`)

// Object decodes a document. Its texts still have markers.
func (m *Manifests) Object(document string) (map[string]any, error) {
	var out map[string]any
	if err := yaml.Unmarshal([]byte(document), &out); err != nil {
		return nil, errors.New("is not valid YAML without its actions") // the error may quote the text
	}
	b, err := json.Marshal(out)
	for _, found := range marker.FindAllStringSubmatch(document, -1) {
		if a := m.action(found[1]); a.err != nil && !strings.Contains(string(b), found[0]) {
			return nil, a.err // in a comment
		}
	}
	return out, err
}

// Expr translates a text of a document.
func (m *Manifests) Expr(text string) (Expr, error) {
	if whole := marker.FindStringSubmatch(text); whole != nil && whole[0] == text {
		if a := m.action(whole[1]); a.err == nil && a.plain && a.expr.unquoted != nil {
			return *a.expr.unquoted, nil // the quotes are YAML's
		}
	}
	var out []Expr
	last := 0
	for _, at := range marker.FindAllStringSubmatchIndex(text, -1) {
		a := m.action(text[at[2]:at[3]])
		if a.err != nil {
			return Expr{}, a.err
		}
		out = append(out, Literal(text[last:at[0]]), a.expr)
		last = at[1]
	}
	return Join(append(out, Literal(text[last:]))...), nil
}

var trailing = lazy.MustCompile(markerStart + `(\d+)` + markerEnd + `$`)

// Optional returns the value of a key without a condition that only waits for composed resources, and
// whether there is such a condition.
func (m *Manifests) Optional(key, text string) (string, bool) {
	if at := trailing.FindStringSubmatchIndex(text); at != nil {
		if a := m.action(text[at[2]:at[3]]); a.key == key && a.waits {
			return text[:at[0]], true
		}
	}
	return text, false
}

// Source returns a text of a document as it is in the template.
func (m *Manifests) Source(text string) string {
	return marker.ReplaceAllStringFunc(text, func(found string) string {
		return m.action(strings.Trim(found, markerStart+markerEnd)).source
	})
}

// HasActions reports whether a text of a document depends on the data.
func (m *Manifests) HasActions(text string) bool { return marker.MatchString(text) }

// Conditions returns the conditions of a document, as they are in the template. It does not return those
// that only wait for composed resources, as an export does anyway.
func (m *Manifests) Conditions(document string) []string {
	var out []string
	for _, found := range marker.FindAllStringSubmatch(document, -1) {
		if a := m.action(found[1]); a.guard && !a.waits {
			out = append(out, a.source)
		}
	}
	return out
}

// Loops returns the loops, as they are in the template.
func (m *Manifests) Loops() []string {
	var out []string
	for _, a := range m.actions {
		if a.loop {
			out = append(out, a.source)
		}
	}
	return out
}

func (m *Manifests) action(index string) action {
	i, err := strconv.Atoi(index)
	if err != nil || i >= len(m.actions) {
		return action{err: errParse}
	}
	return m.actions[i]
}

func (m *Manifests) mark(a action) string {
	m.actions = append(m.actions, a)
	return fmt.Sprintf("%s%d%s", markerStart, len(m.actions)-1, markerEnd)
}

func (m *Manifests) list(t *translation, list *parse.ListNode) string {
	var b strings.Builder
	if list == nil {
		return ""
	}
	for _, n := range list.Nodes {
		b.WriteString(m.node(t, n))
	}
	return b.String()
}

func (m *Manifests) node(t *translation, n parse.Node) string {
	switch n := n.(type) {
	case *parse.TextNode:
		return string(n.Text)
	case *parse.ActionNode:
		if name, ok := resourceName(n.Pipe); ok {
			return ResourceName + ": " + name
		}
		e, err := t.node(n)
		if len(n.Pipe.Decl) > 0 || err == nil && e.Empty() {
			return ""
		}
		if text, ok := e.Constant(); err == nil && ok {
			return text
		}
		return m.mark(action{source: n.String(), expr: e, err: err})
	case *parse.CommentNode:
		return ""
	case *parse.IfNode:
		return m.branches(t, t.dot, n.BranchNode, n)
	case *parse.WithNode:
		dot, err := t.pipe(n.Pipe)
		dot.err = err
		return m.branches(t, dot, n.BranchNode, n)
	case *parse.RangeNode:
		return m.loop(t, n)
	}
	return m.mark(action{source: n.String(), err: errors.New("includes another template")})
}

// loop returns a marker, in a comment of YAML if the loop composes objects, or nothing if it renders nothing.
func (m *Manifests) loop(t *translation, n *parse.RangeNode) string {
	body := m.list(t.inner(value{err: errors.New("has a loop")}), n.List) + m.list(t.inner(t.dot), n.ElseList)
	switch {
	case strings.TrimSpace(body) == "":
		return ""
	case separator.MatchString(body):
		return "\n# " + m.mark(action{source: n.String(), guard: true, waits: true, loop: true}) + "\n"
	}
	return m.mark(action{source: n.String(), err: errors.New("has a loop")})
}

// resourceName returns the text of setResourceNameAnnotation, which is a line of YAML.
func resourceName(p *parse.PipeNode) (string, bool) {
	args := p.Cmds[0].Args
	if len(p.Cmds) != 1 || len(args) != 2 || args[0].String() != "setResourceNameAnnotation" {
		return "", false
	}
	name, ok := args[1].(*parse.StringNode)
	if !ok {
		return "", false
	}
	return strconv.Quote(name.Text), true
}

// nothing matches a branch that has no data, header a branch that has more than keys of data.
var (
	nothing = lazy.MustCompile(`^\s*(?:data:\s*(?:\{\s*\})?)?\s*$`)
	header  = lazy.MustCompile(`(?m)^\s*(?:apiVersion|kind|data|stringData|metadata):`)
	keyLine = lazy.MustCompile(`(?m)^(\s*['"]?([A-Za-z0-9._-]+)['"]?:[ \t]*\S.*)$`)
)

// branches returns the only branch that has data, in which the dot may have another value.
func (m *Manifests) branches(t *translation, dot value, b parse.BranchNode, n parse.Node) string {
	inner := t.inner(dot)
	for _, d := range b.Pipe.Decl {
		inner.vars[d.Ident[0]] = dot
		if n.Type() == parse.NodeIf {
			inner.vars[d.Ident[0]] = value{err: errors.New("uses a variable of a condition")}
		}
	}
	yes := m.list(inner, b.List)
	no := m.list(t.inner(t.dot), b.ElseList)
	waits := t.waits(b.Pipe) && !negated(b.Pipe)
	if nothing.MatchString(yes) {
		yes, no = no, yes
		waits = t.waits(b.Pipe) && negated(b.Pipe)
	}
	source := "{{if " + b.Pipe.String() + "}}"
	if n.Type() == parse.NodeWith {
		source = "{{with " + b.Pipe.String() + "}}"
	}
	switch {
	case allKeys(yes) && allKeys(no):
		return m.eitherKeys(yes+"\n"+no, n.String())
	case !nothing.MatchString(no):
		return m.mark(action{source: n.String(), err: errors.New("has a condition with two results")})
	case nothing.MatchString(yes):
		return yes
	case header.MatchString(yes):
		guard := "\n# " + m.mark(action{source: source, guard: true, waits: waits})
		yes = separator.ReplaceAllString(yes, "$0"+guard)
		if strings.TrimSpace(separator.Split(yes, 2)[0]) != "" {
			yes = guard + "\n" + yes
		}
		return yes
	case !allKeys(yes):
		return m.mark(action{source: n.String(), err: errors.New("has a condition")})
	}
	return keyLine.ReplaceAllStringFunc(yes, func(line string) string {
		key := keyLine.FindStringSubmatch(line)[2]
		a := action{source: " # " + source, key: key, waits: waits, err: errors.New("has a condition")}
		return line + m.mark(a)
	})
}

// eitherKeys returns the keys of two branches without their values.
func (m *Manifests) eitherKeys(text, source string) string {
	var b strings.Builder
	seen := map[string]bool{}
	for _, line := range keyLine.FindAllStringSubmatch(text, -1) {
		if name, _, _ := strings.Cut(line[1], ":"); !seen[line[2]] {
			seen[line[2]] = true
			mark := m.mark(action{source: source, err: errors.New("has a condition with two results")})
			b.WriteString("\n" + strings.TrimLeft(name, "\n") + ": " + mark)
		}
	}
	return b.String()
}

// allKeys reports whether all lines have a key with a value.
func allKeys(text string) bool {
	lines := 0
	for line := range strings.Lines(text) {
		if strings.TrimSpace(line) == "" {
			continue
		}
		lines++
		if !keyLine.MatchString(strings.TrimSuffix(line, "\n")) {
			return false
		}
	}
	return lines > 0
}

// inner returns the translation inside of a branch.
func (t *translation) inner(dot value) *translation {
	return &translation{data: t.data, dot: dot, vars: maps.Clone(t.vars), assigned: t.assigned}
}

// negated reports whether a condition asks for something that is not there.
func negated(p *parse.PipeNode) bool {
	for _, c := range p.Cmds {
		for _, a := range c.Args {
			switch a := a.(type) {
			case *parse.IdentifierNode:
				if a.Ident == "not" || a.Ident == "eq" {
					return true
				}
			case *parse.PipeNode:
				if negated(a) {
					return true
				}
			}
		}
	}
	return false
}

// waits reports whether a condition only asks whether composed resources are observed.
func (t *translation) waits(p *parse.PipeNode) bool {
	for _, c := range p.Cmds {
		for _, a := range c.Args {
			if !t.waitsFor(a) {
				return false
			}
		}
	}
	return true
}

func (t *translation) waitsFor(n parse.Node) bool {
	switch n := n.(type) {
	case *parse.NilNode, *parse.StringNode:
		return true
	case *parse.IdentifierNode:
		return slices.Contains([]string{"and", "ne", "eq", "not", "index", "get", "hasKey", "dig"}, n.Ident)
	case *parse.PipeNode:
		if v, err := t.pipe(n); err == nil && v.isPath {
			return v.observed()
		}
		return t.waits(n)
	}
	v, err := t.operand(n)
	return err == nil && v.isPath && v.observed()
}

// observed reports whether a value belongs to composed resources.
func (v value) observed() bool {
	return len(v.path) > 1 && v.path[0] == any("observed") && v.path[1] == any("resources")
}
