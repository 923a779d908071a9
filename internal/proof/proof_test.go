package proof_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/crossplane-contrib/function-export/internal/proof"
)

func TestWrite(t *testing.T) {
	const page = "Text.\n\n<!-- figures: model -->\n\nOld.\n\n<!-- end -->\n\n<!-- figures: live -->\n<!-- end -->\n"
	cases := map[string]struct {
		reason, checker, figures, want string
		fails                          bool
	}{
		"replaced": {
			reason: "Only the figures of this checker change.", checker: "model", figures: "New.\n",
			want: "Text.\n\n<!-- figures: model -->\n\nNew.\n\n<!-- end -->\n\n<!-- figures: live -->\n<!-- end -->\n",
		},
		"unknown": {reason: "A checker that the page does not name is an error.", checker: "other", want: page,
			fails: true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "README.md")
			if err := os.WriteFile(path, []byte(page), 0o600); err != nil {
				t.Fatal(err)
			}
			t.Setenv(proof.Update, path)
			if err := proof.Write(tc.checker, tc.figures); (err != nil) != tc.fails {
				t.Errorf("%s: %v", tc.reason, err)
			}
			got, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, string(got)); diff != "" {
				t.Errorf("%s\n%s", tc.reason, diff)
			}
		})
	}
}
