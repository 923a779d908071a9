package main

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/crossplane-contrib/function-export/internal/function/functiontest"
	"github.com/crossplane-contrib/function-export/internal/pages"
)

// TestReadmeIsShort checks that the README can be read in three minutes.
func TestReadmeIsShort(t *testing.T) {
	const limit = 15 << 10
	if size := len(functiontest.README(t)); size > limit {
		t.Errorf("README.md has %d bytes, want at most %d: move details to the guides", size, limit)
	}
}

// The diagnostic in the README is the diagnostic of the step above it.
func TestReadmeDiagnostic(t *testing.T) {
	text := functiontest.README(t)
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

// The function exports the exports of composite authors that pages show.
func TestPageOfCompositeAuthors(t *testing.T) {
	all := readPages(t, "..")
	shown := 0
	for _, p := range all {
		for i, b := range p.Blocks {
			if b.Output || b.Lang != "yaml" || !strings.Contains(b.Text, "operatorSpec:") || i == 0 || !strings.Contains(p.Blocks[i-1].Text, "\nfromComposite:") {
				continue
			}
			shown++
			req := functiontest.Request(t, functiontest.ObservedDatabase)
			req.Input, req.Observed.Composite.Resource = functiontest.Parse(t, p.Blocks[i-1].Text), functiontest.Parse(t, b.Text)
			rsp := functiontest.Reconcile(t, functiontest.New(t), req, nil)
			if c := rsp.GetConditions()[0]; c.GetReason() != "Available" || len(rsp.GetDesired().GetResources()) != 2 {
				t.Errorf("%s:%d: want two objects, got %d: %v", p.Path, b.Line, len(rsp.GetDesired().GetResources()), c)
			}
		}
	}
	if shown == 0 {
		t.Error("no page shows an input with fromComposite, followed by a composite")
	}
}

// CI starts with the test command of the README, before it builds or installs anything.
func TestReadmeTestCommand(t *testing.T) {
	shown := regexp.MustCompile("(?m)^```shell\n(go test .*)\n```$").FindStringSubmatch(functiontest.README(t))
	if shown == nil {
		t.Fatal("the README has no code block with a test command alone")
	}
	ci, err := os.ReadFile("../.ci/run")
	if err != nil {
		t.Fatal(err)
	}
	first := regexp.MustCompile(`(?m)^\s*(go|apt-get) .*$`).FindString(string(ci))
	if diff := cmp.Diff(shown[1], first); diff != "" {
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
			for _, target := range pages.Targets(p) {
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
