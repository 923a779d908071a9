package vocabulary

import (
	"bytes"
	"strings"
	"testing"

	"github.com/crossplane-contrib/function-export/internal/engine/advice"
)

// It is an error if a function or a macro has no description, or if a description describes something that does not
// exist.
func TestIncomplete(t *testing.T) {
	env, err := advice.NewEnvironment()
	if err != nil {
		t.Fatal(err)
	}
	cases := map[string]struct{ old, with, want string }{
		"Function": {"names: [trim]", "names: []", "cannot describe function trim: write an entry into vocabulary.yaml"},
		"Macro":    {`"all:2:true", `, "", "cannot describe macro all:2:true: write an entry into vocabulary.yaml"},
		"Unknown":  {"names: [trim]", "names: [trim, strip]", "cannot describe function strip: there is none, or it is described twice"},
		"Hidden":   {`- "in"`, `- "inside"`, "cannot hide inside: there is no such function"},
		"Example":  {`, example: "' a '.trim()"`, "", "cannot describe [trim]: it needs does and example"},
		"Broken":   {`' a '.trim()`, "'a'.trim(1)", "cannot compile example 'a'.trim(1):"},
		"Failing":  {`bool('true')`, "bool('x')", "cannot evaluate example bool('x'):"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			changed := bytes.Replace(text, []byte(tc.old), []byte(tc.with), 1)
			if bytes.Equal(changed, text) {
				t.Fatalf("the vocabulary has no %s", tc.old)
			}
			_, err := read(t.Context(), env, changed)
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("want %s, got %v", tc.want, err)
			}
		})
	}
}
