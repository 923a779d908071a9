package observation

import (
	"slices"

	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
	"cel.dev/cel-go/common/types/traits"

	"github.com/crossplane-contrib/function-export/internal/engine/expression"
	"github.com/crossplane-contrib/function-export/internal/engine/functions"
)

// Generated holds the outputs of a generator.
type Generated struct {
	Outputs Details // nil if there are no outputs yet
	Waits   string  // what the outputs wait for

	// Keeps is set if the generator has outputs that must not be used now. Then an optional key also waits.
	Keeps bool

	// Failed is the reason why expected outputs are missing, or nil. If it is set, an optional key also fails.
	Failed *expression.Failed

	// Items are set for a generator with a list: the outputs for each item. Waits says why not all items are known.
	Items map[string]Generated
}

// generated returns a variable with the outputs of generators, or a part of it, which has the keys path below the
// variable.
func generated(all map[string]Generated, path []string, variable string) *named[members] {
	return members{
		find: func(name string) (ref.Val, bool) {
			g, ok := all[name]
			if !ok {
				return nil, false
			}
			return g.value(append(slices.Clip(path), name), variable)
		},
		names: func() []string { return sortedKeys(all) },
	}.of()
}

// value returns the outputs, which have the keys path below the variable.
func (g Generated) value(path []string, variable string) (ref.Val, bool) {
	missing := func() ref.Val {
		input := expression.PathText(variable, path...)
		if g.Waits != "" {
			input += " (" + g.Waits + ")"
		}
		w := expression.NewWaiting(input)
		w.Required = g.Keeps
		return types.WrapErr(w)
	}
	switch {
	case g.Items != nil && g.Waits == "":
		return generated(g.Items, path, variable), true
	case g.Items != nil:
		return &incomplete{generated(g.Items, path, variable), missing()}, true
	case g.Failed != nil:
		return types.WrapErr(g.Failed), false
	case g.Outputs != nil:
		return details(g.Outputs), true
	}
	return missing(), false
}

// incomplete is a map whose keys are not all known. A read of anything but a known key waits: otherwise, an export that
// reads all items would lose some of them. An iteration ends with an entry that waits.
type incomplete struct {
	*named[members]

	waits ref.Val
}

var _ functions.Incomplete = (*incomplete)(nil)

func (m *incomplete) Incomplete() ref.Val { return m.waits }

func (m *incomplete) Find(key ref.Val) (ref.Val, bool) {
	if v, ok := m.named.Find(key); ok || v != nil {
		return v, ok
	}
	return m.waits, false
}

func (m *incomplete) Get(key ref.Val) ref.Val      { return get(m, key) }
func (m *incomplete) Contains(key ref.Val) ref.Val { return contains(m, key) }
func (m *incomplete) Iterator() traits.Iterator    { return overKeys(append(m.members.Names(), "")) }
func (m *incomplete) Size() ref.Val                { return m.waits }
func (m *incomplete) IsZeroValue() bool            { return false }
func (m *incomplete) Equal(ref.Val) ref.Val        { return m.waits }
func (m *incomplete) Value() any                   { return m }

func (m *incomplete) Fold(f traits.Folder) {
	m.named.Fold(f)
	f.FoldEntry(types.String(""), m.waits)
}

func (m *incomplete) ConvertToType(t ref.Type) ref.Val { return convert(m, types.MapType, t) }
