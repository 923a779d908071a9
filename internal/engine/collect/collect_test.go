package collect_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/crossplane-contrib/function-export/internal/engine/collect"
	"github.com/crossplane-contrib/function-export/internal/engine/expression"
	"github.com/crossplane-contrib/function-export/internal/engine/object"
	"github.com/crossplane-contrib/function-export/internal/engine/rewrite"
	"github.com/crossplane-contrib/function-export/internal/engine/sensitive"
)

// A result is what an entry's expression gave.
type result struct {
	entry collect.Entry
	value string                    // of an entry with a key
	many  map[string]string         // of one without
	from  map[string]rewrite.Origin // of keys in many
	none  bool
	err   error
}

func key(path, key, value string) result {
	return result{entry: collect.Entry{Path: path, Key: key}, value: value}
}

func computed(path string, many map[string]string) result {
	return result{entry: collect.Entry{Path: path}, many: many}
}

func (r result) origins(from map[string]rewrite.Origin) result {
	r.from = from
	return r
}

func (r result) lacks(what string) result {
	r.entry.Lacks = what
	return r
}

func (r result) optional() result {
	r.entry.Optional = true
	return r
}

func (r result) fails(err error) result {
	r.err = err
	return r
}

func collection(results []result, lastWins bool) *collect.Collection {
	c := collect.New(len(results), lastWins)
	for _, r := range results {
		ok := !r.none && r.err == nil
		if r.entry.Key != "" {
			c.Value(r.entry, sensitive.FromString(r.value), ok, r.err)
			continue
		}
		var keys []rewrite.Key
		for _, k := range slices.Sorted(maps.Keys(r.many)) {
			computed := rewrite.Key{Name: k, Value: sensitive.FromString(r.many[k])}
			if from, ok := r.from[k]; ok {
				computed.Origins = []rewrite.Origin{from}
			}
			keys = append(keys, computed)
		}
		c.Map(r.entry, keys, ok, r.err)
	}
	return c
}

func revealed(data map[string]sensitive.Bytes) map[string]string {
	if data == nil {
		return nil
	}
	out := map[string]string{}
	for k, v := range data {
		out[k] = string(v.Reveal())
	}
	return out
}

func TestCollection(t *testing.T) {
	waiting := expression.NewWaiting("secrets.db.a", "resources.db")
	const illegal = " returns an invalid key: a key must consist of at most 253 letters, digits, '-', '_' and '.', " +
		"and must not be '.' or begin with '..'"

	for name, c := range map[string]struct {
		reason  string
		results []result
		data    map[string]string
		waiting []string
		failed  []string
	}{
		"Whole": {
			reason:  "spelled and computed keys together",
			results: []result{key("p0", "a", "1"), computed("p1", map[string]string{"b": "2", "c": "3"})},
			data:    map[string]string{"a": "1", "b": "2", "c": "3"},
		},
		"Waits": {
			reason: "one that waits leaves nothing; a key is named, and else the path",
			results: []result{key("p0", "a", "1"), key("p1", "b", "").fails(waiting), computed("p2", nil).fails(
				fmt.Errorf("wrapped: %w", waiting))},
			waiting: []string{`key "b" and p2 wait for resources.db, secrets.db.a`},
		},
		"Empty": {
			reason: "an empty value and an empty map wait",
			results: []result{key("p0", "a", ""), computed("p1", map[string]string{}),
				computed("p2", map[string]string{"b": "", "c": "", "d": "1"})},
			waiting: []string{
				`key "a" waits for a value that is not empty (to leave the key out, return optional.none() and set ` +
					`optional: true)`,
				"p1 waits for its expression to return a key", "p2 waits for a value that is not empty",
			},
		},
		"Optional": {
			reason: "optional ones are left out",
			results: []result{
				key("p0", "a", "").optional(), key("p1", "b", "").optional().fails(waiting), computed("p2", nil).optional(),
				computed("p3", nil).optional().fails(waiting),
				computed("p4", map[string]string{"c": "", "d": "1"}).optional(),
			},
			data: map[string]string{"d": "1"},
		},
		"Nothing": {
			reason:  "nothing at all is no object",
			results: []result{key("p0", "a", "").optional()},
			data:    map[string]string{},
			waiting: []string{"it has no key: all optional values are missing"},
		},
		"Collision": {
			reason: "each later writer is refused and named with the first, after the key; a key that only " +
				"expressions compute is not named",
			results: []result{key("p0", "a", "1"), computed("p1", map[string]string{"a": "2", "canary": "3"}),
				computed("p2", map[string]string{"canary": "3"}), key("p3", "a", "1")},
			failed: []string{
				`key "a" is written by p0 and p1: keep one of them`,
				"the same key is written by p1 and p2: keep one of them",
				`key "a" is written by p0 and p3: keep one of them`,
			},
		},
		"Groups": {
			reason: "only entries that wait for the same inputs are one item, and all of them are named",
			results: []result{
				key("p0", "a", "").fails(expression.NewWaiting("a", "b")), key("p1", "b", "").fails(expression.NewWaiting("ab")),
				key("p2", "c", "").fails(expression.NewWaiting("ab")), key("p3", "d", "").fails(expression.NewWaiting("ab")),
			},
			waiting: []string{`key "a" waits for a, b`, `key "b", key "c" and key "d" wait for ab`},
		},
		"Lacks": {
			reason: "an entry may know better what it lacks, and an empty value of a key with an origin names it",
			results: []result{computed("p0", map[string]string{}).lacks("a " +
				"label"), computed("p1", map[string]string{"b": ""}).origins(map[string]rewrite.Origin{"b": {Key: "b"}})},
			waiting: []string{"p0 waits for a label", `p1 waits for a value of key "b" that is not empty`},
		},
		"Origins": {
			reason: "a literal key is named, and a key with an origin is described by it",
			results: []result{
				key("p0", "a", "1"),
				computed("p1", map[string]string{"a": "1", "b": "1", "d d": "1"}).origins(
					map[string]rewrite.Origin{"a": {Input: "y", Key: "x"}, "b": {Input: "y", Key: "b"}, "d d": {Key: "d"}}),
				computed("p2", map[string]string{"b": "1"}), computed("data.dataFrom[3]", map[string]string{"e": "1"}),
				computed("p4", map[string]string{"e": "1"}),
			},
			failed: []string{
				`key "a" is written by p0 and p1 (key "x" of "y"): keep one of them`,
				`p1 (key "d")` + illegal,
				`the same key is written by p1 (key "b" of "y") and p2: keep one of them`,
				"the same key is written by data.dataFrom[3] and p4: keep one of them, or set conflictPolicy: LastWins",
			},
		},
		"IllegalKey": {
			reason: "one that is computed is not said",
			results: []result{computed("p0", map[string]string{"canary canary": "1"}),
				computed("p1", map[string]string{"..": "1"}), computed("p2", map[string]string{"": "1"}),
				computed("p3", map[string]string{strings.Repeat("a", 254): "1"})},
			failed: []string{"p0" + illegal, "p1" + illegal, "p2" + illegal, "p3" + illegal},
		},
	} {
		t.Run(name, func(t *testing.T) {
			got := collection(c.results, false)
			if diff := cmp.Diff(c.data, revealed(got.Data())); diff != "" {
				t.Errorf("Data(): %s: -want, +got:\n%s", c.reason, diff)
			}
			if diff := cmp.Diff(c.waiting, got.Waiting()); diff != "" {
				t.Errorf("Waiting(): %s: -want, +got:\n%s", c.reason, diff)
			}
			if diff := cmp.Diff(c.failed, got.Failed()); diff != "" {
				t.Errorf("Failed(): %s: -want, +got:\n%s", c.reason, diff)
			}
		})
	}
}

// FuzzCollectIsAllOrNothing takes two maps and a key: there is data with all of
// them, legal and not empty, or none and a reason, in which no value is and no
// key that was computed.
func FuzzCollectIsAllOrNothing(f *testing.F) {
	f.Add("a", "1", "b", "2", "c", "3", uint8(0))
	f.Add("a", "1", "a", "2", "a", "3", uint8(0))
	f.Add("a", "", "b b", "2", "..", "3", uint8(1))
	f.Add("a", "1", "b", "", "c", "", uint8(7))
	f.Fuzz(func(t *testing.T, k1, v1, k2, v2, k3, v3 string, optional uint8) {
		if k1 == "" {
			return
		}
		mark := func(s string) string { // so that it can be found
			if s == "" {
				return s
			}
			return s + "-canary"
		}
		results := []result{
			key("p0", k1, mark(v1)),
			computed("p1", map[string]string{mark(k2): mark(v2), mark(k3): mark(v3)}),
			computed("p2", map[string]string{mark(k3): mark(v3)}),
		}
		for i := range results {
			results[i].entry.Optional = optional>>i&1 == 1
		}
		c := collection(results, false)
		reasons := append(c.Waiting(), c.Failed()...)
		for k, v := range c.Data() {
			if v.Len() == 0 || k != k1 && object.ValidateKey(k) != nil {
				t.Errorf("Data(): key %q, %d bytes", k, v.Len())
			}
		}
		if len(c.Data()) == 0 == (len(reasons) == 0) {
			t.Errorf("%d keys, and reasons %q", len(c.Data()), reasons)
		}
		for _, r := range reasons {
			if strings.Contains(strings.ReplaceAll(r, fmt.Sprintf("%q", k1), ""), "-canary") {
				t.Errorf("reason %q gives data away", r)
			}
		}
	})
}
