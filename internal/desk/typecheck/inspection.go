package typecheck

import (
	"slices"
	"strings"

	"cel.dev/cel-go/common"
	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/types"

	"github.com/crossplane-contrib/function-export/internal/engine/celast"
	"github.com/crossplane-contrib/function-export/internal/engine/expression"
	"github.com/crossplane-contrib/function-export/internal/engine/limits"
	"github.com/crossplane-contrib/function-export/internal/engine/plan"
	"github.com/crossplane-contrib/function-export/internal/engine/schema"
)

// An Inspection is what the check of an input knows about the types in it. It is not safe for concurrent use.
type Inspection struct {
	*Types

	check *typeCheck
}

// Typing returns the known types of the variables of an expression, which stand for a composed resource, or for the
// composite if from is empty. An expression about a generation has its kind as own, and one about the item of a list
// has the list.
func (i *Inspection) Typing(from string, own *plan.Kind, list *plan.ForEach) expression.Typing {
	about := i.check.composite
	switch {
	case own != nil:
		about = i.check.kind(*own)
	case from != "":
		about = i.check.kind(i.check.composed[from])
	}
	return i.check.typing(about, list)
}

// Result returns the type of the result of the expression in a field, or nil if the expression does not compile.
func (i *Inspection) Result(path string) *types.Type {
	for x, t := range i.check.results {
		if x.Source().Path == path {
			return t
		}
	}
	return nil
}

// Names returns the names of the fields of an object type, sorted.
func (t *Types) Names(name string) []string {
	o := t.objects[name]
	if o.members != nil {
		return plan.SortedKeys(o.members)
	}
	names := slices.Clone(o.Properties().Keys())
	slices.Sort(names)
	return names
}

// Schema returns the schema of a field of an object type, if the type has one.
func (t *Types) Schema(name, field string) schema.Node {
	p, _ := t.objects[name].Property(field)
	return p
}

// Path returns where an object type is: the name of the kind or variable, and the path below it, in which [] is an item
// of a list or a value of a map.
func (t *Types) Path(name string) (root string, steps []string) {
	o := t.objects[name]
	return strings.TrimLeft(o.root, "@"), o.steps
}

// Tree returns the tree of a source that may have mistakes, with the types that are known. It returns nil if the text
// does not parse, or takes too long to check.
func (i *Inspection) Tree(env *expression.Environment, s expression.Source, t expression.Typing) *ast.AST {
	parsed, iss := env.CEL().ParseSource(common.NewStringSource(s.Text, s.Path))
	if len(iss.Errors()) > 0 {
		return nil
	}
	tree := parsed.NativeRep()
	size := celast.SizeOf(tree)
	if size.CheckingCost > limits.ExpressionCheckingCost || size.Nodes > limits.ExpressionNodes {
		return nil
	}
	selectKeys(tree)
	return env.CheckTree(s, tree, t).Tree
}
