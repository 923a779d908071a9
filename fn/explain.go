package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"

	"github.com/alecthomas/kong"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/crossplane-contrib/function-export/internal/expression"
	"github.com/crossplane-contrib/function-export/internal/plan"
)

// explainCmd is the command `fn explain`: it prints what an Exports input reads and
// makes, of which there is no data at hand.
type explainCmd struct {
	File string `arg:"" help:"A Composition, or an Exports input by itself, or - for stdin." name:"file" predictor:"path"`

	// Flags. Keep them in alphabetical order.
	Output string `default:"text" enum:"text,mermaid,dot,json" help:"What to print: ${enum}. Mermaid and DOT are graphs from the inputs to the objects." placeholder:"FORMAT" short:"o"`
}

// Help is what kong prints below the flags.
func (c *explainCmd) Help() string {
	return `Says of each key that is exported which inputs it reads, which of them are
secret, and what it waits for:

    waits for         the object is held, or not created, while the input is absent
    may wait for      the same, if the expression comes that far
    reads if there    the expression can do without

Then what Crossplane is asked for, by name or by the expression that gives it, and
the ClusterRole that lets Crossplane read it; and how much of its fuel each
expression is thought to take, within a factor of ten, with data of the usual size.

No cluster, no composite and no data is needed, and nothing is evaluated. The
resources in the ClusterRole are guessed from their kinds.

Examples:

    fn explain example/ca-from-a-secret/composition.yaml

    fn explain composition.yaml --output mermaid

    fn explain composition.yaml -o dot | dot -Tsvg > exports.svg`
}

// Run is called by kong.
func (c *explainCmd) Run(k *kong.Context) error {
	return c.run(context.Background(), os.Stdin, k.Stdout, k.Stderr)
}

// run explains all inputs of the file to stdout, in one write and only if all of them
// compile. Their faults are on stderr, as check prints them.
func (c *explainCmd) run(ctx context.Context, stdin io.Reader, stdout, stderr io.Writer) error {
	env, err := expression.NewEnvironment()
	if err != nil {
		return err
	}
	steps, err := c.load(stdin)
	if err != nil {
		return err
	}
	out := make([]explained, 0, len(steps))
	var wrong checked
	for _, s := range steps {
		p, faults := s.compile(ctx, env)
		for _, f := range faults {
			wrong.Findings = append(wrong.Findings, s.finding(f, false))
		}
		if p != nil {
			out = append(out, explained{s.title(), p.Explain()})
		}
	}
	if n := len(wrong.Findings); n > 0 {
		_ = wrong.printText(stderr) // the exit code is what counts
		return fmt.Errorf("cannot explain %s: it has %s", c.File, count(n, "fault"))
	}
	var b bytes.Buffer
	if err := printExplained(&b, c.Output, out); err != nil {
		return err
	}
	if _, err := stdout.Write(b.Bytes()); err != nil {
		return fmt.Errorf("cannot write the explanation: %w", err)
	}
	return nil
}

// load the inputs of the file.
func (c *explainCmd) load(stdin io.Reader) ([]exportsStep, error) {
	f := readFile(c.File, stdin, func(string) bool { return true })
	if f.err != nil {
		return nil, f.err
	}
	if len(f.faults) > 0 {
		return nil, fmt.Errorf("%s:%d:%d: %s", f.name, f.faults[0].Line, f.faults[0].Column, f.faults[0].Message)
	}
	steps, errs := findSteps(f)
	if len(errs) > 0 {
		return nil, fmt.Errorf("%s:%d: %w", f.name, errs[0].position.Line, errs[0].err)
	}
	if len(steps) == 0 {
		return nil, fmt.Errorf("%s: has no input of function-export: give a Composition with one, or the input itself", f.name)
	}
	return steps, nil
}

// compile the input of a step.
func (s exportsStep) compile(ctx context.Context, env *expression.Environment) (*plan.Plan, field.ErrorList) {
	input, fault := inputOf(s)
	if fault != nil {
		return nil, field.ErrorList{fault}
	}
	return plan.Compile(ctx, env, input)
}

// An explained is an input and its explanation.
type explained struct {
	// Title says which input it is.
	Title string `json:"title"`
	*plan.Explanation
}
