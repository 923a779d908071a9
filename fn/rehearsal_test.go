package main

import (
	"crypto/rand"
	"testing"
	"time"

	"github.com/crossplane/function-sdk-go/logging"
	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"

	"github.com/crossplane-contrib/function-export/internal/engine/function"
)

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
