package test

import (
	"context"
	"fmt"
	"io"
	"math"
	"sync/atomic"

	"sigs.k8s.io/yaml"

	"github.com/crossplane-contrib/function-export/internal/desk/cli/files"
	"github.com/crossplane-contrib/function-export/internal/desk/cli/terminal"
	"github.com/crossplane-contrib/function-export/internal/desk/exportstest"
)

// explore plays random histories of each test. It prints the shortest one that breaks a law as a test.
func (c *Command) explore(ctx context.Context, stdout, stderr io.Writer, all []*test, runner *exportstest.Runner) error {
	broken := 0
	for _, t := range all {
		if t.in == nil {
			continue
		}
		found, err := c.exploreOne(ctx, t, runner)
		if err != nil {
			return err
		}
		if found == nil {
			_, _ = fmt.Fprintf(stderr, "ok    %s: %s: %s break no law\n", t.file, t.name, // the exit code tells the result
				terminal.Counted(c.Explore, "history", "histories"))
			continue
		}
		broken++
		_, _ = fmt.Fprintf(stderr, "FAIL  %s: %s: %s\n", t.file, t.name, found.failure.Message)
		text, err := yaml.Marshal(t.in.Found(found.history, found.seed))
		if err != nil {
			return fmt.Errorf("cannot print the history: %w", err)
		}
		_, _ = fmt.Fprintf(stdout, "---\n%s", text)
	}
	if broken > 0 {
		return &terminal.ExitError{Code: terminal.ExitErrors, Why: "a law is broken"}
	}
	return nil
}

// A finding is a history that breaks a law.
type finding struct {
	seed    uint64
	history *exportstest.Test
	failure *exportstest.Failure
}

func (c *Command) exploreOne(ctx context.Context, t *test, runner *exportstest.Runner) (*finding, error) {
	setup, err := t.setup()
	if err != nil {
		return nil, err
	}
	base := t.in.Explored(t.index)
	seeds := make([]uint64, c.Explore)
	for i := range seeds {
		seeds[i] = c.Seed + uint64(i)
	}
	var first atomic.Uint64 // the lowest seed that breaks a law
	first.Store(math.MaxUint64)
	type played struct {
		*finding
		err error
	}
	all := files.OnAllCores(seeds, func(seed uint64) played {
		if seed > first.Load() {
			return played{}
		}
		history := exportstest.History(base, setup, seed)
		failure, err := runner.Breaks(ctx, t.in, history, setup)
		if err != nil || failure == nil {
			return played{err: err}
		}
		was := first.Load()
		for seed < was && !first.CompareAndSwap(was, seed) {
			was = first.Load()
		}
		return played{&finding{seed, history, failure}, nil}
	}, func(int) {})
	for _, p := range all { // the lowest seed, whatever the order was
		if p.err != nil {
			return nil, p.err
		}
		if p.finding != nil {
			p.history, p.failure = runner.Shrink(ctx, t.in, p.history, setup, p.failure)
			return p.finding, nil
		}
	}
	return nil, nil //nolint:nilnil // no law is broken
}
