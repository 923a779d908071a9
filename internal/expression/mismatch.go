package expression

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/checker"
	"github.com/google/cel-go/common"
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/decls"
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/types"

	"github.com/crossplane-contrib/function-export/internal/suggest"
)

// noObjects are no object types: of no variable more is known than what it is
// declared as.
type noObjects struct{}

func (noObjects) Has(string) bool                          { return false }
func (noObjects) Field(string, string) (*types.Type, bool) { return nil, false }
func (noObjects) Lacks(string, string) string              { return "" }

// mismatches says in words what CEL's checker says in those of its signatures. It is
// empty if it finds nothing.
func (e *Environment) mismatches(s Source) []Fault {
	parsed, iss := e.env.ParseSource(common.NewStringSource(s.Text, s.Path))
	if iss.Err() != nil {
		return nil
	}
	env, err := e.checker(Typing{Objects: noObjects{}})
	if err != nil {
		return nil
	}
	checked, errs := checker.Check(parsed.NativeRep(), common.NewStringSource(s.Text, s.Path), env)
	m := mismatch{typeCheck{Typing{Objects: noObjects{}}, checked}, e, map[int64]bool{}}
	text := newScript(s.Text)
	var out []Fault
	for _, err := range sortedErrors(errs.GetErrors()) {
		message := m.explain(err)
		if message == "" {
			continue
		}
		line, column := text.position(text.nameBefore(text.offset(err.Location.Line(), err.Location.Column())))
		f := Fault{Path: fmt.Sprintf("%s:%d:%d", s.Path, line, column), Message: message, Unknown: m.unknown(err)}
		if !slices.Contains(out, f) {
			out = append(out, f)
		}
	}
	return out
}

// nameBefore is where the name of a function begins whose bracket is at an offset.
func (c *script) nameBefore(at int) int {
	if at >= len(c.runes) || c.runes[at] != '(' {
		return at
	}
	begin := at
	for begin > 0 && isWord(c.runes[begin-1]) {
		begin--
	}
	return begin
}

// lengths are what others call the size of a value.
var lengths = []string{"length", "size", "len"} //nolint:gochecknoglobals // a table

// A mismatch is one way through the errors of the checker.
type mismatch struct {
	typeCheck

	env  *Environment
	told map[int64]bool // nodes of which enough was said
}

func (m mismatch) explain(err *cel.Error) string {
	e := m.node(err.ExprID)
	if e == nil {
		return m.asSaid(err)
	}
	if name, ok := strings.CutPrefix(err.Message, "undeclared reference to '"); ok {
		name, _, _ = strings.Cut(name, "'")
		if e.Kind() == ast.CallKind {
			return m.noFunction(name)
		}
		return m.noVariable(name, m.parent(e.ID()))
	}
	if parent := m.parent(e.ID()); strings.HasPrefix(err.Message, "expected type 'bool'") && parent != nil && isCall(parent, operators.LogicalOr) {
		if m.told[parent.ID()] {
			return ""
		}
		m.told[parent.ID()] = true
		return fmt.Sprintf("|| takes true or false, but this is %s: for a default write for example secret.?host.orValue('none')", withArticle(m.typeText(m.GetType(e.ID()))))
	}
	if operand, field, ok := selection(e); ok && slices.Contains(lengths, field) && isKind(m.GetType(operand.ID()), types.StringKind, types.ListKind) {
		return fmt.Sprintf("%s has no field %s: write size(...) around it", withArticle(m.typeText(m.GetType(operand.ID()))), field)
	}
	if e.Kind() == ast.CallKind && strings.HasPrefix(err.Message, "found no matching overload") {
		if message := m.explainOverload(e.AsCall()); message != "" {
			return message
		}
	}
	if message := m.typeCheck.explain(err); message != "" {
		return message
	}
	return m.asSaid(err)
}

// unknown is the name of a variable that there is not, if that is the error.
func (m mismatch) unknown(err *cel.Error) string {
	if e := m.node(err.ExprID); e != nil && e.Kind() == ast.IdentKind && strings.HasPrefix(err.Message, "undeclared reference") {
		return e.AsIdent()
	}
	return ""
}

func (m mismatch) asSaid(err *cel.Error) string {
	return strings.Join(strings.Fields(strings.TrimSuffix(err.Message, " (in container '')")), " ")
}

func isCall(e ast.Expr, fn string) bool {
	return e.Kind() == ast.CallKind && e.AsCall().FunctionName() == fn
}

// parent of a node, or nil.
func (m mismatch) parent(id int64) (found ast.Expr) {
	is := func(e ast.Expr) bool { return e.ID() == id }
	ast.PostOrderVisit(m.Expr(), ast.NewExprVisitor(func(e ast.Expr) {
		switch e.Kind() { //nolint:exhaustive // of those that a mend is known for
		case ast.CallKind:
			if slices.ContainsFunc(e.AsCall().Args(), is) || e.AsCall().IsMemberFunction() && is(e.AsCall().Target()) {
				found = e
			}
		case ast.SelectKind:
			if is(e.AsSelect().Operand()) {
				found = e
			}
		}
	}))
	return found
}

// operands are the types of what a call takes, its target in front.
func (m mismatch) operands(call ast.CallExpr) []*types.Type {
	var out []*types.Type
	if call.IsMemberFunction() {
		out = append(out, m.GetType(call.Target().ID()))
	}
	for _, a := range call.Args() {
		out = append(out, m.GetType(a.ID()))
	}
	return out
}

// explainOverload says what a call lacks. It is empty if the operands are all that is
// wrong, and no mend is known.
func (m mismatch) explainOverload(call ast.CallExpr) string {
	fn, have := call.FunctionName(), m.operands(call)
	declared := m.env.env.Functions()[fn]
	if declared == nil {
		return ""
	}
	if fn == "format" && call.IsMemberFunction() && (len(call.Args()) != 1 || !isKind(have[1], types.ListKind, types.DynKind)) {
		return "format takes one list: write .format([...]) around its values"
	}
	if fn == operators.Index && isKind(have[0], types.ListKind) {
		return fmt.Sprintf("an element of a list has a number, but this is %s: write for example [0]", withArticle(m.typeText(have[1])))
	}
	if fn == operators.LogicalNot {
		return fmt.Sprintf("! takes true or false, but this is %s: compare it with something", withArticle(m.typeText(have[0])))
	}
	if fn == operators.Modulo && isKind(have[0], types.StringKind) {
		return "% divides numbers: write '%s'.format([...]) to put values into a text"
	}
	overloads := declared.OverloadDecls()
	sameForm := slices.DeleteFunc(slices.Clone(overloads), func(o *decls.OverloadDecl) bool { return o.IsMemberFunction() != call.IsMemberFunction() })
	if isOperator(fn) {
		sameForm = overloads
	}
	switch counts := argumentCounts(sameForm); {
	case len(sameForm) == 0 && call.IsMemberFunction():
		return fmt.Sprintf("%s stands behind nothing: write %s(...) around the value", fn, fn)
	case len(sameForm) == 0:
		return fmt.Sprintf("%s stands behind its value: write value.%s(...)", fn, fn)
	case !slices.Contains(counts, len(call.Args())) && !isOperator(fn):
		return fmt.Sprintf("%s takes %s in its brackets, but there %s", fn, countText(counts), areText(len(call.Args())))
	}
	message := m.explainCall(call)
	if message == "" || strings.Contains(message, ": ") {
		return message
	}
	return message + conversion(sameForm, have)
}

func isOperator(fn string) bool { return strings.ContainsAny(fn[:1], "_@!-") }

// argumentCounts are how many arguments there can be, in order.
func argumentCounts(overloads []*decls.OverloadDecl) []int {
	var out []int
	for _, o := range overloads {
		n := len(o.ArgTypes())
		if o.IsMemberFunction() {
			n--
		}
		if !slices.Contains(out, n) {
			out = append(out, n)
		}
	}
	slices.Sort(out)
	return out
}

func countText(counts []int) string {
	words := make([]string, 0, len(counts))
	for _, n := range counts {
		words = append(words, fmt.Sprint(n))
	}
	last := len(words) - 1
	noun := " arguments"
	if counts[last] == 1 {
		noun = " argument"
	}
	if last == 0 {
		return words[0] + noun
	}
	return strings.Join(words[:last], ", ") + " or " + words[last] + noun
}

func areText(n int) string {
	if n == 1 {
		return "is 1"
	}
	return fmt.Sprintf("are %d", n)
}

// conversion is a mend of a call that takes all operands but one.
func conversion(overloads []*decls.OverloadDecl, have []*types.Type) string {
	overloads = slices.Clone(overloads)
	slices.SortStableFunc(overloads, func(a, b *decls.OverloadDecl) int { // text first
		return cmp.Compare(b2i(isKind(b.ResultType(), types.StringKind)), b2i(isKind(a.ResultType(), types.StringKind)))
	})
	for _, o := range overloads {
		var wrong []int
		if want := o.ArgTypes(); len(want) == len(have) {
			for i := range want {
				if !want[i].IsAssignableType(have[i]) && !isKind(want[i], types.TypeParamKind, types.DynKind) && !isKind(have[i], types.DynKind, types.ErrorKind) {
					wrong = append(wrong, i)
				}
			}
		}
		if len(wrong) != 1 {
			continue
		}
		from, to := have[wrong[0]], o.ArgTypes()[wrong[0]]
		scalar := isKind(from, types.IntKind, types.UintKind, types.DoubleKind, types.BoolKind, types.BytesKind, types.StringKind)
		switch {
		case !scalar:
		case isKind(to, types.StringKind, types.BytesKind) && !(isKind(to, types.BytesKind) && !isKind(from, types.StringKind)), isKind(to, types.IntKind, types.DoubleKind) && isKind(from, types.StringKind):
			return fmt.Sprintf(": wrap the %s in %s(...)", cel.FormatCELType(from), cel.FormatCELType(to))
		case isKind(to, types.ListKind):
			return fmt.Sprintf(": write [ ] around the %s", cel.FormatCELType(from))
		}
	}
	return ""
}

func b2i(b bool) int {
	if b {
		return 1
	}
	return 0
}

// What others call variables that have another name here.
var foreignVariables = map[string]string{ //nolint:gochecknoglobals // a table
	"xr": Composite, "oxr": Composite, "dxr": Composite, "claim": Composite, "observed": Resources, "ocds": Resources, "desired": Resources,
	"env": Env, "connection": Secret, "connectiondetails": Secret, "this": Resource, "it": Resource,
	"spec": Composite + ".spec", "metadata": Composite + ".metadata", "status": Resource + ".status",
}

// noVariable says that there is no variable of a name, and which was meant. parent is
// what it stands in, or nil.
func (m mismatch) noVariable(name string, parent ast.Expr) string {
	text := fmt.Sprintf("there is no variable %s", name)
	var names []string
	for _, v := range m.env.env.Variables() {
		if !isType(v) {
			names = append(names, v.Name())
		}
	}
	slices.Sort(names)
	list := "there are " + strings.Join(names, ", ")
	if len(names) == 1 {
		list = "there is only " + names[0]
	}
	if isInput(strings.TrimLeft(name, ".")) || name == Generation || name == Variables {
		return fmt.Sprintf("%s here: %s", text, list)
	}
	if meant := suggest.Nearest(name, names); meant != "" {
		return text + suggest.DidYouMean(meant)
	}
	if meant, ok := foreignVariables[strings.ToLower(strings.TrimLeft(name, "."))]; ok && slices.Contains(names, strings.Split(meant, ".")[0]) {
		return text + suggest.DidYouMean(meant)
	}
	switch {
	case parent != nil && parent.Kind() == ast.SelectKind && slices.Contains(names, Resources):
		return fmt.Sprintf("%s: %s; a composed resource is resources.%s", text, list, strings.TrimLeft(name, "."))
	case len(names) > 1 && (parent == nil || isCall(parent, operators.Add)):
		return text + ": write text in quotes of its own, as in \"'some text'\""
	}
	return text + ": " + list
}

// isType reports whether a declared name is that of a type, such as int.
func isType(v *decls.VariableDecl) bool { return v.Type().Kind() == types.TypeKind || v.Value() != nil }

// What is called another way in other languages, in lower case and without _.
var foreignFunctions = map[string]string{ //nolint:gochecknoglobals // a table
	"len": "write size(value)", "length": "write size(value)", "count": "write size(value)",
	"tostring": "write string(value)", "str": "write string(value)", "quote": "write string(value)",
	"toint": "write int(value)", "parseint": "write int(value)", "atoi": "write int(value)", "integer": "write int(value)",
	"float": "write double(value)", "tofloat": "write double(value)", "parsefloat": "write double(value)", "tobool": "write bool(value)",
	"lower": "write text.lowerAscii()", "tolower": "write text.lowerAscii()", "tolowercase": "write text.lowerAscii()", "downcase": "write text.lowerAscii()",
	"upper": "write text.upperAscii()", "toupper": "write text.upperAscii()", "touppercase": "write text.upperAscii()", "upcase": "write text.upperAscii()",
	"b64enc": "write base64.encode(bytes(text))", "base64encode": "write base64.encode(bytes(text))", "tobase64": "write base64.encode(bytes(text))", "base64": "write base64.encode(bytes(text))",
	"b64dec": "write string(base64.decode(text))", "base64decode": "write string(base64.decode(text))", "frombase64": "write string(base64.decode(text))",
	"printf": "write '%s:%s'.format([a, b])", "sprintf": "write '%s:%s'.format([a, b])", "format": "write '%s:%s'.format([a, b])", "fmt": "write '%s:%s'.format([a, b])",
	"tojson": "write json.encode(value)", "jsonencode": "write json.encode(value)", "fromjson": "write json.decode(text)", "jsondecode": "write json.decode(text)", "parsejson": "write json.decode(text)",
	"toyaml": "write yaml.encode(value)", "yamlencode": "write yaml.encode(value)", "fromyaml": "write yaml.decode(text)", "yamldecode": "write yaml.decode(text)",
	"default": "write for example secret.?host.orValue('none')", "coalesce": "write for example secret.?host.orValue('none')", "getordefault": "write for example secret.?host.orValue('none')", "get": "write for example secret.?host.orValue('none')",
	"urlquery": "write url.queryEscape(text)", "urlencode": "write url.queryEscape(text)", "encodeuricomponent": "write url.queryEscape(text)",
	"sha256sum": "write sha256(text)", "concat": "write a + b", "append": "write list + [value]", "includes": "write value in list, or text.contains(part)",
	"strip": "write text.trim()", "trimspace": "write text.trim()", "hasprefix": "write text.startsWith(part)", "hassuffix": "write text.endsWith(part)",
	"replaceall": "write text.replace(old, new)", "regexmatch": "write text.matches(pattern)", "substr": "write text.substring(start, end)", "first": "write list[0]",
	"tern": "write condition ? one : other", "ternary": "write condition ? one : other", "iff": "write condition ? one : other",
	"typeof": "write type(value)", "now": "there is no clock, for the same input gives the same output", "random": "put it under generators", "uuid": "put it under generators", "uuidv4": "put it under generators", "randalphanum": "put it under generators",
	"lookup": "put the object under sources", "keys": "a map is walked by its keys, as in map.map(key, key)",
}

// macroForm says how a macro is written.
func macroForm(name string) string {
	switch name {
	case "has":
		return "has takes one field: write for example has(resource.status.host)"
	case "bind":
		return "bind takes a name, a value and what becomes of it: write for example cel.bind(x, secret.host, x + ':' + x)"
	}
	return fmt.Sprintf("%s takes a name for each element and what becomes of it: write for example list.%s(x, x.name)", name, name)
}

// noFunction says that there is no function of a name, and which was meant.
func (m mismatch) noFunction(name string) string {
	text := fmt.Sprintf("there is no function %s", name)
	last := name[strings.LastIndexByte(name, '.')+1:]
	if mend, ok := foreignFunctions[strings.ToLower(strings.ReplaceAll(last, "_", ""))]; ok {
		return text + ": " + mend
	}
	var names, namespaced []string
	for fn := range m.env.env.Functions() {
		if isOperator(fn) || strings.Contains(fn, "@") {
			continue
		}
		names = append(names, fn)
		if strings.HasSuffix(fn, "."+last) {
			namespaced = append(namespaced, fn)
		}
	}
	for _, macro := range m.env.env.Macros() {
		if macro.Function() == last {
			return macroForm(last)
		}
		names = append(names, macro.Function())
	}
	slices.Sort(names)
	slices.Sort(namespaced)
	if meant := suggest.Nearest(name, names); meant != "" {
		return text + suggest.DidYouMean(meant)
	}
	if len(namespaced) > 0 {
		return text + suggest.DidYouMean(strings.Join(namespaced, " or "))
	}
	return text + ": the README lists those that there are"
}
