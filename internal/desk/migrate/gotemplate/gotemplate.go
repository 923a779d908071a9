// Package gotemplate translates Go templates into CEL. It parses a template and never runs it.
//
// One walk over the syntax tree of a template translates its actions. In text, a condition becomes a choice, and a loop
// becomes a comprehension. In YAML, conditions and loops around keys and documents are kept beside them. A table has
// the functions of templates. A part without an equivalent is an error of the value that contains it, and of no other
// value. An error is a reason: it quotes names of functions and fields, and no text of the template.
package gotemplate

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"text/template/parse"
)

// Data describes the data of a template.
type Data struct {
	// Lookup returns the CEL of the field at a path. An optional one has an optional type.
	Lookup func(path []any, optional bool) (Expr, error)

	// Path returns the path to the object that a function of the tool returns, or nil. It may be nil.
	Path func(function string, args []any) []any

	// Observed reports whether a path leads to a composed resource. An export waits for it. It may be nil.
	Observed func(path []any) bool

	// Strict says that a missing field is an error, so that there is no default for it.
	Strict bool
}

func (d Data) observed(v value) bool { return v.isPath && d.Observed != nil && d.Observed(v.path) }

// Translate translates a template.
func Translate(text string, data Data) (Expr, error) {
	root, err := parseTemplate(text, "", "")
	if err != nil {
		return Expr{}, err
	}
	return try(func() Expr { return newTranslation(data, root).list(root) })
}

// A failure is a panic: why a part of a template has no equivalent. Only try recovers it.
type failure struct{ error }

func check(err error) {
	if err != nil {
		panic(failure{err})
	}
}

func failed(why string) failure { return failure{errors.New(why)} }

// try returns the value of a part of a template, or why it has none.
func try[T any](translate func() T) (v T, err error) {
	defer func() {
		if r := recover(); r != nil {
			f, ok := r.(failure)
			if !ok {
				panic(r)
			}
			err = f.error
		}
	}()
	return translate(), nil
}

// errParse has no position, because the template is next to it.
var errParse = errors.New("is not a valid Go template")

func parseTemplate(text, left, right string) (*parse.ListNode, error) {
	t := parse.New("")
	t.Mode = parse.SkipFuncCheck
	if _, err := t.Parse(text, left, right, map[string]*parse.Tree{}); err != nil || t.Root == nil {
		return nil, errParse
	}
	return t.Root, nil
}

// A value is the result of a pipeline: a path into the data, fields below an expression, or text.
type value struct {
	isPath bool
	path   []any // into the data, or below base
	base   string
	expr   Expr
	list   []value         // of the function list
	fields map[string]Expr // of a certificate
	random bool            // each rendering has another value
	err    error           // of a variable that cannot be translated
}

// A translation knows the variables and the dot at one place of a template.
type translation struct {
	data       Data
	dot        value
	vars       map[string]value
	assigned   map[string][]assignment // what the template assigns to each variable
	functions  map[string]entry
	randoms    map[string]entry // functions that become generators
	generators *[]*Generator
	depth      int    // of loops in text
	itemized   bool   // it is in a loop around documents
	inObserved bool   // the dot is a part of a composed resource
	indent     string // a new line with the indentation that YAML removes from a block of text
}

func newTranslation(data Data, template *parse.ListNode) *translation {
	root := value{isPath: true}
	t := &translation{
		data: data, dot: root, vars: map[string]value{"$": root}, functions: table(), randoms: randoms(),
		assigned: map[string][]assignment{}, generators: &[]*Generator{},
	}
	t.assignments(template, nil)
	return t
}

// An assignment is a value of a variable, with the dot of the `with` around it.
type assignment struct{ value, dot *parse.PipeNode }

// assignments remembers all values of each variable.
func (t *translation) assignments(list *parse.ListNode, dot *parse.PipeNode) {
	for _, n := range nodes(list) {
		if b := branches(n); b != nil {
			inside := dot
			if n.Type() == parse.NodeWith {
				inside = b.Pipe
			}
			t.assignments(b.List, inside)
			t.assignments(b.ElseList, dot)
		}
		if a, ok := n.(*parse.ActionNode); ok {
			for _, d := range a.Pipe.Decl {
				t.assigned[d.Ident[0]] = append(t.assigned[d.Ident[0]], assignment{a.Pipe, dot})
			}
		}
	}
}

func nodes(list *parse.ListNode) []parse.Node {
	if list == nil {
		return nil
	}
	return list.Nodes
}

// branches returns the branches of a condition or a loop, or nil.
func branches(n parse.Node) *parse.BranchNode {
	switch n := n.(type) {
	case *parse.IfNode:
		return &n.BranchNode
	case *parse.WithNode:
		return &n.BranchNode
	case *parse.RangeNode:
		return &n.BranchNode
	}
	return nil
}

// inner returns the translation inside of a branch.
func (t *translation) inner(dot value) *translation {
	out := *t
	out.dot, out.vars = dot, maps.Clone(t.vars)
	return &out
}

// list translates text with actions, conditions and loops.
func (t *translation) list(list *parse.ListNode) Expr {
	out := make([]Expr, len(nodes(list)))
	for i, n := range nodes(list) {
		out[i] = t.node(n)
	}
	return Join(out...)
}

func (t *translation) node(n parse.Node) Expr {
	switch n := n.(type) {
	case *parse.TextNode:
		if t.indent != "" {
			return Literal(strings.ReplaceAll(string(n.Text), t.indent, "\n"))
		}
		return Literal(string(n.Text))
	case *parse.CommentNode:
		return Expr{}
	case *parse.ActionNode:
		if len(n.Pipe.Decl) > 0 {
			t.declare(n.Pipe)
			return Expr{}
		}
		return t.resolve(t.pipe(n.Pipe))
	case *parse.IfNode, *parse.WithNode:
		condition, in, err := t.branch(n)
		check(err)
		b := branches(n)
		return If(condition, in.list(b.List), t.inner(t.dot).list(b.ElseList))
	case *parse.RangeNode:
		// A comprehension with two variables walks lists and maps, as a loop does.
		l, in := t.each(n)
		cel := fmt.Sprintf("%s.transformList(%s, %s, %s).join()", l.List, l.Index, l.Item, in.list(n.List).Text())
		return Of(cel, Text)
	}
	panic(failed("includes another template"))
}

// branch returns the condition of a branch, and the translation inside of it, also with an error.
func (t *translation) branch(n parse.Node) (string, *translation, error) {
	b := branches(n)
	v, err := try(func() value { return t.pipe(b.Pipe) })
	v.err = err
	in := t.inner(t.dot)
	if n.Type() == parse.NodeWith {
		in.dot = v
	}
	for _, d := range b.Pipe.Decl {
		in.vars[d.Ident[0]] = v
	}
	condition, err := try(func() string { return t.truth(v) })
	return condition, in, err
}

// A Loop repeats a text, keys or documents.
type Loop struct {
	Index, Item string // the variables
	List        string // in CEL
}

// each returns a loop, and the translation inside of it.
func (t *translation) each(n *parse.RangeNode) (*Loop, *translation) {
	l := &Loop{"i", "v", t.iterated(t.pipe(n.Pipe))}
	if t.depth > 0 {
		l.Index, l.Item = fmt.Sprintf("i%d", t.depth+1), fmt.Sprintf("v%d", t.depth+1)
	}
	if n.ElseList != nil || breaks(n.List) {
		panic(failed("has a loop with break, continue, or an else branch"))
	}
	in := t.inside(n, l)
	in.depth++
	return l, in
}

// inside returns the translation inside of a loop.
func (t *translation) inside(n *parse.RangeNode, l *Loop) *translation {
	in := t.inner(value{base: l.Item})
	if decl := n.Pipe.Decl; len(decl) > 0 {
		in.vars[decl[len(decl)-1].Ident[0]] = in.dot
		if len(decl) > 1 {
			in.vars[decl[0].Ident[0]] = value{base: l.Index}
		}
	}
	return in
}

// iterated returns the list or map of a loop. A missing one is empty.
func (t *translation) iterated(v value) string {
	e, optional := t.optional(v)
	if optional {
		return e.parts[0].cel + ".orValue([])"
	}
	return e.typed()
}

func breaks(list *parse.ListNode) bool {
	return slices.ContainsFunc(nodes(list), func(n parse.Node) bool {
		b := branches(n)
		return n.Type() == parse.NodeBreak || n.Type() == parse.NodeContinue ||
			b != nil && (breaks(b.List) || breaks(b.ElseList))
	})
}

// declare remembers the value of a variable. Its error matters only where the variable is used.
func (t *translation) declare(p *parse.PipeNode) {
	name := p.Decl[0].Ident[0]
	if v, ok := t.vars[name]; ok && v.random {
		return // the other values are what it was before
	}
	v, err := try(func() value { return t.pipe(p) })
	if err == nil && (len(t.assigned[name]) > 1 || len(p.Decl) > 1) && !t.keeps(name, v) {
		err = errors.New("sets a variable more than once")
	}
	v.err = err
	t.vars[name] = v
	t.name(v, strings.TrimPrefix(name, "$"))
}

// keeps reports whether a variable is random, and all of its other values are what composed resources have: then a
// generator replaces all of them, because it keeps its value.
func (t *translation) keeps(name string, v value) bool {
	others := 0
	for _, a := range t.assigned[name] {
		in := t
		if a.dot != nil && t.readsObserved(a.dot) {
			in = t.inner(value{err: errors.New("is a part of a composed resource")})
			in.inObserved = true
		}
		if !in.readsObserved(a.value) {
			others++
		}
	}
	return v.random && others == 1
}
