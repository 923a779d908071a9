package rewrite

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/crossplane-contrib/function-export/internal/engine/sensitive"
)

func TestOpen(t *testing.T) {
	const value = `{"a": {"b": {"n": 1.10, "s": "canary", "z": null}}, "t": "canary", "l": [1]}`
	cases := map[string]struct {
		reason  string
		value   string
		path    []string
		want    []string
		err     string
		missing bool
	}{
		"Root":     {reason: "all members", want: []string{`a={"b":{"n":1.10,"s":"canary","z":null}}`, "l=[1]", "t=canary"}},
		"Below":    {reason: "those of an object inside, as they are written", path: []string{"a", "b"}, want: []string{"n=1.10", "s=canary", "z="}},
		"Missing":  {reason: "a member that may still come", path: []string{"a", "x", "y"}, err: `"a.x" in "k" of "db"`, missing: true},
		"NoObject": {reason: "the value itself", value: "canary", err: `the value of "k" of "db" is not a JSON object`},
		"Text":     {reason: "a text is no object, and is not shown", path: []string{"t"}, err: `the value of "t" in "k" of "db" is not a JSON object`},
		"List":     {reason: "nor is a list", path: []string{"l", "x"}, err: `the value of "l" in "k" of "db" is not a JSON object`},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if tc.value == "" {
				tc.value = value
			}
			keys, err := Open(fresh(), Key{Name: "k", Value: sensitive.FromString(tc.value), Origins: []Origin{{Input: "db", Key: "k"}}}, tc.path)
			var f *Failed
			if errors.As(err, &f) {
				if f.Error() != tc.err || f.Missing != tc.missing || strings.Contains(f.Error(), "canary") {
					t.Errorf("Open(...): %s: want %q, missing %v, got %q, missing %v", tc.reason, tc.err, tc.missing, f.Error(), f.Missing)
				}
				return
			}
			var got []string
			for _, k := range keys {
				got = append(got, k.Name+"="+string(k.Value.Reveal()))
				if k.String() != `"k" of "db"` {
					t.Errorf("Open(...): want the origins of the key, got %s", k)
				}
			}
			slices.Sort(got)
			if diff := cmp.Diff(tc.want, got); diff != "" || tc.err != "" {
				t.Errorf("Open(...): %s: %s -want, +got:\n%s", tc.reason, tc.err, diff)
			}
		})
	}
}
