package expression

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common"
	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/operators"
	"cel.dev/cel-go/common/types"

	"github.com/crossplane-contrib/function-export/internal/engine/diagnostic"
	"github.com/crossplane-contrib/function-export/internal/engine/limits"
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
	WantList                // the list of items: a list
)

// isMap reports whether the result must be a map of texts.
func (w Want) isMap() bool { return w == WantTextMap || w == WantLabels }

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

	// Items says which of the variables of an item the expression sees.
	Items Items

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
	mayLack    map[string]bool // the paths that some part of the expression reads as optional
	programs   sync.Pool       // of *program
}

// Compile returns an expression, or all diagnostics that one pass finds, in the order of their
// positions. It returns only the first syntax error. For a variable that does not exist, Compile
// calls declared, which returns how an expression refers to the declaration with this name, or an
// empty text.
//
// Compile checks the limits on the source before its types, because checking types takes most of
// the time and cannot be interrupted.
func (e *Environment) Compile(s Source, declared ...func(name string) string) (*Expression, diagnostic.List) {
	if n := utf8.RuneCountInString(s.Text); n > limits.ExpressionCharacters {
		wrong := s.wrong("has %d characters, over the limit of %d: %s", n, limits.ExpressionCharacters, e.shorten)
		return nil, diagnostic.List{wrong}
	}
	checked, wrong := e.compile(s, declared)
	if len(wrong) > 0 || minusOfObject(checked) > 0 {
		if names := e.dashes(s, declared); len(names) > 0 {
			return nil, names
		}
	}
	if len(wrong) > 0 {
		return nil, wrong
	}
	x := e.expression(s, checked)
	if wrong := x.checkItems(); len(wrong) > 0 {
		return nil, wrong
	}
	if s.Want.isMap() {
		untyped := &typeCheck{Typing{Objects: noObjects{}}, checked.NativeRep(), e, s, newScript(s.Text), nil}
		if wrong := untyped.refused(untyped.root().entries()); len(wrong) > 0 {
			return nil, wrong
		}
	}
	if wrong := x.checkResult(); len(wrong) > 0 {
		return nil, wrong
	}
	return x.plan()
}

// checkResult refuses a result of another type than the one that is wanted.
func (x *Expression) checkResult() diagnostic.List {
	s, checked := x.source, x.checked
	msg := s.Want.refusal(checked.OutputType(), x.env.several)
	if msg == "" {
		return nil
	}
	if root := checked.NativeRep().Expr(); isCall(root, operators.LogicalAnd) || isCall(root, operators.LogicalOr) {
		msg = strings.ReplaceAll(msg, ": wrap", ": write condition ? one : other, or wrap")
	} else if isHash(root) {
		msg = strings.ReplaceAll(msg, stringHint, hashHint)
	}
	if name := numberedName(s, checked.NativeRep()); name != "" {
		msg += ", or write " + name + " if - is a part of the name"
	}
	if wrong := s.wrongSum(checked.NativeRep(), msg); wrong != nil {
		return wrong
	}
	if s.Note != "" {
		msg += " (" + s.Note + ")"
	}
	return diagnostic.List{s.wrongAt(1, 1, msg)}
}

// compile parses and checks a source.
func (e *Environment) compile(s Source, declared []func(string) string) (*cel.Ast, diagnostic.List) {
	parsed, iss := e.env.ParseSource(common.NewStringSource(s.Text, s.Path))
	if len(iss.Errors()) > 0 { // printing all errors, as Err does, takes longer than finding them
		return nil, diagnostic.List{syntaxDiagnostic(s, sortedErrors(iss.Errors())[0])}
	}
	if d := e.checkSize(s, parsed.NativeRep()); d != nil {
		return nil, diagnostic.List{d}
	}
	orderRanges(parsed.NativeRep())
	checked, iss := e.env.Check(parsed)
	if len(iss.Errors()) > 0 {
		return nil, e.diagnose(s, iss.Errors(), declared)
	}
	if wrong := append(e.checkOptionals(s, checked.NativeRep()), e.checkShapes(s, checked.NativeRep())...); len(wrong) > 0 {
		return nil, wrong
	}
	return checked, nil
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

// expression returns an expression that has no program yet.
func (e *Environment) expression(s Source, checked *cel.Ast) *Expression {
	x := &Expression{source: s, env: e, checked: checked, ast: checked.NativeRep()}
	x.references, x.byNode, x.mayLack = findReferences(x.ast), map[int64][]int{}, map[string]bool{}
	x.needs()
	for i, r := range x.references {
		x.byNode[r.node] = append(x.byNode[r.node], i)
	}
	return x
}

// plan a program now, so that a failure is a diagnostic of the input.
func (x *Expression) plan() (*Expression, diagnostic.List) {
	x.programs.New = func() any {
		p, err := x.env.guards.program(x.env.env, x.checked)
		if err != nil {
			return err
		}
		return p
	}
	p := x.programs.Get()
	if _, failed := p.(error); failed {
		return nil, diagnostic.List{x.source.wrong("cannot be planned: the CEL compiler failed on it")}
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

// refusal returns a message about a static result type, or an empty text. several is the hint for
// several keys.
func (w Want) refusal(t *cel.Type, several string) string {
	t = withoutOptional(t)
	want, hint := w.refuse(t, several)
	if want == "" {
		return ""
	}
	return mustReturn(want, cel.FormatCELType(t)) + hint
}

// mustReturn returns the message that a result has another type than the one that is wanted.
func mustReturn(want, returned string) string {
	return fmt.Sprintf("must return %s, but returns %s", want, withArticle(returned))
}

// refuse returns what is wanted instead of a static type, and a hint. Both are empty for a type that is accepted.
func (w Want) refuse(t *cel.Type, several string) (want, hint string) {
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
		ok = !isKind(t, types.BytesKind, types.DurationKind, types.TimestampKind, types.TypeKind, types.OpaqueKind) &&
			opaqueHint(t) == ""
	case WantBool:
		want, hint, ok = "true or false", ": compare it with something", ok || isKind(t, types.BoolKind)
	case WantList:
		want, hint, ok = "a list", listHint(t), ok || isKind(t, types.ListKind)
	}
	if ok {
		return "", ""
	}
	return want, hint
}

// wrongSum explains the message about a sum that must be a text, but is a number. It returns nil for all others.
func (s Source) wrongSum(checked *ast.AST, message string) diagnostic.List {
	number := addedNumber(checked)
	if number == nil || !strings.HasSuffix(message, stringHint) {
		return nil
	}
	l, of := checked.SourceInfo().GetStartLocation(number.ID()), cel.FormatCELType(checked.GetType(number.ID()))
	return diagnostic.List{s.wrongAt(l.Line(), l.Column()+1, fmt.Sprintf("must return a string, but the sum with this %s "+
		"is a number: wrap the %s in string(...) to add it to a text, or the whole sum", of, of))}
}

// addedNumber returns the number that an expression adds to a value of an unknown type, which is probably a text,
// or nil.
func addedNumber(checked *ast.AST) ast.Expr {
	root := checked.Expr()
	if !isCall(root, operators.Add) {
		return nil
	}
	a, b := root.AsCall().Args()[0], root.AsCall().Args()[1]
	if isKind(checked.GetType(b.ID()), types.DynKind) {
		a, b = b, a
	}
	number := isKind(checked.GetType(b.ID()), types.IntKind, types.DoubleKind)
	if !number || !isKind(checked.GetType(a.ID()), types.DynKind) {
		return nil
	}
	return b
}

// numberedName returns the name that may be meant by a subtraction such as environment.zone-1, or an empty text.
func numberedName(s Source, checked *ast.AST) string {
	root := checked.Expr()
	if !isCall(root, operators.Subtract) || root.AsCall().Args()[1].Kind() != ast.LiteralKind {
		return ""
	}
	c := newScript(s.Text)
	l := checked.SourceInfo().GetStartLocation(root.AsCall().Args()[0].ID())
	path := c.pathAt(c.offset(l.Line(), l.Column()))
	m, number := stepAtEnd.FindStringSubmatch(path), root.AsCall().Args()[1].AsLiteral().Value()
	if m == nil || m[1] == "" || !strings.Contains(s.Text, fmt.Sprintf("%s-%v", m[1], number)) {
		return ""
	}
	return fmt.Sprintf("%s['%s-%v']", strings.TrimSuffix(path, m[0]), m[1], number)
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

// The hints for a value, and for a map, that is not text.
const (
	stringHint = ": wrap it in string(...)"
	valuesHint = ": wrap its values in string(...)"
)

// conversionHint returns how to convert a value of type t to a string.
func conversionHint(t *cel.Type, several string) string {
	switch t.Kind() { //nolint:exhaustive // no hint for all others
	case types.IntKind, types.UintKind, types.DoubleKind, types.BoolKind, types.BytesKind,
		types.TimestampKind, types.DurationKind:
		return stringHint
	case types.ListKind:
		return ": join it with .join(',') or json.encode(...)"
	case types.MapKind:
		return ": select one of its keys, " + several + "or encode it as one text with json.encode(...)"
	case types.NullTypeKind:
		return ": write '' for an empty text, or optional.none() with optional: true for no value"
	}
	return opaqueHint(t)
}

// listHint returns how to make a list of a value of type t.
func listHint(t *cel.Type) string {
	switch {
	case isKind(t, types.MapKind):
		return ": write value.map(k, {'name': k, 'value': value[k]}) for a list of its entries"
	case isKind(t, types.StringKind):
		return ": split it with .split(','), or write [ ] around it"
	}
	return ": write [ ] around it for a list of one item"
}

// mapHint returns how to convert a map to a map of strings.
func mapHint(t *cel.Type) string {
	if isKind(t, types.MapKind) && len(t.Parameters()) == 2 {
		if !isKind(t.Parameters()[0], types.StringKind, types.DynKind) {
			return ": write its keys in quotes"
		}
		return valuesHint
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
