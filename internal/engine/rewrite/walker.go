package rewrite

import (
	"maps"
	"slices"
	"strings"
	"text/template/parse"

	"github.com/crossplane-contrib/function-export/internal/engine/diagnostic"
)

// A walker checks each node of a template before the template runs. It refuses loops, unknown nodes, and fields
// other than .value.
type walker struct {
	path, source string
	nodes        int
	wrong        diagnostic.List

	// patterns of regexMatch and regexReplaceAll, compiled.
	patterns map[string]*Pattern
}

func (w *walker) refuse(offset int, format string, args ...any) {
	w.wrong = append(w.wrong, wrongAt(w.path, w.source, offset, format, args...))
}

// single refuses templates that are defined inside of the template.
func (w *walker) single(tree *parse.Tree, all map[string]*parse.Tree) {
	if len(w.wrong) > 0 {
		return // block is already reported
	}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if t := all[name]; t != tree {
			w.refuse(int(t.Root.Pos), "must not define other templates")
		}
	}
}

func (w *walker) list(l *parse.ListNode) {
	if l == nil {
		return
	}
	for _, n := range l.Nodes {
		w.node(n)
	}
}

func (w *walker) node(n parse.Node) {
	w.nodes++
	switch n := n.(type) {
	case *parse.TextNode, *parse.DotNode, *parse.NilNode, *parse.StringNode, *parse.BoolNode:
	case *parse.NumberNode:
		if !n.IsInt {
			w.refuse(int(n.Pos), "must use whole numbers only, not %s", n.Text)
		}
	case *parse.ActionNode:
		w.pipe(n.Pipe)
	case *parse.IfNode:
		w.branch(&n.BranchNode)
	case *parse.WithNode:
		w.branch(&n.BranchNode)
	case *parse.PipeNode:
		w.pipe(n)
	case *parse.IdentifierNode:
		w.identifier(n)
	case *parse.FieldNode:
		w.field(n, n.Ident)
	case *parse.VariableNode:
		if len(n.Ident) > 1 {
			w.field(n, n.Ident[1:])
		}
	case *parse.RangeNode:
		w.refuse(int(n.Pos), "must not use range: a key is one text")
	case *parse.TemplateNode:
		w.refuse(int(n.Pos), "must not use template or block, because there are no other templates")
	default:
		w.refuse(int(n.Position()), "must not use %s", quote(n.String()))
	}
}

func (w *walker) branch(b *parse.BranchNode) {
	w.pipe(b.Pipe)
	w.list(b.List)
	w.list(b.ElseList)
}

func (w *walker) pipe(p *parse.PipeNode) {
	for _, c := range p.Cmds {
		if f, ok := c.Args[0].(*parse.IdentifierNode); ok {
			w.pattern(f, c.Args[1:])
		}
		for _, a := range c.Args {
			w.node(a)
		}
	}
}

func (w *walker) field(n parse.Node, names []string) {
	if len(names) == 1 && names[0] == "value" {
		return
	}
	w.refuse(int(n.Position()), "has only .value, the key: there is no .%s", strings.Join(names, "."))
}

func (w *walker) identifier(n *parse.IdentifierNode) {
	if slices.Contains(builtins, n.Ident) || slices.Contains(functionNames, n.Ident) {
		return
	}
	known := slices.Concat(functionNames, builtins)
	slices.Sort(known)
	w.refuse(int(n.Pos), "there is no function %s: use one of %s", quote(n.Ident), strings.Join(known, ", "))
}

// pattern compiles the regular expression of a call. It must be a literal, because a computed one would be
// compiled for each key.
func (w *walker) pattern(f *parse.IdentifierNode, args []parse.Node) {
	if !slices.Contains(patternNames, f.Ident) {
		return
	}
	source := literal(args, 0)
	if source == nil {
		w.refuse(int(f.Pos), "%s must have a literal regular expression as its first argument", f.Ident)
		return
	}
	// A position inside of a quoted text is not a position in the template.
	at := source.Pos
	p, wrong := CompilePattern("", source.Text)
	w.patterns[source.Text] = p
	if by := literal(args, 2); by != nil && p != nil {
		at, wrong = by.Pos, checkReferences("", by.Text, p.re)
	}
	for _, d := range wrong {
		w.refuse(int(at), "%s: %s", f.Ident, d.Message)
	}
}

// literal returns an argument if it is a literal text, and nil otherwise.
func literal(args []parse.Node, i int) *parse.StringNode {
	if i >= len(args) {
		return nil
	}
	s, _ := args[i].(*parse.StringNode)
	return s
}
