package function_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/crossplane-contrib/function-export/internal/engine/function/functiontest"
	"github.com/crossplane-contrib/function-export/internal/proof"
)

// Any client that can update objects can edit the annotations by which Crossplane finds them. Whatever names it gives to
// them, each export has its own object and its own values again. If objects have the same name, Crossplane shows one.
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
		c.Settle()
		contents := func() (out []string) {
			for _, key := range keys {
				o := c.Stored[key]
				out = append(out, functiontest.Meta(o, "uid"), o.GetFields()["data"].String(), functiontest.Meta(o, "deletionTimestamp"))
			}
			return out
		}
		was := contents()
		for n, key := range keys {
			functiontest.Set(c.Stored[key], given[n], "metadata", "annotations", functiontest.ResourceNameAnnotation)
		}
		for range 4 {
			c.ReconcileHostile()
			if diff := cmp.Diff(was, contents()); diff != "" {
				t.Fatalf("names %q: objects and values: -want, +got:\n%s%s", given, diff, c.Condition())
			}
		}
		c.Wants("after the edit", "shop-a shop-b shop-c", "Available")
		if len(c.Listed) != len(keys) {
			t.Fatalf("names %q: the composite lists %q", given, c.Listed)
		}
	}
}

// The places of three exports and the annotations of their objects change. An object that exactly one export wants
// is never deleted. In the end, each export has its own values at its place, unless its object is elsewhere.
func TestNamesSimulation(t *testing.T) {
	for seed := range proof.Count("SIM_HISTORIES", 15, 60) {
		h := &namesHistory{rng: rand.New(rand.NewPCG(seed, 1)), places: map[string]string{"a": "p1", "b": "p2", "c": "p3"}}
		h.ControlPlane = functiontest.NewControlPlane(t, h.input())
		h.Rand = h.rng
		h.Before = func(w functiontest.Write) error {
			if w.Verb == functiontest.Deletes && h.wanting(w.Key) == 1 {
				t.Errorf("seed %d: %s is deleted, and the places are %v", seed, w.Key, h.places)
			}
			return nil
		}
		h.Settle()
		for range 12 {
			h.change()
			h.ReconcileHostile()
			if c := h.Fatal(); c != "" && !strings.Contains(c, "does not list it") { // until it is old
				t.Errorf("seed %d: fatal: %s", seed, c)
			}
		}
		for range 6 {
			h.Now = h.Now.Add(20 * time.Minute)
			h.ReconcileHostile()
		}
		conflict := strings.Contains(h.Condition(), "Conflict") && !slices.ContainsFunc(slices.Collect(maps.Values(h.places)), func(place string) bool {
			return h.wanting("|"+place) > 1
		})
		if conflict || strings.HasPrefix(h.Condition(), "Waiting") {
			t.Errorf("seed %d: places %v: %s", seed, h.places, h.Condition())
		}
		for name, place := range h.places {
			if h.Condition() == "Available" && h.Value(place, "k") != name {
				t.Errorf("seed %d: %s has the value of %s, and not that of %s", seed, place, h.Value(place, "k"), name)
			}
		}
	}
}

// A namesHistory is one history of exports and their places.
type namesHistory struct {
	*functiontest.ControlPlane
	rng    *rand.Rand
	places map[string]string // by export
}

func (h *namesHistory) input() string {
	out := "generators: [{name: admin, uuid: {}}]\nsecrets:\n- {name: g, data: [{key: k, value: generated.admin.uuid}]}\n"
	for _, name := range slices.Sorted(maps.Keys(h.places)) {
		out += fmt.Sprintf("- {name: %s, metadata: {name: %s}, data: [{key: k, value: \"'%[1]s'\"}]}\n", name, h.places[name])
	}
	return out
}

// wanting returns how many exports want an object.
func (h *namesHistory) wanting(key string) (n int) {
	for _, place := range h.places {
		if strings.HasSuffix(key, "|"+place) {
			n++
		}
	}
	return n
}

func (h *namesHistory) change() {
	name, place := simPickOf(h.rng, "a", "b", "c"), simPickOf(h.rng, "p1", "p2", "p3", "p4")
	object := "v1|Secret|team-a|" + place
	switch h.rng.IntN(5) {
	case 0:
		if h.places[name] = place; h.rng.IntN(4) == 0 {
			delete(h.places, name)
		}
	case 1:
		if other := simPickOf(h.rng, "a", "b", "c"); h.places[name] != "" && h.places[other] != "" {
			h.places[name], h.places[other] = h.places[other], h.places[name]
		}
	case 2, 3:
		if o := h.Stored[object]; o != nil {
			given := simPickOf(h.rng, "a", "b", "c", "a~2", "old", "generated/admin/1")
			functiontest.Set(o, given, "metadata", "annotations", functiontest.ResourceNameAnnotation)
		}
	case 4:
		delete(h.Stored, object)
	}
	h.SetInput(h.input())
}

func simPickOf(rng *rand.Rand, from ...string) string { return from[rng.IntN(len(from))] }
