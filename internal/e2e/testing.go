package e2e

import (
	"context"
	"errors"
	"testing"
	"time"
)

// reportTime is the part of a test's time limit that is kept to report why it fails.
const reportTime = 20 * time.Second

// PeersForTest calls BuildPeers within the time limit of the test.
func PeersForTest(t *testing.T) Peers {
	t.Helper()

	if testing.Short() {
		t.Skip("with -short the real Crossplane is not built")
	}

	ctx := t.Context()

	if deadline, ok := t.Deadline(); ok {
		c, cancel := context.WithDeadline(ctx, deadline.Add(-reportTime))
		defer cancel()

		ctx = c
	}

	p, err := BuildPeers(ctx, func(text string) { t.Log(text) })
	if err != nil {
		t.Fatalf("cannot build the real Crossplane: %v%s", err, hint(err))
	}

	return p
}

// hint returns the correction for an error of a build.
func hint(err error) string {
	if !errors.Is(err, context.DeadlineExceeded) {
		return ""
	}

	return "\nThe time limit of the test is too short to build it. Raise -timeout, or run" +
		" go -C internal/e2e run ./build first. Both continue where this test stopped."
}
