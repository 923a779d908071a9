package advice_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/crossplane-contrib/function-export/internal/engine/advice"
	"github.com/crossplane-contrib/function-export/internal/engine/expression"
)

var env = func() *expression.Environment {
	e, err := advice.NewEnvironment()
	if err != nil {
		panic(err)
	}
	return e
}()

// Most messages are in the broken files of check and in the graded mistakes. These are about what must not be
// explained, or has no file there.
func TestMessages(t *testing.T) {
	for text, want := range map[string][]string{
		"string(composite.spec.size-1)":                   nil,
		"string(resource.a-resource.b)":                   nil,
		"resource.m.transformList(k, v, resource.a-v)[0]": nil,
		"'a-b'.split('-')[size(resource.list)-1]":         nil,
		"string(composite.spec.a-size(secret))":           nil,
		"composite.spec.size-1": {"1: must return a string, but returns an int: wrap it in " +
			"string(...)"},
		"composite.spec.size - 1": {"1: must return a string, but returns an int: wrap it in " +
			"string(...)"},
		"composite.spec.size-1 + 'x'": {"23: + does not accept int and string: wrap the operand " +
			"that is not a string in string(...)"},
		"string(composite.spec.a/composite.spec.b) + len": {"45: there is no variable len: write text in its own " +
			"quotes, as in \"'some text'\""},
		"secrets.db-0 + 'x'": {"11: - is the minus operator here: did you mean " +
			"secrets['db-0']?"},
		"secrets.db-0.ca-crt.x + secrets.a-b.c": {"11: - is the minus operator here: did you mean " +
			"secrets['db-0']['ca-crt'].x?", "34: - is the minus operator here: did you mean secrets['a-b'].c?"},
		"secrets.my-db.password": {"11: - is the minus operator here: did you mean " +
			"secrets['my-db'].password?"},
		"secrets.db.ca.crt": {"14: cannot select crt from a string: did you mean " +
			"secrets.db['ca.crt']?"},
		"generated.root.tls.crt": {"19: cannot select crt from a string: did you mean " +
			"generated.root['tls.crt']?"},
		"resources.my-resource.status.host": {"13: - is the minus operator here: did you mean " +
			"resources['my-resource'].status.host?"},

		"resources.db.connectionDetails.password": {"13: a resource has no field connectionDetails: write " +
			"secrets.db.password"},
		"resource.connectionDetails.password": {"9: a resource has no field connectionDetails: write " +
			"secret.password"},
		"resources.db.resource.status.host": {"13: resources.db is the resource itself: leave " +
			".resource out"},
		"resources.db.spec.resource.connectionDetails":    nil,
		"resources.resource.status.host":                  nil,
		"secret.connectionDetails":                        nil,
		"resource.metadata.labels.a__b":                   nil,
		"resource.status.parts.all(c, c.status) ? '': ''": nil,
		"resource.status.conditions.filter(c, c.type == 'Ready')[0].status == true ? 'a' : 'b'": {
			"67: the status of a condition is a string: write 'True'"},

		"orValue()":                                 {"1: orValue is a method: write value.orValue(...)"},
		"size()":                                    {"1: the number of arguments in the parentheses of size must be 1, but is 0"},
		"composite.spec.?x.orValue('y')":            nil,
		"composite.?spec.x.orValue('y')":            nil,
		"resource.list.map(x, x.a.orValue('y'))[0]": {"26: orValue needs an optional: write x.?a.orValue('y')"},
		"cel.bind(x, resource.a, x.b.orValue('y'))": {"29: orValue needs an optional: write x.?b.orValue('y')"},
		"secret.x.or(secret.y)":                     {"10: or needs an optional: write secret.?x.or(secret.y)"},
		"hash.sha256(secret.a) == 'a' ? 'a' : 'b'":  {"23: can never be true: it compares a bytes with a string"},
	} {
		var got []string
		_, all := env.Compile(expression.Source{Text: text, Path: "here", Want: expression.WantText})
		for _, d := range all {
			got = append(got, fmt.Sprintf("%d: %s", d.Column, d.Message))
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: -want, +got:\n%s", text, diff)
		}
	}
}

// celPhrases are what CEL's parser and checker say themselves.
var celPhrases = []string{"mismatched input", "no matching overload", "(in container", "extraneous input", "token " +
	"recognition"}

// FuzzFaultsInWords checks that each expression that does not compile has a diagnostic, and that
// the diagnostic does not contain CEL's own phrases.
func FuzzFaultsInWords(f *testing.F) {
	for _, s := range []string{"'a' +", "${a}", "if a", "a.map(", "'\\d'", "r'", "((", "]", "a ?? b", "\u00a0",
		"'''a", "a..b", "b'\\", "/", "1.", ".1.2"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		x, faults := env.Compile(expression.Source{Text: text, Path: "here", Want: expression.WantAny})
		if (x == nil) != (len(faults) > 0) {
			t.Fatalf("%q: expression %v, faults %v: want either an expression or diagnostics", text, x, faults)
		}
		for _, fault := range faults {
			if fault.Message == "" || fault.Path == "" {
				t.Errorf("%q: a diagnostic says nothing: %+v", text, fault)
			}
			for _, phrase := range celPhrases {
				if strings.Contains(fault.Message, phrase) && !strings.Contains(text, phrase) {
					t.Errorf("%q: a diagnostic says %q: %+v", text, phrase, fault)
				}
			}
		}
	})
}
