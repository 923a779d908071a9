package collect_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/crossplane-contrib/function-export/internal/engine/expression"
	"github.com/crossplane-contrib/function-export/internal/engine/object"
)

// repeated returns n results with the keys k00, k01 and so on.
func repeated(n int, of func(key string) result) []result {
	out := make([]result, 0, n)
	for i := range n {
		out = append(out, of(fmt.Sprintf("k%02d", i)))
	}
	return out
}

func TestLongMessages(t *testing.T) {
	waits := func(k string) result { return key("p", k, "").fails(expression.NewWaiting("a")) }
	fails := func(k string) result { return key("p", k, "").fails(errors.New(k)) }
	const nine = `key "k00", key "k01", key "k02", key "k03", key "k04", key "k05", key "k06", key "k07", key "k08"`
	for name, c := range map[string]struct {
		reason  string
		results []result
		want    []string
		ended   bool
	}{
		"Waits": {
			reason: "as many entries as a message has are named", results: repeated(10, waits),
			want: []string{nine + ` and key "k09" wait for a`},
		},
		"OneMoreWaits": {
			reason: "those beyond are counted", results: repeated(11, waits),
			want: []string{nine + `, key "k09" and 1 more wait for a`},
		},
		"Fails": {
			reason: "as many failures as a message has without its last line", results: repeated(9, fails),
			want: []string{"k00", "k01", "k02", "k03", "k04", "k05", "k06", "k07", "k08"},
		},
		"OneMoreFails": {
			reason: "the last line says that there are more, and the collection is full", results: repeated(12, fails),
			want:  []string{"k00", "k01", "k02", "k03", "k04", "k05", "k06", "k07", "k08", "and more: correct these first"},
			ended: true,
		},
	} {
		t.Run(name, func(t *testing.T) {
			got := collection(c.results, false)
			if diff := cmp.Diff(c.want, append(got.Waiting(), got.Failed()...)); diff != "" {
				t.Errorf("%s: -want, +got:\n%s", c.reason, diff)
			}
			if got.Ended() != c.ended {
				t.Errorf("Ended(): %s: %v", c.reason, got.Ended())
			}
		})
	}
}

func TestBytes(t *testing.T) {
	full := strings.Repeat("x", object.MaxDataBytes)
	const tooMuch = ": cannot hold more than 1048576 bytes (1 MiB) of data in one object: export fewer keys or " +
		"shorter values"
	for name, c := range map[string]struct {
		reason   string
		results  []result
		lastWins bool
		bytes    int
		ended    bool
		waiting  []string
		failed   []string
	}{
		"Full": {
			reason: "as much as an object holds", results: []result{key("p0", "a", full[1:]), key("p1", "b", "1")},
			bytes: object.MaxDataBytes,
		},
		"TooMuch": {
			reason:  "one byte more ends the collection, and later keys are not looked at",
			results: []result{key("p0", "a", full), computed("p1", map[string]string{"b": "1", "c": ""})},
			bytes:   object.MaxDataBytes, ended: true, failed: []string{"p1" + tooMuch},
		},
		"Replaced": {
			reason: "a value that another one replaces does not count", lastWins: true,
			results: []result{key("p0", "a", full), key("p1", "a", "1"), key("p2", "b", full[1:])},
			bytes:   object.MaxDataBytes,
		},
		"Refused": {
			reason: "a refused value does not count", results: []result{key("p0", "a", "1"), key("p1", "a", "22")},
			bytes: 1, failed: []string{`key "a" is written by p0 and p1: keep one of them`},
		},
	} {
		t.Run(name, func(t *testing.T) {
			got := collection(c.results, c.lastWins)
			if got.Bytes() != c.bytes || got.Ended() != c.ended {
				t.Errorf("%s: %d bytes, ended: %v", c.reason, got.Bytes(), got.Ended())
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

func TestLastWins(t *testing.T) {
	got := collection(
		[]result{key("p0", "a", "1"), computed("p1", map[string]string{"a": "2"}), key("p2", "b", "3")},
		true,
	)
	if diff := cmp.Diff(map[string]string{"a": "2", "b": "3"}, revealed(got.Data())); diff != "" {
		t.Errorf("Data(): -want, +got:\n%s", diff)
	}
}

func TestSee(t *testing.T) {
	waits := func(input, see string, required bool) result {
		w := expression.NewWaiting(input)
		w.See, w.Required = see, required
		return key("p", "a", "").fails(w)
	}
	for name, c := range map[string]struct {
		reason  string
		results []result
		see     string
		waiting []string
	}{
		"First": {
			reason:  "the first input that has a command",
			results: []result{waits("a", "", false), waits("b", "get b", false), waits("c", "get c", false)},
			see:     "get b", waiting: []string{`key "a" waits for a`, `key "a" waits for b`, `key "a" waits for c`},
		},
		"Optional": {
			reason:  "an optional key does not wait, so its command shows nothing",
			results: []result{waits("a", "get a", false).optional(), waits("b", "get b", false)},
			see:     "get b", waiting: []string{`key "a" waits for b`},
		},
		"Required": {
			reason:  "an optional key waits if it would lose its value",
			results: []result{waits("a", "get a", true).optional()},
			see:     "get a", waiting: []string{`key "a" waits for a`},
		},
	} {
		t.Run(name, func(t *testing.T) {
			got := collection(c.results, false)
			if got.See() != c.see {
				t.Errorf("See(): %s: %q", c.reason, got.See())
			}
			if diff := cmp.Diff(c.waiting, got.Waiting()); diff != "" {
				t.Errorf("Waiting(): %s: -want, +got:\n%s", c.reason, diff)
			}
		})
	}
}

// A text about an object is said once, and a text about an input is said for each input.
func TestSaysOnce(t *testing.T) {
	const object, input = " (Secret db is not ready)", " (its value is null)"
	got := collection([]result{
		key("p0", "a", "").fails(expression.NewWaiting("x"+object, "y"+input)),
		key("p1", "b", "").fails(expression.NewWaiting("v"+object, "w"+input)),
	}, false).Waiting()
	want := []string{`key "a" waits for x` + object + ", y" + input, `key "b" waits for v, w` + input}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want, +got:\n%s", diff)
	}
}
