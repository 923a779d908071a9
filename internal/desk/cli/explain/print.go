package explain

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/crossplane-contrib/function-export/internal/desk/cli/terminal"
	"github.com/crossplane-contrib/function-export/internal/desk/inspect"
	"github.com/crossplane-contrib/function-export/internal/engine/expression"
)

// printExplained prints explanations as text or json.
func printExplained(w io.Writer, output string, list []explained) error {
	if output == "json" {
		if err := terminal.WriteJSON(w, list); err != nil {
			return fmt.Errorf("cannot write the explanation: %w", err)
		}
		return nil
	}
	for i, ex := range list {
		if i > 0 {
			_, _ = fmt.Fprintln(w)
		}
		printPlan(w, ex)
	}
	return nil
}

// printPlan prints one explanation as text.
func printPlan(w io.Writer, ex explained) {
	p := &printer{w: w}
	p.line(0, "%s", ex.Title)
	for _, o := range ex.Objects {
		p.object(o)
	}
	p.keys("Status of the composite", ex.Status)
	p.keys("Environment for this step and later ones", ex.Environment)
	for _, g := range ex.Generators {
		p.keys(fmt.Sprintf("Generator %q (%s)", g.Name, g.Path), g.Expressions)
	}
	for _, name := range ex.Unused {
		p.section("The source %q is not read, because no expression uses it", name)
	}
	p.rules(ex.ClusterRole, ex.Rules)
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

func (p *printer) object(o inspect.ExplainedObject) {
	p.section("%s %q (%s), which is %s/%s", o.Kind, o.Name, o.Path, o.Namespace, o.ObjectName)
	if o.ForEach != "" {
		p.line(1, "there is one for each item of %s", o.ForEach)
	}
	if o.ConnectionDetails {
		p.line(1, "its data is also published as connection details of the composite")
	}
	for _, k := range slices.Concat(o.Metadata, o.Keys) {
		p.key(k)
	}
}

func (p *printer) keys(title string, keys []inspect.ExplainedKey) {
	if len(keys) == 0 {
		return
	}
	p.section("%s", title)
	for _, k := range keys {
		p.key(k)
	}
}

// PrintKeys prints keys of a composite with their inputs. Those that it lacks are marked.
func PrintKeys(w io.Writer, keys []inspect.ExplainedKey) {
	p := &printer{w, true}
	for _, k := range keys {
		p.key(k)
	}
}

// key prints one key, or all keys of one entry, with the inputs that it reads.
func (p *printer) key(k inspect.ExplainedKey) {
	text := fmt.Sprintf("%s (%s)", keyNames(k), k.Path)
	if k.Optional {
		text += ", optional"
	}
	p.line(1, "%s", text)
	p.inputs(k)
	for _, w := range k.Waits {
		p.line(2, "waits for %s", w)
	}
}

func (p *printer) inputs(k inspect.ExplainedKey) {
	for _, in := range k.Inputs {
		text := needText(in.Need, k.Optional) + " " + inputText(k, in)
		if p.ofComposite && in.Missing == "" {
			text = "reads " + inputText(k, in)
		}
		switch {
		case in.NonSensitive:
			text += ", which is declared not to be secret"
		case in.Secret:
			text += ", secret"
		}
		if len(in.Through) > 0 {
			text += ", through " + expression.PathText(expression.Variables, in.Through[0])
			for _, v := range in.Through[1:] {
				text += " and " + expression.PathText(expression.Variables, v)
			}
		}
		if in.Missing != "" {
			text += ", MISSING: " + in.Missing
		}
		p.line(2, "%s", text)
	}
}

// inputText returns the name of an input, and where it comes from.
func inputText(k inspect.ExplainedKey, in inspect.Input) string {
	variable, _, _ := strings.Cut(in.Name, ".")
	if k.Own && slices.Contains([]string{expression.Resource, expression.Self, expression.Secret}, variable) {
		return in.Name + " of the generation"
	}
	return in.Name
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

func keyNames(k inspect.ExplainedKey) string {
	names := append([]string{}, k.Names...)
	for _, n := range k.Maybe {
		names = append(names, n+" (or not)")
	}
	if k.Others != "" {
		names = append(names, k.Others)
	}
	if len(names) == 0 {
		return "no key"
	}
	return strings.Join(names, ", ")
}

// rules prints the ClusterRole with the rights that Crossplane needs in addition to its own.
func (p *printer) rules(name string, missing []inspect.Rule) {
	if len(missing) == 0 {
		p.section("Crossplane's default role permits all of this")
		return
	}
	p.section("Unless an installed provider or an XRD defines these kinds, Crossplane also needs this ClusterRole")
	for _, l := range []string{
		"apiVersion: rbac.authorization.k8s.io/v1",
		"kind: ClusterRole",
		"metadata:",
		"  name: " + name,
		`  labels: {rbac.crossplane.io/aggregate-to-crossplane: "true"}`,
		"rules:",
	} {
		_, _ = fmt.Fprintln(p.w, "  "+l)
	}
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
