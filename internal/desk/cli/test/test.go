// Package test implements the command function-export test: it plays the tests in files, in parallel, and reports what
// differs.
package test

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"regexp"
	"slices"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/alecthomas/kong"
	"sigs.k8s.io/yaml"

	"github.com/crossplane-contrib/function-export/internal/desk/cli/terminal"
	"github.com/crossplane-contrib/function-export/internal/desk/exportstest"
	"github.com/crossplane-contrib/function-export/internal/desk/files"
	"github.com/crossplane-contrib/function-export/internal/desk/pipeline"
)

// Command is the command `fn test`.
type Command struct {
	Paths []string `arg:"" default:"." help:"Files with tests, or folders with such files and with folders that have an expected.yaml." name:"files|dirs" optional:"" predictor:"path"`

	// Flags. Keep them in alphabetical order.
	Explore     uint   `help:"Play this number of random histories of failures against the laws of each test, and print the shortest one that breaks a law as a test." placeholder:"N"`
	FailFast    bool   `help:"Start no other test after one has failed."`
	Functions   string `help:"A file with the Functions that run the other steps, as of crossplane composition render: with the runtime Development, or with the path of a program in the annotation test.export.fn.crossplane.io/binary." placeholder:"FILE" predictor:"path"`
	Output      string `default:"text" enum:"text,json,junit,github" help:"The output format: ${enum}. junit is XML for test reports, and github shows failures at their lines in a pull request. Both never have values of Secrets." short:"o"`
	Only        string `help:"Run only tests whose file and name match this regular expression." name:"run" placeholder:"REGEXP"`
	Seed        uint64 `help:"The seed of generated values, and of --explore. The same seed has the same result."`
	ShowSecrets bool   `help:"Print values of Secrets instead of their length and a label. Equal values have equal labels, which are random in each run."`
	Update      bool   `help:"Write the expected.yaml of folders, and the expected values in tests, if they differ. The differences are printed."`
	Watch       bool   `help:"Run the tests again whenever a file changes, until the command is interrupted."`
}

// Help is what kong prints below the flags.
func (c *Command) Help() string {
	return `Plays tests of kind ExportsTest. A test has one composite and moments: what providers
report, what people do, and what fails, with the expected objects, condition, and
changes. Between two moments, Crossplane calls the function as often as it would on a
cluster. So a test shows in milliseconds that a credential survives its rotation.

A folder with xr.yaml, composition.yaml and expected.yaml is also a test: its expected
objects are compared with those that render prints. A folder with a test of kind
ExportsTest is not.

The page fn/TEST.md of the repository describes the format.

Exit codes: 0 if all tests pass, 1 if one fails, 2 if one cannot run.

Examples:

    function-export test

    function-export test example/rotation --run 'rotates'

    function-export test tests --output github

    function-export test tests/orders.yaml --explore 1000 --seed 7`
}

// Run is called by kong, with the values that main binds.
func (c *Command) Run(ctx context.Context, k *kong.Kong, engine pipeline.Engine) error {
	run := func() error { return c.run(ctx, k.Stdout, k.Stderr, engine) }
	if c.Watch {
		return terminal.Watch(ctx, append(slices.Clone(c.Paths), c.Functions), k.Stderr, run)
	}
	return run()
}

// hidesSecrets reports whether an output goes to a place that many people read.
func (c *Command) hidesSecrets() bool { return c.Output == "junit" || c.Output == "github" }

func (c *Command) run(ctx context.Context, stdout, stderr io.Writer, engine pipeline.Engine) error {
	all, err := c.tests(stderr)
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	others, err := readPrograms(ctx, c.Functions)
	defer func() { // programs of other steps end with the tests
		stop()
		others.running.Wait()
	}()
	if err != nil {
		return err
	}
	for _, t := range all {
		t.programs = others
	}
	runner := exportstest.NewRunner(engine, c.seed(), c.ShowSecrets && !c.hidesSecrets())
	play := c.play
	if c.Explore > 0 {
		play = c.explore
	}
	if err := play(ctx, stdout, stderr, all, runner, engine); ctx.Err() == nil {
		return err
	}
	return errors.New("interrupted")
}

// play plays the tests, and reports their outcomes.
func (c *Command) play(
	ctx context.Context, stdout, stderr io.Writer, all []*test, runner *exportstest.Runner, engine pipeline.Engine,
) error {
	began := time.Now()
	var stopped atomic.Bool // tests that are running come to their end
	outcomes := files.OnAllCores(all, func(t *test) *outcome {
		if stopped.Load() {
			return &outcome{test: t, skipped: true}
		}
		out := t.run(ctx, runner, engine)
		if c.FailFast && !out.passed() {
			stopped.Store(true)
		}
		return out
	}, func(int) {})
	if c.Update {
		differences := stdout
		if c.Output != "text" { // a program reads it
			differences = stderr
		}
		if err := update(outcomes, differences); err != nil {
			return err
		}
	}
	if err := c.report(stdout, outcomes, time.Since(began)); err != nil {
		return err
	}
	return exit(outcomes)
}

// tests returns the tests that the paths and --run select. It prints warnings.
func (c *Command) tests(stderr io.Writer) ([]*test, error) {
	wanted, err := regexp.Compile(c.Only)
	if err != nil {
		return nil, fmt.Errorf("--run: not a regular expression: %w", err)
	}
	all, unread, err := find(c.Paths)
	if err != nil {
		return nil, err
	}
	if len(unread) > 0 {
		_ = terminal.PrintText(stderr, unread) // the exit code tells the result
		return nil, &terminal.ExitError{Code: terminal.ExitUnread, Why: "a test cannot be read"}
	}
	for _, warning := range warnings(all) {
		_, _ = fmt.Fprintln(stderr, warning) // the exit code tells the result
	}
	found := slices.DeleteFunc(slices.Clone(all), func(t *test) bool { return !wanted.MatchString(t.title()) })
	switch {
	case len(all) == 0:
		return nil, errors.New("no test is found: a test is a file of kind ExportsTest, or a folder with xr.yaml, " +
			"composition.yaml and expected.yaml")
	case len(found) == 0:
		return nil, fmt.Errorf("--run: no test matches %q: the first of %d is %q", c.Only, len(all), all[0].title())
	}
	return found, nil
}

// seed returns the seed of all tests.
func (c *Command) seed() (out [32]byte) {
	binary.LittleEndian.PutUint64(out[:], c.Seed)
	return out
}

// exit returns the error that tells the result.
func exit(outcomes []*outcome) error {
	var err error
	for _, o := range outcomes {
		if o.err != nil {
			return &terminal.ExitError{Code: terminal.ExitUnread, Why: "a test cannot run"}
		}
		if !o.passed() {
			err = &terminal.ExitError{Code: terminal.ExitErrors, Why: "a test failed"}
		}
	}
	return err
}

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
