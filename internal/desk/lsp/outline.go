package lsp

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"

	"github.com/crossplane-contrib/function-export/internal/desk/document"
	"github.com/crossplane-contrib/function-export/internal/desk/files"
)

// kindOfSymbols are the kinds of what the lists of an input declare.
var kindOfSymbols = map[string]int{ //nolint:gochecknoglobals // a table
	"variables": symbolVariable, "generators": symbolEvent, "sources": symbolObject, "secrets": symbolObject,
	"configMaps": symbolObject, "status": symbolProperty, "data": symbolKey,
}

// outline returns the steps of the file, with what they declare.
func (v *view) outline() []Symbol {
	out := []Symbol{}
	for _, s := range v.steps {
		top := Symbol{Name: cmp.Or(s.Name, "Exports"), Detail: s.Owner(), Kind: symbolModule}
		entries := s.Document().Entries()
		top.place(v, entries, s.At())
		for _, list := range []string{"variables", "sources", "generators", "secrets", "configMaps", "status"} {
			items, _ := s.Input[list].([]any)
			for i, item := range items {
				if child, ok := s.symbol(entries, list, item, list, i); ok {
					top.Children = append(top.Children, child)
				}
			}
		}
		out = append(out, top)
	}
	return out
}

// symbol returns an item of a list, with the keys of an export.
func (s *step) symbol(entries []document.Entry, list string, item any, path ...any) (Symbol, bool) {
	m, _ := item.(map[string]any)
	out := Symbol{Name: cmp.Or(textOf(m["name"]), textOf(m["key"]), textOf(m["fieldPath"])), Detail: list, Kind: kindOfSymbols[list]}
	if out.Name == "" {
		return out, false
	}
	data, _ := m["data"].([]any)
	for i, below := range data {
		if child, ok := s.symbol(entries, "data", below, append(slices.Clone(path), "data", i)...); ok {
			out.Children = append(out.Children, child)
		}
	}
	return out, out.place(s.view, entries, s.At(path...))
}

// place sets the ranges of a symbol to those of an entry.
func (out *Symbol) place(v *view, entries []document.Entry, path []any) bool {
	i := slices.IndexFunc(entries, func(e document.Entry) bool { return slices.Equal(e.Path, path) })
	if i < 0 {
		return false
	}
	e := entries[i]
	out.Range = v.text.editorRange(document.Range{Position: e.Key.Position, End: e.End})
	out.SelectionRange = v.text.editorRange(e.Key)
	if out.SelectionRange.End.Line > out.Range.End.Line || out.SelectionRange.End == out.SelectionRange.Start {
		out.SelectionRange = out.Range
	}
	return true
}

// diagnostic returns a diagnostic for the editor, with its fix in its data.
func (v *view) diagnostic(d files.Diagnostic) Diagnostic {
	out := Diagnostic{Range: v.text.editorRange(d.Range), Severity: severityError, Code: string(d.Rule),
		CodeDescription: &codeDescription{d.Page()}, Source: "function-export", Message: d.Message}
	if d.Warning {
		out.Severity = severityWarning
	}
	if d.Field != "" {
		out.Message = d.Field + ": " + d.Message
	}
	if d.Step != "" {
		out.Data, _ = json.Marshal(map[string]string{"step": d.Step})
	}
	return out
}

// actions returns the fixes of the diagnostics in a range, and one for all of the file.
func (v *view) actions(in Range, wanted func(kind string) bool) []CodeAction {
	out := []CodeAction{}
	uri, all := v.uriOf(v.name), []TextEdit{}
	fixable := slices.DeleteFunc(v.diagnostics(), func(d files.Diagnostic) bool { return len(d.Edits) == 0 })
	fixes := make([][]document.Edit, 0, len(fixable))
	for _, d := range fixable {
		fixes = append(fixes, d.Edits)
		shown := v.diagnostic(d)
		if !overlaps(shown.Range, in) || !wanted("quickfix") {
			continue
		}
		edit := &WorkspaceEdit{Changes: map[string][]TextEdit{uri: v.edits(d.Edits)}}
		out = append(out, CodeAction{titleOf(d.Edits), "quickfix", []Diagnostic{shown}, true, edit})
	}
	if text, applied := document.Apply(v.text.string, fixes); applied > 0 && wanted("source.fixAll") {
		whole := Range{End: v.text.at(len(v.text.string))}
		all = append(all, TextEdit{Range: whole, NewText: text})
		out = append(out, CodeAction{"Apply all fixes", "source.fixAll", nil, false, &WorkspaceEdit{Changes: map[string][]TextEdit{uri: all}}})
	}
	return out
}

func (v *view) edits(edits []document.Edit) (out []TextEdit) {
	for _, e := range edits {
		out = append(out, TextEdit{Range: v.text.editorRange(e.Range), NewText: e.Text})
	}
	return out
}

// titleOf says what edits do.
func titleOf(edits []document.Edit) string {
	text := strings.TrimSpace(edits[0].Text)
	const longest = 60
	switch {
	case len(edits) > 1 || len(text) > longest || strings.Contains(text, "\n"):
		return "Fix this"
	case text == "":
		return "Remove it"
	}
	return "Write " + text
}

func overlaps(a, b Range) bool {
	before := func(p, q Position) bool { return p.Line < q.Line || p.Line == q.Line && p.Character < q.Character }
	return !before(a.End, b.Start) && !before(b.End, a.Start)
}
