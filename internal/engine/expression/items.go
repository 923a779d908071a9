package expression

import (
	"fmt"
	"slices"

	"cel.dev/cel-go/common/ast"

	"github.com/crossplane-contrib/function-export/internal/engine/diagnostic"
)

// Items says which of the variables of an item an expression sees.
type Items int

// The values of Items.
const (
	NoItems  Items = iota // none
	ItemList              // none, because the expression returns the list of items
	ItemKey               // Item and Index, because the expression returns Key
	AllItems              // Item, Index, and Key
)

// itemVariables are the variables that only the expressions of an item see.
var itemVariables = []string{Item, Index, Key} //nolint:gochecknoglobals // a table

// sees reports whether an expression sees a variable. In the environment of key expressions, Key is another variable.
func (e *Environment) sees(s Source, variable string) bool {
	switch {
	case e.items && slices.Contains(itemVariables, variable):
		return s.Items == AllItems || s.Items == ItemKey && variable != Key
	default:
		return true
	}
}

// checkItems refuses the variables of an item in a source that does not see them.
func (x *Expression) checkItems() (out diagnostic.List) {
	s := x.source
	for _, r := range x.references {
		if x.env.sees(s, r.Variable) {
			continue
		}
		line, column := x.position(r.node)
		out = append(out, s.wrongAt(line, column, s.noItem(x.ast.Expr(), r.Variable)))
	}
	return out
}

// noItem returns the message for a variable of an item that a source does not see.
func (s Source) noItem(root ast.Expr, variable string) string {
	text, script := fmt.Sprintf("there is no variable %s here: ", variable), newScript(s.Text)
	if entries := script.mapOfTwo(variable); entries != nil {
		return script.filtersList(entries)
	}
	switch {
	case s.Items == ItemKey:
		return text + "this expression returns the key: use item or index"
	case s.Items == ItemList:
		return text + "this expression returns the list of items"
	case root.Kind() == ast.IdentKind:
		return fmt.Sprintf("%swrite %s\"'%s'\"; only an export or a generator with forEachExpression has one",
			text, textInQuotes, variable)
	}
	return text + "only an export or a generator with forEachExpression and keyExpression has one"
}
