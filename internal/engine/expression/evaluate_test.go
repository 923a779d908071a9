package expression_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/types/known/structpb"
	"sigs.k8s.io/yaml"

	"github.com/crossplane-contrib/function-export/internal/engine/advice"
	"github.com/crossplane-contrib/function-export/internal/engine/budget"
	"github.com/crossplane-contrib/function-export/internal/engine/expression"
	"github.com/crossplane-contrib/function-export/internal/engine/observation"
	"github.com/crossplane-contrib/function-export/internal/engine/wire"
)

var env = func() *expression.Environment {
	e, err := advice.NewEnvironment()
	if err != nil {
		panic(err)
	}
	return e
}()

// object parses YAML.
func object(t testing.TB, s string) wire.Struct {
	t.Helper()
	m := map[string]any{}
	if err := yaml.Unmarshal([]byte(s), &m); err != nil {
		t.Fatal(err)
	}
	out, err := structpb.NewStruct(m)
	if err != nil {
		t.Fatal(err)
	}
	return wire.Of(out)
}

// sampleObservation is what the expressions of these tests see: the composed resource db is
// there, gone is not.
func sampleObservation(t testing.TB) *observation.Observation {
	t.Helper()
	return &observation.Observation{
		Composite: observation.Resource{Object: object(t, `
metadata: {name: xr, namespace: team}
spec: {size: 3, region: eu, nothing: null}`)},
		Resources: map[string]observation.Resource{
			"db": {
				Object: object(t, `
metadata: {name: db-1, labels: {e: 5, d: 4, c: 3, b: 2, a: 1, f: 6, g: 7}}
spec: {port: 5432, ratio: 0.5, empty: [], big: 123456789012, million: 1000000, rounded: 9007199254740994}
status:
  host: db.example.org
  nothing: null
  conditions: [{type: Ready, status: "True"}, {type: Synced}]`),
				Details: observation.Details{"username": []byte("app"), "password": []byte("canary-pass")},
			},
			"secret-object": {Object: object(t, `
apiVersion: v1
kind: Secret
metadata: {name: s, annotations: {keep: me, kubectl.kubernetes.io/last-applied-configuration: canary-applied}}
data: {password: Y2FuYXJ5}`)},
		},
		Sources: map[string]observation.Source{
			"ca": {
				Read: true, Secret: true, Objects: []wire.Struct{wire.Of(&structpb.Struct{})},
				Details: observation.Details{"ca.crt": []byte("CERT")},
			},
			"unread":   {},
			"missing":  {Read: true},
			"optional": {Read: true, Optional: true},
			"settings": {Read: true, Objects: []wire.Struct{object(t, `{data: {mode: fast}}`)}},
			"many": {
				Read: true, Many: true,
				Objects: []wire.Struct{object(t, `{data: {id: "1"}}`), object(t, `{data: {id: "2"}}`)},
			},
		},
		Environment: object(t, `{region: eu-west-1}`),
		Context: object(
			t,
			`{step: {manifest: {apiVersion: v1, kind: Secret, data: {k: canary}}, list: {apiVersion: v1, kind: `+
				`SecretList, items: [{data: {k: canary}}]}}}`,
		),
	}
}

func compile(t testing.TB, text string, want expression.Want, from string) *expression.Expression {
	t.Helper()
	x, faults := env.Compile(expression.Source{Text: text, Path: "here", From: from, Want: want})
	if len(faults) > 0 {
		t.Fatalf("Compile(%s): %v", text, faults)
	}
	return x
}

func evaluate(t testing.TB, o *observation.Observation, text, from string) (string, error) {
	t.Helper()
	x := compile(t, text, expression.WantText, from)
	v, err := x.Evaluate(context.Background(), o.Scope(from, nil), budget.New(context.Background()))
	if err != nil {
		return "", err
	}
	b, ok, err := x.Text(v, budget.New(context.Background()))
	if err == nil && !ok {
		return "(none)", nil
	}
	return string(b.Reveal()), err
}

func TestEvaluate(t *testing.T) {
	// want is the text, or what it waits for after "waiting: ", or a part of why
	// it failed after "failed: ".
	for _, tc := range []struct{ text, from, want string }{
		{"resource.status.host", "db", "db.example.org"},
		{"self.status.host", "db", "db.example.org"},
		{"resource.metadata.name", "", "xr"},
		{"'%d'.format([resource.spec.port])", "db", "5432"},
		{"string(resource.spec.ratio)", "db", "0.5"},
		{"string(resource.spec.rounded)", "db", "failed: rounded on its way"},
		{"secret.username + ':' + secret.password", "db", "app:canary-pass"},
		{"secrets.db.password", "", "canary-pass"},
		{"secrets.ca['ca.crt']", "", "CERT"},
		{"sources.settings.data.mode", "", "fast"},
		{"sources.many.map(s, s.data.id).join('-')", "", "1-2"},
		{"environment.region", "", "eu-west-1"},
		{"resource.status.?nope", "db", "(none)"},
		{"resource.status.?host", "db", "db.example.org"},
		{"resource.status.?nope.orValue('x')", "db", "x"},
		{"has(resource.status.nope) ? 'y' : 'n'", "db", "n"},
		{"resource.metadata.labels.map(k, k).join('')", "db", "abcdefg"},
		{"resource.metadata.labels.transformMap(k, v, v).map(k, k).join('')", "db", "abcdefg"},
		{"resource.metadata.labels.transformList(k, v, k + string(v)).join(',')", "db", "a1,b2,c3,d4,e5,f6,g7"},
		{"url.queryEscape('p@ss w/rd')", "", "p%40ss%20w%2Frd"},
		{"url.pathEscape('a b/c')", "", "a%20b%2Fc"},
		{"json.encode({'b': '<&>', 'a': [1, 2.5, true, null]})", "", `{"a":[1,2.5,true,null],"b":"<&>"}`},
		{"json.encode(json.decode('{\"n\": 9223372036854775807}'))", "", `{"n":9223372036854775807}`},
		{"json.encode(json.decode('{\"n\": 92233720368547758070}'))", "", "failed: exactly"},
		{"yaml.encode({'b': 1, 'a': ['x']})", "", "a:\n- x\nb: 1\n"},
		{
			"yaml.encode(json.decode('" + strings.Repeat(`[{"a":`, 50) + "[]" + strings.Repeat("}]", 50) + "'))", "",
			"failed: here:1:12: cannot encode a value with more than 100 levels",
		},
		{
			"yaml.encode(json.decode('" + strings.Repeat(`{"a":`, 100) + "1" + strings.Repeat("}", 100) +
				"')).size() > 9 ? 'y' : 'n'",
			"", "y",
		},
		{
			"yaml.encode(dyn({1: 2}))", "",
			"failed: here:1:12: there is a map whose keys are int, which JSON cannot represent: wrap them in string(...)",
		},
		{"sha256('abc')", "", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"},
		{
			"hash.sha256('')", "",
			"\xe3\xb0\xc4\x42\x98\xfc\x1c\x14\x9a\xfb\xf4\xc8\x99\x6f\xb9\x24" +
				"\x27\xae\x41\xe4\x64\x9b\x93\x4c\xa4\x95\x99\x1b\x78\x52\xb8\x55",
		},
		{
			"hex.encode(hmac.sha256('Jefe', b'what do ya want for nothing?'))", "",
			"5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843",
		},
		{
			"[hmac.sha256(secret.password, b'a'), hmac.sha256(bytes(secret.password), 'a'), " +
				"hmac.sha256(secret.password, 'a')].distinct().size() == 1 ? 'y' : 'n'",
			"db", "y",
		},
		{"base64url.encode(b'\\xfb\\xff') + base64url.encode('>>?')", "", "-_8=Pj4_"},
		{"base64url.decode('-_8=') == base64url.decode('-_8') ? 'y' : 'n'", "", "y"},
		{"json.encode({'a': 1, 'b': 2}.merge({'b': 3, 'c': 4}))", "", `{"a":1,"b":3,"c":4}`},
		{
			"json.encode(resource.metadata.labels.merge(resource.status.nothing))", "db",
			"waiting: resources.db.status.nothing",
		},
		{"json.encode(sources.merge({}))", "", "waiting: sources.missing"},
		{"string({dyn(b'k'): 1}.merge({}).size())", "", "failed: "},
		{
			"dockerconfigjson('r.io', 'u', 'p<')", "",
			`{"auths":{"r.io":{"username":"u","password":"p<","auth":"dTpwPA=="}}}`,
		},
		{"base64.decode('AP8=')", "", "\x00\xff"},
		{"resource.status.endpoint", "db", "waiting: resources.db.status.endpoint"},
		{"resource.stat.atProvider.endpoint", "db", "waiting: resources.db.stat"},
		{"resource.status.nothing.x", "db", "waiting: resources.db.status.nothing.x"},
		{"resource.spec.empty[0]", "db", "waiting: resources.db.spec.empty[0]"},
		{"resources.gone.status.x", "", "waiting: resources.gone"},
		{"resource.status.x + secret.y", "gone", "waiting: resources.gone"},
		{"resource.?status.?x.orValue('d')", "gone", "waiting: resources.gone"},
		{"resources.?gone.?status.orValue('d')", "", "d"},
		{"secret.token", "db", "waiting: secrets.db.token"},
		{
			"resource.a + resource.b + secret.c + resource.?d.orValue('')", "db",
			"waiting: resources.db.a, resources.db.b, secrets.db.c",
		},
		{
			"resource.status.conditions.map(c, c.status).join('')", "db",
			"waiting: resources.db.status.conditions[*].status",
		},
		{
			"resource.status.conditions.filter(c, c.type == 'Nope')[0].status", "db",
			"waiting: an element of resources.db.status.conditions",
		},
		{"secrets['my-' + composite.spec.region].username", "db", "waiting: secrets['my-eu']"},
		{"secrets['d' + 'b'].token", "", "waiting: secrets.db.token"},
		{"secrets['my-' + secret.username].password", "db", "waiting: secrets[*].password"},
		{"secrets['my-' + resource.spec.nope].password", "db", "waiting: resources.db.spec.nope"},
		{"resource.?nope.value()", "db", "waiting: resources.db.nope"},
		{"sources.unread.data.x", "", "waiting: sources.unread"},
		{"sources.?missing.?data.orValue('d')", "", "waiting: sources.missing"},
		{"sources.?optional.?data.orValue('d')", "", "d"},
		{"resource.status.nothing", "db", "waiting: resources.db.status.nothing"},
		{"resource.spec.port", "db", "failed: here: must return a string, but returns int: wrap it in string(...)"},
		{"resource.status", "db", "failed: select one of its keys"},
		{
			"resource.status.host.name", "db",
			"failed: here:1:21: cannot select resources.db.status.host.name: resources.db.status.host is not an object",
		},
		{
			"string(resource.spec.port / (resource.spec.port - 5432))", "db",
			"failed: here:1:27: / failed on int and int: the divisor is zero",
		},
		{
			"string(int(resource.status.host))", "db",
			"failed: here:1:11: int failed on string: the text is not a whole number",
		},
		{
			"json.decode(resource.status.host).a", "db",
			"failed: here:1:12: json.decode failed on string: the text is not JSON",
		},
		{
			"resource.status.host.substring(0, 2000)", "db",
			"failed: here:1:31: substring failed on string and int and int: the start or the end is beyond the text: " +
				"limit it, as in math.least(20, size(text))",
		},
		{
			"string(resource.status.conditions.contains('a'))", "db",
			"failed: here:1:43: contains failed on list and string: write value in list",
		},
		{
			"resource.spec + resource.spec", "db",
			"failed: here:1:15: + failed on map and map: write a.merge(b), which uses the value in b if both maps have a key",
		},
		{"true || resource.status.nope == '' ? 'y' : 'n'", "db", "y"},
		{"resource.data.password", "secret-object", "failed: hidden"},
		{"json.encode(resource.metadata)", "secret-object", `{"annotations":{"keep":"me"},"name":"s"}`},
		{
			"json.encode(resource)", "secret-object",
			`{"apiVersion":"v1","kind":"Secret","metadata":{"annotations":{"keep":"me"},"name":"s"}}`,
		},
		{
			"json.encode(context)", "",
			`{"step":{"list":{"apiVersion":"v1","kind":"SecretList"},"manifest":{"apiVersion":"v1","kind":"Secret"}}}`,
		},
	} {
		t.Run(tc.text, func(t *testing.T) {
			got, err := evaluate(t, sampleObservation(t), tc.text, tc.from)
			var waiting *expression.Waiting
			var failed *expression.Failed
			switch {
			case errors.As(err, &waiting):
				got = "waiting: " + strings.Join(waiting.Inputs, ", ")
			case errors.As(err, &failed):
				if part, ok := strings.CutPrefix(tc.want, "failed: "); ok && strings.Contains(err.Error(), part) {
					got = tc.want
				} else {
					got = "failed: " + err.Error()
				}
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("-want, +got:\n%s", diff)
			}
			if err != nil && strings.Contains(err.Error(), "canary") {
				t.Errorf("the error holds data: %v", err)
			}
		})
	}
}

func TestTextMap(t *testing.T) {
	cases := map[string]struct {
		reason string
		text   string
		want   map[string]string
		err    string
	}{
		"Literal": {"", `{"key1": "foo", "key2": "bar"}`, map[string]string{"key1": "foo", "key2": "bar"}, ""},
		"Whole": {
			"all connection details", "secret", map[string]string{"username": "app", "password": "canary-pass"}, "",
		},
		"Optional": {
			"an entry that is none is left out", "{'a': 'x', ?'b': resource.?nope, 'c': resource.?nope}",
			map[string]string{"a": "x"}, "",
		},
		"Number": {
			"an entry that is no string", "{'a': resource.spec.port}", nil,
			`the value of key "a" must be a string, but is int: wrap it in string(...)`,
		},
		"NumberOf": {
			"a computed key may be data", "{resource.status.host: resource.spec.port}", nil,
			"a value of the map must be a string, but is int: wrap it in string(...)",
		},
		"Null": {
			"an entry that is null", "{'a': resource.status.nothing}", nil, "waiting for resources.db.status.nothing",
		},
		"NullMay": {
			"an optional entry that is null", "{?'a': resource.status.?nothing}", nil,
			"waiting for resources.db.status.nothing",
		},
		"NullOf": {
			"an entry that is null, of a computed key", "{resource.status.host: resource.status.nothing}", nil,
			"waiting for a value of here that is null",
		},
		"Text": {"no map", "resource.status.host", nil, "must return a map(string, string), but returns string"},
		"Keys": {"a key that is no string", "{dyn(1): 'x'}", nil, "but a key is not a string"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			x := compile(t, tc.text, expression.WantTextMap, "db")
			v, err := x.Evaluate(
				context.Background(), sampleObservation(t).Scope("db", nil), budget.New(context.Background()),
			)
			if err != nil {
				t.Fatal(err)
			}
			m, _, err := x.TextMap(v, budget.New(context.Background()))
			if tc.err != "" {
				if err == nil || !strings.Contains(err.Error(), tc.err) {
					t.Fatalf("%s: want error with %q, got %v", tc.reason, tc.err, err)
				}
				return
			}
			got := map[string]string{}
			for k, b := range m {
				got[k] = string(b.Reveal())
			}
			if diff := cmp.Diff(tc.want, got); diff != "" || err != nil {
				t.Errorf("%s: %v -want, +got:\n%s", tc.reason, err, diff)
			}
		})
	}
}

func TestJSON(t *testing.T) {
	cases := map[string]struct{ reason, text, want, err string }{
		"Number":   {"", "resource.spec.port", "5432", ""},
		"Object":   {"", "resource.status.conditions", `[{"status":"True","type":"Ready"},{"type":"Synced"}]`, ""},
		"TooBig":   {"a whole number that would be rounded", "9007199254740993", "", "over 2^53"},
		"NotANum":  {"", "0.0 / 0.0", "", "cannot represent"},
		"NotUTF8":  {"", "string(b'ab') + dyn(secret.bin)", "", "not UTF-8"},
		"BytesMap": {"bytes are base64", "{'k': b'ab'}", `{"k":"YWI="}`, ""},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			o := sampleObservation(t)
			o.Resources["db"].Details["bin"] = []byte("\xff\xfe")
			x := compile(t, tc.text, expression.WantJSON, "db")
			v, err := x.Evaluate(context.Background(), o.Scope("db", nil), budget.New(context.Background()))
			if err != nil {
				t.Fatal(err)
			}
			got, _, err := x.JSON(v, budget.New(context.Background()))
			if tc.err != "" {
				if err == nil || !strings.Contains(err.Error(), tc.err) {
					t.Fatalf("%s: want error with %q, got %v", tc.reason, tc.err, err)
				}
				return
			}
			b, _ := got.MarshalJSON()
			if diff := cmp.Diff(tc.want, strings.ReplaceAll(string(b), " ", "")); diff != "" || err != nil {
				t.Errorf("%s: %v -want, +got:\n%s", tc.reason, err, diff)
			}
		})
	}
}

// The law: whatever an expression does, the same variables give the same value.
func TestEvaluateIsDeterministic(t *testing.T) {
	for _, text := range []string{
		"resource.metadata.labels.map(k, k).join(',')",
		"json.encode(resource.metadata.labels.transformMap(k, v, string(v)))",
		"'%s'.format([resource.metadata.labels])",
		"json.encode({3: 'c', 1: 'a', 2: 'b'}.map(k, k))",
		"yaml.encode({'z': 1, 'y': 2, 'x': {'w': 3, 'v': 4}})",
		"json.encode(resource.metadata.labels.filter(k, k != 'a'))",
		"json.encode(resource.metadata.labels.transformMapEntry(k, v, {k + '2': v}).map(k, k))",
		"json.encode(cel.bind(m, resource.metadata.labels.transformMap(k, v, v), m.map(k, [1, 2].map(i, k))))",
	} {
		o, seen := sampleObservation(t), map[string]bool{}
		for range 60 {
			got, err := evaluate(t, o, text, "db")
			if err != nil {
				t.Fatal(text, err)
			}
			seen[got] = true
		}
		if len(seen) != 1 {
			t.Errorf("%s has %d values", text, len(seen))
		}
	}
}

// A value never reaches an error, whatever fails on it.
func TestErrorsHoldNoData(t *testing.T) {
	for _, text := range []string{
		"secrets[secret.password]['x']", "string(timestamp(secret.password))", "string(int(secret.password))",
		"{'a': 'b'}[secret.password]", "string(duration(secret.password))", "string(base64.decode(secret.password))",
		"'x'.matches(secret.password + '[') ? 'y' : 'n'", "secret.password.substring(99)", "secret.password.charAt(99)",
		"json.decode(secret.password).x", "yaml.decode('a: [' + secret.password).x",
		"string(secret.password == 'x' ? 1 / 0 : 1 / 0)",
		"secret.password.format([1])", "(secret.password + '%d').format([secret.password])",
		"'%' + secret.password.format([])",
		"resources[secret.password].x", "sources[secret.password].x", "regex.replace('x', secret.password + '(', 'y')",
		"string(bool(secret.password))", "string(double(secret.password))", "[1][int(secret.password)]",
		"string(bytes('\\xff' + secret.password))",
	} {
		x, faults := env.Compile(expression.Source{Text: text, Path: "here", From: "db", Want: expression.WantText})
		if len(faults) > 0 {
			continue // refused before it runs
		}
		v, err := x.Evaluate(context.Background(), sampleObservation(t).Scope("db", nil), budget.New(context.Background()))
		if err == nil {
			_, _, err = x.Text(v, budget.New(context.Background()))
		}
		if err != nil && strings.Contains(err.Error(), "canary") {
			t.Errorf("%s: error holds data: %v", text, err)
		}
	}
}
