package main

import (
	"bytes"
	"encoding/base64"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/crossplane/function-sdk-go/logging"
	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/crossplane-contrib/function-export/internal/desk/cli/render"
	"github.com/crossplane-contrib/function-export/internal/engine/credential"
	"github.com/crossplane-contrib/function-export/internal/engine/function"
	"github.com/crossplane-contrib/function-export/internal/engine/seal"
	"github.com/crossplane-contrib/function-export/internal/engine/sensitive"
)

// TestNewerState checks a rollback of the function. A newer version has written and sealed state that this
// version does not know. The exports and the generations stay unchanged.
func TestNewerState(t *testing.T) {
	const example = "../example/rotation/04-exported"
	was, err := os.ReadFile(filepath.Join(example, "observed.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	newer := strings.NewReplacer(
		`"stage":"current"`, `"stage":"current","future":[{"a":1}]`,
		`{"admin":{"holds":`, `{"admin":{"future":"x","holds":`,
		"    export.fn.crossplane.io/generator-state:", "    export.fn.crossplane.io/future: x\n    export.fn.crossplane.io/generator-state:",
	).Replace(string(was))
	var documents []string
	for _, text := range strings.Split(newer, "---\n")[1:] {
		documents = append(documents, sealed(t, text))
	}
	dir := t.TempDir()
	for name, text := range map[string]string{"observed.yaml": "---\n" + strings.Join(documents, "---\n"), "xr.yaml": "", "composition.yaml": ""} {
		if text == "" {
			b, err := os.ReadFile(filepath.Join(example, name))
			if err != nil {
				t.Fatal(err)
			}
			text = string(b)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff(renderedAt(t, example), renderedAt(t, dir)); diff != "" {
		t.Errorf("-with its own state, +with a newer one:\n%s", diff)
	}
}

// sealed returns a document with a valid seal of its state.
func sealed(t *testing.T, text string) string {
	t.Helper()
	var o unstructured.Unstructured
	if err := yaml.Unmarshal([]byte(text), &o.Object); err != nil {
		t.Fatal(err)
	}
	data, _, err := unstructured.NestedStringMap(o.Object, "data")
	if err != nil {
		t.Fatal(err)
	}
	outputs := credential.Outputs{}
	for k, v := range data {
		b, err := base64.StdEncoding.DecodeString(v)
		if err != nil {
			t.Fatal(err)
		}
		outputs[k] = sensitive.New(b)
	}
	return regexp.MustCompile(`(\S+): '(\{.*),"seal":"\w+"\}'`).ReplaceAllStringFunc(text, func(line string) string {
		annotation, state, _ := strings.Cut(line, ": ")
		body, _, _ := strings.Cut(strings.Trim(state, "'"), `,"seal"`)
		return annotation + ": '" + seal.Add(annotation, outputs, body+"}") + "'"
	})
}

// renderedAt returns the output of render for a folder, at the time of the example.
func renderedAt(t *testing.T, dir string) string {
	t.Helper()
	f, err := function.New(logging.NewNopLogger(), nil)
	if err != nil {
		t.Fatal(err)
	}
	f.Now = func() time.Time { return time.Date(2026, 1, 1, 9, 0, 3, 0, time.UTC) }
	var out, said bytes.Buffer
	c := render.Command{Paths: []string{dir}, ShowSecrets: true}
	if err := c.RunWith(t.Context(), f, &out, &said); err != nil {
		t.Fatal(err, said.String())
	}
	return said.String() + out.String()
}
