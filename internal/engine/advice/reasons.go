package advice

import (
	"cmp"
	"fmt"

	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/operators"

	"github.com/crossplane-contrib/function-export/internal/engine/celast"
	"github.com/crossplane-contrib/function-export/internal/engine/expression"
)

// This file explains evaluations that fail, with the types of the operands.

// forOptional is the hint for a method of optionals.
const forOptional = ": write ? before the last field, as in composite.spec.?host.orValue('none')"

// Reason returns why an evaluation failed, and what to write instead.
func (adviser) Reason(f *expression.Failure) string {
	switch f.Cause {
	case expression.NotOptional:
		return f.What + forOptional
	case expression.NoObject:
		if f.IsList {
			return f.What + fmt.Sprintf(": write %s[0], or %s.filter(x, x.name == 'a')[0]", f.Above, f.Above)
		}
	case expression.WrongResult:
		switch s := f.Expression.Source(); {
		case s.Want == expression.WantList:
			return f.What + convert(f.Types[0], wanted(s.Want), "it")
		case s.Want == expression.WantText || s.Want == expression.WantString || f.Entry != "":
			return f.What + convert(f.Types[0], "t", "it")
		}
	case expression.CallFailed:
		return failedCall(f)
	}
	return f.What
}

// failedCall returns the reason why a call failed on its operands.
func failedCall(f *expression.Failure) string {
	call := f.Node.AsCall()
	switch fn := call.FunctionName(); {
	case fn == operators.Conditional:
		return "the condition of ?: is " + withArticle(expression.KindName(f.Types[0])) + compareHint
	case fn == "base64.decode" && isSecretNode(call.Args()[0]):
		return f.What + ": leave it out: " + alreadyDecoded
	case fn == "substring" || fn == "charAt":
		return f.What + ": the start or the end is beyond the text: limit it, as in math.least(20, size(text))"
	default:
		return f.What + failureHint(f, fn)
	}
}

func isSecretNode(e ast.Expr) bool {
	path := steps(celast.AsWritten(e))
	return len(path) > 0 && isSecret(path[0])
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

// failureHints are hints that only a failure needs, because the checker knows the types of all other operands.
var failureHints = []operandHint{ //nolint:gochecknoglobals // a table
	{"_&&_ _||_ !_", "", ": it takes true or false: compare the other values with something"},
	{"contains", "l", ": write value in list"},
	{"asInteger", "", ": it is not a whole number, or it is over 2^63: test .isInteger() first"},
	{"string", "y", ": the bytes are not UTF-8: write hex.encode or base64.encode instead"},
	{"_*_ _/_ _%_", "t#", ": wrap the string in int(...) or double(...)"},
	{"_/_ _%_", "", ": the divisor is zero, or an operand is not a number"},
}

// failureHint returns a hint for a call that failed on operands of some types.
func failureHint(f *expression.Failure, fn string) string {
	kinds := kindsOf(f.Types)
	if notOf[fn] != "" && hasKinds(kinds, "t") {
		return ": the text is not " + notOf[fn]
	}
	hint := cmp.Or(hintFor(operandHints, fn, kinds), hintFor(failureHints, fn, kinds))
	function := f.Expression.Environment().CEL().Functions()[fn]
	if hint != "" || isOperator(fn) || function == nil {
		return hint
	}
	return conversion(function.OverloadDecls(), f.Types)
}
