package reconcile_test

import (
	"fmt"
	"math/rand"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/crossplane-contrib/function-export/internal/engine/limits"
	"github.com/crossplane-contrib/function-export/internal/engine/plan/plantest"
)

// users is an input with an object for each item of a list.
const users = `
configMaps:
- name: users
  forEachExpression: composite.spec.users
  keyExpression: item.name
  data:
  - {key: user, value: item.name}
  - {key: role, value: item.role}
`

// composite has users.
func composite(users string) string {
	return "composite: {apiVersion: example.org/v1, kind: App, metadata: {name: xr, namespace: team, uid: u1}, spec: " +
		"{users: " + users + "}}\n"
}

// observedUsers are the objects of two items, and one of another export.
const observedUsers = `
resources:
  users/anna: {object: {apiVersion: v1, kind: ConfigMap, metadata: {name: xr-users-anna, namespace: team},
    data: {user: anna, role: old}}}
  users/bert: {object: {apiVersion: v1, kind: ConfigMap, metadata: {name: xr-users-bert, namespace: team},
    data: {user: bert, role: old}}}
  users-carl: {object: {apiVersion: v1, kind: ConfigMap, metadata: {name: xr-users-carl, namespace: team},
    data: {user: carl, role: old}}}
`

func TestRunForEach(t *testing.T) {
	const (
		anna = "Available ConfigMap team/xr-users-anna {data: {role: admin, user: anna}}"
		bert = "Available ConfigMap team/xr-users-bert {data: {role: guest, user: bert}}"
	)
	for name, c := range map[string]struct {
		reason string
		input  string
		world  []string
		want   []string
	}{
		"TooManyItems": {
			reason: "a list over the limit is not looked into, and drops nothing",
			input:  users,
			world:  []string{composite("[" + strings.Repeat("{name: a},", limits.Items) + "{}]"), observedUsers},
			want: []string{
				"Held ConfigMap team/xr-users-anna {data: {role: old, user: anna}}",
				"Held ConfigMap team/xr-users-bert {data: {role: old, user: bert}}",
				`Held! | ConfigMap "users" is not composed for each item: configMaps[0].forEachExpression: has 257 ` +
					`items, over the limit of 256: use several composites; these composed resources are kept ` +
					`unchanged ` +
					`until all keys are known: users/anna, users/bert`,
			},
		},
		"KeyIsMissing": {
			reason: "an item without a key is waited for",
			input:  users,
			world: []string{composite("[{name: anna, role: admin}, {role: guest}, {name: ''}, null, {name: 5}]"),
				observedUsers},
			want: []string{
				anna,
				"Held ConfigMap team/xr-users-bert {data: {role: old, user: bert}}",
				`Held! | ConfigMap "users" is not composed for each item: configMaps[0].keyExpression for the item ` +
					`at index 4: must return a string, but returns int: wrap it in string(...); ` +
					`configMaps[0].keyExpression for the item at index 1 waits for item.name (the item lacks it: set ` +
					`it ` +
					`there, or write .?name.orValue('none') for a default); configMaps[0].keyExpression for the item ` +
					`at ` +
					`index 2 waits for a key that is not empty; configMaps[0].keyExpression for the item at index 3 ` +
					`waits for item.name (the item lacks it: set it there, or write .?name.orValue('none') for a ` +
					`default); these composed resources are kept unchanged until all keys are known: users/bert`,
			},
		},
		"EarlierStep": {
			reason: "an object of an earlier step is not replaced, and the other items go on",
			input:  users,
			world: []string{composite("[{name: anna, role: admin}, {name: bert, role: guest}]"), observedUsers, `
desired: {users/bert: {apiVersion: v1, kind: ConfigMap, metadata: {name: other}}, users: {apiVersion: v1,
  kind: ConfigMap, metadata: {name: more}}}`},
			want: []string{
				anna,
				`Conflict! | ConfigMap "users/bert": configMaps[0].name: another step of the pipeline also composes ` +
					`a resource named "users/bert": rename one of them`,
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			got := show(newScene(t, plantest.Exports(c.input), c.world...).run(t))
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("Run(...): %s: -want, +got:\n%s", c.reason, diff)
			}
		})
	}
}

// The laws: the order of a list does not matter. An object whose key is known follows its item. While the key of an
// item is unknown, no object is dropped. Once all keys are known, exactly the objects of the items are desired.
func FuzzItems(f *testing.F) {
	f.Add("abc", int64(1))
	f.Add("abca", int64(2))
	f.Add("abgd", int64(3))
	f.Add("", int64(4))
	f.Fuzz(func(t *testing.T, keys string, seed int64) {
		if len(keys) > 20 {
			return
		}
		items, times := []string{}, map[string]int{}
		for _, k := range []byte(keys) {
			key := string("abcdef_"[(k-'a')%7]) // the last one is illegal
			items = append(items, fmt.Sprintf("{name: %s, role: new}", key))
			times[key]++
		}
		first := objectsOfItems(t, items)
		rand.New(rand.NewSource(seed)).Shuffle(len(items), func(i, j int) { items[i], items[j] = items[j], items[i] })
		if diff := cmp.Diff(first, objectsOfItems(t, items)); diff != "" {
			t.Errorf("%v: the order of the list matters: -first, +shuffled:\n%s", items, diff)
		}
		want, unknown := map[string]string{}, times["_"] > 0
		for key, n := range times {
			unknown = unknown || n > 1
			if n == 1 && key != "_" {
				want["users/"+key] = "new"
			}
		}
		for _, key := range []string{"a", "b", "e", "z"} { // those that are observed
			if name := "users/" + key; unknown && want[name] == "" {
				want[name] = "old"
			}
		}
		if diff := cmp.Diff(want, first); diff != "" {
			t.Errorf("%v: -want, +got:\n%s", items, diff)
		}
	})
}

// objectsOfItems are the roles in the objects of a list of users, by their names, when some of them are observed.
func objectsOfItems(t *testing.T, items []string) map[string]string {
	t.Helper()
	observed := "resources:\n"
	for _, key := range []string{"a", "b", "e", "z"} {
		observed += fmt.Sprintf("  users/%s: {object: {apiVersion: v1, kind: ConfigMap, metadata: {name: "+
			"xr-users-%s, namespace: team}, data: {role: old}}}\n", key, key)
	}
	out := map[string]string{}
	for _, o := range newScene(t, plantest.Exports(users), composite("["+strings.Join(items, ", ")+"]"),
		observed).run(t).Objects {
		data := o.Desired.GetFields()["data"].GetStructValue().GetFields()
		out[o.Name] = data["role"].GetStringValue()
	}
	return out
}
