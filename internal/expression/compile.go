package expression

import (
	"cmp"
	"fmt"
	"slices"
	"sync"
	"unicode/utf8"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common"
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/types"

	"github.com/crossplane-contrib/function-export/internal/diagnostic"
	"github.com/crossplane-contrib/function-export/internal/limits"
)

// A Want is the purpose of the result of an expression.
type Want int

// The purposes of results. Each accepts some static types. A dyn is checked after the evaluation.
const (
	WantAny     Want = iota // a variable: anything
	WantText                // a value: string or bytes
	WantTextMap             // a value map: map(string, string) or map(string, bytes)
	WantString              // a name: string
	WantLabels              // labels: map(string, string)
	WantJSON                // a status field: a value that JSON can represent
	WantBool                // a condition: bool
)

// A Source is the text of an expression, and where it is in the input.
type Source struct {
	// Text of the expression.
	Text string

	// Path of the field in the input, for example secrets[0].data[2].value.
	Path string

	// From is the name of the composed resource that resource, self and secret stand for. If it is
	// empty, they stand for the composite.
	From string

	// Own is set if they stand for the generation that the expression belongs to.
	Own bool

	// Want is the purpose of the result.
	Want Want

	// Note is added in parentheses to a diagnostic about the type of the result.
	Note string
}

// own replaces From in messages.
const own = "\x00own"

func (s Source) from() string {
	if s.Own {
		return own
	}
	return s.From
}

// An Expression is a compiled source. It is immutable, and safe for concurrent
// use.
type Expression struct {
	source     Source
	env        *Environment
	checked    *cel.Ast
	ast        *ast.AST // of checked
	references []Reference
	byNode     map[int64][]int // node id -> indices of the references that its value may be
	programs   sync.Pool       // of *program
}

// Compile returns an expression, or all diagnostics that one pass finds, in the order of their
// positions. It returns only the first syntax error. For a variable that does not exist, Compile
// calls declared, which returns how an expression refers to the declaration with this name, or an
// empty text.
//
// Compile checks the limits on the source before its types, because checking types takes most of
// the time and cannot be interrupted.
func (e *Environment) Compile(s Source, declared ...func(name string) string) (x *Expression, wrong diagnostic.List) {
	defer func() {
		if r := recover(); r != nil { // cel-go panics on some regular expressions
			x, wrong = nil, diagnostic.List{s.wrong("cannot be compiled: the CEL compiler failed on it")}
		}
	}()

	if n := utf8.RuneCountInString(s.Text); n > limits.ExpressionCharacters {
		wrong := s.wrong("has %d characters, over the limit of %d: %s", n, limits.ExpressionCharacters, e.shorten)
		return nil, diagnostic.List{wrong}
	}
	parsed, iss := e.env.ParseSource(common.NewStringSource(s.Text, s.Path))
	if iss.Err() != nil {
		return nil, diagnostic.List{syntaxDiagnostic(s, sortedErrors(iss.Errors())[0])}
	}
	if d := e.checkSize(s, parsed.NativeRep()); d != nil {
		return nil, diagnostic.List{d}
	}
	orderRanges(parsed.NativeRep())
	checked, iss := e.env.Check(parsed)
	if iss.Err() != nil {
		return nil, e.diagnose(s, iss.Errors(), declared)
	}
	if msg := s.Want.refuse(checked.OutputType(), e.several); msg != "" {
		if s.Note != "" {
			msg += " (" + s.Note + ")"
		}
		return nil, diagnostic.List{s.wrongAt(1, 1, msg)}
	}
	return e.plan(s, checked)
}

// wrong returns a diagnostic about the whole source.
func (s Source) wrong(format string, args ...any) *diagnostic.Diagnostic {
	return s.wrongAt(0, 0, fmt.Sprintf(format, args...))
}

func (s Source) wrongAt(line, column int, message string) *diagnostic.Diagnostic {
	d := &diagnostic.Diagnostic{Path: s.Path, Line: line, Column: column, Rule: diagnostic.Expression, Message: message}
	if line == 0 {
		d.Rule = diagnostic.Input // it is about the field
	}
	return d
}

func (e *Environment) plan(s Source, checked *cel.Ast) (*Expression, diagnostic.List) {
	x := &Expression{source: s, env: e, checked: checked, ast: checked.NativeRep(), byNode: map[int64][]int{}}
	x.references = findReferences(x.ast)
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
	// Plan a program now, so that a failure is a diagnostic of the input.
	p := x.programs.Get()
	if _, failed := p.(error); failed {
		return nil, diagnostic.List{s.wrong("cannot be planned: the CEL compiler failed on it")}
	}
	x.programs.Put(p)
	return x, nil
}

// name returns the text of a reference in the source of the expression.
func (x *Expression) name(r Reference) string { return r.text(x.source.from()) }

// Source the expression was compiled from.
func (x *Expression) Source() Source { return x.source }

// sortedErrors returns the errors in the order of their positions.
func sortedErrors(errs []*cel.Error) []*cel.Error {
	errs = slices.Clone(errs)
	slices.SortStableFunc(errs, func(a, b *cel.Error) int {
		return cmp.Or(a.Location.Line()-b.Location.Line(), a.Location.Column()-b.Location.Column())
	})
	return errs
}

// refuse returns a message about a static result type, or an empty text. several is the hint for
// several keys.
func (w Want) refuse(t *cel.Type, several string) string {
	t = withoutOptional(t)
	want, hint, ok := "a string", conversionHint(t, several), isKind(t, types.DynKind, types.AnyKind)
	switch w {
	case WantAny:
		ok = true
	case WantText:
		ok = ok || isKind(t, types.StringKind, types.BytesKind)
	case WantString:
		ok = ok || isKind(t, types.StringKind)
	case WantTextMap, WantLabels:
		want, hint, ok = "a map(string, string)", mapHint(t), ok || isTextMap(t, w == WantTextMap)
	case WantJSON:
		want = "a value that JSON can represent"
		ok = !isKind(t, types.BytesKind, types.DurationKind, types.TimestampKind, types.TypeKind, types.OpaqueKind)
	case WantBool:
		want, hint, ok = "true or false", ": compare it with something", ok || isKind(t, types.BoolKind)
	}
	if ok {
		return ""
	}
	return fmt.Sprintf("must return %s, but returns %s%s", want, withArticle(cel.FormatCELType(t)), hint)
}

// withoutOptional returns the type in an optional.
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
	isText := func(t *cel.Type) bool {
		return isKind(t, types.DynKind, types.AnyKind, types.StringKind, types.TypeParamKind)
	}
	key, value := t.Parameters()[0], withoutOptional(t.Parameters()[1])
	return isText(key) && (isText(value) || bytes && isKind(value, types.BytesKind))
}

func isKind(t *cel.Type, kinds ...types.Kind) bool {
	return slices.Contains(kinds, t.Kind())
}

// conversionHint returns how to convert a value of type t to a string.
func conversionHint(t *cel.Type, several string) string {
	switch t.Kind() { //nolint:exhaustive // no hint for all others
	case types.IntKind, types.UintKind, types.DoubleKind, types.BoolKind, types.BytesKind,
		types.TimestampKind, types.DurationKind:
		return ": wrap it in string(...)"
	case types.ListKind:
		return ": join it with .join(',') or json.encode(...)"
	case types.MapKind:
		return ": select one of its keys, " + several + "or encode it as one text with json.encode(...)"
	case types.NullTypeKind:
		return ": write '' for an empty text, or optional.none() with optional: true for no value"
	}
	return ""
}

// mapHint returns how to convert a map to a map of strings.
func mapHint(t *cel.Type) string {
	if isKind(t, types.MapKind) && len(t.Parameters()) == 2 {
		return ": wrap its values in string(...)"
	}
	return ": write for example {'key': 'value'}"
}

// checkSize refuses an expression that would take too long to check.
func (e *Environment) checkSize(s Source, a *ast.AST) *diagnostic.Diagnostic {
	n := sizeOf(a)
	for _, size := range []struct {
		n, limit int
		text     string
	}{
		{n.nodes, limits.ExpressionNodes, "has %d nodes"},
		{n.comprehensions, limits.Comprehensions, "has %d comprehensions"},
		{n.empty, limits.EmptyLiterals, "has %d empty lists and maps"},
		{n.loops, limits.ComprehensionNesting, "nests %d comprehensions"},
		{n.binds, limits.BindNesting, "nests %d cel.bind"},
	} {
		if size.n > size.limit {
			return s.wrong(size.text+", over the limit of %d: %s", size.n, size.limit, e.shorten)
		}
	}
	if checkingCost(a.Expr()) > limits.ExpressionCheckingCost {
		return s.wrong("has local variables that expand too much, "+
			"because each use of a variable counts everything in it: %s", e.shorten)
	}
	return nil
}

// isBind reports whether a comprehension is the expansion of cel.bind, optMap or optFlatMap: a fold
// over an empty list literal.
func isBind(c ast.ComprehensionExpr) bool {
	return c.IterRange().Kind() == ast.ListKind && c.IterRange().AsList().Size() == 0
}
