package fields_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/crossplane-contrib/function-export/internal/engine/advice/fields"
	"github.com/crossplane-contrib/function-export/internal/engine/plan/plantest"
	"github.com/crossplane-contrib/function-export/internal/engine/strict"
)

// A message repeats names of fields, but no value, because that may be data. Other messages are in the broken files of
// check.
const secret = "hunter2"

func TestDecode(t *testing.T) {
	data := func(entry string) string { return "secrets: [{name: a, from: db, data: [" + entry + "]}]" }
	for name, c := range map[string]struct {
		reason string
		input  string
		want   []string
	}{
		"Levels": {
			reason: "a field is at another level",
			input: "secrets: [{name: a, labels: {}, value: hunter2, metadata: {dataFrom: []}, dataFrom: [{find: " +
				"{regexp: hunter2}}]}]",
			want: []string{
				"secrets[0].metadata.dataFrom: is an unknown field: the field is at a higher level: write it as " +
					"secrets[0].dataFrom",
				"secrets[0].dataFrom[0].find.regexp: is an unknown field: did you mean name.regexp?",
				"secrets[0].labels: is an unknown field: did you mean metadata.labels?",
				"secrets[0].value: is an unknown field: it is a field of the items of data: write it in an item, as " +
					"in data: [{value: ...}], and indent it like the other fields of the item",
			},
		},
		"Types": {
			reason: "a value has another type",
			input: `generators: [{name: a, password: {length: "32", secretKeys: a}}]
secrets: [{name: hunter2, immutable: "hunter2", metadata: {labels: ["hunter2"], annotations: "{'hunter2': 'a'}"}}]`,
			want: []string{
				"generators[0].password.length: must be a number, but is a string: write a whole number, without " +
					"quotes and without a unit",
				"generators[0].password.secretKeys: must be a list, but is a string: write [ ] around its items",
				"secrets[0].metadata.labels: must be an object, but is a list: leave out the dashes, and write each " +
					"item as name: value",
				"secrets[0].metadata.annotations: must be an object, but is a string: write the expression in the " +
					"field annotationsExpression",
				"secrets[0].immutable: must be true or false, but is a string: write true or false without quotes",
			},
		},
		"Entries": {
			reason: "an entry of another tool has one diagnostic",
			input: data("{name: pw, type: FromValue, value: hunter2}, {username: hunter2}, {key: hunter2, " +
				"remoteRef: {key: hunter2}}"),
			want: []string{
				`secrets[0].data[0].type: is a field of function-patch-and-transform: write for example the entry as {key: host, ` +
					`value: "'text'"}`,
				"secrets[0].data[1].username: is an unknown field: write the entry as {key: username, value: ...}",
				"secrets[0].data[2].remoteRef: is a field of External Secrets: write for example the entry as {key: " +
					"host, value: secrets.db.host}",
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			_, _, list := strict.Decode(plantest.Parse(t, plantest.Exports(c.input)), fields.Adviser{})
			var got []string
			for _, d := range list {
				got = append(got, d.Error())
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("Decode(...): %s: -want, +got:\n%s", c.reason, diff)
			}
			if strings.Contains(strings.Join(got, ""), secret) {
				t.Errorf("a message repeats data: %v", got)
			}
		})
	}
}

// Each entry that a message tells the reader to write is an entry of this input.
func TestEntriesCompile(t *testing.T) {
	input := func(entry string) string { return plantest.Exports("secrets: [{name: a, data: [" + entry + "]}]") }
	for _, field := range []string{"fromConnectionSecretKey", "combine", "fromFieldPath", "type", "remoteRef"} {
		_, _, list := strict.Decode(plantest.Parse(t, input("{"+field+": a}")), fields.Adviser{})
		if len(list) != 1 {
			t.Fatalf("%s: %v", field, list)
		}
		_, entry, _ := strings.Cut(list[0].Message, "the entry as ")
		if _, wrong := plantest.Compile(t, input(entry)); len(wrong) > 0 {
			t.Errorf("%s: %s: %v", field, entry, wrong)
		}
	}
}
