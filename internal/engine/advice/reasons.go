package advice

import (
	"cmp"
	"fmt"
	"strings"

	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/operators"

	"github.com/crossplane-contrib/function-export/internal/engine/celast"
	"github.com/crossplane-contrib/function-export/internal/engine/expression"
	"github.com/crossplane-contrib/function-export/internal/engine/observation"
	"github.com/crossplane-contrib/function-export/internal/engine/suggest"
)

// This file explains evaluations that fail, with the types of the operands, and inputs that are missing.

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

// Uncomposed is why a composed resource is missing, if it is neither observed nor desired.
const Uncomposed = "no earlier step composes it"

// ofState begins the texts about an existing object.
const ofState = "{object} {state}"

// dataOfEnvironment is what to write instead of environment.data.
const dataOfEnvironment = "leave data out, because the environment is the data of the EnvironmentConfigs"

// texts are what a message says for each fact, between the parentheses after the input.
var texts = [observation.EndOfFacts]string{ //nolint:gochecknoglobals // a table
	observation.CompositeLacks:        "correct it, set it in {object}, or write {default}",
	observation.CompositeHasNoDetails: "the composite never has connection details: {instead}",
	observation.ItemLacks:             "the item lacks it: set it there, or write {default}",
	observation.EnvironmentLacks:      "add it to an EnvironmentConfig",

	observation.NotComposed: Uncomposed + "{resource}",
	observation.NotCreated:  "it does not exist yet",
	observation.OwnData:     suggest.OwnExport,

	observation.NotReady:       "{object}",
	observation.Exists:         ofState,
	observation.LacksField:     ofState,
	observation.LacksKey:       ofState + ", and has the keys {names}",
	observation.LacksSourceKey: ofState,
	observation.NoPlace: ofState + ", and has no spec.writeConnectionSecretToRef: add it to {resource} in the " +
		"Composition",
	observation.NoSecret:  ofState + ", and its connection Secret does not exist yet",
	observation.NoDetails: ofState + ", and has no connection details",
	observation.IsSecret:  ofState + ", and has " + suggest.ComposedSecret,
}

// similar are the texts if a name that exists is probably meant.
var similar = map[observation.Fact]string{ //nolint:gochecknoglobals // a table
	observation.EnvironmentLacks: "the environment has no such field",
	observation.LacksKey:         ofState,
	observation.LacksSourceKey:   ofState,
}

// ifReady are the ends of the texts for an object that is ready, because waiting does not help then.
var ifReady = map[observation.Fact]string{ //nolint:gochecknoglobals // a table
	observation.LacksField: ", and lacks it: select another field, or write {default}",
	observation.LacksKey:   ": select another key",
	observation.NoDetails:  ": select a field of {resources}",
}

// Missing says what is known about a missing input, and what to do. It is empty if nothing is known.
func Missing(m observation.Missing) string {
	text, resource := texts[m.Fact], m.Resource
	if m.State == observation.ObjectReady {
		text += ifReady[m.Fact]
	}
	switch meant := suggest.Nearest(m.Wrong, m.Names); {
	case m.Fact == observation.EnvironmentLacks && m.Wrong == "data":
		text = dataOfEnvironment
	case m.Fact == observation.NotComposed:
		if resource = ""; m.Names != nil {
			resource = suggest.Resource(m.Wrong, m.Names)
		}
	case meant != "":
		text = similar[m.Fact] + suggest.DidYouMean(meant)
	case len(m.Names) == 1:
		text = strings.Replace(text, "the keys", "only the key", 1)
	}
	return strings.NewReplacer("{object}", m.Object, "{state}", string(m.State), "{resource}", resource,
		"{resources}", expression.PathText(expression.Resources, m.Resource), "{names}", suggest.List(m.Names),
		"{instead}", m.Instead, "{default}", withDefault(m)).Replace(text)
}

// withDefault says how to select the last step of the input if it may be missing or null.
func withDefault(m observation.Missing) string {
	step, value, purpose := optionalStep(m.Input), "'none'", " for a default"
	if m.List {
		value, purpose = "[]", " for an empty list"
	}
	switch {
	case m.Null:
		return "value == null ? " + value + " : value" + purpose
	case m.Below && !m.List:
		return step + " for a field that may be missing"
	}
	return step + ".orValue(" + value + ")" + purpose
}
