package expression

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/operators"
	"cel.dev/cel-go/common/types"
)

// This file explains calls that fail at run time, with the types of their operands.

// classifyCall explains a failed call with the types of its operands.
func (x *Expression) classifyCall(vars cel.Activation, node ast.Expr, id int64, err *types.Err) error {
	if id == sharedNode {
		return x.classifyShared(vars, err)
	}
	if node == nil || node.Kind() != ast.CallKind {
		return x.failedAt(id, "failed")
	}
	operands := operandsOf(node.AsCall())
	have, names := make([]*cel.Type, 0, len(operands)), make([]string, 0, len(operands))
	for _, o := range operands {
		t := x.operandType(vars, o)
		have, names = append(have, t), append(names, kindName(t))
	}
	fn := node.AsCall().FunctionName()
	reason := fmt.Sprintf("%s failed on %s", callName(fn), strings.Join(names, " and "))
	if fn == formatCall && len(operands) == 2 && operands[1].Kind() == ast.ListKind {
		if format := x.explainFormat(vars, operands); format != "" {
			return x.failedAt(id, format)
		}
	}
	if fn == operators.Conditional {
		reason = "the condition of ?: is " + withArticle(names[0])
	}
	hint := cmp.Or(x.rangeHint(fn, operands), bytesHint(fn, have), x.failureHint(fn, have))
	if errors.Is(err, errNull) {
		return x.failedAt(id, callName(fn)+" failed"+nullHint)
	}
	if fn == "base64.decode" && isSecret(x.pathOf(operands[0])) {
		hint = ": leave it out: " + alreadyDecoded
	}
	return x.failedAt(id, reason+hint)
}

// pathOf returns the path that an operand is, in CEL, or an empty text.
func (x *Expression) pathOf(o ast.Expr) string {
	for _, i := range x.byNode[asWritten(o).ID()] {
		return x.name(x.references[i])
	}
	return ""
}

// explainFormat returns the reason why a value does not fit its clause in a format, or an empty text.
func (x *Expression) explainFormat(vars cel.Activation, operands []ast.Expr) string {
	format, _ := literalString(operands[0])
	clauses := clause.FindAllString(strings.ReplaceAll(format, "%%", ""), -1)
	for i, v := range operands[1].AsList().Elements() {
		if i == len(clauses) {
			break
		}
		t := x.operandType(vars, v)
		letter := clauses[i][len(clauses[i])-1:]
		if slices.Contains([]string{"d", "b", "e", "f", "o"}, letter) &&
			isKind(t, types.StringKind, types.BoolKind, types.MapKind, types.ListKind) {
			return fmt.Sprintf("%s needs a number, but value %d is %s: write %%s", clauses[i], i+1, withArticle(kindName(t)))
		}
	}
	return ""
}

// rangeHint returns a hint for a position that is beyond a text. The text and its length are data.
func (x *Expression) rangeHint(fn string, operands []ast.Expr) string {
	if fn != "substring" && fn != "charAt" {
		return ""
	}
	c := newScript(x.source.Text)
	line, column := x.position(operands[0].ID())
	text := cmp.Or(c.pathAt(c.offset(line, max(column-1, 0))), "text")
	if fn == "charAt" {
		return fmt.Sprintf(": the position is beyond the text: test size(%s) first", text)
	}
	end, ok := literalKey(operands[len(operands)-1]).(int64)
	if !ok || len(operands) != 3 {
		return fmt.Sprintf(": the start or the end is beyond the text: limit it, as in math.least(20, size(%s))", text)
	}
	start, _ := literalKey(operands[1]).(int64)
	return fmt.Sprintf(": the start or the end is beyond the text: write %s.substring(%d, math.least(%d, size(%s)))",
		text, start, end, text)
}

// comparisons are the operators that order two values.
var comparisons = []string{ //nolint:gochecknoglobals // a table
	operators.Less, operators.LessEquals, operators.Greater, operators.GreaterEquals,
}

// notOf says why a function failed on a text.
var notOf = map[string]string{ //nolint:gochecknoglobals // a table
	"int": "a whole number", "uint": "a positive whole number", "double": "a number", "bool": "true or false",
	"timestamp": "a time such as 2006-01-02T15:04:05Z", "duration": "a duration such as 1h30m",
	"base64.decode": "base64", "yaml.decode": "YAML", "hex.decode": "hexadecimal",
	"base64url.decode": "base64url, which has - and _ instead of + and /",
	"json.decode":      "JSON: leave json.decode out if it is a plain text",
	"url":              "an absolute URL or an absolute path", "quantity": "a quantity such as 500Mi",
	"ip": "an IP address", "ip.isCanonical": "an IP address", "containsIP": "an IP address",
	"cidr": "a network such as 10.0.0.0/8", "containsCIDR": "a network such as 10.0.0.0/8",
	"semver": "a semantic version such as 1.2.3",
}

// failureHint returns a hint for a call that failed on operands of some types.
func (x *Expression) failureHint(fn string, have []*cel.Type) string {
	has := func(kinds ...types.Kind) bool {
		return slices.ContainsFunc(have, func(t *cel.Type) bool { return isKind(t, kinds...) })
	}
	text, number := has(types.StringKind), has(types.IntKind, types.DoubleKind)
	switch fn {
	case operators.Conditional:
		return ": compare it with something"
	case operators.LogicalAnd, operators.LogicalOr, operators.LogicalNot:
		return ": it takes true or false: compare the other values with something"
	case operators.Add:
		return cmp.Or(sumHint(text, number, has(types.MapKind), has(types.ListKind)), mixedHint(have))
	case operators.Subtract, operators.Multiply, operators.Divide, operators.Modulo:
		return calculationHint(fn, have, text)
	}
	f := x.env.env.Functions()[fn]
	switch {
	case slices.Contains(comparisons, fn) && number && text:
		return ": wrap the string in int(...) or double(...)"
	case fn == "contains" && isKind(have[0], types.ListKind):
		return ": write value in list"
	case fn == "asInteger":
		return ": it is not a whole number, or it is over 2^63: test .isInteger() first"
	case notOf[fn] != "" && text:
		return ": the text is not " + notOf[fn]
	case isOperator(fn) || f == nil:
		return ""
	}
	return conversion(f.OverloadDecls(), have)
}

// sumHint returns a hint for values that cannot be added, by what is among them.
func sumHint(text, number, object, list bool) string {
	switch {
	case text && list:
		return ": write .join(',') after the list, or [ ] around the string"
	case text && number:
		return ": wrap the operand that is not a string in string(...)"
	case text && object:
		return ": select one key of the map"
	case object:
		return noMerge
	}
	return ""
}

// calculationHint returns a hint for numbers that cannot be calculated with.
func calculationHint(fn string, have []*cel.Type, text bool) string {
	switch hint := mixedHint(have); {
	case fn == operators.Subtract && text:
		return noSubtraction
	case hint == "" && (fn == operators.Divide || fn == operators.Modulo):
		return ": the divisor is zero, or an operand is not a number"
	default:
		return hint
	}
}

// mixedHint returns a hint for a calculation with operands of two types.
func mixedHint(have []*cel.Type) string {
	kinds := make([]types.Kind, len(have))
	for i, t := range have {
		kinds[i] = t.Kind()
	}
	switch {
	case slices.Contains(kinds, types.DoubleKind) && slices.Contains(kinds, types.IntKind):
		return ": wrap the int in double(...)"
	case slices.Contains(kinds, types.StringKind) && slices.Contains(kinds, types.IntKind):
		return ": wrap the string in int(...)"
	case slices.Contains(kinds, types.StringKind) && slices.Contains(kinds, types.DoubleKind):
		return ": wrap the string in double(...)"
	}
	return ""
}

// noSubtraction is the hint for a text that is subtracted.
const noSubtraction = ": - subtracts numbers: write text.replace(part, '') to remove a part"

// noMerge is the hint for maps that are added.
const noMerge = ": write a.merge(b), which uses the value in b if both maps have a key"

// kindName returns the name of a type. The types of the elements of a list or map in the data are not
// known.
func kindName(t *cel.Type) string {
	if t == types.MapType || t == types.ListType {
		return t.TypeName()
	}
	return Typing{Objects: noObjects{}}.typeText(t)
}

// classifyShared explains an error that has no node. Only the methods or and orValue of optionals return
// it, and timestamps out of range.
func (x *Expression) classifyShared(vars cel.Activation, err *types.Err) error {
	if err != types.NoSuchOverloadErr() {
		return x.failedAt(0, "failed: a timestamp is out of range")
	}
	var calls []ast.Expr
	ast.PostOrderVisit(x.ast.Expr(), ast.NewExprVisitor(func(e ast.Expr) {
		if isCall(e, "or") || isCall(e, "orValue") {
			if target := e.AsCall().Target(); e.AsCall().IsMemberFunction() && !isOptional(x.ast.GetType(target.ID())) {
				calls = append(calls, e)
			}
		}
	}))
	if len(calls) == 1 {
		call := calls[0].AsCall()
		has := withArticle(kindName(x.operandType(vars, call.Target())))
		reason := fmt.Sprintf("%s needs an optional, but has %s%s", call.FunctionName(), has, forOptional)
		return x.failedAt(calls[0].ID(), reason)
	}
	return x.failedAt(0, "failed: or and orValue need an optional"+forOptional)
}

const forOptional = ": write ? before the last field, as in composite.spec.?host.orValue('none')"

// operandType returns the type of an operand, as far as it is known from the source and the data.
func (x *Expression) operandType(vars cel.Activation, o ast.Expr) *cel.Type {
	for _, i := range x.byNode[asWritten(o).ID()] {
		r := x.references[i]
		if _, v, end := walk(vars, r); end == endPresent && !r.tested {
			if t, ok := v.Type().(*cel.Type); ok {
				return t
			}
		}
	}
	if t := x.ast.GetType(o.ID()); t != nil {
		return t
	}
	return types.DynType
}

// callNames are the names of operators and internal functions for messages.
var callNames = map[string]string{ //nolint:gochecknoglobals // a table
	operators.Index: "[]", operators.Conditional: "?:", orderedCall: "the iteration",
	optionalCall: "an optional entry", sortByCall: "sortBy", "cel.@mapInsert": "an entry of the map",
}

func callName(function string) string {
	if n, ok := callNames[function]; ok {
		return n
	}
	operator, _ := operators.FindReverse(function)
	return cmp.Or(operator, function)
}

func (x *Expression) callText(id int64) string {
	if n := x.node(id); n != nil && n.Kind() == ast.CallKind {
		return callName(n.AsCall().FunctionName())
	}
	return "it"
}
