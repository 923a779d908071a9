package lsp

import (
	"fmt"
	"slices"

	"google.golang.org/protobuf/types/known/structpb"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/crossplane-contrib/function-export/internal/engine/definition"
	"github.com/crossplane-contrib/function-export/internal/engine/lazy"
	"github.com/crossplane-contrib/function-export/internal/engine/strict"
)

// rename returns the edits that give the name at the position another one everywhere in the file, and a warning if it
// changes objects in a cluster.
func (v *question) rename() (any, []Message, error) {
	s, o := v.occurrenceAt(v.at)
	if o == nil {
		return nil, nil, invalid("cannot rename this: select the name of a variable, generator, source or export")
	}
	if _, declared := s.definition(o.symbol); !declared || o.kind == ofResource {
		return nil, nil, invalid("cannot rename %s: the input does not declare it", o.name)
	}
	if err := s.refuseName(o.symbol, v.NewName); err != nil {
		return nil, nil, err
	}
	var edits []TextEdit
	for _, r := range s.all(o.symbol) {
		if r.dotted && !isField(v.NewName) {
			return nil, nil, invalid("cannot rename %s: %s cannot follow a dot: write ['%[1]s'] first", o.name,
				v.NewName)
		}
		edits = append(edits, TextEdit{v.text.rangeOf(r.in), v.NewName})
	}
	var messages []Message
	if warning := warningOf(o.symbol, v.NewName); warning != "" {
		messages = []Message{show(2, warning)}
	}
	return v.edit(edits), messages, nil
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
	if !plainName().MatchString(name) {
		return invalid("cannot rename %s: write letters, digits, '-', '.' and '_'", sym.name)
	}
	if name != sym.name && slices.Contains(others, name) {
		return invalid("cannot rename %s: another one is named %s", sym.name, name)
	}
	for _, d := range strict.Fields(schema, field.NewPath("name"), structpb.NewStringValue(name), nil) {
		return invalid("cannot rename %s: the name %s", sym.name, d.Message)
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
		return fmt.Sprintf("The generator %s is another one than %s: it generates new credentials, and the former "+
			"ones are deleted.", name, sym.name)
	}
	return ""
}
