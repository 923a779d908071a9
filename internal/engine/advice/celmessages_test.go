package advice

import (
	"strings"
	"testing"
)

// What this version of cel-go says, word by word. A case that fails after an update of
// cel-go needs another pattern in celmessages.go.
func TestCELMessages(t *testing.T) {
	env, err := NewEnvironment()
	if err != nil {
		t.Fatal(err)
	}
	cases := map[string]struct {
		text, says, want string
	}{
		"Reserved": {"package", "reserved identifier: package", "package is a reserved word and cannot be a " +
			"variable: write the object that has this field, for example composite.metadata.package"},
		"Let": {"let + 1", "reserved identifier: let", "there is no let: an expression is one value; put parts " +
			"of it under variables"},
		"TooDeep": {strings.Repeat("[", 300) + strings.Repeat("]", 300), "expression recursion limit exceeded: 64",
			"is nested too deeply: split it into variables"},
		"NoColon": {"a ? b", grammarMessage + "mismatched input '<EOF>' " + noColonMessage,
			grammarMessage + "mismatched input '<EOF>' " + noColonMessage},
		"Grammar": {"a b", grammarMessage + "extraneous input 'b' expecting <EOF>", grammarMessage + "extraneous " +
			"input 'b' expecting <EOF>"},
		"Has": {"has(1)", "invalid argument to has() macro", "has() takes a field: write for example " +
			"has(resource.status.host)"},
		"NoName": {"[1].map(1, 2)", "argument is not an identifier", "argument is not an identifier: the first " +
			"argument must be a name for each element, as in list.map(x, x.name)"},
		"NoSimple": {"[1].all(1, true)", "argument must be a simple name", "argument must be a simple name: the " +
			"first argument must be a name for each element, as in list.map(x, x.name)"},
		"Bind": {"cel.bind(1, 2, 3)", "cel.bind() variable names must be simple identifiers", "cel.bind() " +
			"variable names must be simple identifiers"},
		"Number": {"99999999999999999999", "invalid int literal", "invalid int literal: it does not fit into 64 bits"},
		"ManyValues": {"'%s'.format([1, 2])", "too many arguments supplied to string.format (expected 1, got 2)",
			"format has 2 values for 1 % in its text: write one %s for each"},
		"FewValues": {"'%s%s'.format([1])", "index 1 out of range", "format has fewer values than there are % in its " +
			"text: write one value for each, and %% for a percent sign"},
		"NoClause": {"'%y'.format([1])", "could not parse formatting clause: unrecognized formatting clause \"y\"",
			"format has no %y: write %s for any value, %d for whole numbers, and %% for a percent sign"},
		"Clause": {"'%d'.format(['a'])", "error during formatting: decimal clause can only be used on ints, uints, " +
			"and doubles, was given string",
			"%d takes ints, uints, and doubles, but this is a string: write %s, or convert it"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			_, iss := env.CEL().Compile(tc.text)
			if iss.Err() == nil {
				t.Fatalf("%s compiles", tc.text)
			}
			says := iss.Errors()[0].Message
			if says != tc.says {
				t.Errorf("%s\ncel-go says %q, want %q", tc.text, says, tc.says)
			}
			if got := explainCEL(says); got != tc.want {
				t.Errorf("%s\ncel-go says %q, which is explained as %q, want %q", tc.text, says, got, tc.want)
			}
		})
	}
}
