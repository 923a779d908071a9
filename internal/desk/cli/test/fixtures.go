package test

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/crossplane-contrib/function-export/internal/engine/diagnostic"
	"github.com/crossplane-contrib/function-export/internal/engine/lazy"
)

// realCredential matches values with the form of a credential of a well-known issuer.
var realCredential = lazy.MustCompile(`\b(AKIA[0-9A-Z]{16}|gh[pousr]_[A-Za-z0-9]{36}|github_pat_\w{22,}|glpat-[\w-]{20}|` +
	`xox[abprs]-[\w-]{10,}|sk_live_\w{16,}|AIza[\w-]{35}|hvs\.\w{24,})\b|-----BEGIN [A-Z ]*PRIVATE KEY-----|` +
	`\beyJ[\w-]{10,}\.eyJ[\w-]{10,}\.[\w-]{10,}`)

// notReal marks a fixture.
const notReal = "not-real-"

// warnings returns a warning for each connection detail that looks like a real credential.
func warnings(all []*test) (out []string) {
	for _, t := range all {
		if t.in == nil {
			continue
		}
		for i, m := range t.in.Spec.Tests[t.index].Moments {
			for _, name := range slices.Sorted(maps.Keys(m.Observe)) {
				details := m.Observe[name].ConnectionDetails
				for _, key := range slices.Sorted(maps.Keys(details)) {
					if strings.Contains(details[key], notReal) || !realCredential.MatchString(details[key]) {
						continue
					}
					field := fmt.Sprintf("spec.tests[%d].moments[%d].observe.%s.connectionDetails.%s", t.index, i, name, key)
					at := t.step.InFile(&diagnostic.Diagnostic{Path: field})
					out = append(out, fmt.Sprintf("%s:%d: warning: %s looks like a real credential: write a made-up value that begins with %s",
						t.file, at.Line, field, notReal))
				}
			}
		}
	}
	return out
}
