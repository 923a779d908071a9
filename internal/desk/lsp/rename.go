package lsp

import (
	"errors"
	"fmt"
	"slices"

	"github.com/crossplane-contrib/function-export/internal/desk/document"
	"github.com/crossplane-contrib/function-export/internal/engine/definition"
	"github.com/crossplane-contrib/function-export/internal/engine/lazy"
)

// A renaming is a change of a name everywhere in the file.
type renaming struct {
	edits   []TextEdit
	warning *ChangeAnnotation
}

// renameable returns the name at a position, if it can be renamed.
func (v *view) renameable(p document.Position) (*step, *occurrence, error) {
	s, o := v.occurrenceAt(p)
	if o == nil {
		return nil, nil, errors.New("cannot rename this: put the cursor on the name of a variable, generator, source or export")
	}
	if _, declared := s.definition(o.symbol); !declared || o.kind == ofResource {
		return nil, nil, fmt.Errorf("cannot rename %s: the input does not declare it", o.name)
	}
	return s, o, nil
}

// rename returns the edits that rename what is at a position.
func (v *view) rename(p document.Position, name string) (*renaming, error) {
	s, o, err := v.renameable(p)
	if err != nil {
		return nil, err
	}
	if err := s.refuseName(o.symbol, name); err != nil {
		return nil, err
	}
	out := &renaming{warning: warningOf(o.symbol, name)}
	for _, r := range s.all(o.symbol) {
		text := name
		if r.sign != "" && !isField(name) { // it needs quotes
			r.in.Position, text = r.at, "["+r.sign[1:]+r.quote+name+r.quote+"]"
		}
		out.edits = append(out.edits, TextEdit{Range: v.text.editorRange(r.in), NewText: text})
	}
	return out, nil
}

// plainName matches a name that needs no quotes in YAML and in an expression.
var plainName = lazy.MustCompile(`^[A-Za-z_][-./\w]*$`)

// refuseName returns why something cannot have a name.
func (s *step) refuseName(sym symbol, name string) error {
	list := string(sym.kind)
	others := s.namesIn(list, "")
	if sym.kind == ofExport {
		list, others = "secrets", s.exports()
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
func warningOf(sym symbol, name string) *ChangeAnnotation {
	switch sym.kind { //nolint:exhaustive // the others are names in the file only
	case ofExport:
		return &ChangeAnnotation{Label: "Rename the object", NeedsConfirmation: true, Description: fmt.Sprintf(
			"A renamed export composes a renamed object, unless its metadata names it: <composite>-%s becomes <composite>-%s, "+
				"and what reads the former one must change.", sym.name, name)}
	case ofGenerator:
		return &ChangeAnnotation{Label: "Generate new credentials", NeedsConfirmation: true, Description: fmt.Sprintf(
			"The generator %s is another one than %s: it generates new credentials, and the former ones are deleted.", name, sym.name)}
	}
	return nil
}
