package live_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/crossplane-contrib/function-export/internal/e2e"
	"github.com/crossplane-contrib/function-export/internal/e2e/laws"
	"github.com/crossplane-contrib/function-export/internal/e2e/live"
)

// TestClockRuleMatters plays a rotation during which the clock of the function is five minutes ahead. The grace period
// begins again when the clock is right. Without this rule, a function that trusts its former clock keeps the former
// value for five minutes.
func TestClockRuleMatters(t *testing.T) {
	if err := stage(); err != nil {
		t.Fatal(err)
	}

	for name, rule := range map[string]bool{"clock-right": true, "clock-trusted": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			file, program := filepath.Join(t.TempDir(), "clock"), buildClocks(t, name, rule)
			set := func(offset string) error {
				return errors.Join(os.WriteFile(file+".new", []byte(offset), 0o600), os.Rename(file+".new", file))
			}

			if err := set("0s"); err != nil {
				t.Fatal(err)
			}

			env := "FUNCTION_EXPORT_CLOCK=" + file

			f, err := install(t.Context(), "function-export-"+name, "package", program, nil, env)
			if f != nil {
				t.Cleanup(f.Stop)
			}

			if err != nil {
				t.Fatal(err)
			}

			err = rotatesAhead(t.Context(), scenario{ControlPlane: plane, function: f.Name, ns: "live-" + name}, set)
			if rule && err != nil {
				t.Error(err)
			}

			if !rule && !errors.As(err, &broken{}) {
				t.Errorf("without the rule the scenario must see a promise broken, got: %v", err)
			}
		})
	}
}

// buildClocks builds a function with a clock that can be wrong. It can lack the rule about times that are in the
// future.
func buildClocks(t *testing.T, name string, rule bool) string {
	t.Helper()

	overlay, err := e2e.Overlay(root, e2e.Clocks, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}

	if !rule {
		without(t, strings.TrimPrefix(overlay, "-overlay="), "internal/engine/rotation/rotation.go", " || next.Since.After(s.now)")
	}

	program := state("function-export-" + name)
	if err := command(t.Context(), root, "go", "build", overlay, "-o", program, "./fn"); err != nil {
		t.Fatal(err)
	}

	return program
}

// without adds a file to an overlay that lacks a part of its code.
func without(t *testing.T, overlay, name, code string) {
	t.Helper()

	file, err := filepath.Abs(filepath.Join(root, name))
	if err != nil {
		t.Fatal(err)
	}

	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}

	if n := strings.Count(string(b), code); n != 1 {
		t.Fatalf("%s has %q %d times, want once", name, code, n)
	}

	changed := filepath.Join(filepath.Dir(overlay), filepath.Base(name))
	if err := os.WriteFile(changed, []byte(strings.Replace(string(b), code, "", 1)), 0o600); err != nil {
		t.Fatal(err)
	}

	var replace struct{ Replace map[string]string }

	b, err = os.ReadFile(overlay)
	if err == nil {
		err = json.Unmarshal(b, &replace)
	}

	if err != nil {
		t.Fatal(err)
	}

	replace.Replace[file] = changed

	b, err = json.Marshal(replace)
	if err == nil {
		err = os.WriteFile(overlay, b, 0o600)
	}

	if err != nil {
		t.Fatal(err)
	}
}

// rotatesAhead rotates a credential while the clock is ahead. The former generation is deleted when the clock is right.
func rotatesAhead(ctx context.Context, s scenario, set func(offset string) error) error {
	former := s.core("Secret", "app-admin-1")
	forced := func(within time.Duration, what string, ok func() error) error {
		return eventually(ctx, within, what, func() error {
			return errors.Join(s.force(ctx, s.app(), 1), ok())
		})
	}

	return first(
		func() error { return s.open(ctx, "App", rotatingPassword) },
		func() error { return s.applyApp(ctx) },
		func() error { return s.says(ctx, s.app(), "Available") },
		func() error { return set(skewed.String()) },
		func() error { return s.rotate(ctx, "admin", "1") },
		func() error {
			return forced(soon, "a flag that is in the future", func() error {
				o, err := s.Get(ctx, former)
				if err != nil {
					return err
				}

				return wantText(laws.VersionOf("", o, time.Now()).Flagged.After(time.Now().Add(time.Minute)), "it is not flagged")
			})
		},
		func() error { return set("0s") },
		func() error {
			err := forced(20*time.Second, "the end of the former generation", func() error {
				_, err := s.Get(ctx, former)
				return wantText(live.IsNotFound(err), "it is there")
			})
			if err != nil {
				return brokenf("the former value is kept for longer than its grace period: %v", err)
			}

			return nil
		},
	)
}
