package expression

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common"
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/decls"
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/types"

	"github.com/crossplane-contrib/function-export/internal/diagnostic"
	"github.com/crossplane-contrib/function-export/internal/limits"
	"github.com/crossplane-contrib/function-export/internal/suggest"
)

// diagnose returns diagnostics for the errors of CEL's checker. It checks the source again, because
// the checker does not keep the types of a tree that it refuses.
func (e *Environment) diagnose(s Source, errs []*cel.Error, declared []func(string) string) diagnostic.List {
	parsed, iss := e.env.ParseSource(common.NewStringSource(s.Text, s.Path))
	if iss.Err() != nil {
		return diagnostic.List{s.wrong("cannot be compiled: the CEL compiler failed on it")}
	}
	meant := meantName(parsed.NativeRep())
	var out diagnostic.List
	var nodes []ast.Expr // that the diagnostics are about
	add := func(d *diagnostic.Diagnostic, node ast.Expr) {
		if !slices.ContainsFunc(out, func(o *diagnostic.Diagnostic) bool { return *o == *d }) {
			out, nodes = append(out, d), append(nodes, node)
		}
	}
	if len(s.Text) <= limits.ExplainedCharacters {
		c, errs := e.check(s, parsed.NativeRep(), Typing{Objects: noObjects{}})
		m := mismatch{c, declared, map[int64]bool{}}
		for _, err := range errs {
			if message := m.explain(err); message != "" {
				add(c.at(err, message), c.nodes[err.ExprID])
			}
		}
	}
	if len(out) == 0 {
		for _, err := range sortedErrors(errs) {
			d := s.wrong("%s", explainCEL(err.Message))
			if err.Location.Line() > 0 {
				d.Line, d.Column = err.Location.Line(), err.Location.Column()+1
			}
			add(d, nil)
		}
	}
	switch {
	case meant == "":
	case nodes[0] == nil || !isCall(nodes[0], operators.Subtract):
		out[0].Message += suggest.DidYouMean(meant)
	default:
		out[0].Message = "- is the minus operator here" + suggest.DidYouMean(meant)
		if len(nodes) > 1 && nodes[1] != nil && nodes[1].Kind() == ast.IdentKind {
			out = slices.Delete(out, 1, 2) // the name after the dash
		}
	}
	return out
}

// meantName guesses the name that is meant in a source that does not compile: a dash or a dot in a
// name is an operator of CEL. It returns an empty text if there is no such name.
func meantName(a *ast.AST) (meant string) {
	ast.PostOrderVisit(a.Expr(), ast.NewExprVisitor(func(e ast.Expr) {
		switch {
		case meant != "":
		case isCall(e, operators.Subtract):
			meant = dashed(e.AsCall().Args())
		case e.Kind() == ast.SelectKind:
			meant = dotted(selected(e))
		}
	}))
	return meant
}

// dashed guesses the meaning of secrets.my-db.password, which CEL parses as secrets.my minus
// db.password.
func dashed(operands []ast.Expr) string {
	before := operands[0]
	for isCall(before, operators.Add) {
		before = before.AsCall().Args()[1] // 'x' + secrets.my is one operand
	}
	left, right := selected(before), selected(operands[1])
	if len(left) < 2 || len(right) == 0 || !slices.Contains(inputs, left[0]) {
		return ""
	}
	last := len(left) - 1
	return PathText(left[0], slices.Concat(left[1:last], []string{left[last] + "-" + right[0]}, right[1:])...)
}

// dotted guesses the meaning of secrets.db.ca.crt, which CEL parses as the field crt of a string.
func dotted(path []string) string {
	if len(path) == 0 {
		return ""
	}
	n, ok := map[string]int{Secret: 1, Secrets: 2, Generated: 2, Previous: 2}[path[0]]
	if !ok || len(path) != n+2 || slices.Contains(lengths, path[n+1]) {
		return ""
	}
	return PathText(path[0], append(path[1:n:n], strings.Join(path[n:], "."))...)
}

// selected returns the names in a chain of plain selections that begins with a variable. It returns
// nil for all other nodes.
func selected(e ast.Expr) []string {
	switch e.Kind() { //nolint:exhaustive // all others are no selections
	case ast.IdentKind:
		return []string{e.AsIdent()}
	case ast.SelectKind:
		if path := selected(e.AsSelect().Operand()); path != nil && !e.AsSelect().IsTestOnly() {
			return append(path, e.AsSelect().FieldName())
		}
	}
	return nil
}

// inputs are the variables that contain observed data.
var inputs = []string{ //nolint:gochecknoglobals // a table
	Secret, Secrets, Resource, Self, Resources, Sources, Composite, Env, Context, Generated, Previous,
}

// lengths are the names of the size of a value in other languages.
var lengths = []string{"length", "size", "len"} //nolint:gochecknoglobals // a table

// A mismatch explains the errors of the checker in a source that does not compile.
type mismatch struct {
	*typeCheck

	declared []func(string) string
	told     map[int64]bool // nodes that are already explained
}

func (m mismatch) explain(err *cel.Error) string {
	e := m.nodes[err.ExprID]
	if e == nil {
		return explainCEL(err.Message)
	}
	parent, _ := e.Parent()
	operand, field, selects := selection(e)
	switch {
	case selects && slices.Contains(lengths, field) && isKind(m.typeOf(operand), types.StringKind, types.ListKind):
		return fmt.Sprintf("%s has no field %s: write size(...) around it", m.aType(m.typeOf(operand)), field)
	case m.isPlaceError(e):
		if parent == nil || !isCall(parent, operators.LogicalOr) {
			break
		}
		if m.told[parent.ID()] {
			return ""
		}
		m.told[parent.ID()] = true
		return fmt.Sprintf("|| takes true or false, but this is %s: for a default write for example %s",
			m.aType(m.typeOf(e)), forDefault)
	case e.Kind() == ast.IdentKind:
		return m.noVariable(e.AsIdent(), parent)
	case e.Kind() == ast.CallKind && m.env.env.Functions()[e.AsCall().FunctionName()] == nil:
		return m.noFunction(e.AsCall().FunctionName())
	case e.Kind() == ast.CallKind:
		if message := m.explainOverload(e.AsCall()); message != "" {
			return message
		}
	}
	return cmp.Or(m.typeCheck.explain(err), explainCEL(err.Message))
}

const forDefault = "secret.?host.orValue('none')"

func isCall(e ast.Expr, fn string) bool {
	return e.Kind() == ast.CallKind && e.AsCall().FunctionName() == fn
}

// explainOverload returns a message about the form of a call or its operands.
func (m mismatch) explainOverload(call ast.CallExpr) string {
	fn, have := call.FunctionName(), m.typesOf(operandsOf(call))
	switch {
	case fn == "format" && call.IsMemberFunction() &&
		(len(call.Args()) != 1 || !isKind(have[1], types.ListKind, types.DynKind)):
		return "format takes one list: write .format([...]) around its values"
	case fn == operators.Index && isKind(have[0], types.ListKind):
		return fmt.Sprintf("the index of a list must be a number, but this is %s: write for example [0]", m.aType(have[1]))
	case fn == operators.LogicalNot:
		return fmt.Sprintf("! takes true or false, but this is %s: compare it with something", m.aType(have[0]))
	case fn == operators.Modulo && isKind(have[0], types.StringKind):
		return "% divides numbers: write '%s'.format([...]) to put values into a text"
	}
	overloads := m.env.env.Functions()[fn].OverloadDecls()
	if !isOperator(fn) {
		overloads = slices.DeleteFunc(slices.Clone(overloads), func(o *decls.OverloadDecl) bool {
			return o.IsMemberFunction() != call.IsMemberFunction()
		})
		if message := explainForm(call, argumentCounts(overloads)); message != "" {
			return message
		}
	}
	message := m.explainCall(call)
	if message == "" || strings.Contains(message, ": ") {
		return message
	}
	return message + conversion(overloads, have)
}

// explainForm returns a message if a call has the wrong form or the wrong number of arguments. counts
// are the numbers of arguments that the function takes in this form.
func explainForm(call ast.CallExpr, counts []int) string {
	fn, n := call.FunctionName(), len(call.Args())
	switch {
	case len(counts) == 0 && call.IsMemberFunction():
		return fmt.Sprintf("%s is a function, not a method: write %s(...) around the value", fn, fn)
	case len(counts) == 0:
		return fmt.Sprintf("%s is a method: write value.%s(...)", fn, fn)
	case slices.Contains(counts, n):
		return ""
	case n == 1:
		return fmt.Sprintf("%s takes %s in its parentheses, but has 1", fn, countText(counts))
	}
	return fmt.Sprintf("%s takes %s in its parentheses, but has %d", fn, countText(counts), n)
}

func isOperator(fn string) bool { return strings.ContainsAny(fn[:1], "_@!-") }

// argumentCounts returns the possible numbers of arguments, in order.
func argumentCounts(overloads []*decls.OverloadDecl) (counts []int) {
	for _, o := range overloads {
		n := len(o.ArgTypes())
		if o.IsMemberFunction() {
			n--
		}
		counts = append(counts, n)
	}
	slices.Sort(counts)
	return slices.Compact(counts)
}

func countText(counts []int) string {
	text := strings.ReplaceAll(strings.Trim(fmt.Sprint(counts), "[]"), " ", ", ")
	if i := strings.LastIndex(text, ", "); i >= 0 {
		text = text[:i] + " or " + text[i+len(", "):]
	}
	if counts[len(counts)-1] == 1 {
		return text + " argument"
	}
	return text + " arguments"
}

// conversion returns a hint for a call that accepts all operands except one.
func conversion(overloads []*decls.OverloadDecl, have []*types.Type) string {
	for _, toText := range []bool{true, false} { // overloads that return a text are more likely
		for _, o := range overloads {
			if isKind(o.ResultType(), types.StringKind) != toText || len(o.ArgTypes()) != len(have) {
				continue
			}
			var wrong []int
			for i, want := range o.ArgTypes() {
				if !want.IsAssignableType(have[i]) && !isKind(want, types.TypeParamKind, types.DynKind) &&
					!isKind(have[i], types.DynKind, types.ErrorKind) {
					wrong = append(wrong, i)
				}
			}
			if len(wrong) == 1 {
				if hint := conversionOf(have[wrong[0]], o.ArgTypes()[wrong[0]]); hint != "" {
					return hint
				}
			}
		}
	}
	return ""
}

// conversionOf returns a hint how to convert a scalar to another type, or an empty text.
func conversionOf(from, to *types.Type) string {
	text := isKind(from, types.StringKind)
	switch {
	case !text && !isKind(from, types.IntKind, types.UintKind, types.DoubleKind, types.BoolKind, types.BytesKind):
		return ""
	case isKind(to, types.StringKind), text && isKind(to, types.BytesKind, types.IntKind, types.DoubleKind):
		return fmt.Sprintf(": wrap the %s in %s(...)", cel.FormatCELType(from), cel.FormatCELType(to))
	case isKind(to, types.ListKind):
		return fmt.Sprintf(": write [ ] around the %s", cel.FormatCELType(from))
	}
	return ""
}

// Names of variables in other tools, with their names here.
var foreignVariables = map[string]string{ //nolint:gochecknoglobals // a table
	"xr": Composite, "oxr": Composite, "dxr": Composite, "claim": Composite,
	"observed": Resources, "ocds": Resources, "desired": Resources, "this": Resource, "it": Resource,
	"env": Env, "connection": Secret, "connectiondetails": Secret,
	"spec": Composite + ".spec", "metadata": Composite + ".metadata", "status": Resource + ".status",
}

// noVariable returns the message for a variable that does not exist, and suggests another one. parent
// is the node that contains the variable, or nil.
func (m mismatch) noVariable(name string, parent ast.NavigableExpr) string {
	text := fmt.Sprintf("there is no variable %s", name)
	for _, spelling := range m.declared {
		if meant := spelling(name); meant != "" {
			return fmt.Sprintf("%s: write %s", text, meant)
		}
	}
	names, list := m.env.variables()
	local := strings.TrimLeft(name, ".")
	if slices.Contains(inputs, local) || name == Generation || name == Variables {
		return fmt.Sprintf("%s here: %s", text, list)
	}
	meant := suggest.Nearest(name, names)
	if foreign := foreignVariables[strings.ToLower(local)]; meant == "" &&
		slices.Contains(names, strings.Split(foreign, ".")[0]) {
		meant = foreign
	}
	switch {
	case meant != "":
		return text + suggest.DidYouMean(meant)
	case parent != nil && parent.Kind() == ast.SelectKind && slices.Contains(names, Resources):
		return fmt.Sprintf("%s: %s; a composed resource is resources.%s", text, list, local)
	case len(names) > 1 && (parent == nil || isCall(parent, operators.Add)):
		return text + ": write " + textInQuotes + "\"'some text'\""
	}
	return text + ": " + list
}

// variables returns the names of all variables, sorted, and a text that lists them.
func (e *Environment) variables() (names []string, text string) {
	for _, v := range e.env.Variables() {
		if v.Type().Kind() != types.TypeKind && v.Value() == nil { // no type, such as int
			names = append(names, v.Name())
		}
	}
	if len(names) == 1 {
		return names, "the only variable is " + names[0]
	}
	slices.Sort(names)
	return names, "the variables are " + strings.Join(names, ", ")
}

// What to write for functions of other languages. Their names are in lower case, without _.
var foreignFunctions = func() map[string]string { //nolint:gochecknoglobals // a table
	out := map[string]string{}
	for hint, names := range map[string]string{
		"write size(value)":                                        "len length count",
		"write string(value)":                                      "tostring str quote",
		"write int(value)":                                         "toint parseint atoi integer",
		"write double(value)":                                      "float tofloat parsefloat",
		"write bool(value)":                                        "tobool",
		"write type(value)":                                        "typeof",
		"write text.lowerAscii()":                                  "lower tolower tolowercase downcase",
		"write text.upperAscii()":                                  "upper toupper touppercase upcase",
		"write text.trim()":                                        "strip trimspace",
		"write text.startsWith(part)":                              "hasprefix",
		"write text.endsWith(part)":                                "hassuffix",
		"write text.replace(old, new)":                             "replaceall",
		"write text.matches(pattern)":                              "regexmatch",
		"write text.substring(start, end)":                         "substr",
		"write '%s:%s'.format([a, b])":                             "printf sprintf format fmt",
		"write base64.encode(bytes(text))":                         "b64enc base64encode tobase64 base64",
		"write string(base64.decode(text))":                        "b64dec base64decode frombase64",
		"write json.encode(value)":                                 "tojson jsonencode",
		"write json.decode(text)":                                  "fromjson jsondecode parsejson",
		"write yaml.encode(value)":                                 "toyaml yamlencode",
		"write yaml.decode(text)":                                  "fromyaml yamldecode",
		"write url.queryEscape(text)":                              "urlquery urlencode encodeuricomponent",
		"write sha256(text)":                                       "sha256sum",
		"write for example " + forDefault:                          "default coalesce getordefault get",
		"write condition ? one : other":                            "tern ternary iff",
		"write a + b":                                              "concat",
		"write list + [value]":                                     "append",
		"write list[0]":                                            "first",
		"write value in list, or text.contains(part)":              "includes",
		"iterate over the map to read its keys: map.map(key, key)": "keys",
		"put it under generators":                                  "random uuid uuidv4 randalphanum",
		"put the object under sources":                             "lookup",
		"expressions have no clock: the same input must always return the same result": "now",
	} {
		for _, name := range strings.Fields(names) {
			out[name] = hint
		}
	}
	return out
}()

// noFunction returns the message for a function that does not exist, and suggests another one.
func (m mismatch) noFunction(name string) string {
	text := fmt.Sprintf("there is no function %s", name)
	last := name[strings.LastIndexByte(name, '.')+1:]
	if hint, ok := foreignFunctions[strings.ToLower(strings.ReplaceAll(last, "_", ""))]; ok {
		return text + ": " + hint
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
	if meant := cmp.Or(suggest.Nearest(name, names), strings.Join(namespaced, " or ")); meant != "" {
		return text + suggest.DidYouMean(meant)
	}
	return text + ": https://github.com/crossplane-contrib/function-export/tree/main/input lists all functions"
}

// macroForm describes the arguments of a macro.
func macroForm(name string) string {
	switch name {
	case "has":
		return "has takes one field: write for example has(resource.status.host)"
	case "bind":
		return "bind takes a name, a value and an expression that uses the name: " +
			"write for example cel.bind(x, secret.host, x + ':' + x)"
	}
	return fmt.Sprintf("%s takes a name for each element and an expression that uses the name: "+
		"write for example list.%s(x, x.name)", name, name)
}
