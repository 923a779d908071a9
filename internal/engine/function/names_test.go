package function_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/crossplane-contrib/function-export/internal/desk/world"
	"github.com/crossplane-contrib/function-export/internal/engine/function/functiontest"
)

// Names that somebody edited, exchanged or doubled move no value: each object keeps its UID and its data.
func TestEditedNames(t *testing.T) {
	const input = `
secrets:
- {name: a, data: [{key: k, value: "'1'"}, {key: l, value: "'one'"}]}
- {name: b, metadata: {name: shop-b}, data: [{key: k, value: "'2'"}]}
configMaps: [{name: c, data: [{key: k, value: "'3'"}]}]`
	keys := []string{"v1|Secret|team-a|shop-a", "v1|Secret|team-a|shop-b", "v1|ConfigMap|team-a|shop-c"}
	names := []string{"a", "b", "c", "a~2", "cache"}
	for i := range len(names) * len(names) * len(names) {
		given := []string{names[i%5], names[i/5%5], names[i/25]}
		c := functiontest.NewControlPlane(t, input)
		c.Tolerant = true
		c.Settle()
		contents := func() (out []string) {
			for _, key := range keys {
				o := c.Stored[key]
				out = append(out, world.Meta(o, "uid"), o.GetFields()["data"].String(), world.Meta(o, "deletionTimestamp"))
			}
			return out
		}
		was := contents()
		for n, key := range keys {
			world.Set(c.Stored[key], given[n], "metadata", "annotations", world.ResourceNameAnnotation)
		}
		for range 4 {
			c.Reconcile()
			if diff := cmp.Diff(was, contents()); diff != "" {
				t.Fatalf("names %q: objects and values: -want, +got:\n%s%s", given, diff, c.Condition())
			}
		}
		if len(c.Listed) != len(keys) {
			t.Fatalf("names %q: the composite lists %q", given, c.Listed)
		}
	}
}
