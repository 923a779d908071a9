// Package check implements the command function-export check: it finds the errors of the inputs in files.
package check

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/crossplane-contrib/function-export/internal/desk/cli/terminal"
	"github.com/crossplane-contrib/function-export/internal/desk/files"
	"github.com/crossplane-contrib/function-export/internal/engine/advice"
)

// Command is the command `function-export check`: it compiles every input of this function in files, and prints
// every error with its position.
type Command struct {
	Paths []string `arg:"" help:"Files, folders with all YAML files below them, patterns such as 'apis/**/composition.yaml', or - for stdin." name:"file|folder" predictor:"path"`

	// Flags. Keep them in alphabetical order.
	Color          terminal.Color    `default:"auto" enum:"auto,always,never" help:"Print text in color: auto for a terminal without NO_COLOR, always, or never."`
	ConnectionKeys map[string]string `help:"The keys of the connection details of a composed resource, or of all resources of a kind: db=username,password, or rds.aws.upbound.io/v1beta1/Instance=username,password. May be repeated." mapsep:"none" placeholder:"NAME=KEY,…"`
	DryRun         bool              `help:"With --fix, print what it would change as a unified diff, and change nothing."`
	Fix            bool              `help:"Correct the mistakes whose correction is certain, and print the others. The corrected text of stdin is printed to stdout."`
	Output         string            `default:"text" enum:"text,json,junit,sarif,github" short:"o" help:"The format of the errors: text for people, json, junit for test reports, sarif for code scanning, or github for annotations in GitHub Actions."`
	Quiet          bool              `help:"Print no warnings and no summary." short:"q"`
	Resource       map[string]string `help:"The kind of a composed resource that no step names literally: db=rds.aws.upbound.io/v1beta1/Instance. May be repeated." mapsep:"none" placeholder:"NAME=KIND"`
	Schema         []string          `help:"Files or folders with XRDs and CRDs, for example of an unpacked package. XRDs and CRDs in the checked files are always used. May be repeated." placeholder:"PATH" predictor:"path" sep:"none" short:"s"`
	Watch          bool              `help:"Check again whenever a file changes, until the command is interrupted."`
}

// Help is what kong prints below the flags.
func (c *Command) Help() string {
	return `Compiles each input of kind Exports as the function does: in pipeline steps of
Compositions, in lists of steps, and as a document of its own.

Expressions are type-checked with the XRDs and CRDs in the checked files and in the
files of --schema. dyn(...) around a value turns type-checking off for that value.

A placeholder of another tool in a text, such as ${host}, is a warning, because the
function would export it as it is. Write a text that is meant as it is as r'...'.

Exit codes: 0 if there are no errors, 1 if there are errors or changes of --dry-run,
2 if a file could not be read or if there was nothing to check.

Examples:

    function-export check composition.yaml

    function-export check apis/ --schema crds/ --connection-keys db=username,password

    function-export check 'apis/**/composition.yaml' --output github

    function-export check apis/ --fix --dry-run

    kubectl get composition app -o yaml | function-export check -`
}

// Run is called by kong, with the values that main binds.
func (c *Command) Run(ctx context.Context, k *kong.Kong, system *files.System) error {
	if c.Watch && slices.Contains(c.Paths, files.Stdin) || c.DryRun && !c.Fix {
		return errors.New("--watch needs files, and --dry-run needs --fix")
	}
	run := func() error { return c.RunWith(ctx, system, k.Stdout, k.Stderr) }
	if c.Watch {
		return terminal.Watch(ctx, append(slices.Clone(c.Paths), c.Schema...), k.Stderr, run)
	}
	terminal.EndsSoon()
	return run()
}

// A checked is the result for all files.
type checked struct {
	*files.Inputs

	Diagnostics []files.Diagnostic
	changes     bool // fixes would change a file
}

// RunWith checks the files. It prints their diagnostics to stdout in the selected format, and a summary to stderr. If
// there are diagnostics, the error is a *terminal.ExitError.
func (c *Command) RunWith(ctx context.Context, system *files.System, stdout, stderr io.Writer) error {
	result, summary, err := c.checkOrFix(ctx, system, stdout)
	if err != nil {
		_, _ = fmt.Fprintln(stderr, terminal.Name()+": error: "+terminal.OneLine(err.Error()))
		return &terminal.ExitError{Code: terminal.ExitUnread, Why: "something could not be read"}
	}
	if c.Fix && (c.DryRun || slices.Contains(c.Paths, files.Stdin)) {
		stdout = stderr // stdout has the diff or the text
	}
	if err := c.print(result, stdout); err != nil {
		return fmt.Errorf("cannot write the errors: %w", err)
	}
	if !c.Quiet {
		_, _ = fmt.Fprintln(stderr, summary+result.summary())
	}
	if err := terminal.Exit(result.Diagnostics); err != nil || !result.changes {
		return err
	}
	return &terminal.ExitError{Code: terminal.ExitErrors, Why: "there are mistakes with a fix"}
}

// checkOrFix checks the files, or fixes them. It returns what is still wrong, and the beginning of the summary.
func (c *Command) checkOrFix(ctx context.Context, system *files.System, stdout io.Writer) (*checked, string, error) {
	if !c.Fix {
		result, err := c.check(ctx, system)
		return result, "", err
	}
	f, err := c.fix(ctx, system)
	if err != nil {
		return nil, "", err
	}
	text, fixed := f.text(files.StdinName), "fixed"
	if c.DryRun {
		text, fixed, f.result.changes = f.diff(), "would fix", len(f.changed()) > 0
	} else if err := f.write(); err != nil {
		return nil, "", err
	}
	if _, err := io.WriteString(stdout, text); err != nil {
		return nil, "", fmt.Errorf("cannot write to stdout: %w", err)
	}
	return f.result, fmt.Sprintf("%s %s in %s, ", fixed, terminal.Counted(f.fixed, "mistake", "mistakes"),
		terminal.Counted(len(f.changed()), "file", "files")), nil
}

// summary returns a summary in one line, and the kinds that were not type-checked in a second line.
func (r *checked) summary() string {
	found := "no errors"
	if n := r.errors(); n > 0 {
		found = terminal.Counted(n, "error", "errors")
	}
	if n := len(r.Diagnostics) - r.errors(); n > 0 {
		found += ", " + terminal.Counted(n, "warning", "warnings")
	}
	text := fmt.Sprintf("%s in %s of %s", found, terminal.Counted(len(r.Steps), "input", "inputs"),
		terminal.Counted(len(r.Files), "file", "files"))
	if untyped := r.Known.Untyped(); len(untyped) > 0 {
		text += "\nnot type-checked, because there is no schema (see --schema): " + strings.Join(untyped, ", ")
	}
	return text
}

// errors returns the number of diagnostics that are not warnings.
func (r *checked) errors() int {
	n := 0
	for _, d := range r.Diagnostics {
		if !d.Warning {
			n++
		}
	}
	return n
}

// unreadable returns the names of the files that cannot be read.
func (r *checked) unreadable() (out []string) {
	for _, d := range r.Inputs.Unread {
		if isUnreadable(d) {
			out = append(out, d.File)
		}
	}
	return out
}

// check checks all files. An error is about the command line, or says that there is nothing to
// check.
func (c *Command) check(ctx context.Context, system *files.System) (*checked, error) {
	in, err := system.Load(c.Paths, files.Flags{Schemas: c.Schema, Resources: c.Resource,
		ConnectionKeys: c.ConnectionKeys})
	if err != nil {
		return nil, err
	}
	env, err := advice.NewEnvironment()
	if err != nil {
		return nil, err
	}
	diagnostics := files.OnAllCores(in.Files, func(steps []files.Step) []files.Diagnostic {
		return in.Known.Check(ctx, env, steps)
	}, func(int) {})
	return &checked{Inputs: in, Diagnostics: append([]files.Diagnostic{}, // not nil: readers of JSON expect a list
		slices.Concat(in.Unread, slices.Concat(diagnostics...))...)}, nil
}

func isUnreadable(d files.Diagnostic) bool { return d.Rule == files.Unreadable }

// print prints the diagnostics in the selected format.
func (c *Command) print(r *checked, w io.Writer) error {
	if c.Quiet {
		r = &checked{Inputs: r.Inputs, Diagnostics: slices.DeleteFunc(slices.Clone(r.Diagnostics),
			func(d files.Diagnostic) bool { return d.Warning })}
	}
	switch c.Output {
	case "json":
		return r.printJSON(w)
	case "junit":
		return r.printJUnit(w)
	case "sarif":
		return r.printSARIF(w)
	case "github":
		return r.printGitHub(w)
	}
	return terminal.PrintColored(w, r.Diagnostics, c.Color.For(w))
}
