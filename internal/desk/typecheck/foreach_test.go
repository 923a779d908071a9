package typecheck_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// forEach is an input with an object for each item of a list.
func forEach(list, key, value string) string {
	return `{secrets: [{name: users, from: db, forEachExpression: "` + list + `", keyExpression: "` + key + `", data: [{key: k, value: "` + value + `"}]}]}`
}

func TestTypesOfItems(t *testing.T) {
	for name, c := range map[string]struct {
		reason string
		input  string
		want   []string
	}{
		"Correct": {
			reason: "an item has the type of the list's items",
			input:  forEach("resources.db.status.atProvider.users", "item.name", "item.role + key + string(index)"),
		},
		"Misspelled": {
			reason: "a field that no item has is refused in the key and in the values",
			input:  forEach("resources.db.status.atProvider.users", "item.nmae", "item.roles"),
			want: []string{
				"secrets[0].keyExpression:1:5: Instance of rds.example.org/v1 has no field status.atProvider.users[].nmae: did you mean name?",
				"secrets[0].data[0].value:1:5: Instance of rds.example.org/v1 has no field status.atProvider.users[].roles: did you mean role?",
			},
		},
		"Unknown": {
			reason: "nothing is known about an item of an unknown list",
			input:  forEach("resources.cache.spec.users", "item.nmae", "item.role"),
		},
		"NoList": {
			reason: "a field that is not a list is refused",
			input:  forEach("resources.db.spec.tags", "item.name", "item.role"),
			want:   []string{"secrets[0].forEachExpression:1:1: must return a list, but returns a map(string, string): write value.map(k, {'name': k, 'value': value[k]}) for a list of its entries"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, typed(t, c.input, known(t))); diff != "" {
				t.Errorf("CheckTypes(...): %s: -want, +got:\n%s", c.reason, diff)
			}
		})
	}
}
