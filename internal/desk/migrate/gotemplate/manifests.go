package gotemplate

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"text/template/parse"

	"github.com/crossplane-contrib/function-export/internal/engine/lazy"
)

// Manifests are the YAML documents of a template, with a marker for each of its actions.
type Manifests struct {
	Documents   []*Document
	translation *translation
	out         strings.Builder
	actions     []action
	controls    []*control
}

// An action is the part of a template between its delimiters, or a condition or a loop in a text.
type action struct {
	source string // for comments
	expr   Expr
	err    error
}

// A control is a branch of a condition, or a loop, around keys or documents.
type control struct {
	source    string // the beginning, for comments
	condition string
	err       error
	waits     bool // the condition is only that composed resources are observed
	loop      *Loop
}

// The marker of an action is its index between two characters that YAML allows in plain text. That of a control is a
// comment of YAML, with a sign.
const (
	markerStart = "\ue000"
	markerEnd   = "\ue001"
)

var (
	marker     = lazy.MustCompile(markerStart + `(\d+)` + markerEnd)
	ruler      = lazy.MustCompile(`^#` + markerStart + `([+-])(\d+)` + markerEnd)
	separator  = lazy.MustCompile(`^---(?:\s|$)`)
	isDocument = lazy.MustCompile(`(?m)^\s*(?:apiVersion|kind):|^---`)
	keyLine    = lazy.MustCompile(`(?m)^\s*['"]?[A-Za-z0-9._/` + markerStart + markerEnd + `-]+['"]?:(?:\s|$)`)
	onlyAction = lazy.MustCompile(`(?m)^([ \t]*` + markerStart + `\d+` + markerEnd + `)[ \t]*$`)
	afterColon = lazy.MustCompile(`(?m):(` + markerStart + `\d+` + markerEnd + `)[ \t]*$`)
	blockStart = lazy.MustCompile(`^( *)[^#\s].*:[ \t]+[|>][-+0-9]*[ \t]*$`)
)

// ResourceName is the annotation with the composition resource name.
const ResourceName = "gotemplating.fn.crossplane.io/composition-resource-name"

// PathOf returns the path to the object that a function of function-go-templating returns, or nil.
func PathOf(function string, args []any) []any {
	switch {
	case function == "getCompositeResource" && len(args) == 0:
		return []any{"observed", "composite", "resource"}
	case function == "getComposedResource" && len(args) == 1:
		return []any{"observed", "resources", args[0], "resource"}
	case function == "getComposedConnectionDetails" && len(args) == 1:
		return []any{"observed", "resources", args[0], "connectionDetails"}
	}
	return nil
}

// Parse returns the documents of a template that renders YAML. As in function-go-templating, delimiters count only
// together.
func Parse(text, left, right string, data Data) (*Manifests, error) {
	if strings.ContainsAny(text, markerStart+markerEnd+generatorStart+generatorEnd) {
		return nil, errParse
	}
	if left == "" || right == "" {
		left, right = "", ""
	}
	root, err := parseTemplate(text, left, right)
	if err != nil {
		return nil, err
	}
	m := &Manifests{translation: newTranslation(data, root)}
	m.write(m.translation, root)
	m.split()
	return m, nil
}

// write writes the YAML of a part of the template.
func (m *Manifests) write(t *translation, list *parse.ListNode) {
	for _, n := range nodes(list) {
		in := t
		switch n := n.(type) {
		case *parse.TextNode:
			m.out.Write(n.Text)
			continue
		case *parse.ActionNode:
			if m.resourceName(t, n.Pipe) {
				continue
			}
		case *parse.IfNode, *parse.WithNode, *parse.RangeNode:
			if m.isAround(n) {
				m.around(t, n)
				continue
			}
			in = m.inBlock(t, n)
		}
		e, err := try(func() Expr { return in.node(n) })
		if text, ok := e.Constant(); ok && err == nil {
			m.out.WriteString(text)
			continue
		}
		m.mark(action{source: n.String(), expr: e, err: err})
	}
}

func (m *Manifests) mark(a action) {
	m.actions = append(m.actions, a)
	fmt.Fprintf(&m.out, "%s%d%s", markerStart, len(m.actions)-1, markerEnd)
}

// resourceName writes the line of setResourceNameAnnotation.
func (m *Manifests) resourceName(t *translation, p *parse.PipeNode) bool {
	args := p.Cmds[0].Args
	if len(p.Cmds) != 1 || len(args) != 2 || args[0].String() != "setResourceNameAnnotation" {
		return false
	}
	e, err := try(func() Expr { return t.resolve(t.operand(args[1])) })
	m.out.WriteString(ResourceName + ": ")
	m.mark(action{source: "{{" + args[1].String() + "}}", expr: e, err: err})
	return true
}

// lineStart returns what is already written of the current line.
func (m *Manifests) lineStart() string {
	text := m.out.String()
	return text[strings.LastIndexByte(text, '\n')+1:]
}

// literal returns the text of a branch, with x for each action.
func literal(list *parse.ListNode) string {
	var b strings.Builder
	for _, n := range nodes(list) {
		switch n := n.(type) {
		case *parse.TextNode:
			b.Write(n.Text)
		case *parse.ActionNode:
			if len(n.Pipe.Decl) == 0 {
				b.WriteString("x")
				if n.Pipe.Cmds[0].Args[0].String() == "setResourceNameAnnotation" {
					b.WriteString(": x")
				}
			}
		default:
			if inner := branches(n); inner != nil {
				b.WriteString(literal(inner.List) + literal(inner.ElseList))
			}
		}
	}
	return b.String()
}

// isAround reports whether a condition or loop is around keys or documents, and not in a text.
func (m *Manifests) isAround(n parse.Node) bool {
	b := branches(n)
	text := literal(b.List) + literal(b.ElseList)
	start := m.lineStart()
	if block, _, ok := m.block(); ok && (!strings.Contains(text, "\n") || indentation(text) > block) {
		return false
	}
	if strings.TrimSpace(text) == "" {
		return strings.TrimSpace(start) == ""
	}
	return keyLine.MatchString(text) &&
		(strings.TrimSpace(start) == "" || strings.HasPrefix(strings.TrimLeft(text, " \t"), "\n"))
}

// indentation returns the one of the first line with text, without the rest of the line where the text begins.
func indentation(text string) int {
	_, text, _ = strings.Cut(text, "\n")
	for line := range strings.Lines(text) {
		if trimmed := strings.TrimLeft(line, " "); strings.TrimSpace(line) != "" {
			return len(line) - len(trimmed)
		}
	}
	return -1
}

// block returns the indentation of the key of a block of text that is open, and of its first line. A line without an
// indentation ends all blocks.
func (m *Manifests) block() (key, content int, ok bool) {
	lines := strings.Split(m.out.String(), "\n")
	least := len(m.out.String())
	content = -1
	for i := len(lines) - 1; i >= 0 && least > 0; i-- {
		line := lines[i]
		if found := blockStart.FindStringSubmatch(line); found != nil && i < len(lines)-1 {
			return len(found[1]), content, len(found[1]) < least
		} else if found != nil {
			return len(found[1]), -1, true
		}
		if strings.TrimSpace(line) != "" {
			content = len(line) - len(strings.TrimLeft(line, " "))
			least = min(least, content)
		}
	}
	return 0, 0, false
}

// inBlock returns the translation of a condition or loop in a block of text. YAML removes the indentation of its lines.
func (m *Manifests) inBlock(t *translation, n parse.Node) *translation {
	_, content, ok := m.block()
	if !ok {
		return t
	}
	b := branches(n)
	if content < 0 {
		content = max(0, indentation(literal(b.List)+literal(b.ElseList)))
	}
	if start := m.lineStart(); strings.TrimSpace(start) == "" && len(start) < content {
		m.out.WriteString(strings.Repeat(" ", content-len(start)))
	}
	out := *t // shares the variables
	out.indent = "\n" + strings.Repeat(" ", content)
	return &out
}

// around writes branches or the body of a loop between comments.
func (m *Manifests) around(t *translation, n parse.Node) {
	b := branches(n)
	if n, ok := n.(*parse.RangeNode); ok {
		m.repeated(t, n)
		return
	}
	condition, in, err := t.branch(n)
	source := "{{if " + b.Pipe.String() + "}}"
	if n.Type() == parse.NodeWith {
		source = "{{with " + b.Pipe.String() + "}}"
	}
	waits := t.readsObserved(b.Pipe)
	m.between(&control{source: source, condition: condition, err: err, waits: waits && !negated(b.Pipe)}, in, b.List)
	if b.ElseList != nil {
		source := "{{if not (" + b.Pipe.String() + ")}}"
		m.between(&control{source: source, condition: not(condition), err: err, waits: waits && negated(b.Pipe)},
			t.inner(t.dot), b.ElseList)
	}
}

// repeated writes the body of a loop.
func (m *Manifests) repeated(t *translation, n *parse.RangeNode) {
	var in *translation
	l, err := try(func() (l *Loop) {
		l, in = t.each(n)
		return l
	})
	switch {
	case err != nil:
		l = &Loop{Index: "i", Item: "v"}
		in = t.inside(n, l)
	case isDocument.MatchString(literal(n.List)):
		if t.depth > 0 || t.itemized {
			err = errors.New("is in a loop in a loop")
		}
		l.Index, l.Item = "index", "item"
		in = t.inside(n, l)
		in.itemized = true
	}
	m.between(&control{source: "{{range " + n.Pipe.String() + "}}", err: err, loop: l}, in, n.List)
}

// between writes a part of the template between the markers of a control.
func (m *Manifests) between(c *control, t *translation, list *parse.ListNode) {
	m.controls = append(m.controls, c)
	index := len(m.controls) - 1
	start := m.lineStart()
	fmt.Fprintf(&m.out, "\n#%s+%d%s\n", markerStart, index, markerEnd)
	if strings.TrimSpace(start) == "" {
		m.out.WriteString(start)
	}
	m.write(t, list)
	fmt.Fprintf(&m.out, "\n#%s-%d%s\n", markerStart, index, markerEnd)
}

// split finds the documents in what was written, and the controls around each of their lines.
func (m *Manifests) split() {
	var open []*control
	d := &Document{manifests: m}
	add := func() {
		if strings.TrimSpace(d.text.String()) != "" {
			m.Documents = append(m.Documents, d)
		}
		d = &Document{manifests: m}
	}
	for line := range strings.Lines(m.out.String()) {
		if found := ruler.FindStringSubmatch(line); found != nil {
			if i, err := strconv.Atoi(found[2]); err == nil && found[1] == "+" {
				open = append(open[:len(open):len(open)], m.controls[i])
			} else {
				open = open[:len(open)-1]
			}
			line = "\n"
		}
		if separator.MatchString(line) {
			add()
			continue
		}
		d.text.WriteString(line)
		d.open = append(d.open, open)
	}
	add()
}
