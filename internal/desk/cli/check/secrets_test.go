package check

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/crossplane-contrib/function-export/internal/desk/cli/terminal"
	"github.com/crossplane-contrib/function-export/internal/engine/function/functiontest"
)

// The canary represents all values of a Secret. YAML never quotes its letters, and the test also
// finds a part of it.
const checkCanary = "kanarienvogel"

// TestCheckPrintsNoSecret has Secrets in the files beside the inputs: nothing of them is
// printed, whatever is wrong with them, or around them.
func TestCheckPrintsNoSecret(t *testing.T) {
	const (
		secret = "apiVersion: v1\nkind: Secret\nmetadata: {name: a}\nstringData:\n  password: " + checkCanary + "\n  " +
			"" + checkCanary + ": b\n"
		faulty = "apiVersion: export.fn.crossplane.io/v1beta1\nkind: Exports\nsecrets:\n- name: a\n  data:\n  - " +
			"{key: a, value: nonsense}\n  - {key: b, value: 1 +}\n"
		oneOf = `{"data":{"a":"` + checkCanary + `"},"kind":"Secret","apiVersion":"v1"}`
		other = `{"nonsense":1,"apiVersion":"export.fn.crossplane.io/v1beta1","kind":"Exports"}`
		last  = `{"apiVersion":"export.fn.crossplane.io/v1beta1","kind":"Exports","nonsense":1}`
	)
	cases := map[string]struct {
		reason string
		files  map[string]string
	}{
		"Beside": {"A folder has the Secret in a file of its own.", map[string]string{"a.yaml": faulty,
			"b.yaml": secret}},
		"Stream": {"It is a document of the same file.",
			map[string]string{"a.yaml": secret + "---\n" + faulty + "---\n" + secret}},
		"List": {"It is an item of the same list.", map[string]string{"a.yaml": "apiVersion: v1\nkind: " +
			"List\nitems:\n- " + functiontest.Indented(secret, 2) + "\n- " + functiontest.Indented(faulty, 2)}},
		"ListBroken": {"The list is no YAML.", map[string]string{"a.yaml": "apiVersion: v1\nkind: List\nitems:\n- " +
			"" + functiontest.Indented(secret, 2) + "\n- " + functiontest.Indented(faulty, 2) + "\n}"}},
		"OneLine": {"All of a list is in one line, which a fault would show.",
			map[string]string{"a.yaml": `{"apiVersion":"v1","kind":"List","items":[` + oneOf + `,` + other + `,` + oneOf +
				`]}`}},
		"OneLineLast": {"The Secret is after the mistake.",
			map[string]string{"a.yaml": `{"apiVersion":"v1","kind":"List","items":[` + last + `,` + oneOf + `]}`}},
		"OneLineBase": {"A composed resource is the Secret.",
			map[string]string{"a.yaml": `{"apiVersion":"apiextensions.crossplane.io/v1","kind":"Composition","spec":{"pipeline":[{"input":{"resources":[{"base":` + oneOf + `}]}},{"input":` + last + `},{"input":` + oneOf + `}]}}`}},
		"OneLineFlow": {"So are documents in a stream.",
			map[string]string{"a.yaml": oneOf + "\n---\n" + other + "\n---\n" + oneOf}},
		"NoColon": {"A line that the parser falls over holds the value.",
			map[string]string{"a.yaml": faulty + "---\n" + secret + checkCanary + "\n"}},
		"Quote": {"A quote is not closed.", map[string]string{"a.yaml": faulty + "---\n" + secret + "  c: " +
			"\"" + checkCanary + "\n---\n" + faulty}},
		"Tab": {"A tab indents.", map[string]string{"a.yaml": faulty + "---\n" + secret + "\tc: " + checkCanary + "\n"}},
		"Alias": {"The value is taken for an alias.",
			map[string]string{"a.yaml": faulty + "---\n" + secret + "  c: *" + checkCanary + "\n"}},
		"Anchor": {"The value is taken for an anchor.",
			map[string]string{"a.yaml": faulty + "---\n" + secret + "  c: &" + checkCanary + " [\n"}},
		"Tag": {"The value is taken for a tag.", map[string]string{"a.yaml": faulty + "---\n" + secret + "  " +
			"c: !" + checkCanary + "!x b\n"}},
		"NotBinary": {"The value is not of its type.", map[string]string{"a.yaml": faulty + "---\n" + secret + "  " +
			"c: !!binary " + checkCanary + "!\n  d: !!int " + checkCanary + "\n"}},
		"TwoKeys": {"A key that is there twice holds the value.",
			map[string]string{"a.yaml": faulty + "---\n" + secret + "  " + checkCanary + ": c\n"}},
		"Control": {"A letter that no YAML has.", map[string]string{"a.yaml": faulty + "---\n" + secret + "  c: " +
			"" + checkCanary + "\x01\n"}},
		"Template": {"It is a template.", map[string]string{"a.yaml": faulty + "---\n" + secret + "{{ if eq " +
			".Values.a \"" + checkCanary + "\" }}\n  c: " + checkCanary + "\n{{ end }}\n"}},
		"Runs": {"The document before it does not end.", map[string]string{"a.yaml": faulty + "variables:\n- " +
			"name: \"\n" + secret}},
		"Group": {"It is taken for an input.", map[string]string{"a.yaml": "# " +
			"export.fn.crossplane.io\n" + secret + "  c: '" + checkCanary, "b.yaml": faulty}},
		"Schema": {"It is taken for a schema.", map[string]string{"a.yaml": "# " +
			"CustomResourceDefinition\n" + secret + "  c: [" + checkCanary, "b.yaml": faulty}},
		"Steps": {"Another step composes it.", map[string]string{"a.yaml": "- step: a\n  input: " +
			"" + oneOf + "\n- step: b\n  functionRef: {name: function-export}\n  input: " + other}},
		"Typed": {"It has the schema of a CRD.", map[string]string{"a.yaml": faulty + "---\napiVersion: " +
			"apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nspec: {group: " + checkCanary + ", names: " +
			"" + checkCanary + "}\n"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			for file, text := range tc.files {
				if err := os.WriteFile(filepath.Join(dir, file), []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			for _, format := range []string{"text", "json", "sarif", "github", "junit", "diff"} {
				for _, schemas := range [][]string{nil, {dir}} {
					var stdout, stderr bytes.Buffer
					c := &Command{Paths: []string{dir}, Output: format, Schema: schemas, Fix: format == "diff",
						DryRun: true}
					err := c.RunWith(t.Context(), terminal.Disk(nil), &stdout, &stderr)
					if _, ok := terminal.ExitCode(err); !ok {
						t.Errorf("%s\nexit code 0: want a fault", tc.reason)
					}
					if printed := stdout.String() + stderr.String(); strings.Contains(printed, checkCanary) {
						t.Errorf("%s\n%s prints a part of a Secret:\n%s", tc.reason, format, printed)
					}
				}
			}
		})
	}
}
