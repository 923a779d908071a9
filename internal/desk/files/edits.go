package files

import (
	"regexp"
	"strings"

	"github.com/crossplane-contrib/function-export/internal/desk/document"
	"github.com/crossplane-contrib/function-export/internal/engine/diagnostic"
	"github.com/crossplane-contrib/function-export/internal/engine/fieldpath"
	"github.com/crossplane-contrib/function-export/internal/engine/lazy"
	"github.com/crossplane-contrib/function-export/internal/engine/plan"
	"github.com/crossplane-contrib/function-export/internal/engine/suggest"
)

// This file turns the edits of an input into edits of its file. The advice to expressions brings its edits. For a
// field, the message tells the edit, and the file has what it needs besides.

// editsInFile returns the edits of the file that correct a mistake, or nothing if one of them is not possible.
func (s Step) editsInFile(d *diagnostic.Diagnostic) []document.Edit {
	edits := d.Edits
	if len(edits) == 0 {
		edits = s.told(d)
	}
	var out []document.Edit
	for _, e := range edits {
		path, whole := s.pathOf(e.Path)
		if !whole && e.Action == diagnostic.SetValue {
			path, whole = s.withMissing(path, e.Path)
		}
		if edit, ok := s.edit(e, path); ok && whole {
			out = append(out, edit)
			continue
		}
		return nil
	}
	return out
}

// Lines returns the first and the last line of the input, if they contain nothing else.
func (s Step) Lines() (first, last int) {
	if !s.hasOwnLines() {
		return 0, -1
	}
	return s.doc.Lines(s.at...)
}

func (s Step) edit(e diagnostic.Edit, path []any) (document.Edit, bool) {
	switch e.Action {
	case diagnostic.SetValue:
		return s.doc.SetValue(e.Text, path...)
	case diagnostic.Quote:
		return s.doc.Quote(path...)
	case diagnostic.Rename:
		return s.doc.Rename(e.Text, path...)
	case diagnostic.Remove:
		return s.doc.Remove(path...)
	case diagnostic.SetText:
	}
	return s.doc.SetText(e.Text, path...)
}

// withMissing adds the last step of a field's path to the path of the object that lacks it.
func (s Step) withMissing(path []any, field string) ([]any, bool) {
	segments, err := fieldpath.Parse(field)
	if err != nil || len(path) != len(s.at)+len(segments)-1 {
		return path, false
	}
	return append(path, segments[len(segments)-1].Field), true
}

// A telling is a message that tells how a field is corrected, and the action. $1 in the text is the first group.
type telling struct {
	lazy.Pattern

	action diagnostic.Action
	text   string
	value  lazy.Pattern // of a field that can be corrected so
}

var (
	anything = lazy.MustCompile(``)
	tellings = []telling{ //nolint:gochecknoglobals // a table
		{lazy.MustCompile(`: put it in quotes$`), diagnostic.Quote, "", anything},
		{lazy.MustCompile(`: write it as (\[[\w./-]+\])$`), diagnostic.SetValue, "$1", anything},
		{lazy.MustCompile(`: write true or false without quotes$`), diagnostic.SetValue, "", lazy.MustCompile(`^(?:true|false)$`)},
		{lazy.MustCompile(`: write a whole number, without quotes and without a unit$`), diagnostic.SetValue, "", lazy.MustCompile(`^[1-9]\d{0,9}$`)},
		{lazy.MustCompile(`(?:into its own namespace|of legacy composites): leave it out`), diagnostic.Remove, "", anything},
	}

	// suggested matches the end of a message that suggests a name for a wrong one, which the message may contain.
	suggested = lazy.MustCompile(`(?:\b(?:named|field|key|function|output|group) "?([^\s"]+)"?)?: did you mean ([\w.-]+)\?$`)

	// inField matches the end of a message about an expression in a literal field, and readAs the one about a variable.
	inField = lazy.MustCompile(`: write the expression in the field ((\w+)Expression)$`)
	readAs  = lazy.MustCompile(`^(?:source "[^"]+" is a Secret: read it as|secret is .* of the composite here.*: write) secrets(\.\w+|\['[^']+'\])\S*$`)
	setFrom = lazy.MustCompile(`: set from: (\S+)$`)
)

// told returns the edit that a message tells.
func (s Step) told(d *diagnostic.Diagnostic) []diagnostic.Edit {
	path, whole := s.pathOf(d.Path)
	value := s.doc.At(path...)
	text, _ := value.(string)
	if !whole || len(path) == 0 {
		return nil
	}
	for _, t := range tellings {
		if m := t.FindStringSubmatchIndex(d.Message); m != nil && t.value.MatchString(text) && d.Line == 0 {
			with := string(t.ExpandString(nil, t.text, d.Message, m))
			if with == "" {
				with = text
			}
			return []diagnostic.Edit{{Path: d.Path, Action: t.action, Text: with}}
		}
	}
	if m := inField.FindStringSubmatch(d.Message); m != nil && (path[len(path)-1] == m[2] || path[len(path)-1] == "matchName") {
		return []diagnostic.Edit{{Path: d.Path, Action: diagnostic.Rename, Text: m[1]}}
	}
	if m := setFrom.FindStringSubmatch(d.Message); m != nil {
		return []diagnostic.Edit{{Path: plan.EntryOf(d.Path) + ".from", Action: diagnostic.SetValue, Text: m[1]}}
	}
	if m := readAs.FindStringSubmatch(d.Message); m != nil && d.Line > 0 {
		return replacedOnce(d.Path, text, `\b(sources`+regexp.QuoteMeta(m[1])+`|secret)(?:\W|$)`, "secrets"+m[1])
	}
	return meant(d, text)
}

// meant returns the edit that a suggestion of a name tells. A suggestion for a whole field has no name in it, and one
// for the last step of a path is one name.
func meant(d *diagnostic.Diagnostic, text string) []diagnostic.Edit {
	m := suggested.FindStringSubmatch(d.Message)
	if m == nil {
		return nil
	}
	if !strings.Contains(m[2], ".") {
		m[1] = m[1][strings.LastIndex(m[1], ".")+1:]
	}
	switch {
	case d.Key && !strings.Contains(m[2], "."):
		return []diagnostic.Edit{{Path: d.Path, Action: diagnostic.Rename, Text: m[2]}}
	case text == "" || d.Key || d.Line > 0 && m[1] == "":
		return nil
	case d.Line > 0:
		return renamedIn(d.Path, text, m[1], m[2])
	}
	return respelled(d.Path, text, m[1], m[2])
}

// respelled returns the edit of a text whose last step, or which as a whole, is spelled wrong.
func respelled(path, text, wrong, name string) []diagnostic.Edit {
	before, isLast := strings.CutSuffix(text, wrong)
	switch {
	case isLast && wrong != "" && (before == "" || strings.HasSuffix(before, ".")):
		return []diagnostic.Edit{{Path: path, Text: before + name}}
	case suggest.Nearest(text, []string{name}) != "":
		return []diagnostic.Edit{{Path: path, Text: name}}
	}
	return nil
}

// renamedIn returns the edit of an expression that has another name in quotes or after a dot.
func renamedIn(path, text, wrong, name string) []diagnostic.Edit {
	wrong = regexp.QuoteMeta(wrong)
	if edits := replacedOnce(path, text, `['"](`+wrong+`)['"]`, name); edits != nil {
		return edits
	}
	if strings.ContainsAny(name, "./-") {
		return replacedOnce(path, text, `(\.`+wrong+`)(?:$|[^\w-])`, "['"+name+"']")
	}
	return replacedOnce(path, text, `[.?](`+wrong+`)(?:$|[^\w-])`, name)
}

// replacedOnce returns the edit of a text in which a pattern matches once. It replaces the first group.
func replacedOnce(path, text, pattern, with string) []diagnostic.Edit {
	all := regexp.MustCompile(pattern).FindAllStringSubmatchIndex(text, -1)
	if len(all) != 1 {
		return nil
	}
	return []diagnostic.Edit{{Path: path, Text: text[:all[0][2]] + with + text[all[0][3]:]}}
}
