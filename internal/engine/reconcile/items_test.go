package reconcile_test

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"math/rand"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/crossplane-contrib/function-export/internal/engine/limits"
	"github.com/crossplane-contrib/function-export/internal/engine/plan/plantest"
)

// itemGenerators is an input with a generator for each user.
const itemGenerators = `
generators:
- name: users
  forEachExpression: composite.spec.users
  keyExpression: item.name
  password: {length: 20}
  gracePeriod: 1h
`

// itemGeneration is an adopted generation for an item.
func itemGeneration(key string, number int) string {
	value := base64.StdEncoding.EncodeToString(fmt.Appendf(nil, "%s-%s-%d", canary, key, number))
	return fmt.Sprintf(`
  generated/users/%[1]s/%[2]d:
    object:
      apiVersion: v1
      kind: Secret
      metadata:
        name: xr-users-%[1]s-%[2]d
        namespace: team
        uid: %[1]s%[2]d
        labels: {export.fn.crossplane.io/generator: users, export.fn.crossplane.io/generator-key: %[1]s, export.fn.crossplane.io/generation: "%[2]d"}
        annotations:
          crossplane.io/composition-resource-name: generated/users/%[1]s/%[2]d
          created: "2026-01-01T00:00:00Z"
          spec: other
          export.fn.crossplane.io/generator-state: '{"state":{"kind":"password","gracePeriod":"1h","adopted":true}}'
      data: {password: %[3]s}
`, key, number, value)
}

// runItems runs an input, and returns its objects and outcomes, and the names of the generations.
func runItems(t *testing.T, input string, world ...string) (lines []string, names string) {
	t.Helper()
	s := newScene(t, plantest.Exports(input), world...)
	s.req.Now, s.req.Random = time.Date(2026, 1, 3, 0, 30, 0, 0, time.UTC), bytes.NewReader(bytes.Repeat([]byte("0123456789abcdef"), 1<<12))
	result := s.run(t)
	var all []string
	for _, g := range result.Generations {
		name := g.Name
		if isFlagged(g) {
			name += " flagged"
		}
		all = append(all, name)
	}
	if text := s.text(t, result); strings.Contains(text, canary) {
		t.Errorf("Run(...): public data contains a secret:\n%s", text)
	}
	return show(result), strings.Join(all, ", ")
}

func TestRunGeneratesForItems(t *testing.T) {
	const (
		each = `secrets: [{name: user, forEachExpression: composite.spec.users, keyExpression: item.name, data: [{key: password, value: "generated.users[key].password"}]}]`
		all  = `secrets: [{name: all, data: [{valueMap: "generated.users.transformMap(k, v, v.password)"}]}]`
		bert = `secrets: [{name: bert, data: [{key: password, value: generated.users.bert.password}]}]`
		some = `secrets: [{name: some, data: [{key: a, value: "'a'"}, {key: bert, value: "generated.users[?'bert'].?password", optional: true}]}]`
	)
	observed := "resources:" + itemGeneration("anna", 1) + itemGeneration("bert", 1)
	anna, both := composite("[{name: anna}]"), composite("[{name: anna}, {name: bert}]")
	record := func(keys ...string) string {
		var out []string
		for _, k := range keys {
			out = append(out, fmt.Sprintf(`"users/%s":{"generation":1,"uid":"%[1]s1"}`, k))
		}
		return `metadata: {annotations: {export.fn.crossplane.io/export-state: {"generators":{` + strings.Join(out, ",") + "}}}}"
	}
	waits := `Held! | generator "users" creates nothing for some items: it waits for composite.spec.users (correct it, set it in App xr, or write .?users.orValue([]) for an empty list); the generations for these keys are kept unchanged until all keys are known: anna, bert`
	inUse := "Available Secret team/xr-bert {data: {password: canary-bert-1}, " + record("bert") + "}"
	for name, c := range map[string]struct {
		reason string
		input  string
		world  []string
		names  string
		want   []string
	}{
		"Left": {
			reason: "the generation of an item that left the list is flagged", input: all, world: []string{anna, observed},
			names: "generated/users/anna/1, generated/users/bert/1 flagged",
			want:  []string{"Available Secret team/xr-all {data: {anna: canary-anna-1}, " + record("anna") + "}"},
		},
		"NoItem": {
			reason: "an item that is not in the list is waited for, with its key", input: bert, world: []string{anna, observed},
			names: "generated/users/anna/1, generated/users/bert/1 flagged",
			want:  []string{`Waiting nothing | Secret "bert" (team/xr-bert) is not created: key "password" waits for generated.users.bert (no item of generators[0].forEachExpression has this key)`},
		},
		"ListIsMissing": {
			reason: "nothing is flagged, and an iteration waits", input: all, world: []string{observed},
			names: "generated/users/anna/1, generated/users/bert/1",
			want: []string{
				`Waiting nothing | Secret "all" (team/xr-all) is not created: secrets[0].data[0].valueMap waits for generated.users (not all of its items are known)`,
				waits,
			},
		},
		"ListIsMissingOptional": {
			reason: "an optional key is left out while it waits, as with any other input", input: some, world: []string{observed},
			names: "generated/users/anna/1, generated/users/bert/1",
			want: []string{
				"Available Secret team/xr-some {data: {a: a}}",
				waits,
			},
		},
		"DuplicateAndIllegal": {
			reason: "a good item goes on, and nothing changes for the others", input: each, world: []string{composite("[{name: bert}, {name: anna}, {name: bert}, {name: Carl}]"), observed},
			names: "generated/users/anna/1, generated/users/bert/1",
			want: []string{
				"Available Secret team/xr-user-anna {data: {password: canary-anna-1}, " + record("anna") + "}",
				`Held! | generator "users" creates nothing for some items: generators[0].keyExpression for the item at index 3: returns an invalid key: cannot use key "Carl": use lower-case letters, digits and '-', and start and end with a letter or a digit; generators[0].keyExpression: returns "bert" for the items at index 0, 2: each item needs its own key; the generations for these keys are kept unchanged until all keys are known: bert`,
				`Held! | Secret "user" is not composed for each item: secrets[0].keyExpression for the item at index 3: returns an invalid key: cannot use key "Carl": use lower-case letters, digits and '-', and start and end with a letter or a digit; secrets[0].keyExpression: returns "bert" for the items at index 0, 2: each item needs its own key`,
			},
		},
		"TooMany": {
			reason: "a list over the limit drops nothing", input: bert, world: []string{composite("[" + strings.Repeat("{name: a},", limits.Items) + "{}]"), observed},
			names: "generated/users/anna/1, generated/users/bert/1",
			want: []string{
				`Waiting nothing | Secret "bert" (team/xr-bert) is not created: key "password" waits for generated.users.bert (not all of its items are known)`,
				`Held! | generator "users" creates nothing for some items: generators[0].forEachExpression: has 257 items, over the limit of 256: use several composites; the generations for these keys are kept unchanged until all keys are known: anna, bert`,
			},
		},
		"AllRotated": {
			reason: "all items, by the name in the input", input: bert,
			world: []string{strings.Replace(both, "uid: u1", "uid: u1, annotations: {export.fn.crossplane.io/rotate: users=1}", 1), observed},
			names: "generated/users/anna/1, generated/users/anna/2, generated/users/bert/1, generated/users/bert/2",
			want: []string{
				inUse,
				`Waiting | generator "users/anna": its generation 2 is created in this reconcile; generation 1 stays in use`,
				`Waiting | generator "users/bert": its generation 2 is created in this reconcile; generation 1 stays in use`,
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			got, names := runItems(t, itemGenerators+c.input, c.world...)
			if diff := cmp.Diff(c.names, names); diff != "" {
				t.Errorf("Run(...): %s: generations: -want, +got:\n%s", c.reason, diff)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("Run(...): %s: -want, +got:\n%s", c.reason, diff)
			}
		})
	}
}

// The order of a list has no effect, unless an expression reads index.
func TestRunGeneratesForItemsInAnyOrder(t *testing.T) {
	const input = itemGenerators + `
- {name: ids, forEachExpression: composite.spec.users, keyExpression: item.name, resource: {manifest: {apiVersion: example.org/v1, kind: User}, set: [{fieldPath: spec.user, value: item.name + key}]}}
secrets: [{name: user, forEachExpression: composite.spec.users, keyExpression: item.name, data: [{key: password, value: "generated.users[key].password"}]}]`
	names := []string{"{name: anna}", "{name: bert}", "{name: carl}", "{name: anna-1}"}
	r := rand.New(rand.NewSource(1))
	var want []string
	for range 20 {
		r.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
		got, generations := runItems(t, input, composite("["+strings.Join(names, ", ")+"]"), "resources:"+itemGeneration("anna", 1)+itemGeneration("bert", 1))
		got = append(got, generations)
		if want == nil {
			want = got
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("Run(...) with %v: -first, +got:\n%s", names, diff)
		}
	}
}
