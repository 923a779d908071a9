package test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/crossplane-contrib/function-export/internal/engine/lazy"
)

// realCredential matches values with the form of a credential of a well-known issuer, or of a private key.
var realCredential = lazy.MustCompile(
	`\b(AKIA[0-9A-Z]{16}|gh[pousr]_[A-Za-z0-9]{36}|github_pat_\w{22,}|glpat-[\w-]{20}|` +
		`xox[abprs]-[\w-]{10,}|sk_live_\w{16,}|AIza[\w-]{35}|hvs\.\w{24,})\b|-----BEGIN [A-Z ]*PRIVATE KEY-----|` +
		`\beyJ[\w-]{10,}\.eyJ[\w-]{10,}\.[\w-]{10,}`)

// notReal marks a fixture.
const notReal = "not-real-"

// warnings returns a warning for each line with a real credential in the files beside the tests.
func warnings(all []*test) (out []string) {
	seen := map[string]bool{}
	for _, t := range all {
		dir := filepath.Dir(t.file)
		if t.in == nil || seen[dir] {
			continue
		}
		seen[dir] = true
		names, _ := filepath.Glob(filepath.Join(dir, "*.yaml")) // the pattern is valid unless the folder has brackets
		for _, name := range names {
			text, _ := os.ReadFile(name) //nolint:gosec // files of the user; a missing one is an error of the test
			for i, line := range strings.Split(string(text), "\n") {
				if realCredential().MatchString(line) && !strings.Contains(line, notReal) {
					out = append(out, fmt.Sprintf("%s:%d: warning: looks like a real credential: write a made-up value that begins "+
						"with %s",
						name, i+1, notReal))
				}
			}
		}
	}
	return out
}
