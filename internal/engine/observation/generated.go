package observation

import (
	"slices"

	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"

	"github.com/crossplane-contrib/function-export/internal/engine/expression"
)

// Generated holds the outputs of a generator.
type Generated struct {
	Outputs Details // nil if there are no outputs yet
	Waits   string  // what the outputs wait for

	// Keeps is set if the generator has outputs that must not be used now. Then an optional key also waits.
	Keeps bool

	// Failed is the reason why expected outputs are missing, or nil. If it is set, an optional key also fails.
	Failed *expression.Failed

	// Items are set for a generator with a list: the outputs for each item. If not all items are known, Waits says why,
	// and none is read: otherwise, an export that reads all items would lose some of them.
	Items map[string]Generated
}

// generated returns a variable with the outputs of generators, or a part of it, which has the keys path below the
// variable.
func generated(all map[string]Generated, path []string, variable string) ref.Val {
	return mapOf(all, func(name string, g Generated) (ref.Val, bool) {
		return g.value(append(slices.Clip(path), name), variable)
	})
}

// value returns the outputs, which have the keys path below the variable.
func (g Generated) value(path []string, variable string) (ref.Val, bool) {
	switch {
	case g.Items != nil && g.Waits == "":
		return generated(g.Items, path, variable), true
	case g.Failed != nil:
		return types.WrapErr(g.Failed), false
	case g.Outputs != nil:
		return details(g.Outputs), true
	}
	input := expression.PathText(variable, path...)
	if g.Waits != "" {
		input += " (" + g.Waits + ")"
	}
	w := expression.NewWaiting(input)
	w.Required = g.Keeps
	return types.WrapErr(w), false
}
