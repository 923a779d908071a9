package files

import (
	"cmp"
	"slices"
	"strings"

	"github.com/crossplane-contrib/function-export/internal/desk/document"
	"github.com/crossplane-contrib/function-export/internal/desk/rules"
	"github.com/crossplane-contrib/function-export/internal/engine/diagnostic"
)

// A Diagnostic is a diagnostic, with its range in a file.
type Diagnostic struct {
	File string `json:"file"`
	document.Range

	Step    string          `json:"step,omitempty"`  // of the pipeline
	Field   string          `json:"field,omitempty"` // of the input
	Rule    diagnostic.Rule `json:"rule"`
	Warning bool            `json:"warning,omitempty"` // the input can be used
	Message string          `json:"message"`
	Edits   []document.Edit `json:"edits,omitempty"` // of the file, which correct the mistake together

	Source string `json:"-"` // the line in the file, if it can be shown
}

// classes are the rules without a name, with what they require and their pages.
var classes = map[diagnostic.Rule][2]string{ //nolint:gochecknoglobals // a table
	diagnostic.Input: {"The input has only known fields and valid values.", "input/README.md"},
	diagnostic.Expression: {"Expressions compile, and secret data may flow only into the data of Secrets.",
		"input/README.md"},
	diagnostic.Type: {"Expressions read only fields that the schemas of known kinds have.", "fn/README.md#check-types"},
	Unreadable:      {"Files can be read.", "fn/README.md#check"},
}

// Describe returns what the rule requires in one sentence, and the address of its page.
func (d Diagnostic) Describe() (text, page string) {
	const pages = "https://github.com/crossplane-contrib/function-export/blob/main/"
	for _, r := range rules.All() {
		if r.Name == string(d.Rule) {
			return strings.ReplaceAll(r.Text, "`", ""), pages + "fn/RULES.md#" + r.Name
		}
	}
	return classes[d.Rule][0], pages + classes[d.Rule][1]
}

// Level returns the severity as SARIF and GitHub Actions name it.
func (d Diagnostic) Level() string {
	if d.Warning {
		return "warning"
	}
	return "error"
}

// Unreadable is the rule of diagnostics about files that cannot be read.
const Unreadable diagnostic.Rule = "unreadable"

// InFile returns a diagnostic of the input with its position in the file.
func (s Step) InFile(d *diagnostic.Diagnostic) Diagnostic {
	at := s.locate(d)
	out := Diagnostic{File: s.File, Range: at.Range, Step: s.Name, Field: d.Path, Rule: d.Rule, Message: d.Message,
		Warning: d.Warning}
	if reason := s.cutByYAML(d, at); reason != "" {
		out.Message = reason
	} else {
		out.Edits = s.editsInFile(d)
	}
	if s.hasOwnLines() && d.Rule != rules.LiteralCredential {
		out.Source = s.doc.Line(at.Line)
	}
	return out
}

// AllInFile returns the diagnostics of the input with their positions, in the order of the file.
func (s Step) AllInFile(list diagnostic.List) []Diagnostic {
	out := make([]Diagnostic, 0, len(list))
	for _, d := range list {
		out = append(out, s.InFile(d))
	}
	slices.SortStableFunc(out, func(a, b Diagnostic) int { return cmp.Or(a.Line-b.Line, a.Column-b.Column) })
	return out
}

// cutByYAML returns the reason why an expression is incomplete, if YAML ends it early: a tag takes its start, or a
// comment takes its end.
func (s Step) cutByYAML(d *diagnostic.Diagnostic, at location) string {
	const instead = ": write `|-` after the key, and the expression indented in the next line"
	steps, _ := follow(any(s.Input), d.Path)
	path := append(slices.Clone(s.at), steps...)
	text, isText := s.doc.At(path...).(string)
	place, _ := s.doc.Find(path...)
	source := string([]rune(s.doc.Line(place.Value.Line))[place.Value.Column-1:])
	switch {
	case !isText || d.Rule == diagnostic.Type:
	case text == "" && strings.HasPrefix(source, "!"):
		return "! begins a tag in YAML, so the expression is empty" + instead
	case at.expression && strings.HasPrefix(source, text+" #") && (strings.Count(text, "'")%2 == 1 ||
		strings.Count(text, `"`)%2 == 1):
		return "a space and # begin a comment in YAML, so the text that begins here does not end" + instead
	}
	return ""
}

// hasOwnLines reports whether the lines of an input contain nothing else. An input in braces can
// share its lines with another object, for example a Secret, whose values must not be shown.
func (s Step) hasOwnLines() bool {
	if len(s.at) == 0 {
		return true // the input is the whole document
	}
	place, _ := s.doc.Find(s.at...)
	line := []rune(s.doc.Line(place.Value.Line))
	return place.Value.Column > len(line) || line[place.Value.Column-1] != '{'
}
