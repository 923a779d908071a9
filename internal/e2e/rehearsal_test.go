package e2e

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

const (
	// rehearsal is the variant of the function that plays one moment again and again.
	rehearsal = "rehearsal"

	// clockVariable names the file that such a function takes its time from.
	clockVariable = "FUNCTION_EXPORT_NOW"

	// anyTime is the time of an example that does not set one.
	anyTime = "2026-01-01T00:00:00Z"

	// generatorStateKey is where the function leaves the state of its generators in the
	// context.
	generatorStateKey = "export.fn.crossplane.io/generator-state"

	// generationPrefix begins the composition resource name of each generation.
	generationPrefix = "generated/"
)

// A clock is the file that the function takes its time from.
type clock string

func newClock(t *testing.T) clock {
	t.Helper()

	return clock(filepath.Join(t.TempDir(), "now.txt"))
}

func (c clock) env() []string { return []string{clockVariable + "=" + string(c)} }

// set the clock to the time of an example, which is in its now.txt.
func (c clock) set(t *testing.T, dir string) string {
	t.Helper()

	now := anyTime

	if path := filepath.Join(dir, "now.txt"); exists(path) {
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}

		now = strings.TrimSpace(string(b))
	}

	if _, err := time.Parse(time.RFC3339, now); err != nil {
		t.Fatal(err)
	}

	if err := os.WriteFile(string(c), []byte(now), 0o600); err != nil {
		t.Fatal(err)
	}

	return now
}

// The function as it is published has the system's clock and randomness, and no way to
// take another.
func TestPublishedIsNoRehearsal(t *testing.T) {
	cases := map[string]struct {
		reason string
		flags  []string
		want   bool // it reads the variable with the time
	}{
		"Published": {reason: "who could set its clock or its randomness would know each password"},
		"Rehearsal": {
			reason: "otherwise it would not be seen in the one that is published",
			flags:  []string{overlay(t, rehearsal)}, want: true,
		},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			program, err := os.ReadFile(buildFunction(t, tc.flags...))
			if err != nil {
				t.Fatal(err)
			}

			if got := bytes.Contains(program, []byte(clockVariable)); got != tc.want {
				t.Errorf("%s: it has %s in it: want %t, got %t", tc.reason, clockVariable, tc.want, got)
			}
		})
	}

	image, err := os.ReadFile(root + "/Dockerfile")
	if err != nil {
		t.Fatal(err)
	}

	flags := bytes.ReplaceAll(image, []byte("-tags grpcnotrace "), nil)
	if !bytes.Contains(image, []byte("go build ")) || regexp.MustCompile(`-tags|-overlay|GOFLAGS`).Match(flags) {
		t.Error("the Dockerfile must build the function as it is, without tags and overlays, except gRPC's tag")
	}
}
