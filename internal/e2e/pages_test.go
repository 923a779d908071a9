package e2e

import (
	"regexp"
	"strings"
	"testing"

	"github.com/crossplane-contrib/function-export/internal/desk/pages"
)

// Each command of the Crossplane CLI on a page exists, with the flags that the page gives it.
// TestRender runs the one that renders. The others need a cluster, or push to a registry.
func TestPages(t *testing.T) {
	all, err := pages.Read(root)
	if err != nil {
		t.Fatal(err)
	}

	cli := ""

	for _, p := range all {
		for _, b := range p.Blocks {
			if b.Lang != "shell" {
				continue
			}

			for _, c := range pages.Commands(b) {
				if c.Program != "crossplane" {
					continue
				}

				if cli == "" {
					cli = PeersForTest(t).CLI
				}

				checkCLI(t, cli, p.Path, c)
			}
		}
	}

	if cli == "" {
		t.Error("want a command of the Crossplane CLI on a page")
	}
}

func checkCLI(t *testing.T, cli, path string, c pages.Command) {
	t.Helper()

	words := strings.Fields(c.Text)[1:]

	end := 0
	for end < len(words) && regexp.MustCompile(`^[a-z]+$`).MatchString(words[end]) && end < 2 {
		end++
	}

	help, err := run(t, cli, append(words[:end:end], "--help")...)
	if err != nil {
		t.Errorf("%s:%d: %v\n%s", path, c.Line, err, help.stderr)
	}

	for _, w := range words[end:] {
		flag, _, _ := strings.Cut(w, "=")
		if strings.HasPrefix(flag, "-") && !strings.Contains(help.stdout, flag) {
			t.Errorf("%s:%d: crossplane %s has no flag %s", path, c.Line, strings.Join(words[:end], " "), flag)
		}
	}
}
