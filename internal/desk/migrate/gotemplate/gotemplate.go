// Package gotemplate translates values in Go templates into CEL. It parses a template and never runs it.
//
// Fields of the data, variables, formats, and the frequent functions of texts have an equivalent. A function that
// returns random values becomes a generator. Everything else, such as a condition or a loop, is an error of the value
// that contains it, and of no other value. An error is a reason: it quotes names of functions, and no text of the
// template.
package gotemplate

import (
	"errors"
	"maps"
	"slices"
	"strings"
	"text/template/parse"

	"github.com/crossplane-contrib/function-export/internal/engine/lazy"
)

// Data describes the data of a template.
type Data struct {
	// Lookup returns the CEL of the field at a path. An optional one has an optional type.
	Lookup func(path []any, optional bool) (Expr, error)

	// Generator returns the name of a new generator. It is nil if there are no generators.
	Generator func(hint string) string
}

// Translate translates a template that is one text.
func Translate(text string, data Data) (Expr, error) {
	root, err := parseTemplate(text, "", "")
	if err != nil {
		return Expr{}, err
	}
	t := newTranslation(data, root)
	return try(func() Expr {
		out := make([]Expr, 0, len(root.Nodes))
		for _, n := range root.Nodes {
			out = append(out, t.node(n))
		}
		return Join(out...)
	})
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

// A translation knows the variables and the dot at one place of a template.
type translation struct {
	data       Data
	dot        value
	vars       map[string]value
	assigned   map[string][]*parse.PipeNode // what the template assigns to each variable
	hint       string                       // the name of the variable or key that gets the value
	generators *[]*Generator
}

func newTranslation(data Data, template *parse.ListNode) *translation {
	root := value{lookup: data.Lookup, inData: true}
	t := &translation{
		data: data, dot: root, vars: map[string]value{"$": root}, assigned: map[string][]*parse.PipeNode{},
		generators: &[]*Generator{},
	}
	t.assignments(template)
	return t
}

// assignments remembers all values of each variable.
func (t *translation) assignments(list *parse.ListNode) {
	for _, n := range nodes(list) {
		if b := branches(n); b != nil {
			t.assignments(b.List)
			t.assignments(b.ElseList)
		}
		if a, ok := n.(*parse.ActionNode); ok {
			for _, d := range a.Pipe.Decl {
				t.assigned[d.Ident[0]] = append(t.assigned[d.Ident[0]], a.Pipe)
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

// node translates a part of a text.
func (t *translation) node(n parse.Node) Expr {
	switch n := n.(type) {
	case *parse.TextNode:
		return Literal(string(n.Text))
	case *parse.CommentNode:
		return Expr{}
	case *parse.ActionNode:
		if len(n.Pipe.Decl) > 0 {
			t.declare(n.Pipe)
			return Expr{}
		}
		return t.pipe(n.Pipe).resolve()
	case *parse.TemplateNode:
		panic(failed("includes another template"))
	}
	panic(failure{errBranch})
}

var errBranch = errors.New("has a condition or a loop")

// inside returns the translation inside of a branch. The dot of a condition is that of the place around it.
func (t *translation) inside(n parse.Node) *translation {
	in := *t
	in.vars = maps.Clone(t.vars)
	pipe := branches(n).Pipe
	v, err := try(func() value { return t.pipe(pipe) })
	if n.Type() == parse.NodeRange {
		err = errors.New("reads an item of a loop")
	}
	v.err = err
	if n.Type() != parse.NodeIf {
		in.dot = v
	}
	for _, d := range pipe.Decl {
		in.vars[d.Ident[0]] = v
	}
	return &in
}

// observes reports whether a condition only asks whether composed resources are observed, or whether they are not.
func (t *translation) observes(n parse.Node) (are, areNot bool) {
	if p, ok := n.(*parse.PipeNode); ok && len(p.Cmds) == 1 {
		args := p.Cmds[0].Args
		switch name := args[0].String(); {
		case (name == "not" || name == "empty") && len(args) == 2,
			name == "eq" && len(args) == 3 && args[2].Type() == parse.NodeNil:
			are, areNot = t.observes(args[1])
			return areNot, are
		case name == "and":
			isOther := func(a parse.Node) bool { are, _ := t.observes(a); return !are }
			return !slices.ContainsFunc(args[1:], isOther), false
		}
	}
	v, err := try(func() value {
		if p, ok := n.(*parse.PipeNode); ok {
			return t.pipe(p)
		}
		return t.operand(n)
	})
	return err == nil && v.isObserved(), false
}

// declare remembers the value of a variable. Its error matters only where the variable is used. A variable that may be
// random is a generator, which keeps its value. Its other values usually read the former value back.
func (t *translation) declare(p *parse.PipeNode) {
	name := p.Decl[0].Ident[0]
	if t.vars[name].generator != "" {
		return
	}
	all := t.assigned[name]
	isRandom := func(p *parse.PipeNode) bool { return randomName().MatchString(p.String()) }
	if i := slices.IndexFunc(all, isRandom); i >= 0 {
		p = all[i]
	}
	t.hint = strings.TrimPrefix(name, "$")
	v, err := try(func() value { return t.pipe(p) })
	if len(all) > 1 && v.generator == "" || len(p.Decl) > 1 {
		err = errors.New("sets a variable more than once")
	}
	for _, other := range all {
		if err == nil && other != p && !strings.HasSuffix(other.String(), `""`) {
			g := t.named(v.generator)
			g.Instead = append(g.Instead, "{{"+other.String()+"}}")
		}
	}
	v.err = err
	t.vars[name] = v
}

var randomName = lazy.MustCompile(`\b(rand[A-Z]\w*|uuidv4|bcrypt|htpasswd|gen[A-Z]\w*)\b`)
