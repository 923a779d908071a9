package rewrite

import (
	"bytes"
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"sync"
	"text/template"
	"text/template/parse"

	"github.com/crossplane-contrib/function-export/internal/engine/budget"
	"github.com/crossplane-contrib/function-export/internal/engine/diagnostic"
)

// A compiled template.
type compiled struct {
	nodes    int
	programs sync.Pool // of *program
}

// A program is a template whose functions spend the budget. Only one execution uses it at a time.
type program struct {
	*template.Template
	meter *meter
}

// templateName is the name of each template in errors of text/template.
const templateName = "template"

// compileTemplate parses a Go template with .value, the name after the previous rules. It may use the deterministic
// functions of sprig for strings and paths, conditions, variables and with, but no loops and no other templates. It
// runs once, because text/template finds wrong arguments and fields only then.
func compileTemplate(path, source string) (Renamer, diagnostic.List) {
	text := func(err error) string { // the line and the column follow the name
		return strings.Join(strings.Fields(strings.TrimPrefix(err.Error(), "template: "+templateName+":")), " ")
	}
	functions := (&meter{}).functions()
	maps.Copy(functions, builtins)
	trees := map[string]*parse.Tree{}
	tree, err := parse.New(templateName).Parse(source, "", "", trees, functions)
	if err != nil {
		why := "cannot be parsed: line " + text(err)
		if strings.HasSuffix(why, "not defined") {
			why += ": use one of " + strings.Join(slices.Sorted(maps.Keys(functions)), ", ")
		}
		return nil, wrong(path, "%s", why)
	}
	if len(trees) != 1 || trees[templateName] != tree {
		return nil, wrong(path, "must not define other templates")
	}
	c := &compiled{}
	if why := c.count(tree.Root); why != "" {
		return nil, wrong(path, "%s", why)
	}
	c.programs.New = func() any {
		m := &meter{}
		t := template.New(templateName).Option("missingkey=error").Funcs(m.functions())
		return &program{template.Must(t.AddParseTree(templateName, tree)), m}
	}
	var own callError
	_, err = c.execute(budget.New(context.Background()), "sample")
	switch {
	case errors.As(err, &own) && own.always:
		return nil, wrong(path, "%s", own.reason)
	case err != nil && own.reason == "":
		return nil, wrong(path, "cannot be used: line %s: use .value for the name, and each function with its arguments",
			text(err))
	}
	return c.rename, nil
}

// count counts the nodes of a template. It returns why a node is refused: each node must run at most once.
func (c *compiled) count(n parse.Node) (why string) {
	c.nodes++
	branch := func(b *parse.BranchNode) {
		why = c.count(b.Pipe) + c.count(b.List)
		if b.ElseList != nil {
			why += c.count(b.ElseList)
		}
	}
	switch n := n.(type) {
	case *parse.ListNode:
		for _, child := range n.Nodes {
			if why == "" {
				why = c.count(child)
			}
		}
	case *parse.IfNode:
		branch(&n.BranchNode)
	case *parse.WithNode:
		branch(&n.BranchNode)
	case *parse.ActionNode:
		return c.count(n.Pipe)
	case *parse.PipeNode:
		for _, command := range n.Cmds {
			for _, arg := range command.Args {
				c.count(arg)
			}
		}
	case *parse.RangeNode:
		return "must not use range: a key is one text"
	case *parse.TemplateNode:
		return "must not use template or block, because there are no other templates"
	}
	return why
}

// execute returns the name that a template computes for a key.
func (c *compiled) execute(b *budget.Budget, key string) (string, error) {
	if err := b.Spend(budget.Counted(c.nodes, len(key))); err != nil {
		return "", err
	}
	p, _ := c.programs.Get().(*program) // which New returns
	defer c.programs.Put(p)
	p.meter.budget = b
	defer func() { p.meter.budget = nil }()
	var out bounded
	if err := p.Execute(&out, map[string]string{"value": key}); err != nil {
		return "", err
	}
	return out.String(), nil
}

func (c *compiled) rename(b *budget.Budget, key string) (string, error) {
	name, err := c.execute(b, key)
	if err != nil && !isSpent(b, err) {
		err = publicReason(err)
	}
	return name, err
}

// publicReason returns a safe error for one of a template, whose text may contain the key. Errors of our own functions
// never do.
func publicReason(err error) error {
	var own callError
	if errors.As(err, &own) {
		return own
	}
	return callError{reason: "the template fails for this key"}
}

// bounded is a buffer with the maximum length of a name.
type bounded struct{ bytes.Buffer }

func (b *bounded) Write(p []byte) (int, error) {
	if b.Len()+len(p) > maxName {
		return 0, errTooLong
	}
	return b.Buffer.Write(p)
}
