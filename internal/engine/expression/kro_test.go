package expression_test

import (
	"strings"
	"testing"

	"github.com/crossplane-contrib/function-export/internal/engine/expression"
)

// The functions on kro's page about its CEL libraries, each with an example and its result. A function that is absent here
// has a reason, and the diagnostic that a user of kro reads.
var kro = map[string]struct{ text, want, absent string }{
	"hash.fnv64a": {"'%x'.format([hash.fnv64a('a')])", "af63dc4c8601ec8c", ""},
	"hash.sha256": {"'%x'.format([hash.sha256('a')]).substring(0, 8)", "ca978112", ""},
	"hash.md5":    {"base64.encode(hash.md5('a'))", "DMF1ucDxtqgxw5niaXcmYQ==", ""},

	"json.unmarshal": {
		"json.unmarshal('{}')", "there is no function json.unmarshal: write json.decode(text)",
		"json.decode was here first, and two names for one function are one too many.",
	},
	"json.marshal": {
		"json.marshal({})", "there is no function json.marshal: write json.encode(value)",
		"json.encode was here first, and it sorts keys.",
	},
	"random.seededString": {
		"random.seededString(8, composite.metadata.uid)", "there is no function random.seededString: add generators: ",
		"Who reads the seed knows the result, so it cannot be a credential. A generator creates and rotates one.",
	},
	"random.seededInt": {
		"random.seededInt(1, 9, composite.metadata.uid)", "there is no function random.seededInt: add generators: ",
		"As random.seededString.",
	},

	"merge": {"json.encode({'a': 1, 'b': 2}.merge({'b': 3}))", `{"a":1,"b":3}`, ""},
	"deepMerge": {
		"{'a': {'b': 1}}.deepMerge({'a': {'c': 2}})", "there is no function deepMerge: write a.merge(b), which uses the value in b if both maps have a key",
		"An export is a flat map of keys.",
	},
	"lists.setAtIndex": {
		"lists.setAtIndex(['a'], 0, 'b')", "there is no function lists.setAtIndex: write list.slice(0, i) + [value] + list.slice(j, size(list))",
		"A list with one other element is a sum of its parts.",
	},
	"lists.insertAtIndex": {
		"lists.insertAtIndex(['a'], 0, 'b')", "there is no function lists.insertAtIndex: write list.slice(0, i) + [value] + list.slice(j, size(list))",
		"As lists.setAtIndex.",
	},
	"lists.removeAtIndex": {
		"lists.removeAtIndex(['a'], 0)", "there is no function lists.removeAtIndex: write list.slice(0, i) + [value] + list.slice(j, size(list))",
		"As lists.setAtIndex.",
	},
	"omit": {
		"omit()", "there is no function omit: write optional.none() with optional: true to leave a key out",
		"CEL has optional values.",
	},
	"runtime.newCondition": {
		"runtime.newCondition({'type': 'Ready'})", "there is no function runtime.newCondition",
		"The function writes its own conditions. readyExpression decides when the composite is ready.",
	},
	"runtime.condition": {
		"runtime.condition(composite, 'Ready')", "there is no function runtime.condition",
		"The conditions of an object are a list in its status.",
	},

	"charAt":         {"'abc'.charAt(1)", "b", ""},
	"indexOf":        {"string('a.b.c'.indexOf('.')) + string('a.b.c'.indexOf('.', 2))", "13", ""},
	"lastIndexOf":    {"string('a.b.c'.lastIndexOf('.')) + string('a.b.c'.lastIndexOf('.', 2))", "31", ""},
	"lowerAscii":     {"'ABC'.lowerAscii()", "abc", ""},
	"upperAscii":     {"'abc'.upperAscii()", "ABC", ""},
	"replace":        {"'a_b_c'.replace('_', '-') + 'a_b_c'.replace('_', '-', 1)", "a-b-ca-b_c", ""},
	"split":          {"'a,b,c'.split(',')[2] + 'a,b,c'.split(',', 2)[1]", "cb,c", ""},
	"substring":      {"'hello'.substring(3) + 'hello'.substring(0, 2)", "lohe", ""},
	"trim":           {"' a '.trim()", "a", ""},
	"string.reverse": {"'abc'.reverse()", "cba", ""},
	"join":           {"['a', 'b'].join() + ['a', 'b'].join(',')", "aba,b", ""},
	"format":         {"'arn:aws:iam::%s:role/%s'.format(['1', 'r'])", "arn:aws:iam::1:role/r", ""},
	"strings.quote":  {"strings.quote('a')", `"a"`, ""},

	"slice":        {"['a', 'b', 'c'].slice(0, 2).join()", "ab", ""},
	"flatten":      {"string([[1], [2, [3]]].flatten().size()) + string([[[1]], [[2, 3]]].flatten(2).size())", "33", ""},
	"sort":         {"['b', 'a'].sort().join()", "ab", ""},
	"sortBy":       {"[{'n': 'b'}, {'n': 'a'}].sortBy(i, i.n)[0].n", "a", ""},
	"distinct":     {"['a', 'a'].distinct().join()", "a", ""},
	"list.reverse": {"['a', 'b'].reverse().join()", "ba", ""},
	"lists.range":  {"string(lists.range(3)[2])", "2", ""},

	"base64.encode": {"base64.encode(bytes('hi'))", "aGk=", ""},
	"base64.decode": {"string(base64.decode('aGk='))", "hi", ""},

	"all":               {"{'hello': 'world'}.all(k, v, k != v) ? 'y' : 'n'", "y", ""},
	"exists":            {"{'a': 1}.exists(k, v, v == 1) ? 'y' : 'n'", "y", ""},
	"existsOne":         {"{'a': 1}.existsOne(k, v, v == 1) ? 'y' : 'n'", "y", ""},
	"transformList":     {"{'APP': 'nginx'}.transformList(k, v, k + '=' + v)[0]", "APP=nginx", ""},
	"transformMap":      {"json.encode({'a': 1, 'b': 5}.transformMap(k, v, v > 1, v * 10))", `{"b":50}`, ""},
	"transformMapEntry": {"{'eu': 'main'}.transformMapEntry(k, v, {v: k}).main", "eu", ""},

	"url":      {"url('https://db.example.org:5432/app').getHostname() + url('https://db:5432').getPort()", "db.example.org5432", ""},
	"isURL":    {"isURL('https://example.org') ? 'y' : 'n'", "y", ""},
	"quantity": {"string(quantity('2Gi').sub(quantity('1Gi')).asInteger())", "1073741824", ""},
	"ip":       {"string(ip('10.0.0.1').family())", "4", ""},
	"cidr":     {"string(cidr('10.0.0.0/8').containsCIDR('10.1.0.0/16'))", "true", ""},
	"semver":   {"string(semver('v1.0', true).minor())", "0", ""},

	"find": {
		"'v1.2.3'.find('[0-9]+')", "there is no function find: write list.filter(x, x.ready)[0]",
		"regex.extract of cel-go returns an optional, which distinguishes no match from an empty one.",
	},
	"findAll": {
		"'v1.2.3'.findAll('[0-9]+')", "there is no function findAll: write regex.extractAll(text, pattern)",
		"regex.extractAll of cel-go is the same.",
	},
	"isSorted": {"[1, 2].isSorted()", "there is no function isSorted", "An export does not check a list."},
	"sum": {
		"[1, 2].sum()", "there is no function sum: CEL cannot add up a list: select the elements one by one",
		"An export passes values on, and rarely adds them up.",
	},
	"min": {"[1, 2].min()", "there is no function min: write math.least(list)", "math.least of cel-go accepts a list."},
	"max": {"[1, 2].max()", "there is no function max: write math.greatest(list)", "math.greatest of cel-go accepts a list."},
	"list.indexOf": {
		"['a'].indexOf('a')", "indexOf does not accept", "Use in or exists. indexOf is a function of strings.",
	},
}

func TestFunctionsOfKro(t *testing.T) {
	for name, tc := range kro {
		t.Run(name, func(t *testing.T) {
			if tc.absent == "" {
				if got, err := evaluate(t, sampleObservation(t), tc.text, ""); got != tc.want {
					t.Errorf("%s: want %q, got %q: %v", tc.text, tc.want, got, err)
				}
				return
			}
			_, wrong := env.Compile(expression.Source{Text: tc.text, Path: "here"})
			if len(wrong) == 0 || !strings.HasPrefix(wrong[0].Message, tc.want) {
				t.Errorf("%s: want %s, got %v", tc.text, tc.want, wrong)
			}
		})
	}
}
