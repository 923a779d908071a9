package expression

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common"
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/types"

	"github.com/crossplane-contrib/function-export/internal/limits"
)

// A Want is what the result of an expression is for.
type Want int

// What results are for. Each says which static types it takes; a dyn is judged
// when it is evaluated.
const (
	WantAny     Want = iota // a variable: anything
	WantText                // a value: string or bytes
	WantTextMap             // a value map: map(string, string) or map(string, bytes)
	WantString              // a name: string
	WantLabels              // labels: map(string, string)
	WantJSON                // a status field: what JSON has
	WantBool                // a condition: bool
)

// A Source is the text of an expression, and where it stands.
type Source struct {
	// Text of the expression.
	Text string

	// Path of the field in the input, for example secrets[0].data[2].value.
	Path string

	// From names the composed resource that resource, self and secret stand for.
	// Empty is the composite.
	From string

	// Own is set if they stand for what the expression is about, a generation.
	Own bool

	// Want is what the result is for.
	Want Want
}

// own stands for From in texts.
const own = "\x00own"

func (s Source) from() string {
	if s.Own {
		return own
	}
	return s.From
}

// A Fault is one reason why a source does not compile.
type Fault struct {
	// Path of the field in the input, with :line:column where the fault has one.
	// Both count from 1.
	Path string

	// Message says what is wrong, and how to mend it.
	Message string

	// Mistyped is set if all that is wrong is the type of the result.
	Mistyped bool

	// Unknown is the name of a variable, if it is that there is none.
	Unknown string
}

// An Expression is a compiled source. It is immutable, and safe for concurrent
// use.
type Expression struct {
	source     Source
	several    string // of the environment
	ast        *ast.AST
	references []Reference
	loops      bool            // has a comprehension, other than cel.bind and its like
	byNode     map[int64][]int // node id -> indices of the references that its value may be
	programs   sync.Pool       // of *program
}

// Compile compiles the source. It returns all faults that one pass finds, in
// the order of their positions, or an expression. Of syntax there is one fault: those
// behind it would be of the same mistake.
//
// The limits on the source are checked before its types are, which takes the
// most time of all and cannot be interrupted.
func (e *Environment) Compile(s Source) (x *Expression, faults []Fault) {
	defer func() {
		if r := recover(); r != nil { // cel-go panics on some regular expressions
			x, faults = nil, []Fault{{Path: s.Path, Message: "cannot be compiled: the CEL compiler failed on it"}}
		}
	}()

	if n := len([]rune(s.Text)); n > limits.ExpressionCharacters {
		return nil, []Fault{{Path: s.Path, Message: fmt.Sprintf("has %d characters, over the limit of %d: %s", n, limits.ExpressionCharacters, e.shorten)}}
	}
	parsed, iss := e.env.ParseSource(common.NewStringSource(s.Text, s.Path))
	if iss.Err() != nil {
		return nil, []Fault{syntaxFault(s, sortedErrors(iss.Errors())[0])}
	}
	if f := e.checkShape(s, parsed.NativeRep()); f != nil {
		return nil, []Fault{*f}
	}
	orderRanges(parsed.NativeRep())
	meant := hint(parsed.NativeRep())
	checked, iss := e.env.Check(parsed)
	if iss.Err() != nil {
		if len(s.Text) <= limits.ExplainedCharacters {
			if faults := e.mismatches(s); len(faults) > 0 {
				return nil, withHint(faults, meant)
			}
		}
		return nil, withHint(issueFaults(s, iss), meant)
	}
	if msg := s.Want.refuse(checked.OutputType(), e.several); msg != "" {
		return nil, []Fault{{Path: s.Path + ":1:1", Message: msg, Mistyped: true}}
	}
	return e.plan(s, checked)
}

func (e *Environment) plan(s Source, checked *cel.Ast) (*Expression, []Fault) {
	x := &Expression{source: s, several: e.several, ast: checked.NativeRep(), byNode: map[int64][]int{}}
	x.references = findReferences(x.ast)
	loops, _ := nesting(x.ast.Expr())
	x.loops = loops > 0
	for i, r := range x.references {
		x.byNode[r.node] = append(x.byNode[r.node], i)
	}
	x.programs.New = func() any {
		p, err := e.guards.program(e.env, checked)
		if err != nil {
			return err
		}
		return p
	}
	// Plan one now, so that a fault shows when the input is compiled.
	p := x.programs.Get()
	if _, failed := p.(error); failed {
		return nil, []Fault{{Path: s.Path, Message: "cannot be planned: the CEL compiler failed on it"}}
	}
	x.programs.Put(p)
	return x, nil
}

// Source the expression was compiled from.
func (x *Expression) Source() Source { return x.source }

// issueFaults are what validators find.
func issueFaults(s Source, iss *cel.Issues) []Fault {
	errs := sortedErrors(iss.Errors())
	out := make([]Fault, 0, len(errs))
	for _, err := range errs {
		path := s.Path
		if err.Location.Line() > 0 {
			path = fmt.Sprintf("%s:%d:%d", s.Path, err.Location.Line(), err.Location.Column()+1)
		}
		f := Fault{Path: path, Message: explainLiteral(strings.Join(strings.Fields(strings.TrimSuffix(err.Message, " (in container '')")), " "))}
		if !slices.Contains(out, f) {
			out = append(out, f)
		}
	}
	return out
}

// sortedErrors are in the order of their positions.
func sortedErrors(errs []*cel.Error) []*cel.Error {
	errs = slices.Clone(errs)
	slices.SortStableFunc(errs, func(a, b *cel.Error) int {
		if c := a.Location.Line() - b.Location.Line(); c != 0 {
			return c
		}
		return a.Location.Column() - b.Location.Column()
	})
	return errs
}

// refuse says what is wrong with a static result type, or nothing. several is how
// the input has several keys.
func (w Want) refuse(t *cel.Type, several string) string {
	t = withoutOptional(t)
	one := func(want string) string {
		return fmt.Sprintf("must return %s, but returns %s%s", want, withArticle(cel.FormatCELType(t)), mend(t, several))
	}
	switch w {
	case WantAny:
		return ""
	case WantText:
		if !isKind(t, types.DynKind, types.AnyKind, types.StringKind, types.BytesKind) {
			return one("a string")
		}
	case WantString:
		if !isKind(t, types.DynKind, types.AnyKind, types.StringKind) {
			return one("a string")
		}
	case WantTextMap, WantLabels:
		if !isKind(t, types.DynKind, types.AnyKind) && !isTextMap(t, w == WantTextMap) {
			return fmt.Sprintf("must return a map(string, string), but returns %s%s", withArticle(cel.FormatCELType(t)), mendMap(t))
		}
	case WantJSON:
		if isKind(t, types.BytesKind, types.DurationKind, types.TimestampKind, types.TypeKind, types.OpaqueKind) {
			return one("a value that JSON has")
		}
	case WantBool:
		if !isKind(t, types.DynKind, types.AnyKind, types.BoolKind) {
			return fmt.Sprintf("must return true or false, but returns %s: compare it with something", withArticle(cel.FormatCELType(t)))
		}
	}
	return ""
}

// withoutOptional is what an optional holds.
func withoutOptional(t *cel.Type) *cel.Type {
	if t.Kind() == types.OpaqueKind && t.TypeName() == "optional_type" && len(t.Parameters()) == 1 {
		return t.Parameters()[0]
	}
	return t
}

func isTextMap(t *cel.Type, bytes bool) bool {
	if !isKind(t, types.MapKind) || len(t.Parameters()) != 2 {
		return false
	}
	k, v := t.Parameters()[0], t.Parameters()[1]
	v = withoutOptional(v)
	values := []types.Kind{types.DynKind, types.AnyKind, types.StringKind, types.TypeParamKind}
	if bytes {
		values = append(values, types.BytesKind)
	}
	return isKind(k, types.DynKind, types.AnyKind, types.StringKind, types.TypeParamKind) && isKind(v, values...)
}

func isKind(t *cel.Type, kinds ...types.Kind) bool {
	return slices.Contains(kinds, t.Kind())
}

// mend says how a value of type t becomes a string.
func mend(t *cel.Type, several string) string {
	switch t.Kind() {
	case types.IntKind, types.UintKind, types.DoubleKind, types.BoolKind, types.TimestampKind, types.DurationKind, types.BytesKind:
		return ": wrap it in string(...)"
	case types.ListKind:
		return ": join it with .join(',') or json.encode(...)"
	case types.MapKind:
		return ": select one of its keys, " + several + "or make one text of it with json.encode(...)"
	case types.NullTypeKind:
		return ": write '' for an empty text, or optional.none() and optional: true for none"
	}
	return ""
}

// mendMap says how a map becomes one of strings.
func mendMap(t *cel.Type) string {
	if isKind(t, types.MapKind) && len(t.Parameters()) == 2 {
		return ": wrap its values in string(...)"
	}
	return ": write for example {'key': 'value'}"
}

// checkShape refuses what would take too long to check.
func (e *Environment) checkShape(s Source, a *ast.AST) *Fault {
	if n := ast.NodeCount(a); n > limits.ExpressionNodes {
		return &Fault{Path: s.Path, Message: fmt.Sprintf("has %d nodes, over the limit of %d: %s", n, limits.ExpressionNodes, e.shorten)}
	}
	count := countNodes(a.Expr())
	if n := count.comprehensions; n > limits.Comprehensions {
		return &Fault{Path: s.Path, Message: fmt.Sprintf("has %d comprehensions, over the limit of %d: %s", n, limits.Comprehensions, e.shorten)}
	}
	if n := count.empty; n > limits.EmptyLiterals {
		return &Fault{Path: s.Path, Message: fmt.Sprintf("has %d empty lists and maps, over the limit of %d: %s", n, limits.EmptyLiterals, e.shorten)}
	}
	loops, binds := nesting(a.Expr())
	if loops > limits.ComprehensionNesting {
		return &Fault{Path: s.Path, Message: fmt.Sprintf("nests %d comprehensions, over the limit of %d: %s", loops, limits.ComprehensionNesting, e.shorten)}
	}
	if binds > limits.BindNesting {
		return &Fault{Path: s.Path, Message: fmt.Sprintf("nests %d cel.bind, over the limit of %d: %s", binds, limits.BindNesting, e.shorten)}
	}
	if bulkOf(a.Expr()) > limits.ExpressionBulk {
		return &Fault{Path: s.Path, Message: "has local variables that stand for too much: one that uses another one several times multiplies it: " + e.shorten}
	}
	return nil
}

// nesting returns how deep comprehensions and binds nest below e. The range of a
// comprehension counts as inside of it, so that a chain counts, too.
func nesting(e ast.Expr) (loops, binds int) {
	inner := func(children ...ast.Expr) {
		for _, c := range children {
			l, b := nesting(c)
			loops, binds = max(loops, l), max(binds, b)
		}
	}
	switch e.Kind() {
	case ast.CallKind:
		if e.AsCall().IsMemberFunction() {
			inner(e.AsCall().Target())
		}
		inner(e.AsCall().Args()...)
	case ast.SelectKind:
		inner(e.AsSelect().Operand())
	case ast.ListKind:
		inner(e.AsList().Elements()...)
	case ast.MapKind:
		for _, x := range e.AsMap().Entries() {
			inner(x.AsMapEntry().Key(), x.AsMapEntry().Value())
		}
	case ast.StructKind:
		for _, x := range e.AsStruct().Fields() {
			inner(x.AsStructField().Value())
		}
	case ast.ComprehensionKind:
		c := e.AsComprehension()
		inner(c.IterRange(), c.AccuInit(), c.LoopCondition(), c.LoopStep(), c.Result())
		if isBind(c) {
			return loops, binds + 1
		}
		return loops + 1, binds
	}
	return loops, binds
}

// isBind reports whether a comprehension is what cel.bind, optMap and
// optFlatMap expand to: a fold over an empty list literal.
func isBind(c ast.ComprehensionExpr) bool {
	r := c.IterRange()
	return r.Kind() == ast.ListKind && r.AsList().Size() == 0
}
