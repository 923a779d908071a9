package expression

import (
	"slices"

	"cel.dev/cel-go/common/types"
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
func (x *Expression) checkItems() (out []*Error) {
	for _, r := range x.references {
		if !x.env.sees(x.source, r.Variable) {
			line, column := x.position(r.node)
			out = append(out, &Error{Class: NoItem, Line: line, Column: column, Node: x.ast.Expr(), Name: r.Variable})
		}
	}
	return out
}

// Names returns the names of all variables that a source sees, sorted.
func (e *Environment) Names(s Source) (names []string) {
	for _, v := range e.env.Variables() {
		if v.Type().Kind() != types.TypeKind && v.Value() == nil && e.sees(s, v.Name()) { // no type, such as int
			names = append(names, v.Name())
		}
	}
	slices.Sort(names)
	return names
}
