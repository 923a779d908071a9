package main

import (
	"bytes"
	"crypto/rand"
	"testing"
	"time"

	"github.com/alecthomas/kong"
	"github.com/crossplane/function-sdk-go/logging"
	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"github.com/google/go-cmp/cmp"

	"github.com/crossplane-contrib/function-export/internal/desk/cli/render"
	"github.com/crossplane-contrib/function-export/internal/engine/function"
	"github.com/crossplane-contrib/function-export/internal/proof"
)

// rehearsed returns what render prints for a folder.
func rehearsed(t *testing.T, folder string, args ...string) string {
	t.Helper()
	var c render.Command
	var out, said bytes.Buffer
	p, err := kong.New(&c, kong.Writers(&out, &said), kong.Bind(render.FunctionAt(functionAt)))
	if err != nil {
		t.Fatal(err)
	}
	k, err := p.Parse(append([]string{folder}, args...))
	if err != nil {
		t.Fatal(err)
	}
	if err := k.Run(); err != nil {
		t.Fatalf("%v\n%s", err, said.String())
	}
	return out.String() + said.String()
}

// A rehearsal is deterministic to the byte, with and without secrets.
func TestRehearsalsAreDeterministic(t *testing.T) {
	const at = "2026-03-02T09:00:02Z"
	for folder, runs := range map[string]int{
		"../example/generator-certificate": 100, "../example/generator-ssh-key": 10, "../example/generator-hash": 10, "../example/generator-keystore": 10,
	} {
		for _, args := range [][]string{{"--at", at, "--show-secrets"}, {"--at", at}} {
			first := rehearsed(t, folder, args...)
			for i := 1; i < runs; i += proof.Step(10) {
				if diff := cmp.Diff(first, rehearsed(t, folder, args...)); diff != "" {
					t.Fatalf("%s %v is not the same each time:\n%s", folder, args, diff)
				}
			}
		}
	}
	const folder = "../example/generator-certificate"
	if rehearsed(t, folder, "--at", at, "--show-secrets") == rehearsed(t, folder, "--at", "2026-03-02T09:00:03Z", "--show-secrets") {
		t.Error("another time has the same keys")
	}
}

// Only a rehearsal has a source that is derived from files: serve, and render without --at, have the system's randomness.
func TestOnlyRehearsalsAreSeeded(t *testing.T) {
	served, err := function.New(logging.NewNopLogger(), nil)
	if err != nil {
		t.Fatal(err)
	}
	now, err := functionAt(time.Time{}, [32]byte{1})
	if err != nil {
		t.Fatal(err)
	}
	for name, f := range map[string]fnv1.FunctionRunnerServiceServer{"serve": served, "render": now} {
		if own, ok := f.(*function.Function); !ok || own.Entropy() != rand.Reader {
			t.Errorf("%s does not use the randomness of the system", name)
		}
	}
}
