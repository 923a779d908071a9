package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/alecthomas/kong"
	"golang.org/x/term"

	"github.com/crossplane-contrib/function-export/internal/document"
	"github.com/crossplane-contrib/function-export/internal/expression"
)

// checkCmd is the command `fn check`: it compiles every input of this function that
// is in files, and prints every fault at its place.
type checkCmd struct {
	Paths []string `arg:"" help:"Files, folders with all YAML files below them, patterns such as 'apis/**/composition.yaml', or - for stdin." name:"file|folder" predictor:"path"`

	// Flags. Keep them in alphabetical order.
	ConnectionKeys map[string]string `help:"The keys of the connection details of a composed resource, or of all resources of a kind: db=username,password, or rds.aws.upbound.io/v1beta1/Instance=username,password. May be repeated." mapsep:"none" placeholder:"NAME=KEY,…"`
	Output         string            `default:"text" enum:"text,json,sarif,github" help:"How faults are printed: text for people, json, sarif for code scanning, or github for annotations in GitHub Actions." short:"o"`
	Resource       map[string]string `help:"The kind of a composed resource that no step spells: db=rds.aws.upbound.io/v1beta1/Instance. May be repeated." mapsep:"none" placeholder:"NAME=KIND"`
	Schema         []string          `help:"Files or folders with XRDs and CRDs, for example of an unpacked package. Those among the checked files count anyway. May be repeated." placeholder:"PATH" predictor:"path" sep:"none" short:"s"`
}

// Help is what kong prints below the flags.
func (c *checkCmd) Help() string {
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

// The exit codes of check, and what kong exits with for a command line that it cannot
// parse.
const (
	exitFaults = 1
	exitUnread = 2
	exitUsage  = 80
)

// An exitError ends the program with a code. All that there is to say was said.
type exitError struct{ code int }

func (e *exitError) Error() string { return fmt.Sprintf("exit code %d", e.code) }

// Run is called by kong.
func (c *checkCmd) Run(k *kong.Context) error {
	return c.run(context.Background(), os.Stdin, k.Stdout, k.Stderr)
}

// A finding is a fault, and the place to mend it at.
type finding struct {
	File    string `json:"file"`
	Line    int    `json:"line"`
	Column  int    `json:"column"`
	Step    string `json:"step,omitempty"`  // of the pipeline
	Field   string `json:"field,omitempty"` // of the input
	Rule    string `json:"rule"`
	Message string `json:"message"`

	source string // the line in the file
}

// The rules that a finding breaks.
const (
	ruleInput      = "input"      // of the input's form
	ruleExpression = "expression" // of CEL
	ruleType       = "type"       // of what is known of the objects that are read
	ruleUnreadable = "unreadable"
)

// A checked is what came of all files.
type checked struct {
	Findings []finding
	Files    int // with an input
	Steps    int
	Unread   bool
	Untyped  []string // kinds of which there is no schema
}

func (c *checkCmd) run(ctx context.Context, stdin io.Reader, stdout, stderr io.Writer) error {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(gcPercent) // it ends soon, and what it leaves is garbage
	}
	result, err := c.check(ctx, stdin, progressOn(stderr))
	if err != nil {
		_, _ = fmt.Fprintln(stderr, "fn: error: "+oneLine(err.Error()))
		return &exitError{exitUnread}
	}
	if err := c.print(result, stdout); err != nil {
		return fmt.Errorf("cannot write the faults: %w", err)
	}
	_, _ = fmt.Fprintln(stderr, result.summary())
	switch {
	case result.Unread:
		return &exitError{exitUnread}
	case len(result.Findings) > 0:
		return &exitError{exitFaults}
	}
	return nil
}

// summary of all in a line, and what was not looked at in a second one.
func (r *checked) summary() string {
	faults := "no faults"
	if n := len(r.Findings); n > 0 {
		faults = counted(n, "fault", "faults")
	}
	text := fmt.Sprintf("%s in %s of %s", faults, counted(r.Steps, "input", "inputs"), counted(r.Files, "file", "files"))
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
func (c *checkCmd) check(ctx context.Context, stdin io.Reader, progress func(done, all int)) (*checked, error) {
	files, err := findFiles(c.Paths)
	if err != nil {
		return nil, err
	}
	known, err := c.knowledge()
	if err != nil {
		return nil, err
	}
	env, err := expression.NewEnvironment()
	if err != nil {
		return nil, err
	}
	read := readFiles(files, stdin, mayMatter)
	result := &checked{}
	var steps []exportsStep
	for _, f := range read {
		found, findings := result.look(f)
		steps = append(steps, found...)
		result.Findings = append(result.Findings, findings...)
	}
	unknown := known.learn(read)
	result.Findings = append(result.Findings, unknown...)
	result.Unread = result.Unread || len(unknown) > 0
	if err := known.learnSchemas(steps); err != nil {
		return nil, err
	}
	byFile := groupByFile(steps)
	findings := onAllCores(byFile, func(steps []exportsStep) []finding {
		var out []finding
		for _, s := range steps {
			out = append(out, checkStep(ctx, env, known, s)...)
		}
		return out
	}, func(done int) { progress(done, len(byFile)) })
	result.Findings = append(result.Findings, slices.Concat(findings...)...)
	result.Files, result.Steps, result.Untyped = len(byFile), len(steps), known.untyped()
	if result.Steps == 0 && !result.Unread {
		return nil, fmt.Errorf("cannot find an input of kind Exports in %s: give the files with the Compositions", strings.Join(c.Paths, ", "))
	}
	return result, nil
}

// look for inputs in a file. What cannot be read is a finding only if it could hold
// one: the templates of a Helm chart beside it are no fault.
func (r *checked) look(f foundFile) ([]exportsStep, []finding) {
	var out []finding
	unread := func(line, column int, text string) {
		r.Unread = true
		out = append(out, finding{File: f.name, Line: line, Column: column, Rule: ruleUnreadable, Message: text})
	}
	if f.err != nil {
		unread(1, 1, f.err.Error())
	}
	for _, fault := range f.faults {
		if !f.holdsSteps {
			continue
		}
		text := fault.Message
		if text == document.NotYAML {
			text += ": an expression that begins with one of { [ * & ! % @ ` or a quote has to be in quotes"
		}
		unread(fault.Line, fault.Column, text)
	}
	steps, errs := findSteps(f)
	for _, e := range errs {
		unread(e.position.Line, e.position.Column, e.err.Error())
	}
	return steps, out
}

func groupByFile(steps []exportsStep) [][]exportsStep {
	var out [][]exportsStep
	for _, s := range steps {
		if n := len(out); n > 0 && out[n-1][0].file == s.file {
			out[n-1] = append(out[n-1], s)
			continue
		}
		out = append(out, []exportsStep{s})
	}
	return out
}

// print the findings in the format that was asked for.
func (c *checkCmd) print(r *checked, w io.Writer) error {
	switch c.Output {
	case "json":
		return r.printJSON(w)
	case "sarif":
		return r.printSARIF(w)
	case "github":
		return r.printGitHub(w)
	}
	return printText(w, r.Findings)
}

// exitCode of an error that only carries one.
func exitCode(err error) (int, bool) {
	var e *exitError
	if errors.As(err, &e) {
		return e.code, true
	}
	return 0, false
}
