// Package check implements the command fn check: it finds what is wrong with the inputs in files.
package check

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/alecthomas/kong"
	"golang.org/x/term"

	"github.com/crossplane-contrib/function-export/internal/cli/files"
	"github.com/crossplane-contrib/function-export/internal/cli/terminal"
	"github.com/crossplane-contrib/function-export/internal/expression"
	"github.com/crossplane-contrib/function-export/internal/inspect"
	"github.com/crossplane-contrib/function-export/internal/plan"
)

// Command is the command `fn check`: it compiles every input of this function that
// is in files, and prints every fault at its place.
type Command struct {
	Paths []string `arg:"" help:"Files, folders with all YAML files below them, patterns such as 'apis/**/composition.yaml', or - for stdin." name:"file|folder" predictor:"path"`

	// Flags. Keep them in alphabetical order.
	ConnectionKeys map[string]string `help:"The keys of the connection details of a composed resource, or of all resources of a kind: db=username,password, or rds.aws.upbound.io/v1beta1/Instance=username,password. May be repeated." mapsep:"none" placeholder:"NAME=KEY,…"`
	Output         string            `default:"text" enum:"text,json,sarif,github" help:"How faults are printed: text for people, json, sarif for code scanning, or github for annotations in GitHub Actions." short:"o"`
	Resource       map[string]string `help:"The kind of a composed resource that no step spells: db=rds.aws.upbound.io/v1beta1/Instance. May be repeated." mapsep:"none" placeholder:"NAME=KIND"`
	Schema         []string          `help:"Files or folders with XRDs and CRDs, for example of an unpacked package. Those among the checked files count anyway. May be repeated." placeholder:"PATH" predictor:"path" sep:"none" short:"s"`
}

// Help is what kong prints below the flags.
func (c *Command) Help() string {
	return `Finds every pipeline step whose input is an Exports, in Compositions, in lists of
steps and by itself, compiles it as the function would, and prints every fault with
the line and column in the file and how to mend it.

With the schemas of the kinds that are read, expressions are typed: a misspelt
field, a string where a number is and a comparison that can never hold are faults.
XRDs and CRDs among the checked files are used, and those that --schema names. The
kind of a composed resource is taken from the other steps of the pipeline:
patch-and-transform bases, and manifests in Go templates that are spelled out. What
is not known is not refused; dyn(...) around a value says that you know better.

Exit codes: 0 if all is right, 1 if there are faults, 2 if something could not be
read or there was nothing to check.

Examples:

    fn check composition.yaml

    fn check apis/ --schema crds/ --connection-keys db=username,password,endpoint

    fn check 'apis/**/composition.yaml' --output github

    kubectl get composition app -o yaml | fn check -`
}

// Run is called by kong.
func (c *Command) Run(k *kong.Context) error {
	return c.RunWith(context.Background(), os.Stdin, k.Stdout, k.Stderr)
}

// A checked is what came of all files.
type checked struct {
	Diagnostics []files.Diagnostic
	Files       int // with an input
	Steps       int
	Unread      bool
	Untyped     []string // kinds of which there is no schema
}

// RunWith checks the files, prints what is wrong with them to stdout in the format that was asked for, and a summary to
// stderr. The error is a *terminal.ExitError if there is something wrong.
func (c *Command) RunWith(ctx context.Context, stdin io.Reader, stdout, stderr io.Writer) error {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(400) // it ends soon, and what it leaves is garbage
	}
	result, err := c.check(ctx, stdin, progressOn(stderr))
	if err != nil {
		_, _ = fmt.Fprintln(stderr, "fn: error: "+terminal.OneLine(err.Error()))
		return &terminal.ExitError{Code: terminal.ExitUnread, Why: "something could not be read"}
	}
	if err := c.print(result, stdout); err != nil {
		return fmt.Errorf("cannot write the faults: %w", err)
	}
	_, _ = fmt.Fprintln(stderr, result.summary())
	switch {
	case result.Unread:
		return &terminal.ExitError{Code: terminal.ExitUnread, Why: "something could not be read"}
	case len(result.Diagnostics) > 0:
		return &terminal.ExitError{Code: terminal.ExitFaults, Why: "there are faults"}
	}
	return nil
}

// summary of all in a line, and what was not looked at in a second one.
func (r *checked) summary() string {
	faults := "no faults"
	if n := len(r.Diagnostics); n > 0 {
		faults = terminal.Counted(n, "fault", "faults")
	}
	text := fmt.Sprintf("%s in %s of %s", faults, terminal.Counted(r.Steps, "input", "inputs"), terminal.Counted(r.Files, "file", "files"))
	if n := len(r.Untyped); n > 0 {
		text += fmt.Sprintf("\nnot typed, for there is no schema (see --schema): %s", strings.Join(r.Untyped[:min(n, kindsListed)], ", "))
		if n > kindsListed {
			text += fmt.Sprintf(" and %d more", n-kindsListed)
		}
	}
	return text
}

// kindsListed in the summary, which is a line.
const kindsListed = 5

// progressOn tells how far the work is, to a person who would wait else.
func progressOn(w io.Writer) func(done, all int) {
	f, ok := w.(*os.File)
	if !ok || !term.IsTerminal(int(f.Fd())) {
		return func(int, int) {}
	}
	const many = 20
	return func(done, all int) {
		if all < many {
			return
		}
		_, _ = fmt.Fprintf(f, "\rchecked %d of %d files", done, all)
		if done == all {
			_, _ = fmt.Fprint(f, "\r\x1b[K")
		}
	}
}

// check all files. An error is about the command line, or says that there is nothing
// to check.
func (c *Command) check(ctx context.Context, stdin io.Reader, progress func(done, all int)) (*checked, error) {
	paths, err := files.Find(c.Paths, files.Below)
	if err != nil {
		return nil, err
	}
	known, err := files.NewKnowledge(c.Schema, c.Resource, c.ConnectionKeys)
	if err != nil {
		return nil, err
	}
	env, err := expression.NewEnvironment()
	if err != nil {
		return nil, err
	}
	read := files.ReadAll(paths, stdin, files.MayMatter)
	result := &checked{}
	var steps []files.Step
	for _, f := range read {
		found, unread := files.FindSteps(f)
		steps = append(steps, found...)
		result.Diagnostics = append(result.Diagnostics, slices.Concat(f.Unread(), unread)...)
	}
	result.Diagnostics = append(result.Diagnostics, known.Learn(read)...)
	result.Unread = len(result.Diagnostics) > 0
	if err := known.LearnSchemas(steps); err != nil {
		return nil, err
	}
	byFile := groupByFile(steps)
	diagnostics := files.OnAllCores(byFile, func(steps []files.Step) []files.Diagnostic {
		out := make([]files.Diagnostic, 0, len(steps))
		for _, s := range steps {
			out = append(out, checkStep(ctx, env, known, s)...)
		}
		return out
	}, func(done int) { progress(done, len(byFile)) })
	result.Diagnostics = append(result.Diagnostics, slices.Concat(diagnostics...)...)
	result.Files, result.Steps, result.Untyped = len(byFile), len(steps), known.Untyped()
	if result.Steps == 0 && !result.Unread {
		return nil, fmt.Errorf("cannot find an input of kind Exports in %s: give the files with the Compositions", strings.Join(c.Paths, ", "))
	}
	return result, nil
}

// checkStep finds what is wrong with a step, in the order of the file.
func checkStep(ctx context.Context, env *expression.Environment, known *files.Knowledge, s files.Step) []files.Diagnostic {
	input, wrong := files.InputOf(s)
	if wrong != nil {
		return []files.Diagnostic{s.InFile(wrong)}
	}
	all := inspect.Check(ctx, env, input, func(p *plan.Plan) *inspect.Known { return known.Of(ctx, env, s, p) })
	out := make([]files.Diagnostic, 0, len(all))
	for _, d := range all {
		out = append(out, s.InFile(d))
	}
	slices.SortStableFunc(out, func(a, b files.Diagnostic) int { return cmp.Or(a.Line-b.Line, a.Column-b.Column) })
	return out
}

func groupByFile(steps []files.Step) [][]files.Step {
	var out [][]files.Step
	for _, s := range steps {
		if n := len(out); n > 0 && out[n-1][0].File == s.File {
			out[n-1] = append(out[n-1], s)
			continue
		}
		out = append(out, []files.Step{s})
	}
	return out
}

// print the diagnostics in the format that was asked for.
func (c *Command) print(r *checked, w io.Writer) error {
	switch c.Output {
	case "json":
		return r.printJSON(w)
	case "sarif":
		return r.printSARIF(w)
	case "github":
		return r.printGitHub(w)
	}
	return files.PrintText(w, r.Diagnostics)
}
