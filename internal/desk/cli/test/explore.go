package test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"sigs.k8s.io/yaml"

	"github.com/crossplane-contrib/function-export/internal/desk/cli/terminal"
	"github.com/crossplane-contrib/function-export/internal/desk/exportstest"
	"github.com/crossplane-contrib/function-export/internal/desk/files"
	"github.com/crossplane-contrib/function-export/internal/desk/pipeline"
)

// explore plays random histories of each test. It prints the shortest one that breaks a law as a test.
func (c *Command) explore(
	ctx context.Context, stdout, stderr io.Writer, all []*test, runner *exportstest.Runner, _ pipeline.Engine,
) error {
	all = slices.DeleteFunc(all, func(t *test) bool { return t.in == nil })
	if len(all) == 0 {
		return errors.New("--explore needs a test of kind ExportsTest: a folder with expected.yaml has no moments")
	}
	broken := 0
	for _, t := range all {
		found, err := c.exploreOne(ctx, t, runner)
		if err != nil {
			return err
		}
		if found == nil {
			histories := terminal.Counted(int(c.Explore), "history", "histories")
			_, _ = fmt.Fprintf(stderr, "ok    %s: %s break no law\n", t.title(), histories) // the exit code tells the result
			continue
		}
		broken++
		_, _ = fmt.Fprintf(stderr, "FAIL  %s: %s\n", t.title(), found.failure.Message)
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

// atOnce is how many histories are played before the first one that breaks a law is searched.
const atOnce = 4

// A finding is a history, and the law that it breaks.
type finding struct {
	seed    uint64
	history *exportstest.Test
	failure *exportstest.Failure // nil if it breaks none
	err     error
}

// exploreOne returns the first history that breaks a law, or nil.
func (c *Command) exploreOne(ctx context.Context, t *test, runner *exportstest.Runner) (*finding, error) {
	setup, err := t.setup()
	if err != nil {
		return nil, err
	}
	base := t.in.Explored(t.index)
	play := func(seed uint64) *finding {
		out := &finding{seed: seed, history: exportstest.History(base, setup, seed)}
		out.failure, out.err = runner.Breaks(ctx, t.in, out.history, setup)
		return out
	}
	seeds := make([]uint64, c.Explore)
	for i := range seeds {
		seeds[i] = c.Seed + uint64(i)
	}
	for some := range slices.Chunk(seeds, atOnce) {
		for _, f := range files.OnAllCores(some, play, func(int) {}) { // the lowest seed, however many cores there are
			if f.err != nil {
				return nil, f.err
			}
			if f.failure != nil {
				f.history, f.failure = runner.Shrink(ctx, t.in, f.history, setup, f.failure)
				return f, nil
			}
		}
	}
	return nil, nil //nolint:nilnil // no law is broken
}
