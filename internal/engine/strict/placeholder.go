package strict

import (
	"fmt"
	"strings"

	"github.com/crossplane-contrib/function-export/internal/engine/diagnostic"
	"github.com/crossplane-contrib/function-export/internal/engine/expression"
	"github.com/crossplane-contrib/function-export/internal/engine/lazy"
)

// Placeholders of other tools in texts. Here, a text is used as it is. Some texts are scripts or
// templates for another program. Therefore a placeholder is only a warning. The first group is the
// name, and the second one what a message does not repeat.
var placeholders = []struct { //nolint:gochecknoglobals // a table
	begin string // which is searched for first, because it is faster
	form  lazy.Pattern
	tool  string
}{
	{"${", lazy.MustCompile(`\$\{ *([A-Za-z_][-.\w]{0,62})() *\}`), "a shell, Terraform or kro"},
	{"{{", lazy.MustCompile(`\{\{-? *([.$A-Za-z_][-.\w]{0,62})( [^{}\n]{0,200})?-?\}\}`), "a Go template"},
	{"$(", lazy.MustCompile(`\$\(([A-Za-z_][.\w]{0,62})()\)`), "a shell or Kustomize"},
	{"%(", lazy.MustCompile(`%\(([A-Za-z_]\w{0,62})()\)[sdr]`), "Python"},
	{"<no value>", lazy.MustCompile(`<(no value)()>`), "a Go template"},
}

// elsewhere are paths of other tools in the names of placeholders, and the same paths here.
var elsewhere = []struct { //nolint:gochecknoglobals // a table
	form lazy.Pattern
	here string
}{
	{lazy.MustCompile(`^[.$]+`), ""},
	{lazy.MustCompile(`^observed\.composite\.resource\.`), "composite."},
	{lazy.MustCompile(`^observed\.resources\.(\w+)\.resource\.`), "resources.$1."},
	{lazy.MustCompile(`^schema\.(spec|metadata)\.`), "composite.$1."},
}

// A Placeholder is a part of a text, with the warning about it.
type Placeholder struct {
	Text    string
	Warning *diagnostic.Diagnostic
}

// MostPlaceholders is the largest number of texts with a placeholder that one input is warned about.
const MostPlaceholders = 100

// PlaceholderIn returns the first placeholder in a text, the beginning of the message about it, and the
// expression that it probably means, or an empty text.
func PlaceholderIn(text string) (found, message, meant string) {
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
		if !IsPath(meant) {
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
	found, _, _ := PlaceholderIn(text)
	return found != ""
}

// insteadOf returns the field that is written instead of a literal text with a placeholder. key is the name of a
// label or an annotation, or empty. Other parts of the text may be data, which messages do not repeat.
func insteadOf(name, key, text string) string {
	found, _, meant := PlaceholderIn(text)
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

// pathForm is a path below a variable.
var pathForm = lazy.MustCompile(`^(?:` + strings.Join([]string{
	expression.Composite, expression.Resource, expression.Self, expression.Secret, expression.Resources,
	expression.Secrets,
	expression.Sources, expression.Env, expression.Variables, expression.Generated, expression.Candidate,
	expression.Previous,
}, "|") + `)(?:\??\.\??[A-Za-z_]\w{0,62}|\['[-./\w]{1,63}'\]|\[\d{1,4}\]){1,12}$`)

// IsPath reports whether a text is a path of CEL below a variable. Messages may repeat it. Any other text may be data.
func IsPath(text string) bool { return pathForm.MatchString(text) }
