package plan_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/crossplane-contrib/function-export/internal/plan/plantest"
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
		"Outputs":          {"all outputs of a generator", find(both, "generated.one/"), nil},
		"Key":              {"some of them", find(both, "generated.one/uu"), nil},
		"Beginning":        {"all generators whose names begin like this", find(both, "generated.o"), nil},
		"BeginningOfList":  {"other generators can have names that begin like this", find(both, "generated.users"), nil},
		"Resource":         {"another path", find(both, "db/"), nil},
		"ResourceWithADot": {"another path", find(both, "database.one/"), nil},
		"NoGenerators":     {"it is the name of a composed resource", find("", "generated.nope/"), nil},
		"NoPrevious":       {"it is the name of a composed resource", find("", "previous.one/"), nil},
		"Missing":          {"it would find nothing", find(one, "generated.nope/"), []string{at + `there is no generator "nope": there is only one`}},
		"List":             {"the outputs of a list are one level deeper", find(both, "generated.users/"), []string{at + `cannot find the outputs of "users", which has outputs for each item: write a valueMap`}},
		"Item":             {"also those of one item", find(both, "generated.users.alice/"), []string{at + `cannot find the outputs of "users", which has outputs for each item: write a valueMap`}},
		"Previous":         {"former generations must be meant one by one", find(one, "previous.one/"), []string{at + "cannot find previous generations: use extract with key previous.one"}},
		"Candidate":        {"so must pending ones", find(one, "candidate.one"), []string{at + "cannot find candidate generations: use extract with key candidate.one"}},
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

func TestCompileDataFrom(t *testing.T) {
	const nope = `there is no variable nope: write text in its own quotes, as in "'some text'"`
	checkCompiled(t, map[string]compiled{
		"Secret": {
			reason: "the data of a Secret can have all keys of any input",
			input: `
sources: [{name: cm, apiVersion: v1, kind: ConfigMap}, {name: ca, apiVersion: v1, kind: Secret}]
generators: [{name: one, uuid: {}}]
secrets: [{name: a, dataFrom: [{extract: {key: cm}}, {extract: {key: ca}}, {extract: {key: db}}, {extract: {key: generated.one}}, {extract: {key: composite}}, {valueMap: secrets.db}]}]`,
		},
		"Wrong": {
			reason: "one diagnostic is enough",
			input: `
generators: [{name: one, uuid: {}}]
secrets: [{name: a, dataFrom: [{valueMap: nope}, {extract: {key: generated.nope}}]}]
configMaps: [{name: b, dataFrom: [{valueMap: nope}, {extract: {key: generated.nope}}]}]`,
			want: []string{
				"secrets[0].dataFrom[0].valueMap:1:1: " + nope,
				`secrets[0].dataFrom[1].extract.key: there is no generator "nope": there is only one`,
				"configMaps[0].dataFrom[0].valueMap:1:1: " + nope,
				`configMaps[0].dataFrom[1].extract.key: there is no generator "nope": there is only one`,
			},
		},
	})
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
		"Invalid": {
			reason: "no object can have them",
			input:  `secrets: [{name: a, data: [{key: k, value: "{'!': 'a'}.k"}, {valueMap: "{'a b': '1', 'ok': '2'}"}]}]`,
			want:   []string{`secrets[0].data[1].valueMap: cannot use key "a b": use letters, digits, '-', '_' and '.' only`},
		},
	})
}
