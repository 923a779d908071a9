package plan_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/crossplane-contrib/function-export/internal/engine/plan/plantest"
)

// TestCompileRevisions tests where expressions may use revisions, so that no revision can change itself.
func TestCompileRevisions(t *testing.T) {
	const (
		fields = "may not use revisions: they may be used in status, in labels and annotations of exports, in readyExpression, and in data of a later export"
		above  = "may use only revisions of exports above this one: the revision of "
		itself = " could change itself forever"
	)
	secrets := func(first, second string) string {
		return "secrets:\n- {name: first, " + first + "}\n- {name: second, " + second + "}\n- {name: users, forEachExpression: composite.spec.users, " +
			"keyExpression: item, data: [{key: a, value: item}]}\n"
	}
	const data = "data: [{key: a, value: composite.metadata.name}]"
	reads := func(x string) string { return `data: [{key: a, value: "` + x + `"}]` }
	cases := map[string]struct {
		reason string
		input  string
		want   []string
	}{
		"Status":      {"a status field may have any revision", secrets(data, data) + "status: [{fieldPath: a, value: revisions.second}, {fieldPath: b, value: revisions.users}]", nil},
		"All":         {"a status field may have all revisions", secrets(data, data) + "status: [{fieldPath: a, value: revisions}]", nil},
		"Annotations": {"metadata is not data", secrets(`metadata: {annotationsExpression: "{'a': string(revisions.first)}"}, `+data, data), nil},
		"Labels":      {"metadata is not data", secrets(`metadata: {labelsExpression: "{'a': string(revisions.second)}"}, `+data, data), nil},
		"Ready": {
			"a generation may be ready when an export was written", secrets("data: [{key: a, value: candidate.admin.uuid}]", data) +
				"generators: [{name: admin, uuid: {}, readyExpression: revisions.first >= generation.number}]", nil,
		},
		"LaterData":     {"data of a later export cannot change an earlier one", secrets(data, reads("string(revisions.first)")), nil},
		"LaterMap":      {"valueMap is also data", secrets(data, `data: [{valueMap: "{'a': string(revisions.first)}"}]`), nil},
		"ConfigMap":     {"ConfigMaps come after Secrets", secrets(data, data) + "configMaps: [{name: c, " + reads("string(revisions.second)") + "}]", nil},
		"LaterItem":     {"an item is a part of its export", secrets(data, data) + "configMaps: [{name: c, " + reads("string(revisions.users['anna'])") + "}]", nil},
		"OwnData":       {"each change would be a change", secrets(reads("string(revisions.first)"), data), []string{`secrets[0].data[0].value:1:17: ` + above + `"first"` + itself}},
		"EarlierData":   {"two exports would change each other", secrets(reads("string(revisions.second)"), data), []string{`secrets[0].data[0].value:1:17: ` + above + `"second"` + itself}},
		"AllData":       {"all of them include its own", secrets(data, reads("json.encode(revisions)")), []string{"secrets[1].data[0].value:1:13: must name the export whose revision it uses: write revisions.<export>"}},
		"ComputedData":  {"a computed name may be its own", secrets(data, reads("string(revisions[composite.spec.name])")), []string{"secrets[1].data[0].value:1:17: must name the export whose revision it uses: write revisions.<export>"}},
		"Variable":      {"a variable may be used in data", secrets(data, data) + "variables: [{name: v, value: revisions.first}]", []string{"variables[0].value:1:10: " + fields}},
		"Name":          {"the name is fixed", secrets(`metadata: {nameExpression: "'a' + string(revisions.second)"}, `+data, data), []string{"secrets[0].metadata.nameExpression:1:23: " + fields}},
		"Keepers":       {"a rotation would rotate", secrets(data, data) + "generators: [{name: admin, uuid: {}, refreshPolicy: OnChange, keepersExpression: revisions.first}]", []string{"generators[0].keepersExpression:1:10: " + fields}},
		"Environment":   {"an export may read the environment", secrets(data, data) + "environment: {set: [{fieldPath: a, value: revisions.first}]}", []string{"environment.set[0].value:1:10: " + fields}},
		"List":          {"the list decides which exports exist", "configMaps: [{name: c, forEachExpression: '[revisions.c]', keyExpression: string(item), data: [{key: a, value: '\"b\"'}]}]", []string{"configMaps[0].forEachExpression:1:11: " + fields}},
		"Typo":          {"a similar name is suggested", secrets(data, data) + "status: [{fieldPath: a, value: revisions.secnod}]", []string{`status[0].value:1:10: there is no export "secnod": did you mean second?`}},
		"Another":       {"other names are listed", secrets(data, data) + "status: [{fieldPath: a, value: revisions.database}]", []string{`status[0].value:1:10: there is no export "database": there are first, second, users`}},
		"None":          {"there may be no export", "status: [{fieldPath: a, value: revisions.database}]", []string{`status[0].value:1:10: there is no export "database": add it`}},
		"MisspelledVar": {"the variable is known", secrets(data, data) + "status: [{fieldPath: a, value: revision.first}]", []string{`status[0].value:1:1: there is no variable revision: did you mean revisions?`}},
		"Dashes":        {"a name with dashes is a key", strings.ReplaceAll(secrets(data, data), "second", "the-second") + "status: [{fieldPath: a, value: revisions.the-second}]", []string{"status[0].value:1:14: - is the minus operator here: did you mean revisions['the-second']?"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			_, got := plantest.Compile(t, plantest.Exports(tc.input))
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s: -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}
