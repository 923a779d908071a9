package plan_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/crossplane-contrib/function-export/internal/engine/plan/plantest"
)

// The result of a function is as secret as its operands. An encoding or a hash of a password may not flow into a
// ConfigMap.
func TestFunctionsOfSecretsAreSecret(t *testing.T) {
	for _, text := range []string{
		"hash.fnv64a(secret.password)", "hash.md5(secret.password)", "hash.sha1(secret.password)",
		"hash.sha256(secret.password)", "hash.sha512(secret.password)", "sha256(secret.password)",
		"hex.encode(hash.sha256(secret.password))", "string(hash.sha256(secret.password)) + ''",
		"hmac.sha256(secret.password, 'message')", "hmac.sha256('key', secret.password)",
		"hex.encode(secret.password)", "hex.decode(secret.password)", "base64url.encode(secret.password)",
		"base64url.decode(secret.password)", "url(secret.password).getHost()", "isURL(secret.password) ? 'a' : 'b'",
		"string(ip(secret.password))", "string(cidr(secret.password).masked())",
		"string(cidr('10.0.0.0/8').containsIP(secret.password))", "string(quantity(secret.password).asInteger())",
		"string(quantity('1').add(quantity(secret.password)).asInteger())",
		"string(semver(secret.password).major())", "format.uri().validate(secret.password).orValue(['']).join()",
		"format.named(secret.password).hasValue() ? 'a' : 'b'", "{'a': secret.password}.merge({}).a",
		"{}.merge({'a': secret.password}).b", "pem.split(secret.password)[0]",
		"pem.join([secret.password, '']) + ''", "pem.chain(secret.password)", "pem.leaf(secret.password)",
		"pem.ca(secret.password)", "pem.certificates(secret.password)", "pem.privateKey(secret.password)",
		"properties.encode({'a': secret.password})", "dotenv.encode({'A': secret.password})",
		"ini.encode({'a': {'b': secret.password}})", "toml.encode({'a': [secret.password]})",
		"pgpass.encode([{'password': secret.password}])", "libpq.encode({'password': secret.password})",
		"jdbc.url({'driver': 'mysql', 'host': 'h', 'username': 'u', 'password': secret.password})",
		"mysql.dsn({'host': 'h', 'username': 'u', 'password': secret.password})",
		"amqp.url({'host': 'h', 'username': 'u', 'password': secret.password})",
		"mongodb.url({'host': 'h', 'username': 'u', 'password': secret.password})",
		"redis.url({'host': 'h', 'password': secret.password})",
	} {
		_, wrong := plantest.Compile(t, plantest.Exports(fmt.Sprintf(
			`configMaps: [{name: a, from: db, data: [{key: k, value: %q}]}]`, text)))
		if len(wrong) != 1 || !strings.Contains(wrong[0], "uses secrets.db.password, "+plantest.Flow) {
			t.Errorf("%s: want a diagnostic, got %v", text, wrong)
		}
	}
}

// TestSecretUses compiles expressions in a ConfigMap. Expressions that use a secret have a
// diagnostic; the others have none.
func TestSecretUses(t *testing.T) {
	const (
		db    = "secrets.db"
		host  = "secrets.db.host"
		all   = "all of secrets"
		dbAll = "all of secrets.db"
	)
	for name, c := range map[string]struct {
		reason string
		value  string
		want   []string // what is used
	}{
		"Select":         {"the plain form", "secrets.db.host", []string{host}},
		"Index":          {"by index", "secrets['db']['host']", []string{host}},
		"OptionalSelect": {"optional select", "secrets.?db.?host.orValue('')", []string{host}},
		"From":           {"secret is that of from", "secret.host", []string{host}},
		"Presence": {"the existence of a key is also secret data",
			"has(secrets.db.host) ? 'a' : 'b'", []string{host}},
		"HasValue":            {"by an optional", "secrets.?db.?host.hasValue() ? 'a' : 'b'", []string{host}},
		"In":                  {"in reads the keys", "'host' in secrets.db ? 'a' : 'b'", []string{dbAll}},
		"InSecrets":           {"also of all", "'db' in secrets ? 'a' : 'b'", []string{all}},
		"Whole":               {"the whole map", "json.encode(secrets.db)", []string{dbAll}},
		"WholeFrom":           {"the whole map of from", "json.encode(secret)", []string{dbAll}},
		"All":                 {"all of them", "json.encode(secrets)", []string{all}},
		"Size":                {"how many there are", "string(size(secrets.db))", []string{dbAll}},
		"Equal":               {"compared", "secret == {} ? 'a' : 'b'", []string{dbAll}},
		"Condition":           {"a condition tells", "secret.host > 'x' || true ? 'a' : 'b'", []string{host}},
		"Comprehension":       {"walked", "secret.map(k, k).join('')", []string{dbAll}},
		"ComprehensionInside": {"inside of one", "['host'].map(k, secret[k]).join('')", []string{dbAll}},
		"ComprehensionKey": {"inside of one, the key literal",
			"[1].map(k, secret.host).join('')", []string{host}},
		"TwoVariablesAll": {"of all", "secrets.transformList(n, m, m.host).join('')", []string{all}},
		"Bind":            {"bound to a name", "cel.bind(s, secret, s.host)", []string{host}},
		"BindAll":         {"bound and used as a whole", "cel.bind(s, secret, json.encode(s))", []string{dbAll}},
		"BindShadowed":    {"one of the same name", "cel.bind(secret, secret, secret.host)", []string{host}},
		"OptMap":          {"mapped", "secret.?host.optMap(h, h + '!').orValue('')", []string{host}},
		"Or":              {"the other one", "optional.none().or(secret.?host).orValue('')", []string{host}},
		"OrValue":         {"the other one", "optional.none().orValue(secret.host)", []string{host}},
		"Ternary": {"either",
			"composite.a ? secret.host : secrets.other.port", []string{host, "secrets.other.port"}},
		"Absolute": {"absolute, where another one shadows it",
			"[1].map(secrets, .secrets.db.host).join('')", []string{host}},
		"Dyn":           {"dyn is what it holds", "dyn(secrets).db.host", []string{host}},
		"ComputedKey":   {"a key that is computed", "secret['ho' + 'st']", []string{dbAll}},
		"ComputedInput": {"an input that is computed", "secrets[composite.spec.x].host", []string{all}},
		"InList":        {"in a list", "[secret][0].host", []string{dbAll}},
		"InMap":         {"in a map", "{'a': secret}.a.host", []string{dbAll}},
		"MapKey":        {"as a key", "json.encode({secret.host: 'a'})", []string{host}},
		"Struct": {"in a message",
			"json.encode(google.protobuf.Value{string_value: secret.host})", []string{host}},
		"Format":             {"formatted", "'%s'.format([secret.host])", []string{host}},
		"Escaped":            {"an escaped name", "secret.`ca.crt`", []string{"secrets.db['ca.crt']"}},
		"Variable":           {"through a variable", "variables.host", []string{host}},
		"VariableOfVariable": {"through a variable of a variable", "variables.url", []string{host}},
		"VariablePart":       {"a part of one that is a map", "variables.map.x", []string{host}},
		"VariableWhole":      {"one that is all of it", "variables.db.host", []string{dbAll}},
		"VariableComputed":   {"by a name that is computed", "variables['u' + 'rl']", []string{host, dbAll}},
		"Variables":          {"all variables", "json.encode(variables)", []string{host, dbAll}},
		"Plain":              {"nothing secret", "composite.metadata.name + variables.plain", nil},
		"PlainWhole": {"all composed resources are not secret, nor is one's field of that name",
			"json.encode([resources.db, resource.secret, composite.secrets.db])", nil},
		"Shadow": {"a variable of that name is none", "['a'].map(secret, secret + 'x').join('')", nil},
		"ShadowInBind": {"a bind of that name",
			"cel.bind(secrets, {'db': {'host': 'x'}}, secrets.db.host)", nil},
		"ShadowOfVariables": {"also of the named expressions",
			"cel.bind(variables, {'url': 'x'}, variables.url)", nil},
		"NotShadowedOutside": {"but not outside of it",
			"['a'].map(secret, secret).join('') + secret.host", []string{host}},
		"NotShadowedInRange": {"nor in its range", "[secret.host].map(secret, secret).join('')", []string{host}},
		"NotShadowedInInit": {"nor in its value",
			"cel.bind(secrets, secrets.db, 'a' + secrets.host)", []string{host}},
		"FieldOfThatName":   {"a field of another object", "{'secret': 'a'}.secret + resource.secrets.db", nil},
		"VariableUsedTwice": {"each use once", "variables.host + variables.url + secret.host", []string{host}},
		"TwoKeys": {"two uses are two diagnostics",
			"secret.host + secret.port", []string{host, "secrets.db.port"}},
		"KeyOfThatName": {"a key with a quote", `secret["it's"]`, []string{`secrets.db['it\'s']`}},
		"NestedComprehensions": {"two deep",
			"resources.map(a, resources.map(b, secret.host)).flatten().join('')", []string{host}},
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
