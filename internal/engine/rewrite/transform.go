package rewrite

import (
	"bytes"
	"context"
	"errors"
	"strconv"
	"strings"
	"sync"
	"text/template"
	"text/template/parse"

	"github.com/crossplane-contrib/function-export/internal/engine/budget"
	"github.com/crossplane-contrib/function-export/internal/engine/diagnostic"
	"github.com/crossplane-contrib/function-export/internal/engine/lazy"
)

const (
	// costlyText is the maximum length of a text that a template matches or splits into words, in bytes.
	// These functions take many steps for each byte.
	costlyText = 1 << 10

	// templateName is the name of each template in errors of text/template.
	templateName = "template"
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
		return rename(path, func(b *budget.Budget, k Key) (string, *Failed) {
			name, err := t.Key(k.Name, b)
			if err != nil {
				return "", &Failed{Path: path, Reason: "cannot rename " + k.name(), Cause: err}
			}
			return name, nil
		}), nil
	}
	path += ".template"
	c, wrong := compileTemplate(path, t.Template)
	if len(wrong) > 0 {
		return nil, wrong
	}
	return rename(path, func(b *budget.Budget, k Key) (string, *Failed) {
		name, err := c.execute(b, k.Name)
		switch {
		case errors.Is(err, budget.ErrSpent) || b.Context().Err() != nil:
			return "", spent(path, budget.ErrSpent)
		case err != nil:
			at, _ := c.place(path, err) // the message may hold the key
			return "", failed(at.Place(), "cannot rename %s: %s", k.name(), publicReason(err))
		}
		return name, nil
	}), nil
}

// A compiled template.
type compiled struct {
	source   string
	nodes    int
	programs sync.Pool // of *program
}

// A program is a template whose functions spend the budget. Only one execution uses it at a time.
type program struct {
	*template.Template
	meter *meter
}

// compileTemplate parses a template, checks all its nodes, and runs it once, because text/template finds
// wrong arguments only when it runs.
func compileTemplate(path, source string) (*compiled, diagnostic.List) {
	trees := map[string]*parse.Tree{}
	tree := parse.New(templateName)
	tree.Mode = parse.SkipFuncCheck // walker checks them, and knows their positions
	if _, err := tree.Parse(source, "", "", trees); err != nil {
		return nil, diagnostic.List{(&compiled{}).diagnostic(path, err, "cannot be parsed: ")}
	}
	w := &walker{path: path, source: source, patterns: map[string]*Pattern{}}
	w.list(tree.Root)
	w.single(tree, trees)
	if len(w.wrong) > 0 {
		return nil, w.wrong
	}
	c := &compiled{source: source, nodes: w.nodes}
	c.programs.New = func() any {
		m := &meter{}
		t := template.New(templateName).Option("missingkey=error").Funcs(m.functions(w.patterns))
		return &program{template.Must(t.AddParseTree(templateName, tree)), m}
	}
	if _, err := c.execute(budget.New(context.Background()), "sample"); err != nil && !dependsOnData(err) {
		return nil, diagnostic.List{c.diagnostic(path, err, "")}
	}
	return c, nil
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

// publicReason returns a safe message for an error of a template. The text of an error may contain the key. Errors
// of our own functions never do.
func publicReason(err error) string {
	var own callError
	if errors.As(err, &own) {
		return own.reason
	}
	return "the template fails for this key"
}

// dependsOnData reports whether another key may not cause the error.
func dependsOnData(err error) bool {
	var own callError
	return errors.As(err, &own) && !own.always
}

// errorText matches the text of an error. Its groups are the line, the column in bytes from 0, which only
// run-time errors have, and the message.
var errorText = lazy.MustCompile(`(?s)^template: ` + templateName + `:(\d+)(?::(\d+): executing .*?>)?: (.*)$`)

// diagnostic returns the diagnostic for an error of a template that has read no data.
func (c *compiled) diagnostic(path string, err error, prefix string) *diagnostic.Diagnostic {
	d, message := c.place(path, err)
	var own callError
	if errors.As(err, &own) {
		message = own.reason
	}
	d.Message = prefix + strings.Join(strings.Fields(message), " ")
	return d
}

// place returns the position at which a template failed, and the message of text/template. Only the text
// of the error contains them.
func (c *compiled) place(path string, err error) (*diagnostic.Diagnostic, string) {
	m := errorText.FindStringSubmatch(err.Error())
	if m == nil {
		return wrong(path, ""), err.Error()
	}
	line, _ := strconv.Atoi(m[1])
	if m[2] == "" {
		return &diagnostic.Diagnostic{Path: path, Line: line, Rule: diagnostic.Expression}, m[3]
	}
	offset, _ := strconv.Atoi(m[2])
	lines := strings.SplitAfter(c.source, "\n")
	for _, before := range lines[:min(max(line-1, 0), len(lines))] {
		offset += len(before)
	}
	return wrongAt(path, c.source, offset, ""), m[3]
}
