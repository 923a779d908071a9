// Package gotemplate translates Go templates into CEL. It parses a template and never runs it.
//
// It translates templates that only look up values, insert them into text, encode them, change their
// case, format them, or choose a default. An error is the reason why a template is not one of these. It
// quotes names of functions and fields, and no text of the template.
package gotemplate

import (
	"errors"
	"fmt"
	"slices"
	"text/template/parse"

	"github.com/crossplane-contrib/function-export/internal/desk/migrate/celtext"
)

// Data describes the data of a template.
type Data struct {
	// Lookup returns the CEL of the field at a path. An optional one has an optional type.
	Lookup func(path []any, optional bool) (Expr, error)

	// Path returns the path to the object that a function of the tool returns, or nil. It may be nil.
	Path func(function string, args []any) []any

	// Strict says that a missing field is an error, so that there is no default for it.
	Strict bool
}

// Translate translates a template.
func Translate(text string, data Data) (Expr, error) {
	root, err := parseTemplate(text, "", "")
	if err != nil {
		return Expr{}, err
	}
	t := newTranslation(data, root)
	out := make([]Expr, 0, len(root.Nodes))
	for _, n := range root.Nodes {
		e, err := t.node(n)
		if err != nil {
			return Expr{}, err
		}
		out = append(out, e)
	}
	return Join(out...), nil
}

// errParse has no position, because the template is next to it.
var errParse = errors.New("is not a valid Go template")

func parseTemplate(text, left, right string) (*parse.ListNode, error) {
	t := parse.New("")
	t.Mode = parse.SkipFuncCheck
	trees := map[string]*parse.Tree{}
	if _, err := t.Parse(text, left, right, trees); err != nil {
		return nil, errParse
	}
	if t.Root == nil {
		return nil, errParse
	}
	return t.Root, nil
}

// A value is a path into the data, fields below an expression, or text.
type value struct {
	isPath bool
	path   []any // into the data, or below base
	base   string
	expr   Expr
	err    error // of a variable that cannot be translated
}

// A translation knows the variables and the dot at one place of a template.
type translation struct {
	data     Data
	dot      value
	vars     map[string]value
	assigned map[string]bool // variables that change, somewhere in the template
}

func newTranslation(data Data, template *parse.ListNode) *translation {
	root := value{isPath: true}
	t := &translation{data: data, dot: root, vars: map[string]value{"$": root}, assigned: map[string]bool{}}
	t.assignments(template)
	return t
}

// assignments remembers the variables that a list of nodes changes.
func (t *translation) assignments(list *parse.ListNode) {
	if list == nil {
		return
	}
	for _, n := range list.Nodes {
		switch n := n.(type) {
		case *parse.ActionNode:
			t.assignment(n.Pipe)
		case *parse.IfNode:
			t.branchAssignments(n.BranchNode)
		case *parse.WithNode:
			t.branchAssignments(n.BranchNode)
		case *parse.RangeNode:
			t.branchAssignments(n.BranchNode)
		}
	}
}

func (t *translation) branchAssignments(b parse.BranchNode) {
	t.assignment(b.Pipe)
	t.assignments(b.List)
	t.assignments(b.ElseList)
}

func (t *translation) assignment(p *parse.PipeNode) {
	for _, d := range p.Decl {
		t.assigned[d.Ident[0]] = t.assigned[d.Ident[0]] || p.IsAssign
	}
}

// node translates text or an action outside of branches.
func (t *translation) node(n parse.Node) (Expr, error) {
	switch n := n.(type) {
	case *parse.TextNode:
		return Literal(string(n.Text)), nil
	case *parse.CommentNode:
		return Expr{}, nil
	case *parse.ActionNode:
		if len(n.Pipe.Decl) > 0 {
			t.declare(n.Pipe)
			return Expr{}, nil
		}
		v, err := t.pipe(n.Pipe)
		if err != nil {
			return Expr{}, err
		}
		return t.resolve(v)
	case *parse.IfNode, *parse.WithNode:
		return Expr{}, errors.New("has a condition")
	case *parse.RangeNode:
		return Expr{}, errors.New("has a loop")
	}
	return Expr{}, errors.New("includes another template")
}

// declare remembers the value of a variable. Its error matters only where the variable is used.
func (t *translation) declare(p *parse.PipeNode) {
	v, err := t.pipe(p)
	name := p.Decl[0].Ident[0]
	if _, ok := t.vars[name]; ok || t.assigned[name] || len(p.Decl) > 1 {
		err = errors.New("sets a variable more than once")
	}
	v.err = err
	t.vars[name] = v
}

// pipe translates commands of which each one receives the result of the former one.
func (t *translation) pipe(p *parse.PipeNode) (value, error) {
	var v value
	for i, c := range p.Cmds {
		var piped []value
		if i > 0 {
			piped = []value{v}
		}
		var err error
		if v, err = t.command(c, piped); err != nil {
			return value{}, err
		}
	}
	return v, nil
}

func (t *translation) command(c *parse.CommandNode, piped []value) (value, error) {
	id, ok := c.Args[0].(*parse.IdentifierNode)
	if !ok {
		if len(c.Args) > 1 || len(piped) > 0 {
			return value{}, errors.New("passes arguments to something that is not a function")
		}
		return t.operand(c.Args[0])
	}
	args := make([]value, 0, len(c.Args))
	for _, a := range c.Args[1:] {
		v, err := t.operand(a)
		if err != nil {
			return value{}, err
		}
		args = append(args, v)
	}
	return t.call(id.Ident, append(args, piped...))
}

func (t *translation) operand(n parse.Node) (value, error) {
	switch n := n.(type) {
	case *parse.DotNode:
		return t.dot, t.dot.err
	case *parse.FieldNode:
		return t.dot.fields(n.Ident), t.dot.err
	case *parse.VariableNode:
		v, ok := t.vars[n.Ident[0]]
		if !ok {
			return value{}, errors.New("uses a variable that a branch or a loop sets")
		}
		return v.fields(n.Ident[1:]), v.err
	case *parse.ChainNode:
		v, err := t.operand(n.Node)
		return v.fields(n.Field), err
	case *parse.PipeNode:
		return t.pipe(n)
	case *parse.StringNode:
		return value{expr: Literal(n.Text)}, nil
	case *parse.NumberNode:
		if n.IsInt {
			return value{expr: Of(n.Text, Any)}, nil
		}
	case *parse.BoolNode:
		return value{expr: Of(n.String(), Any)}, nil
	case *parse.IdentifierNode:
		return t.call(n.Ident, nil)
	}
	return value{}, errors.New("has a value that has no equivalent")
}

// fields returns a field below a value.
func (v value) fields(names []string) value {
	path := make([]any, len(names))
	for i, name := range names {
		path[i] = name
	}
	return v.below(path)
}

// below returns the value at a path below a value.
func (v value) below(path []any) value {
	if len(path) == 0 {
		return v
	}
	if !v.isPath && v.base == "" {
		v.base = v.expr.Text()
		if p, ok := v.expr.single(); ok {
			v.base = p.cel
		}
	}
	v.path = slices.Concat(v.path, path)
	return v
}

// resolve returns the expression of a value.
func (t *translation) resolve(v value) (Expr, error) {
	switch {
	case v.err != nil:
		return Expr{}, v.err
	case v.isPath:
		return t.data.Lookup(v.path, false)
	case v.base != "":
		return Of(celtext.Path(v.base, v.path, false), Any), nil
	}
	return v.expr, nil
}

// optional returns the expression of a value that may be missing, of an optional type. It is false if
// the value cannot be missing.
func (t *translation) optional(v value) (Expr, bool, error) {
	switch {
	case t.data.Strict || !v.isPath && v.base == "":
		e, err := t.resolve(v)
		return e, false, err
	case v.isPath:
		e, err := t.data.Lookup(v.path, true)
		return e, true, err
	}
	return Of(celtext.Path(v.base, v.path, true), Any), true, nil
}

func unknown(function string) error { return fmt.Errorf("uses %s, which has no equivalent", function) }
