package lsp

import (
	"cmp"
	"slices"
	"strings"

	"github.com/crossplane-contrib/function-export/internal/desk/document"
	"github.com/crossplane-contrib/function-export/internal/desk/files"
)

// kindOfSymbols are the kinds that the protocol has for a module, and for what the lists of an input declare.
var kindOfSymbols = map[string]int{ //nolint:gochecknoglobals // a table
	"": 2, "variables": 13, "generators": 24, "sources": 19, "secrets": 19, "configMaps": 19, "status": 7,
}

// outline returns the steps of the file, with what they declare.
func (v *question) outline() any {
	out := make([]Symbol, 0, len(v.steps))
	for _, s := range v.steps {
		entries := s.Document().Entries()
		top := Symbol{Name: cmp.Or(s.Name, "Exports"), Detail: s.Owner(), Kind: kindOfSymbols[""]}.
			at(v.view, entries, s.At())
		for _, list := range []string{"variables", "sources", "generators", "secrets", "configMaps", "status"} {
			items, _ := s.Input[list].([]any)
			for i, item := range items {
				m, _ := item.(map[string]any)
				child := Symbol{Name: cmp.Or(textOf(m["name"]), textOf(m["fieldPath"])), Detail: list,
					Kind: kindOfSymbols[list]}.at(v.view, entries, s.At(list, i))
				if child.Name != "" && child.Range != (Range{}) {
					top.Children = append(top.Children, child)
				}
			}
		}
		out = append(out, top)
	}
	return out
}

// at returns a symbol with the ranges of the entry at a path.
func (s Symbol) at(v *view, entries []document.Entry, path []any) Symbol {
	i := slices.IndexFunc(entries, func(e document.Entry) bool { return slices.Equal(e.Path, path) })
	if i < 0 { // an alias
		return s
	}
	e := entries[i]
	s.Range = v.text.rangeOf(v.text.spanOf(document.Range{Position: e.Key.Position, End: e.End}))
	s.SelectionRange = v.text.rangeOf(v.text.spanOf(e.Key))
	if s.SelectionRange.End.Line > s.Range.End.Line || s.SelectionRange.End == s.SelectionRange.Start {
		s.SelectionRange = s.Range
	}
	return s
}

// diagnostic returns a diagnostic for the editor.
func (v *view) diagnostic(d files.Diagnostic) Diagnostic {
	_, page := d.Describe()
	out := Diagnostic{Range: v.text.rangeOf(v.text.spanOf(d.Range)), Severity: 1, Code: string(d.Rule),
		CodeDescription: map[string]string{"href": page}, Source: "function-export", Message: d.Message}
	if d.Warning {
		out.Severity = 2
	}
	if d.Field != "" {
		out.Message = d.Field + ": " + d.Message
	}
	return out
}

// actions returns the fixes of the diagnostics in a range.
func (v *question) actions() any {
	out := []CodeAction{}
	for _, d := range v.diagnostics() {
		shown := v.diagnostic(d)
		if len(d.Edits) == 0 || !overlaps(shown.Range, v.Range) {
			continue
		}
		title := "Fix this"
		if text := d.Edits[0].Text; len(d.Edits) == 1 && text != "" && !strings.Contains(text, "\n") {
			title = "Write " + text
		}
		out = append(out, CodeAction{title, "quickfix", []Diagnostic{shown}, true, v.edit(v.edits(d.Edits))})
	}
	return out
}

// edit returns edits of this file.
func (v *view) edit(edits []TextEdit) *WorkspaceEdit {
	return &WorkspaceEdit{Changes: map[string][]TextEdit{v.uri: edits}}
}

func (v *view) edits(edits []document.Edit) (out []TextEdit) {
	for _, e := range edits {
		out = append(out, TextEdit{Range: v.text.rangeOf(v.text.spanOf(e.Range)), NewText: e.Text})
	}
	return out
}

func overlaps(a, b Range) bool {
	before := func(p, q Position) bool { return p.Line < q.Line || p.Line == q.Line && p.Character < q.Character }
	return !before(a.End, b.Start) && !before(b.End, a.Start)
}
