package reconcile_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/crossplane-contrib/function-export/internal/plan/plantest"
)

// TestSecretUses compiles expressions in a ConfigMap. Expressions that use a secret have a
// diagnostic; the others have none.
func TestSecretUses(t *testing.T) {
	const (
		db    = "secrets.db"
		host  = "secrets.db.host"
		all   = "all secrets"
		dbAll = "all keys of secrets.db"
	)
	for name, c := range map[string]struct {
		reason string
		value  string
		want   []string // what is used
	}{
		"Select":               {"the plain form", "secrets.db.host", []string{host}},
		"Index":                {"by index", "secrets['db']['host']", []string{host}},
		"IndexOfSelect":        {"both", "secrets.db['host']", []string{host}},
		"OptionalSelect":       {"optional select", "secrets.?db.?host.orValue('')", []string{host}},
		"OptionalIndex":        {"optional index", "secrets[?'db'][?'host'].orValue('')", []string{host}},
		"From":                 {"secret is that of from", "secret.host", []string{host}},
		"Presence":             {"the existence of a key is also secret data", "has(secrets.db.host) ? 'a' : 'b'", []string{host}},
		"HasValue":             {"by an optional", "secrets.?db.?host.hasValue() ? 'a' : 'b'", []string{host}},
		"In":                   {"in reads the keys", "'host' in secrets.db ? 'a' : 'b'", []string{dbAll}},
		"InSecrets":            {"also of all", "'db' in secrets ? 'a' : 'b'", []string{all}},
		"Whole":                {"the whole map", "json.encode(secrets.db)", []string{dbAll}},
		"WholeFrom":            {"the whole map of from", "json.encode(secret)", []string{dbAll}},
		"All":                  {"all of them", "json.encode(secrets)", []string{all}},
		"Size":                 {"how many there are", "string(size(secrets.db))", []string{dbAll}},
		"SizeMethod":           {"as a method", "string(secrets.db.size())", []string{dbAll}},
		"Equal":                {"compared", "secret == {} ? 'a' : 'b'", []string{dbAll}},
		"EqualKey":             {"a key compared", "secret.host == 'x' ? 'a' : 'b'", []string{host}},
		"Condition":            {"a condition tells", "secret.host > 'x' || true ? 'a' : 'b'", []string{host}},
		"Comprehension":        {"walked", "secret.map(k, k).join('')", []string{dbAll}},
		"Exists":               {"walked", "secret.exists(k, k == 'a') ? 'a' : 'b'", []string{dbAll}},
		"ComprehensionInside":  {"inside of one", "['host'].map(k, secret[k]).join('')", []string{dbAll}},
		"ComprehensionKey":     {"inside of one, the key literal", "[1].map(k, secret.host).join('')", []string{host}},
		"TwoVariables":         {"keys and values", "secret.transformList(k, v, v).join('')", []string{dbAll}},
		"TwoVariablesAll":      {"of all", "secrets.transformList(n, m, m.host).join('')", []string{all}},
		"TransformMap":         {"as a map", "json.encode(secrets.db.transformMap(k, v, v))", []string{dbAll}},
		"Bind":                 {"bound to a name", "cel.bind(s, secret, s.host)", []string{host}},
		"BindBind":             {"twice", "cel.bind(a, secrets, cel.bind(b, a.db, b.host))", []string{host}},
		"BindAll":              {"bound and used as a whole", "cel.bind(s, secret, json.encode(s))", []string{dbAll}},
		"BindShadowed":         {"one of the same name", "cel.bind(secret, secret, secret.host)", []string{host}},
		"OptMap":               {"mapped", "secret.?host.optMap(h, h + '!').orValue('')", []string{host}},
		"OptFlatMap":           {"mapped to an optional", "optional.of(secret).optFlatMap(s, s.?host).value()", []string{dbAll, host}},
		"Or":                   {"the other one", "optional.none().or(secret.?host).orValue('')", []string{host}},
		"OrValue":              {"the other one", "optional.none().orValue(secret.host)", []string{host}},
		"Ternary":              {"either", "composite.a ? secret.host : secrets.other.port", []string{host, "secrets.other.port"}},
		"TernaryMap":           {"either of two maps", "(composite.a ? secret : secrets.other).host", []string{host, "secrets.other.host"}},
		"Absolute":             {"absolute, where another one shadows it", "[1].map(secrets, .secrets.db.host).join('')", []string{host}},
		"AbsoluteInBind":       {"absolute in a bind of that name", "cel.bind(secret, 'x', .secret.host)", []string{host}},
		"Dyn":                  {"dyn is what it holds", "dyn(secrets).db.host", []string{host}},
		"ComputedKey":          {"a key that is computed", "secret['ho' + 'st']", []string{dbAll}},
		"ComputedInput":        {"an input that is computed", "secrets[composite.spec.x].host", []string{all}},
		"ComputedPart":         {"an index that is a secret", "composite.labels[secret.host]", []string{host}},
		"InList":               {"in a list", "[secret][0].host", []string{dbAll}},
		"InMap":                {"in a map", "{'a': secret}.a.host", []string{dbAll}},
		"MapKey":               {"as a key", "json.encode({secret.host: 'a'})", []string{host}},
		"FirstOfList":          {"through a function", "[secret].first().value().host", []string{dbAll}},
		"Struct":               {"in a message", "json.encode(google.protobuf.Value{string_value: secret.host})", []string{host}},
		"Format":               {"formatted", "'%s'.format([secret.host])", []string{host}},
		"Escaped":              {"an escaped name", "secret.`ca.crt`", []string{"secrets.db['ca.crt']"}},
		"ManyLines":            {"on another line", "'a' +\n secret.host", []string{host}},
		"Variable":             {"through a variable", "variables.host", []string{host}},
		"VariableOfVariable":   {"through a variable of a variable", "variables.url", []string{host}},
		"VariableIndex":        {"by index", "variables['url']", []string{host}},
		"VariableOptional":     {"optional", "variables.?url.orValue('')", []string{host}},
		"VariablePart":         {"a part of one that is a map", "variables.map.x", []string{host}},
		"VariableWhole":        {"one that is all of it", "variables.db.host", []string{dbAll}},
		"VariableComputed":     {"by a name that is computed", "variables['u' + 'rl']", []string{host, dbAll}},
		"Variables":            {"all variables", "json.encode(variables)", []string{host, dbAll}},
		"VariablesSize":        {"how many there are", "string(size(variables))", []string{host, dbAll}},
		"VariableReads":        {"one that computes a name", "variables.computed", []string{host, dbAll}},
		"Plain":                {"nothing secret", "composite.metadata.name + variables.plain", nil},
		"PlainWhole":           {"all composed resources are not secret, nor is one's field of that name", "json.encode([resources.db, resource.secret, composite.secrets.db])", nil},
		"Shadow":               {"a variable of that name is none", "['a'].map(secret, secret + 'x').join('')", nil},
		"ShadowInBind":         {"a bind of that name", "cel.bind(secrets, {'db': {'host': 'x'}}, secrets.db.host)", nil},
		"ShadowTwo":            {"two variables of that name", "{'a': 'b'}.transformList(secret, secrets, secret + secrets).join('')", nil},
		"ShadowOfVariables":    {"also of the named expressions", "cel.bind(variables, {'url': 'x'}, variables.url)", nil},
		"NotShadowedOutside":   {"but not outside of it", "['a'].map(secret, secret).join('') + secret.host", []string{host}},
		"NotShadowedInRange":   {"nor in its range", "[secret.host].map(secret, secret).join('')", []string{host}},
		"NotShadowedInInit":    {"nor in its value", "cel.bind(secrets, secrets.db, 'a' + secrets.host)", []string{host}},
		"FieldOfThatName":      {"a field of another object", "{'secret': 'a'}.secret + resource.secrets.db", nil},
		"StringOfThatName":     {"a string", "'secret.host'", nil},
		"VariableUsedTwice":    {"each use once", "variables.host + variables.url + secret.host", []string{host}},
		"TwoKeys":              {"two uses are two diagnostics", "secret.host + secret.port", []string{host, "secrets.db.port"}},
		"EmptyKey":             {"a key without a name is one", "secret['']", []string{"secrets.db['']"}},
		"KeyOfThatName":        {"a key with a quote", `secret["it's"]`, []string{`secrets.db['it\'s']`}},
		"UintIndex":            {"an index of another type", "dyn(secret)[1u]", []string{dbAll}},
		"NestedComprehensions": {"two deep", "resources.map(a, resources.map(b, secret.host)).flatten().join('')", []string{host}},
	} {
		t.Run(name, func(t *testing.T) {
			_, got := plantest.Compile(t, plantest.Exports(`
variables:
- {name: host, value: secrets.db.host}
- {name: url, value: "'https://' + variables.host"}
- {name: map, value: "{'x': variables.url, 'y': 'z'}"}
- {name: db, value: secrets.db}
- {name: plain, value: composite.spec.x}
- {name: computed, value: "variables[composite.spec.x]"}
configMaps:
- name: c
  from: db
  data:
  - key: k
    value: |-
      `+strings.ReplaceAll(c.value, "\n", "\n      ")+"\n"))
			if diff := cmp.Diff(c.want, uses(t, got)); diff != "" {
				t.Errorf("Compile(...): %s: -want, +got:\n%s", c.reason, diff)
			}
		})
	}
}

// uses returns the used secret of each diagnostic about a use of secrets.
func uses(t *testing.T, faults []string) []string {
	t.Helper()
	var out []string
	for _, f := range faults {
		_, rest, ok := strings.Cut(f, ": uses ")
		use, _, flows := strings.Cut(rest, ", "+plantest.Flow)
		if !ok || !flows || !strings.HasPrefix(f, "configMaps[0].data[0].value:") {
			t.Errorf("diagnostic %q: want a diagnostic about the use of a secret, with line and column", f)
		}
		out = append(out, use)
	}
	return out
}

// Each place but the data of a Secret refuses a secret, and says what to do.
func TestSecretPlaces(t *testing.T) {
	const ofComposite = "; secret is the connection details of the composite here: set from to a composed resource"
	key := func(path string) string {
		return path + `: uses secret.x, ` + plantest.Flow +
			`: leave it out, or list "composite.x" under nonSensitive if it is not secret` + ofComposite
	}
	for name, c := range map[string]struct {
		reason string
		input  string
		want   []string
	}{
		"SecretData": {
			reason: "that is what it is for",
			input:  `secrets: [{name: a, data: [{key: k, value: "[1][0] == 1 ? secret.x : ''"}, {valueMap: "{'a': secret.x}"}]}]`,
		},
		"ConfigMap": {
			reason: "value and valueMap",
			input:  `configMaps: [{name: a, data: [{key: k, value: "'' + secret.x"}, {valueMap: "{'a' : secret.x}"}]}]`,
			want: []string{
				key("configMaps[0].data[0].value:1:12"),
				key("configMaps[0].data[1].valueMap:1:14"),
			},
		},
		"Metadata": {
			reason: "labels and annotations, also those of a Secret, and names, which decide what is looked up",
			input: `
secrets:
- name: a
  metadata: {nameExpression: "'' +secret.x", namespaceExpression: "'' +secret.x", labelsExpression: "{'a' :secret.x}", annotationsExpression: "{'a':  secret.x}"}
  data: [{key: k, value: secret.x}]`,
			want: []string{
				"secrets[0].metadata.nameExpression:1:11: may not use secret.x: the name must be known before any Secret is read: leave it out",
				"secrets[0].metadata.namespaceExpression:1:11: may not use secret.x: the name must be known before any Secret is read: leave it out",
				key("secrets[0].metadata.labelsExpression:1:13"),
				key("secrets[0].metadata.annotationsExpression:1:14"),
			},
		},
		"Status": {
			reason: "everyone who can read the composite can read its status",
			input:  `status: [{fieldPath: a, value: "{'a': secret.x}"}]`,
			want: []string{strings.Replace(key("status[0].value:1:13"), "set from to a composed resource",
				"write secrets.<name>.x for a composed resource", 1)},
		},
		"SourceName": {
			reason: "a requirement is public, and the same on each call",
			input:  `sources: [{name: s, apiVersion: v1, kind: ConfigMap, nameExpression: secret.x}]`,
			want:   []string{"sources[0].nameExpression:1:7: may not use secret.x: the name must be known before any Secret is read: leave it out"},
		},
		"AllKeys": {
			reason: "all keys cannot be declared nonSensitive together",
			input:  `configMaps: [{name: a, data: [{valueMap: secret, nonSensitive: [composite, composite.*, "*"]}, {key: k, value: "secrets[composite.x].y", nonSensitive: ["*.y"]}]}]`,
			want: []string{
				"configMaps[0].data[0].valueMap:1:1: uses all keys of secret, " + plantest.Flow + ": name the keys that it needs, and list those that are not secret under nonSensitive" + ofComposite,
				"configMaps[0].data[1].value:1:21: uses all secrets, " + plantest.Flow + ": name the keys that it needs, and list those that are not secret under nonSensitive",
			},
		},
		"NonSensitive": {
			reason: "just the keys that are listed, in just that place",
			input: `
sources: [{name: ca, apiVersion: v1, kind: Secret}]
variables: [{name: v, value: secrets.db.host + secrets.ca.x}]
configMaps:
- name: a
  from: db
  metadata: {labelsExpression: "{'a': secret.host}", nonSensitive: [db.host]}
  data:
  - {key: k, value: secret.host + secret.port, nonSensitive: [db.host, db.]}
  - {key: l, value: variables.v, nonSensitive: [db.host]}
  - {key: m, value: variables.v, nonSensitive: [db.host, ca.x]}
  - {key: p, value: "'x'", nonSensitive: [db.host]}
  - {key: o, value: secrets.other.host, nonSensitive: [db.host, secret.host]}
status: [{fieldPath: a, value: secrets.db.host, nonSensitive: [db.host]}]`,
			want: []string{
				`configMaps[0].data[0].value:1:21: uses secrets.db.port, ` + plantest.Flow + `: leave it out, or list "db.port" under nonSensitive if it is not secret`,
				`configMaps[0].data[1].value:1:10: uses secrets.ca.x, ` + plantest.Flow + `: leave it out, or list "ca.x" under nonSensitive if it is not secret`,
				`configMaps[0].data[4].value:1:14: uses secrets.other.host, ` + plantest.Flow + `: leave it out, or list "other.host" under nonSensitive if it is not secret`,
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			_, got := plantest.Compile(t, plantest.Exports(c.input))
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("Compile(...): %s: -want, +got:\n%s", c.reason, diff)
			}
		})
	}
}

// A variable sees those above it, even if it computes their names: otherwise it
// could give a secret that its readers do not know of, or itself for ever.
func TestVariableSeesThoseAbove(t *testing.T) {
	for name, value := range map[string]string{
		"Computed": `variables['' + 'later']`,
		"Itself":   `variables['' + 'first']`,
		"Whole":    `json.encode(variables)`,
		"Walked":   `variables.map(k, variables[k]).join('')`,
	} {
		t.Run(name, func(t *testing.T) {
			s := newScene(t, plantest.Exports(fmt.Sprintf(`
variables:
- {name: first, value: "%s"}
- {name: later, value: secret.password}
configMaps: [{name: c, data: [{key: k, value: "variables.first"}, {key: l, value: "'v'"}]}]`, value)))
			if got := s.run(t); strings.Contains(s.text(t, got), canary) {
				t.Errorf("Run(...): a secret in a ConfigMap:\n%s", s.text(t, got))
			}
		})
	}
}

// A variable is evaluated on first use, and once.
func TestVariableIsEvaluatedOnce(t *testing.T) {
	s := newScene(t, plantest.Exports(`
variables: [{name: unused, value: "1"}, {name: a, value: "'a'"}, {name: later, value: composite.spec.later}, {name: failed, value: composite.spec.size.x}]
secrets: [{name: a, data: [{key: k, value: variables.a + variables.a}, {key: l, value: variables.a}, {key: m, value: variables.later}, {key: p, value: variables.later}, {key: q, value: variables.failed}]}]`))
	r := s.run(t)
	got := []int{r.OK, r.Waiting, r.Failed}
	if diff := cmp.Diff([]int{3, 3, 2}, got); diff != "" { // with the five of the Secret
		t.Errorf("Run(...): evaluations that went well, waited and failed: -want, +got:\n%s", diff)
	}
}
