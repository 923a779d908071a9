package plan_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/crossplane-contrib/function-export/internal/engine/plan/plantest"
)

// A find of outputs names one generator with generated. Without generators, the same path is that of a composed resource.
func TestFindOutputs(t *testing.T) {
	const (
		users = "{name: users, forEachExpression: composite.spec.users, keyExpression: item.name, uuid: {}}"
		one   = "generators: [{name: one, uuid: {}}]\n"
		both  = "generators: [{name: one, uuid: {}}, " + users + "]\n"
		at    = "secrets[0].dataFrom[0].find.path: "
	)
	find := func(generators, path string) string {
		return generators + "secrets: [{name: a, dataFrom: [{find: {path: " + path + "}}]}]"
	}
	checkCompiled(t, map[string]compiled{
		"Outputs":      {"all outputs of a generator", find(both, "generated.one/"), nil},
		"Key":          {"some of them", find(both, "generated.one/uu"), nil},
		"NoGenerators": {"it is the name of a composed resource", find("", "generated.nope/"), nil},
		"Missing":      {"it would find nothing", find(one, "generated.nope/"), []string{at + `there is no generator "nope": there is only one`}},
		"List":         {"the outputs of a list are one level deeper", find(both, "generated.users/"), []string{at + `cannot find the outputs of "users", which has outputs for each item: write a valueMap`}},
		"Item":         {"also those of one item", find(both, "generated.users.alice/"), []string{at + `cannot find the outputs of "users", which has outputs for each item: write a valueMap`}},
		"Previous":     {"former generations must be meant one by one", find(one, "previous.one/"), []string{at + "cannot find previous generations: use extract with key previous.one"}},
	})
}

// The key of an entry can be secret. A message shows only keys that are written in the input.
func TestSpelledKeys(t *testing.T) {
	for name, c := range map[string]struct {
		reason string
		value  string
		want   []string
	}{
		"Plain":    {"all keys, because nothing is secret", "{'a': composite.spec.x}", nil},
		"Secret":   {"the key that is written", "{'a': secrets.db.host, secrets.db.host: 'b'}", []string{"a"}},
		"Computed": {"none is written", "secrets.db", []string{}},
	} {
		p, wrong := plantest.Compile(t, plantest.Exports(`secrets: [{name: a, dataFrom: [{valueMap: "`+c.value+`"}]}]`))
		if wrong != nil {
			t.Fatal(wrong)
		}
		if diff := cmp.Diff(c.want, p.Exports[0].DataFrom[0].Spelled); diff != "" {
			t.Errorf("%s: Spelled: %s: -want, +got:\n%s", name, c.reason, diff)
		}
	}
}

// The keys that a valueMap writes are checked like those of the input.
func TestCompileKeys(t *testing.T) {
	twice := func(at string, first, second int) string {
		entry := func(i int) string { return "secrets[0].data[" + string(rune('0'+i)) + "]" }
		return entry(second) + "." + at + `: key "k" is written by ` + entry(first) + " and " + entry(second) + ": keep one of them"
	}
	const writers = `data: [{key: k, value: "'1'"}, {key: k, value: "'2'"}, {key: k, value: "'3'"}, {valueMap: "{'k': '4', 'l': '5'}"}, {valueMap: "{'l': '6', 'k': '7'}"}]}]`
	checkCompiled(t, map[string]compiled{
		"Writers": {
			reason: "each one is told about the first one",
			input:  "secrets: [{name: a, " + writers,
			want: []string{
				twice("key", 0, 1), twice("key", 0, 2), twice("valueMap", 0, 3),
				`secrets[0].data[4].valueMap: key "l" is written by secrets[0].data[3] and secrets[0].data[4]: keep one of them`,
				twice("valueMap", 0, 4),
			},
		},
		"LastWins": {
			reason: "the input says which one is meant",
			input:  "secrets: [{name: a, conflictPolicy: LastWins, " + writers,
		},
	})
}

func TestCompileDataFromDiagnostics(t *testing.T) {
	checkCompiled(t, map[string]compiled{
		"Dots": {
			reason: "an input with a dot in its name is not declared by another one's key",
			input:  `configMaps: [{name: a, data: [{key: k, value: "secrets['db.ca'].crt + secrets.db['ca.crt']", nonSensitive: [db.ca.crt]}, {key: l, value: "secrets['db.ca'].crt", nonSensitive: ["['db.ca'].crt"]}]}]`,
			want:   []string{`configMaps[0].data[0].value:1:17: uses secrets['db.ca'].crt, but secret data may flow only into the data of Secrets: leave it out, or list "['db.ca'].crt" under nonSensitive if it is not secret`},
		},
		"SecretsInConfigMaps": {
			reason: "secret data flows into Secrets only",
			input:  "sources: [{name: s, apiVersion: v1, kind: Secret}]\nconfigMaps: [{name: a, dataFrom: [{extract: {key: db}}, {extract: {key: s}}, {extract: {key: composite}}, {find: {path: a}}, {valueMap: secrets.db}, {extract: {key: db, property: a.b}}]}]",
			want: []string{
				`configMaps[0].dataFrom[0].extract.key: "db" is secret data, which may flow only into the data of Secrets: extract a ConfigMap source or the environment, or export single keys`,
				`configMaps[0].dataFrom[1].extract.key: "s" is secret data, which may flow only into the data of Secrets: extract a ConfigMap source or the environment, or export single keys`,
				`configMaps[0].dataFrom[2].extract.key: "composite" is secret data, which may flow only into the data of Secrets: extract a ConfigMap source or the environment, or export single keys`,
				"configMaps[0].dataFrom[3].find: finds secret data, which may flow only into the data of Secrets: extract a ConfigMap source or the environment",
				"configMaps[0].dataFrom[4].valueMap:1:8: uses all keys of secrets.db, but secret data may flow only into the data of Secrets: leave it out",
				`configMaps[0].dataFrom[5].extract.key: "db" is secret data, which may flow only into the data of Secrets: extract a ConfigMap source or the environment, or export single keys`,
			},
		},
	})
}
