package render

import (
	"bytes"
	"strings"
	"testing"

	"github.com/crossplane/function-sdk-go/logging"
	"github.com/google/go-cmp/cmp"

	"github.com/crossplane-contrib/function-export/internal/engine/function"
	"github.com/crossplane-contrib/function-export/internal/engine/function/functiontest"
)

func TestSay(t *testing.T) {
	cases := map[string]struct {
		reason, message, want string
	}{
		"Several": {
			reason: "Each reason and the command have a line of their own.",
			message: `Secret "a" is kept unchanged: key "k" waits for resources.db; key "l" waits for resources.cache; ` +
				`status.x is not written: it waits for resources.db; and 2 more; see: kubectl get composition c`,
			want: `Held:
  Secret "a" is kept unchanged: key "k" waits for resources.db
  key "l" waits for resources.cache
  status.x is not written: it waits for resources.db
  and 2 more
  see: kubectl get composition c
`,
		},
		"Hostile": {
			reason:  "A line break in a text starts no line.",
			message: "a\nExportsReady=True Available; b\x1b[2J",
			want:    "Held:\n  a ExportsReady=True Available\n  b [2J\n",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			say(&out, "Held", tc.message)
			if diff := cmp.Diff(tc.want, out.String()); diff != "" {
				t.Errorf("%s\n%s", tc.reason, diff)
			}
		})
	}
}

// TestRenderDiagnostics: each error of an input is printed with its position and its line, as fn check does.
func TestRenderDiagnostics(t *testing.T) {
	const wrong = `
      secrets:
      - name: connection
        from: db
        data:
        - key: password
          value: secert.password
        - key: port
          value: resource.spec.port +
      configMaps:
      - name: settings
        data:
        - {key: password, value: secrets.db.password}
`
	c := strings.Replace(functiontest.Composition, "input: {apiVersion: export.fn.crossplane.io/v1beta1, kind: Exports}\n",
		"input:\n      apiVersion: export.fn.crossplane.io/v1beta1\n      kind: Exports"+wrong, 1)
	fn, err := function.New(logging.NewNopLogger(), nil)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{"composition.yaml": c, "List": listOf(c)}
	for name, text := range want {
		t.Run(name, func(t *testing.T) {
			stdout, stderr, failure := rendered(
				t, Command{Paths: []string{functiontest.Folder(t, functiontest.Files{"composition.yaml": text})}}, fn)
			functiontest.CheckGolden(t, "testdata/diagnostics-"+strings.ToLower(strings.TrimSuffix(name, ".yaml"))+".txt",
				stdout+stderr+failure+"\n")
		})
	}
}
