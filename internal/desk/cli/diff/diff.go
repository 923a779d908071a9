// Package diff implements the command function-export diff: it rehearses a changed Composition for every composite of a
// cluster, or of files that kubectl printed.
package diff

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/alecthomas/kong"

	"github.com/crossplane-contrib/function-export/internal/desk/cli/terminal"
	rehearsal "github.com/crossplane-contrib/function-export/internal/desk/diff"
	"github.com/crossplane-contrib/function-export/internal/desk/files"
	"github.com/crossplane-contrib/function-export/internal/desk/pipeline"
	"github.com/crossplane-contrib/function-export/internal/desk/state"
)

// Command is the command `function-export diff`.
type Command struct {
	Compositions []string `arg:"" help:"Files with changed Compositions, or folders with such files." name:"composition" predictor:"path"`

	Place

	// Flags. Keep them in alphabetical order.
	FailOn    []string      `help:"Exit with 1 only if there is one of these effects: those of --only." placeholder:"EFFECT,…"`
	Functions string        `help:"The Functions of the other steps, which crossplane composition render runs: a file or a folder. Without it, the other steps compose what they compose now." placeholder:"PATH" predictor:"path"`
	Only      []string      `help:"Print only these effects, for example rotates,deletes,holds." placeholder:"EFFECT,…"`
	Output    string        `default:"text" enum:"text,json,markdown,github" help:"The output format: ${enum}. markdown is for the comment of a pull request, and github shows effects at the Composition in it." short:"o"`
	Summary   bool          `help:"Print only the summary."`
	Until     time.Duration `help:"Also list what time alone does in this time, for example 720h: rotations, grace periods that end, and certificates that expire." placeholder:"DURATION"`
}

// Help is what kong prints below the flags.
func (c *Command) Help() string {
	return `Plays the Composition in use and the changed one for each composite that uses it, from the
same state, until nothing changes, and prints the differences. Nothing is written.

With --cluster, kubectl reads the composites, what they compose, and what the function
requires. It only uses get and auth can-i. With --from, files have this state, as kubectl
get -o yaml prints it. Secrets may be left out or masked: then effects that depend on
their values are named, and all others are decided.

Values are only compared: the output has their lengths. The page fn/DIFF.md of the
repository describes the effects and the JSON.

Effects for --only and --fail-on: ` + wrapped() + `

Exit codes: 0 if nothing changes, 1 if something changes, 2 if something cannot be read.

Examples:

    function-export diff --cluster apis/postgresql/composition.yaml

    function-export diff --from dump/ composition.yaml --only rotates,deletes,holds

    function-export diff --from dump.yaml composition.yaml --output markdown \
      --fail-on deletes,holds`
}

// wrapped lists the words for effects in lines that fit into a help.
func wrapped() string {
	const perLine = 8
	var out strings.Builder
	for i, e := range effects {
		separator := " "
		if i%perLine == 0 {
			separator = "\n"
		}
		out.WriteString(separator + e.word)
	}
	return out.String()
}

// Validate is called by kong when the arguments are parsed.
func (c *Command) Validate() error {
	if slices.Contains(kindsOf(slices.Concat(c.Only, c.FailOn)), "") {
		return &terminal.UsageError{Text: "--only, --fail-on: write some of " + strings.ReplaceAll(wrapped(), "\n", " ")}
	}
	return c.Place.Validate()
}

// Run is called by kong, with the values that main binds. Its error tells the exit code.
func (c *Command) Run(ctx context.Context, k *kong.Kong, system *files.System, engine pipeline.Engine) error {
	terminal.EndsSoon()
	changed, err := readCompositions(ctx, system, c.Compositions, k.Stderr)
	if err != nil {
		return err
	}
	all, source, err := c.read(ctx, system, changed)
	if err != nil {
		return err
	}
	r := &report{Source: source}
	if c.Cluster && !all.Complete {
		r.note("kubectl lacks the right to read Secrets, so what depends on their values is not known")
	}
	run := &rehearsal.Rehearsal{State: all, Engine: engine, Now: c.Time()}
	if err := c.rehearse(ctx, r, run, changed, k.Stderr); err != nil {
		return err
	}
	matters := kindsOf(c.Only)
	if len(c.FailOn) > 0 {
		matters = kindsOf(c.FailOn)
	}
	fails := r.has(matters)
	r.only(kindsOf(c.Only))
	if err := c.print(k.Stdout, r, changed); err != nil {
		return fmt.Errorf("cannot write the effects: %w", err)
	}
	if fails {
		return &terminal.ExitError{Code: terminal.ExitErrors, Why: "something changes"}
	}
	return nil
}

// A task is a composite, and the pipelines to compare.
type task struct {
	composite      *state.Composite
	changed, inUse *rehearsal.Pipeline // inUse is nil if it is not known
}

// rehearse finds the effects for each composite of each Composition.
func (c *Command) rehearse(
	ctx context.Context, r *report, run *rehearsal.Rehearsal, changed []*composition, stderr io.Writer,
) error {
	all := run.State
	if c.Functions != "" {
		run.Recompose = (&renderer{functions: c.Functions, state: all}).recompose
		r.Source.OtherSteps = "recomputed"
	}
	tasks, err := tasksOf(r, all, changed)
	if err != nil {
		return err
	}
	progress := progressOn(stderr, len(tasks))
	for {
		results := files.OnAllCores(tasks, func(t *task) *result {
			out := &result{Composition: t.changed.Name, Ref: t.composite.Ref}
			var err error
			if out.Effects, err = run.Effects(ctx, t.composite, t.changed, t.inUse); err != nil {
				out.Effects = []rehearsal.Effect{{Kind: rehearsal.Unknown, Reason: "cannot be rehearsed: " + err.Error()}}
			} else if c.Until > 0 {
				out.later, out.ends = t.later(ctx, run, run.Now.Add(c.Until))
			}
			slices.SortStableFunc(out.Effects, gravestFirst)
			return out
		}, progress)
		if again, err := all.Fetch(ctx); err != nil {
			return err
		} else if again {
			continue // with the objects that functions require
		}
		if err := ctx.Err(); err != nil {
			return err //nolint:wrapcheck // the context's own
		}
		if r.Composites = results; c.Until > 0 {
			r.Later = newTimeline(run.Now.Add(c.Until), results)
		}
		for _, one := range results {
			if one.ends != nil {
				r.note("%s", one.ends)
			}
		}
		return nil
	}
}

// tasksOf returns the composites of all Compositions. It adds notes about what is not known.
func tasksOf(r *report, all *state.State, changed []*composition) ([]*task, error) {
	var out []*task
	pipelines := map[state.Ref]*rehearsal.Pipeline{} // in use
	for _, of := range changed {
		composites := all.Composites(of.Object)
		if len(composites) == 0 {
			r.note("no composite of kind %s uses Composition %s", of.CompositeKind, of.Name)
		}
		unknown := 0
		for _, c := range composites {
			t := &task{composite: c, changed: of.Pipeline}
			if used := state.RefIn(c.InUse); c.InUse == nil {
				unknown++
			} else if t.inUse = pipelines[used]; t.inUse == nil {
				p, err := rehearsal.NewPipeline(c.InUse)
				if err != nil {
					return nil, fmt.Errorf("cannot read %s: %w", used, err)
				}
				t.inUse, pipelines[used] = p, p
				if steps := of.Others(p); len(steps) > 0 && r.Source.OtherSteps == asComposedNow {
					r.note("Composition %s: step %s differs from %s, and is taken as composed now: pass --functions to recompute it",
						of.Name, strings.Join(steps, ", "), used)
				}
			}
			out = append(out, t)
		}
		if unknown > 0 {
			r.note("Composition %s: the Composition in use is not known for %s, so its effects are the differences from what "+
				"exists", of.Name, terminal.Counted(unknown, "composite", "composites"))
		}
	}
	return out, nil
}

// progressOn prints a bar on a terminal.
func progressOn(w io.Writer, all int) func(done int) {
	if !terminal.MovesCursor(w) || all == 0 {
		return func(int) {}
	}
	const width = 30
	return func(done int) {
		bar := strings.Repeat("#", done*width/all)
		_, _ = fmt.Fprintf(w, "\r[%-*s] %d of %d composites", width, bar, done, all)
		if done == all {
			_, _ = fmt.Fprint(w, "\r\x1b[K")
		}
	}
}
