package why

import (
	"cmp"
	"fmt"
	"io"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/crossplane-contrib/function-export/internal/desk/cli/explain"
	"github.com/crossplane-contrib/function-export/internal/desk/cli/terminal"
	"github.com/crossplane-contrib/function-export/internal/desk/why"
	"github.com/crossplane-contrib/function-export/internal/engine/outcome"
)

// A printer writes an answer as text. An error of a line shows at the end, because everything is written at once.
type printer struct {
	w io.Writer
	*why.Answer
}

func (p *printer) line(depth int, format string, args ...any) {
	_, _ = fmt.Fprintln(p.w, strings.Repeat("  ", depth)+terminal.OneLine(fmt.Sprintf(format, args...)))
}

// print prints the composite, each export with the inputs of its keys, and each credential.
func (p *printer) print() {
	p.line(0, "%s, Composition %s", p.Composite, p.Composition)
	if p.Pinned != "" {
		p.line(1, "a change of the Composition does not reach it: %s", p.Pinned)
	}
	p.conditions()
	if p.Refused != nil {
		p.problem(1, *p.Refused)
	}
	for _, name := range p.Unknown {
		p.line(1, "the values of %s are unknown: what depends on them may differ", name)
	}
	for _, s := range p.Steps {
		for _, o := range s.Objects {
			p.object(o)
		}
		for _, o := range s.Others {
			p.line(0, "")
			p.problem(0, o)
		}
		for _, c := range s.Credentials {
			p.credential(c)
		}
	}
}

// conditions prints those that are stored. The message about the exports follows with each of them.
func (p *printer) conditions() {
	for _, c := range p.Conditions {
		text := fmt.Sprintf("%s is %s%s", c.Type, c.Status, p.at(" since ", c.Since))
		switch {
		case c.Type == outcome.ConditionType && len(p.Steps) > 0 && len(p.Unknown) == 0:
			text += ": " + c.Reason
		case c.Status != "True":
			text += ": " + strings.TrimSuffix(c.Reason+", "+c.Message, ", ")
		}
		p.line(1, "%s", text)
	}
	if len(p.Conditions) == 0 {
		p.line(1, "it has no conditions: Crossplane has not reconciled it yet")
	}
}

func (p *printer) object(o why.Object) {
	p.line(0, "")
	place := strings.Trim(o.Namespace+"/"+cmp.Or(o.ObjectName, "<unknown>"), "/")
	p.line(0, "%s %q (%s), which is %s%s", o.Kind, o.Name, o.Path, place, p.at(", created at ", o.Created))
	p.problem(1, o.Problem)
	explain.PrintKeys(p.w, o.Keys)
}

// problem prints why something is not available, and what to do.
func (p *printer) problem(depth int, o why.Problem) {
	p.line(depth, "%s%s", o.State, p.at(" since ", o.Since))
	if o.Message == "" {
		return
	}
	message, _, _ := strings.Cut(o.Message, "; see: ")
	p.line(depth, "%s", message)
	p.line(depth, "who must act: %s", o.Act)
	if o.See != "" {
		p.line(depth, "see: %s", o.See)
	}
}

func (p *printer) credential(c why.Credential) {
	p.line(0, "")
	p.line(0, "Generator %q", c.Generator)
	for _, g := range []struct {
		*why.Generation

		is string
	}{{c.InUse, "is in use"}, {c.Pending, "is pending"}} {
		if g.Generation != nil {
			p.line(1, "generation %d %s: %s %s%s", g.Number, g.is, g.Kind, g.Name, p.at(", created at ", g.Created))
		}
	}
	for _, g := range c.Former {
		text := fmt.Sprintf("generation %d is not used anymore: %s %s", g.Number, g.Kind, g.Name)
		if g.Ends != "" {
			text += ", deleted at " + g.Ends
		}
		p.line(1, "%s", text)
	}
	switch {
	case c.Unknown:
		p.line(1, "the next rotation cannot be known without its Secrets")
	case c.Next == "":
		p.line(1, "time alone does not rotate it in the next 400 days")
	default:
		t, _ := time.Parse(time.RFC3339, c.Next) // it was formatted here
		p.line(1, "next rotation at %s (in %s)", c.Next, duration.HumanDuration(t.Sub(p.At)))
	}
}

// at returns a time, and how long ago it is, or nothing without a time.
func (p *printer) at(lead, text string) string {
	t, err := time.Parse(time.RFC3339, text)
	switch {
	case text == "":
		return ""
	case err != nil:
		return lead + text
	}
	return lead + text + " (" + duration.HumanDuration(p.At.Sub(t)) + " ago)"
}
