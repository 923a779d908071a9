package expression

import (
	"slices"
	"strings"

	"cel.dev/cel-go/common/types"
)

// A Scope says which variables an expression sees. The variables of an item depend on [Items].
type Scope int

// The scopes.
const (
	InputScope      Scope = iota // all except Generation
	GenerationScope              // all: the expression creates or verifies a generation
	AuthorScope                  // a composite author writes the expression: nothing of the Composition's own
	KeyScope                     // only Key: the expression renames a key
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

// sees reports whether an expression sees a variable.
func (s Source) sees(variable string) bool {
	switch variable {
	case Key:
		return s.Items == AllItems || s.Scope == KeyScope
	case Item, Index:
		return s.Items == AllItems || s.Items == ItemKey
	case Generation:
		return s.Scope == GenerationScope
	case Sources, Context, Variables, Generated, Previous, Candidate, Revisions:
		return s.Scope <= GenerationScope
	}
	return s.Scope != KeyScope
}

// lacksItem reports whether a variable is one that only the expressions of an item see.
func (s Source) lacksItem(variable string) bool {
	return s.Scope <= GenerationScope && slices.Contains([]string{Item, Index, Key}, variable)
}

// unseen returns an error for each use of a variable that the source does not see.
func (x *Expression) unseen() (out []*Error) {
	for _, e := range x.idents {
		if name := strings.TrimPrefix(e.AsIdent(), "."); !x.source.sees(name) {
			line, column := x.position(e.ID())
			out = append(out, &Error{Class: Checked, Line: line, Column: column,
				Text: "there is no variable " + name + " here"})
		}
	}
	return out
}

// Names returns the names of all variables that a source sees, sorted.
func (e *Environment) Names(s Source) (names []string) {
	for _, v := range e.env.Variables() {
		if v.Type().Kind() != types.TypeKind && v.Value() == nil && s.sees(v.Name()) { // no type, such as int
			names = append(names, v.Name())
		}
	}
	slices.Sort(names)
	return names
}
