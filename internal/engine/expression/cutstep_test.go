package expression_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/crossplane-contrib/function-export/internal/engine/expression"
)

func TestCutStep(t *testing.T) {
	type want struct {
		Key, Rest string
		OK        bool
	}
	for path, tc := range map[string]want{
		".password": {"password", "", true}, "['ca.crt']": {"ca.crt", "", true}, `['it\'s']`: {"it's", "", true},
		`['a\\b'].c`: {`a\b`, ".c", true}, "['a.b[0]']": {"a.b[0]", "", true}, ".a.b": {"a", ".b", true},
		".a to be ready": {"a", " to be ready", true}, ".a[0]": {"a", "[0]", true},
		"[0]": {"", "[0]", false}, "['a": {"", "['a", false}, "a']": {"", "a']", false}, "": {"", "", false},
		"[*]": {"", "[*]", false},
	} {
		var got want
		got.Key, got.Rest, got.OK = expression.CutStep(path)
		if diff := cmp.Diff(tc, got); diff != "" {
			t.Errorf("CutStep(%q): -want, +got:\n%s", path, diff)
		}
	}
}
