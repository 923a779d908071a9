package gotemplate

import (
	"fmt"
	"strconv"
	"strings"
	"text/template/parse"

	"github.com/crossplane-contrib/function-export/internal/engine/lazy"
)

// Manifests are the YAML documents of a template, with a marker for each of its actions.
type Manifests struct {
	Documents  []*Document
	Generators []*Generator // of random values, in their order; a later one may use an earlier one

	out      strings.Builder
	actions  []action
	controls []*control
}

// An action is the part of a template between its delimiters.
type action struct {
	source string // for comments
	expr   Expr
	err    error
}

// A control is a branch of a condition, or a loop, around keys or documents.
type control struct {
	source string // the beginning, for comments
	waits  bool   // the condition is only that composed resources are observed
	loop   bool
}

// The marker of an action is its index between two characters that YAML allows in plain text. That of a control is a
// comment of YAML with a sign, in the column of the text in it: in a block of text, it is part of the text.
const (
	markerStart = "\ue000"
	markerEnd   = "\ue001"
)

var (
	marker     = lazy.MustCompile(`#?` + markerStart + `([+-]?)(\d+)` + markerEnd)
	separator  = lazy.MustCompile(`^---(?:\s|$)`)
	keyLine    = lazy.MustCompile(`(?m)^\s*['"]?[A-Za-z0-9._/` + markerStart + markerEnd + `-]+['"]?:(?:\s|$)`)
	keyBefore  = lazy.MustCompile(`([A-Za-z0-9._-]+)['"]?:\s*['"]?$`)
	onlyAction = lazy.MustCompile(`(?m)^([ \t]*` + markerStart + `\d+` + markerEnd + `)[ \t]*$`)
	afterColon = lazy.MustCompile(`(?m):(` + markerStart + `\d+` + markerEnd + `)[ \t]*$`)
)

// ResourceName is the annotation with the composition resource name.
const ResourceName = "gotemplating.fn.crossplane.io/composition-resource-name"

// Parse returns the documents of a template that renders YAML. As in function-go-templating, delimiters count only
// together.
func Parse(text, left, right string, data Data) (*Manifests, error) {
	if strings.ContainsAny(text, markerStart+markerEnd) {
		return nil, errParse
	}
	if left == "" || right == "" {
		left, right = "", ""
	}
	root, err := parseTemplate(text, left, right)
	if err != nil {
		return nil, err
	}
	m, t := &Manifests{}, newTranslation(data, root)
	m.write(t, root)
	m.split()
	m.Generators = *t.generators
	return m, nil
}

// write writes the YAML of a part of the template.
func (m *Manifests) write(t *translation, list *parse.ListNode) {
	for _, n := range nodes(list) {
		switch n := n.(type) {
		case *parse.TextNode:
			m.out.Write(n.Text)
			continue
		case *parse.ActionNode:
			if m.resourceName(t, n.Pipe) {
				continue
			}
		case *parse.IfNode, *parse.WithNode, *parse.RangeNode:
			text := literal(branches(n).List) + literal(branches(n).ElseList)
			if strings.TrimSpace(text) == "" {
				m.out.WriteString(text) // it only assigns variables
				continue
			}
			if m.isAround(text) {
				m.around(t, n)
				continue
			}
		}
		if found := keyBefore().FindStringSubmatch(m.lineStart()); found != nil {
			t.hint = found[1]
		}
		e, err := try(func() Expr { return t.node(n) })
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
	e, err := try(func() Expr { return t.operand(args[1]).resolve() })
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

// isAround reports whether a condition or loop is around keys or documents, and not in the text of a value.
func (m *Manifests) isAround(text string) bool {
	return keyLine().MatchString(text) &&
		(strings.TrimSpace(m.lineStart()) == "" || strings.HasPrefix(strings.TrimLeft(text, " \t"), "\n"))
}

// around writes branches or the body of a loop between comments.
func (m *Manifests) around(t *translation, n parse.Node) {
	b := branches(n)
	are, areNot := t.observes(b.Pipe)
	source, loop := "{{"+map[parse.NodeType]string{
		parse.NodeIf: "if ", parse.NodeWith: "with ", parse.NodeRange: "range ",
	}[n.Type()]+b.Pipe.String()+"}}", n.Type() == parse.NodeRange
	m.between(&control{source: source, waits: are && !loop, loop: loop}, t.inside(n), b.List)
	if b.ElseList != nil {
		in := *t
		m.between(&control{source: "{{if not (" + b.Pipe.String() + ")}}", waits: areNot && !loop}, &in, b.ElseList)
	}
}

// between writes a part of the template between the markers of a control.
func (m *Manifests) between(c *control, t *translation, list *parse.ListNode) {
	m.controls = append(m.controls, c)
	index := len(m.controls) - 1
	start, text := m.lineStart(), literal(list)
	if strings.TrimSpace(start) == "" {
		text = "\n" + start + text
	} else {
		start = ""
	}
	indent := indentation(text)
	fmt.Fprintf(&m.out, "\n%s#%s+%d%s\n%s", indent, markerStart, index, markerEnd, start)
	m.write(t, list)
	fmt.Fprintf(&m.out, "\n%s#%s-%d%s\n%s", indent, markerStart, index, markerEnd, start)
}

// indentation returns the blanks before the first text after the first line.
func indentation(text string) string {
	_, text, _ = strings.Cut(text, "\n")
	for line := range strings.Lines(text) {
		if trimmed := strings.TrimLeft(line, " "); strings.TrimSpace(line) != "" {
			return line[:len(line)-len(trimmed)]
		}
	}
	return ""
}

// split finds the documents in what was written, and the controls around each of their lines.
func (m *Manifests) split() {
	var open []*control
	d := &Document{manifests: m}
	for line := range strings.Lines(m.out.String() + "\n---") {
		if separator().MatchString(line) {
			if strings.TrimSpace(d.text.String()) != "" {
				m.Documents = append(m.Documents, d)
			}
			d = &Document{manifests: m}
			continue
		}
		if found := marker().FindStringSubmatch(strings.TrimSpace(line)); found != nil && found[1] == "+" {
			i, _ := strconv.Atoi(found[2]) // the pattern has digits
			open = append(open[:len(open):len(open)], m.controls[i])
		} else if found != nil && found[1] == "-" {
			open = open[:len(open)-1]
		}
		d.text.WriteString(line)
		d.open = append(d.open, open)
	}
}
