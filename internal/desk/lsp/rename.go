package lsp

import (
	"errors"
	"fmt"
	"slices"

	"github.com/crossplane-contrib/function-export/internal/desk/document"
	"github.com/crossplane-contrib/function-export/internal/engine/definition"
	"github.com/crossplane-contrib/function-export/internal/engine/lazy"
)

// renameable returns the name at a position, if it can be renamed.
func (v *view) renameable(p document.Position) (*step, *occurrence, error) {
	s, o := v.occurrenceAt(p)
	if o == nil {
		return nil, nil, errors.New("cannot rename this: select the name of a variable, generator, source or export")
	}
	if _, declared := s.definition(o.symbol); !declared || o.kind == ofResource {
		return nil, nil, fmt.Errorf("cannot rename %s: the input does not declare it", o.name)
	}
	return s, o, nil
}

// rename returns the edits that give a symbol another name everywhere in the file. A person confirms one that changes
// objects in a cluster; a client without annotations shows a message instead.
func (v *question) rename(s *step, o *occurrence) (*WorkspaceEdit, []Message, error) {
	if err := s.refuseName(o.symbol, v.NewName); err != nil {
		return nil, nil, err
	}
	const id = "rename"
	warning, can := warningOf(o.symbol, v.NewName), v.client.Workspace.WorkspaceEdit
	annotates := can.DocumentChanges && can.ChangeAnnotationSupport != nil && warning != ""
	var edits []TextEdit
	for _, r := range s.all(o.symbol) {
		edit := TextEdit{NewText: v.NewName}
		if r.sign != "" && !isField(v.NewName) { // it needs quotes
			r.in.Position, edit.NewText = r.at, "["+r.sign[1:]+r.quote+v.NewName+r.quote+"]"
		}
		if edit.Range = v.text.editorRange(r.in); annotates {
			edit.AnnotationID = id
		}
		edits = append(edits, edit)
	}
	switch {
	case warning == "":
		return v.edit(edits), nil, nil
	case !annotates:
		return v.edit(edits), []Message{show(2, warning)}, nil
	}
	annotation := map[string]any{"label": "Rename " + o.name, "description": warning, "needsConfirmation": true}
	document := map[string]any{"uri": v.uri, "version": v.version}
	return &WorkspaceEdit{
		DocumentChanges: []any{map[string]any{"textDocument": document, "edits": edits}},
		Annotations:     map[string]any{id: annotation},
	}, nil, nil
}

// plainName matches a name that needs no quotes in YAML and in an expression.
var plainName = lazy.MustCompile(`^[A-Za-z_][-./\w]*$`)

// refuseName returns why something cannot have a name.
func (s *step) refuseName(sym symbol, name string) error {
	list := string(sym.kind)
	others := s.namesIn(list, "")
	if sym.kind == ofExport {
		list, others = exportLists[0], s.exports()
	}
	schema := definition.Exports().Properties[list].Items.Properties["name"]
	if !plainName.MatchString(name) || schema.MaxLength != nil && len(name) > *schema.MaxLength {
		return fmt.Errorf("cannot rename %s: write letters, digits, '-', '.' and '_'", sym.name)
	}
	if name != sym.name && slices.Contains(others, name) {
		return fmt.Errorf("cannot rename %s: another one is named %s", sym.name, name)
	}
	for _, r := range schema.Rules {
		if !r.Holds(name) {
			return fmt.Errorf("cannot rename %s: the name %s", sym.name, r.Message)
		}
	}
	return nil
}

// warningOf returns what happens in a cluster after a renaming, if anything does.
func warningOf(sym symbol, name string) string {
	switch sym.kind { //nolint:exhaustive // the others are names in the file only
	case ofExport:
		return fmt.Sprintf("A renamed export composes a renamed object, unless its metadata names it: <composite>-%s "+
			"becomes <composite>-%s, and what reads the former one must change.", sym.name, name)
	case ofGenerator:
		return fmt.Sprintf("The generator %s is another one than %s: it generates new credentials, and the former ones "+
			"are deleted.", name, sym.name)
	}
	return ""
}
