package plan_test

import (
	"testing"
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
	checkCompiled(t, map[string]compiled{
		"Status": {"a status field may have any revision", secrets(data, data) + "status: [{fieldPath: a, value: revisions.second}, {fieldPath: b, value: revisions.users}]", nil},
		"Ready": {
			"a generation may be ready when an export was written", secrets("data: [{key: a, value: candidate.admin.uuid}]", data) +
				"generators: [{name: admin, uuid: {}, readyExpression: revisions.first >= generation.number}]", nil,
		},
		"LaterData":    {"data of a later export cannot change an earlier one", secrets(data, reads("string(revisions.first)")), nil},
		"OwnData":      {"each change would be a change", secrets(reads("string(revisions.first)"), data), []string{`secrets[0].data[0].value:1:17: ` + above + `"first"` + itself}},
		"EarlierData":  {"two exports would change each other", secrets(reads("string(revisions.second)"), data), []string{`secrets[0].data[0].value:1:17: ` + above + `"second"` + itself}},
		"AllData":      {"all of them include its own", secrets(data, reads("json.encode(revisions)")), []string{"secrets[1].data[0].value:1:13: must name the export whose revision it uses: write revisions.<export>"}},
		"ComputedData": {"a computed name may be its own", secrets(data, reads("string(revisions[composite.spec.name])")), []string{"secrets[1].data[0].value:1:17: must name the export whose revision it uses: write revisions.<export>"}},
		"Variable":     {"a variable may be used in data", secrets(data, data) + "variables: [{name: v, value: revisions.first}]", []string{"variables[0].value:1:10: " + fields}},
		"Name":         {"the name is fixed", secrets(`metadata: {nameExpression: "'a' + string(revisions.second)"}, `+data, data), []string{"secrets[0].metadata.nameExpression:1:23: " + fields}},
		"Typo":         {"a similar name is suggested", secrets(data, data) + "status: [{fieldPath: a, value: revisions.secnod}]", []string{`status[0].value:1:10: there is no export "secnod": did you mean second?`}},
	})
}
