package environment

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParsePath(t *testing.T) {
	cases := map[string]struct {
		reason string
		path   string
		want   string
		err    string
	}{
		"Fields":       {"names and indices", "a.b[0][1].c", "a.b[0][1].c", ""},
		"Quoted":       {"names with dots stand in brackets", "metadata.labels['a.b/c']", "metadata.labels[a.b/c]", ""},
		"Digits":       {"digits are an index only in brackets", "a.0", "a.0", ""},
		"QuotedDigits": {"and there only without quotes", "a['0']", "a.0", ""},
		"Longest":      {"512 characters, not bytes", strings.Repeat("ä", 512), strings.Repeat("ä", 512), ""},
		"TooLong": {"no field lies that deep", strings.Repeat("a", 513), "", "has 513 characters, over the " +
			"limit of 512"},
		"Empty":         {"there is no field to write", "", "", "must begin with the name of a field"},
		"Index":         {"the environment is an object", "[0].a", "", "must begin with the name of a field"},
		"Wildcard":      {"it is one field", "a[*].b", "", "must not have a wildcard: name the field"},
		"WildcardField": {"it is one field", "*", "", "must not have a wildcard: name the field"},
		"EmptyName":     {"nobody means it", "a['']", "", "must not have an empty name"},
		"Unparsable": {"as field paths are everywhere", "a..b", "", "cannot be parsed as a field path: " +
			"unexpected '.' at position 2"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			p, err := ParsePath(tc.path)
			text := ""
			if err != nil {
				text = err.Error()
			}
			if diff := cmp.Diff([]string{tc.want, tc.err}, []string{p.String(), text}); diff != "" {
				t.Errorf("%s: -want, +got:\n%s", tc.reason, diff)
			}
			if again, err := ParsePath(p.String()); tc.err == "" &&
				(err != nil || !p.Covers(again) || !again.Covers(p)) {
				t.Errorf("%s: %q is parsed as %q, %v", tc.reason, p, again, err)
			}
		})
	}
}

func TestCovers(t *testing.T) {
	for _, tc := range []struct {
		reason, p, other string
		want             bool
	}{
		{"the same", "a.b", "a.b", true},
		{"above", "a", "a.b[0]", true},
		{"below", "a.b[0]", "a.b", false},
		{"beside", "a.b", "a.c.d", false},
		{"a name that begins alike", "a.b", "a.bc", false},
		{"another way to write it", "a['b']", "a.b.c", true},
		{"another index", "a[1]", "a[10]", false},
		{"an index is no name", "a[0]", "a.0", false},
	} {
		if got := mustParse(tc.p).Covers(mustParse(tc.other)); got != tc.want {
			t.Errorf("%s: %q covers %q: %v", tc.reason, tc.p, tc.other, got)
		}
	}
}
