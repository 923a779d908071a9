package main

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/crossplane-contrib/function-export/internal/desk/pages"
)

func readme(t *testing.T) string {
	t.Helper()
	b, err := os.ReadFile("../README.md")
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// TestReadmeIsShort checks that the README can be read in two minutes.
func TestReadmeIsShort(t *testing.T) {
	const limit = 9 << 10
	if size := len(readme(t)); size > limit {
		t.Errorf("README.md has %d bytes, want at most %d: move details to the guides", size, limit)
	}
}

// The diagnostic in the README is the diagnostic of the step above it.
func TestReadmeDiagnostic(t *testing.T) {
	text := readme(t)
	shown := regexp.MustCompile(`(?m)^secrets\[0\].*$`).FindString(text)
	step := regexp.MustCompile("(?s)```yaml\n(- step:.*?)```").FindStringSubmatch(text)
	if shown == "" || step == nil {
		t.Fatal("want a step and a diagnostic")
	}
	err := newRunner(t, "..").checkYAML(t.Context(), strings.Replace(step[1], "secret.password", "secrt.password", 1))
	if err == nil || !strings.Contains(err.Error(), shown) {
		t.Errorf("want %q, got %v", shown, err)
	}
}

// The page of exports by composite authors shows a composite whose exports the shown input allows.
func TestPageOfCompositeAuthors(t *testing.T) {
	const folder = "example/author-exports"
	root, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	all := readPages(t, root)
	page := all[slices.IndexFunc(all, func(p pages.Page) bool { return p.Path == folder+"/README.md" })]
	i := slices.IndexFunc(page.Blocks, func(b pages.Block) bool { return strings.Contains(b.Text, "\n  operatorSpec:") })
	if i < 1 {
		t.Fatal("the page shows no input followed by a composite")
	}
	r := newRunner(t, root).in(t)
	step := "apiVersion: apiextensions.crossplane.io/v1\nkind: Composition\nmetadata: {name: shown}\nspec:\n" +
		"  compositeTypeRef: {apiVersion: example.org/v1alpha1, kind: Database}\n  mode: Pipeline\n  pipeline:\n" +
		"  - step: export\n    functionRef: {name: function-export}\n    input:\n      " + strings.ReplaceAll(
		page.Blocks[i-1].Text, "\n", "\n      ")
	for name, text := range map[string]string{"shown-xr.yaml": page.Blocks[i].Text, "shown-composition.yaml": step} {
		if err := os.WriteFile(filepath.Join(r.dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	out, _ := r.run(t, page.Path, pages.Command{
		Line: page.Blocks[i].Line,
		Text: "function-export render shown-xr.yaml shown-composition.yaml --observed-resources " + folder +
			"/observed.yaml -e " + folder + "/required.yaml 2>&1",
	})
	for _, want := range []string{"name: orders-jdbc\n", "name: orders-settings\n", "is created in this reconcile\n"} {
		if !strings.Contains(out, want) {
			t.Errorf("want %q, got:\n%s", want, out)
		}
	}
}

// CI starts with the test command of the README, before it builds or installs anything.
func TestReadmeTestCommand(t *testing.T) {
	shown := regexp.MustCompile("(?m)^```shell\n(go test .*)\n```$").FindStringSubmatch(readme(t))
	if shown == nil {
		t.Fatal("the README has no code block with a test command alone")
	}
	ci, err := os.ReadFile("../.ci/run")
	if err != nil {
		t.Fatal(err)
	}
	first := regexp.MustCompile(`(?m)^\s*(?:go|apt-get) .*$`).FindString(string(ci))
	if diff := cmp.Diff(shown[1], strings.TrimSpace(first)); diff != "" {
		t.Errorf("-README, +first command of .ci/run:\n%s", diff)
	}
	before, _, _ := strings.Cut(string(ci), first)
	if !strings.Contains(before, `XDG_CACHE_HOME="$(mktemp -d)"`) {
		t.Error("want the programs in an empty cache before the first command of .ci/run")
	}
}

// Links lead from the README to each page.
func TestPagesAreLinked(t *testing.T) {
	all := readPages(t, "..")
	linked := map[string]bool{"README.md": true}
	for changed := true; changed; {
		changed = false
		for _, p := range all {
			if !linked[p.Path] {
				continue
			}
			for _, target := range targetsOf(p) {
				if !linked[target] {
					linked[target], changed = true, true
				}
			}
		}
	}
	for _, p := range all {
		if !linked[p.Path] && !strings.HasPrefix(p.Path, ".github/") {
			t.Errorf("no page that the README leads to links to %s", p.Path)
		}
	}
}
