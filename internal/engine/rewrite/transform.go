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

// Transform computes each name from the previous one. It has exactly one of the fields.
type Transform struct {
	// Template is a Go template with .value, the name after the previous rules. It may use the deterministic
	// functions of sprig for strings and paths, conditions, variables and with, but no loops and no other templates.
	Template string

	// Key is a compiled function in another language. It must be deterministic, its errors must not contain data,
	// and it must spend the budget.
	Key func(key string, b *budget.Budget) (string, error)
}

func (t *Transform) compile(path string) (apply, diagnostic.List) {
	if t.Key != nil {
		return rename(func(b *budget.Budget, k Key) (string, *Failed) {
			name, err := t.Key(k.Name, b)
			if err != nil {
				return "", &Failed{Path: path, Reason: "cannot rename " + k.String(), Cause: err}
			}
			return name, nil
		}), nil
	}
	path += ".template"
	c, why := compileTemplate(t.Template)
	if why != "" {
		return nil, wrong(path, "%s", why)
	}
	return rename(func(b *budget.Budget, k Key) (string, *Failed) {
		name, err := c.execute(b, k.Name)
		switch {
		case errors.Is(err, budget.ErrSpent) || b.Context().Err() != nil:
			return "", spent(path)
		case err != nil:
			return "", failed(path, "cannot rename %s: %s", k, publicReason(err))
		}
		return name, nil
	}), nil
}

// publicReason returns a safe message for an error of a template. The text of an error may contain the key. Errors
// of our own functions never do.
func publicReason(err error) string {
	var own callError
	if errors.As(err, &own) {
		return own.reason
	}
	return "the template fails for this key"
}

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

// compileTemplate parses a template, and runs it once, because text/template finds wrong arguments and fields only when
// it runs. It returns why the template is refused, or an empty text.
func compileTemplate(source string) (c *compiled, why string) {
	text := func(err error) string { // the line and the column follow the name
		return strings.Join(strings.Fields(strings.TrimPrefix(err.Error(), "template: "+templateName+":")), " ")
	}
	functions := (&meter{}).functions()
	maps.Copy(functions, builtins)
	trees := map[string]*parse.Tree{}
	tree, err := parse.New(templateName).Parse(source, "", "", trees, functions)
	if err != nil {
		why = "cannot be parsed: line " + text(err)
		if strings.HasSuffix(why, "not defined") {
			why += ": use one of " + strings.Join(slices.Sorted(maps.Keys(functions)), ", ")
		}
		return nil, why
	}
	if len(trees) != 1 || trees[templateName] != tree {
		return nil, "must not define other templates"
	}
	c = &compiled{}
	if why := c.count(tree.Root); why != "" {
		return nil, why
	}
	c.programs.New = func() any {
		m := &meter{}
		t := template.New(templateName).Option("missingkey=error").Funcs(m.functions())
		return &program{template.Must(t.AddParseTree(templateName, tree)), m}
	}
	var own callError
	_, err = c.execute(budget.New(context.Background()), "sample")
	if errors.As(err, &own) {
		if own.always {
			return nil, own.reason
		}
	} else if err != nil {
		return nil, "cannot be used: line " + text(err) +
			": use .value for the name, and each function with its arguments"
	}
	return c, ""
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

// bounded is a buffer with the maximum length of a name.
type bounded struct{ bytes.Buffer }

func (b *bounded) Write(p []byte) (int, error) {
	if b.Len()+len(p) > maxName {
		return 0, errTooLong
	}
	return b.Buffer.Write(p)
}
