package explain

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/crossplane-contrib/function-export/internal/desk/cli/terminal"
	"github.com/crossplane-contrib/function-export/internal/desk/inspect"
	"github.com/crossplane-contrib/function-export/internal/desk/vocabulary"
	"github.com/crossplane-contrib/function-export/internal/engine/expression"
)

// textOf returns explanations as text.
func textOf(list []explained) []byte {
	var b bytes.Buffer
	p := &printer{w: &b}
	for i, ex := range list {
		if i > 0 {
			b.WriteByte('\n')
		}
		p.line(0, "%s", ex.Title)
		for _, part := range slices.Concat(ex.Objects, ex.Others) {
			p.part(part)
		}
		for _, name := range ex.Unused {
			p.section("The source %q is not read, because no expression uses it", name)
		}
		p.rules(ex.ClusterRole, ex.Rules)
	}
	return b.Bytes()
}

// A printer writes lines. An error of a line shows at the end, because everything is written at
// once.
type printer struct {
	w io.Writer

	ofComposite bool // what a composite lacks is known
}

// line writes one line, even if the texts of the input have line breaks.
func (p *printer) line(depth int, format string, args ...any) {
	_, _ = fmt.Fprintln(p.w, strings.Repeat("  ", depth)+terminal.OneLine(fmt.Sprintf(format, args...)))
}

func (p *printer) section(format string, args ...any) {
	_, _ = fmt.Fprintln(p.w)
	p.line(0, format, args...)
}

func (p *printer) part(o inspect.Part) {
	switch o.Kind {
	case inspect.Status:
		p.section("Status of the composite")
	case inspect.Environment:
		p.section("Environment for this step and later ones")
	case inspect.Generator:
		p.section("Generator %q (%s)", o.Name, o.Path)
	default:
		p.section("%s %q (%s), which is %s/%s", o.Kind, o.Name, o.Path, o.Namespace, o.ObjectName)
	}
	if o.ForEach != "" {
		p.line(1, "there is one for each item of %s", o.ForEach)
	}
	if o.ConnectionDetails {
		p.line(1, "its data is also published as connection details of the composite")
	}
	p.keys(o.Keys)
}

// PrintKeys prints keys of a composite with their inputs. Those that it lacks are marked.
func PrintKeys(w io.Writer, keys []inspect.Key) { (&printer{w, true}).keys(keys) }

// keys prints keys, or all keys of entries, with the inputs that they read.
func (p *printer) keys(keys []inspect.Key) {
	for _, k := range keys {
		text := fmt.Sprintf("%s (%s)", cmp.Or(strings.Join(k.Names, ", "), "no key"), k.Path)
		if k.Optional {
			text += ", optional"
		}
		p.line(1, "%s", text)
		for _, in := range k.Inputs {
			p.line(2, "%s", p.inputText(in, k.Optional))
		}
		for _, w := range k.Waits {
			p.line(2, "waits for %s", w)
		}
	}
}

func (p *printer) inputText(in inspect.Input, optional bool) string {
	text := needText(in.Need, optional) + " " + in.Name
	if p.ofComposite && in.Missing == "" {
		text = "reads " + in.Name
	}
	switch {
	case in.NonSensitive:
		text += ", which is declared not to be secret"
	case in.Secret:
		text += ", secret"
	}
	for i, v := range in.Through {
		text += []string{", through ", " and "}[min(i, 1)] + expression.PathText(expression.Variables, v)
	}
	if in.Missing != "" {
		text += ", MISSING: " + in.Missing
	}
	return text
}

// needText returns the effect of a missing input.
func needText(n expression.Need, optional bool) string {
	texts := map[expression.Need]string{expression.Required: "waits for", expression.Conditional: "may wait for",
		expression.Optional: "reads if present"}
	if optional {
		texts[expression.Required], texts[expression.Conditional] = "is left out without", "may be left out without"
	}
	return texts[n]
}

// rules prints the ClusterRole with the rights that Crossplane needs in addition to its own.
func (p *printer) rules(name string, missing []inspect.Rule) {
	if len(missing) == 0 {
		p.section("Crossplane's default role permits all of this")
		return
	}
	p.section("Unless an installed provider or an XRD defines these kinds, Crossplane also needs this ClusterRole")
	_, _ = fmt.Fprintf(p.w, `  apiVersion: rbac.authorization.k8s.io/v1
  kind: ClusterRole
  metadata:
    name: %s
    labels: {rbac.crossplane.io/aggregate-to-crossplane: "true"}
  rules:
`, name)
	for _, r := range missing {
		guess := ""
		if r.Kind != "" {
			guess = "a guess from the kind " + r.Kind + ", "
		}
		p.line(1, "- apiGroups: [%q]", r.APIGroup)
		p.line(2, "resources: [%q] # %sfor %s", r.Resource, guess, strings.Join(r.For, ", "))
		p.line(2, "verbs: [%s]", strings.Join(r.Verbs, ", "))
	}
}

// Validate is called by kong when the command line is parsed.
func (c *Command) Validate() error {
	switch {
	case c.Functions && (c.Output != "text" || len(c.Schema) > 0):
		return &terminal.UsageError{Text: "--functions: leave out --output and --schema, because the list is a text " +
			"without schemas"}
	case !c.Functions && len(c.Paths) == 0:
		return &terminal.UsageError{Text: fmt.Sprintf("expected \"<file|folder> ...\": see %s explain --help",
			terminal.Name())}
	}
	return nil
}

// printFunctions prints the functions of expressions, in one write: all of them, or those with a name that contains one
// of the texts.
func printFunctions(w io.Writer, texts []string) error {
	var b bytes.Buffer
	p := &printer{w: &b}
	for _, g := range vocabulary.Groups() {
		p.functions(g, texts)
	}
	if b.Len() == 0 {
		return errors.New("cannot find a function with this text in its name: leave the text out to print all functions")
	}
	_, err := w.Write(bytes.TrimPrefix(b.Bytes(), []byte("\n")))
	return err
}

func (p *printer) functions(g vocabulary.Group, texts []string) {
	entries := slices.DeleteFunc(slices.Clone(g.Entries), func(e vocabulary.Entry) bool { return !named(e, texts) })
	if len(entries) > 0 {
		p.section("%s", g.Title)
	}
	for _, e := range entries {
		for _, s := range e.Signatures {
			p.line(1, "%s", s)
		}
		p.line(2, "%s", e.Does)
		p.line(2, "%s = %s", e.Example, e.Result)
	}
}

// named reports whether a name of an entry contains one of the texts, or whether there are none.
func named(e vocabulary.Entry, texts []string) bool {
	names := strings.ToLower(strings.Join(slices.Concat(e.Names, e.Macros), " "))
	for _, s := range e.Signatures {
		if !strings.Contains(s, "→") { // the form of an operator or a macro
			names += " " + s
		}
	}
	return len(texts) == 0 ||
		slices.ContainsFunc(texts, func(t string) bool { return strings.Contains(names, strings.ToLower(t)) })
}
