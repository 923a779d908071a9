package plan

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/crossplane-contrib/function-export/internal/engine/diagnostic"
	"github.com/crossplane-contrib/function-export/internal/engine/expression"
	"github.com/crossplane-contrib/function-export/internal/engine/limits"
)

// Placeholders of other tools in texts. Here, a text is used as it is. Some texts are scripts or
// templates for another program. Therefore a placeholder is only a warning. The first group is the
// name, and the second one what a message does not repeat.
var placeholders = []struct { //nolint:gochecknoglobals // a table
	begin string // which is searched for first, because it is faster
	form  *regexp.Regexp
	tool  string
}{
	{"${", regexp.MustCompile(`\$\{ *([A-Za-z_][-.\w]{0,62})() *\}`), "a shell, Terraform or kro"},
	{"{{", regexp.MustCompile(`\{\{-? *([.$A-Za-z_][-.\w]{0,62})( [^{}\n]{0,200})?-?\}\}`), "a Go template"},
	{"$(", regexp.MustCompile(`\$\(([A-Za-z_][.\w]{0,62})()\)`), "a shell or Kustomize"},
	{"%(", regexp.MustCompile(`%\(([A-Za-z_]\w{0,62})()\)[sdr]`), "Python"},
	{"<no value>", regexp.MustCompile(`<(no value)()>`), "a Go template"},
}

// elsewhere are paths of other tools in the names of placeholders, and the same paths here.
var elsewhere = []struct { //nolint:gochecknoglobals // a table
	form *regexp.Regexp
	here string
}{
	{regexp.MustCompile(`^[.$]+`), ""},
	{regexp.MustCompile(`^observed\.composite\.resource\.`), "composite."},
	{regexp.MustCompile(`^observed\.resources\.(\w+)\.resource\.`), "resources.$1."},
	{regexp.MustCompile(`^schema\.(spec|metadata)\.`), "composite.$1."},
}

// A textFound is a placeholder in a text, and the warning about it.
type textFound struct {
	placeholder string
	warning     *diagnostic.Diagnostic
}

// mostWarnings is how many texts with a placeholder one input is warned about.
const mostWarnings = 100

// placeholderIn returns the first placeholder in a text, the beginning of the message about it, and the
// expression that it probably means, or an empty text.
func placeholderIn(text string) (found, message, meant string) {
	for _, p := range placeholders {
		if !strings.Contains(text, p.begin) {
			continue
		}
		m := p.form.FindStringSubmatch(text)
		if m == nil {
			continue
		}
		meant = m[1]
		for _, e := range elsewhere {
			meant = e.form.ReplaceAllString(meant, e.here)
		}
		if !expressionForm.MatchString(meant) {
			meant = ""
		}
		shown := m[0]
		if strings.TrimSpace(m[2]) != "" {
			shown = strings.Replace(m[0], m[2], " ... ", 1)
		}
		return m[0], fmt.Sprintf("%s looks like a placeholder of %s, but is used as it is: ", shown, p.tool), meant
	}
	return "", "", ""
}

// HasPlaceholder reports whether a text contains a placeholder of another tool.
func HasPlaceholder(text string) bool {
	found, _, _ := placeholderIn(text)
	return found != ""
}

// notePlaceholders notes the texts of an expression that contain a placeholder of another tool, and
// the texts that the input itself searches for.
func (c *compiler) notePlaceholders(x *expression.Expression) {
	if !HasPlaceholder(x.Source().Text) {
		return
	}
	for _, t := range x.Texts() {
		found, message, meant := placeholderIn(t.Value)
		switch {
		case t.Needle && len(c.replaced) < limits.Expressions:
			c.replaced = append(c.replaced, t.Value)
		case found != "" && !t.Raw && !t.Needle && len(c.texts) < mostWarnings:
			instead := "write '...' + " + meant
			if meant == "" {
				instead = "write for example '...' + composite.spec.field"
			}
			message += instead + " + '...', or r'...' around a text that is meant as it is"
			c.texts = append(c.texts, textFound{found, t.Place.Wrong(message)})
		}
	}
}

// warnings returns the warnings about expressions, and about placeholders that the input does not replace itself.
func (c *compiler) warnings() (list diagnostic.List) {
	known := pathsOf(c.diagnostics)
	if len(c.diagnostics) == 0 {
		list = append(list, c.cautions...)
	}
	list = append(list, c.suspicions...)
	for _, t := range c.texts {
		path := t.warning.Path
		if _, wrong := known[path]; wrong || known[path[:max(0, strings.LastIndexByte(path, '['))]] {
			continue
		}
		replaces := func(needle string) bool {
			return strings.Contains(needle, t.placeholder) || len(needle) > 1 && strings.HasPrefix(t.placeholder, needle)
		}
		if !slices.ContainsFunc(c.replaced, replaces) {
			t.warning.Warning = true
			list = append(list, t.warning)
		}
	}
	return list
}

// insteadOf returns the field that is written instead of a literal text with a placeholder. key is the name of a
// label or an annotation, or empty. Other parts of the text may be data, which messages do not repeat.
func insteadOf(name, key, text string) string {
	found, _, meant := placeholderIn(text)
	whole, invented := strings.TrimSpace(text) == found, ""
	if meant == "" {
		invented = "for example "
	}
	switch {
	case meant == "" && key == "":
		meant = "composite.metadata.name"
	case meant == "":
		meant = "composite.spec.field"
	}
	if !whole {
		meant += " + '-text'"
	}
	if key != "" {
		meant = fmt.Sprintf("{'%s': %s}", key, meant)
	}
	return fmt.Sprintf("%s%s: %q", invented, name, meant)
}
