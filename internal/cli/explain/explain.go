// Package explain implements the command fn explain: it prints what an input reads and composes.
package explain

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"regexp"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/crossplane-contrib/function-export/internal/cli/files"
	"github.com/crossplane-contrib/function-export/internal/cli/terminal"
	"github.com/crossplane-contrib/function-export/internal/expression"
	"github.com/crossplane-contrib/function-export/internal/inspect"
)

// Command is the command `fn explain`: it prints what an Exports input reads and composes, without
// any data.
type Command struct {
	File string `arg:"" help:"A Composition, or an Exports input by itself, or - for stdin." name:"file" predictor:"path"`

	// Flags. Keep them in alphabetical order.
	Output string   `default:"text" enum:"text,mermaid,json" help:"The output format: ${enum}. Mermaid is a graph from the inputs to the objects." placeholder:"FORMAT" short:"o"`
	Schema []string `help:"Files or folders with XRDs and CRDs, for the names of the resources in the ClusterRole. XRDs and CRDs in the file are always used. May be repeated." placeholder:"PATH" predictor:"path" sep:"none" short:"s"`
}

// Help is what kong prints below the flags.
func (c *Command) Help() string {
	return `Prints for each exported key which inputs it reads, which of them are secret, and
which of them it waits for:

    waits for         while the input is missing, the object is kept or not created
    may wait for      the same, if the evaluation reaches the input
    reads if present  the expression does not need the input

Then prints which objects the function requires from Crossplane, by name or by the
expression of the name, and the ClusterRole that permits Crossplane to read them;
and the maximum fuel of each expression for data of the usual size.

The command needs no cluster, no composite and no data, and evaluates nothing. The
resource names in the ClusterRole come from XRDs and CRDs, or are guesses, which are
marked as guesses.

Examples:

    fn explain example/ca-from-a-secret/composition.yaml

    fn explain composition.yaml --schema crds/

    fn explain composition.yaml --output mermaid`
}

// Run is called by kong.
func (c *Command) Run(k *kong.Context) error {
	return c.RunWith(context.Background(), os.Stdin, k.Stdout, k.Stderr)
}

// RunWith explains all inputs of the file to stdout, in one write and only if all of them compile.
// Diagnostics are on stderr, as check prints them.
func (c *Command) RunWith(ctx context.Context, stdin io.Reader, stdout, stderr io.Writer) error {
	env, err := expression.NewEnvironment()
	if err != nil {
		return err
	}
	steps, known, err := c.load(stdin)
	if err != nil {
		return err
	}
	out := make([]explained, 0, len(steps))
	var wrong []files.Diagnostic
	for _, s := range steps {
		p, list := s.Compile(ctx, env)
		for _, d := range list {
			wrong = append(wrong, s.InFile(d))
		}
		if p != nil {
			out = append(out, explained{Title: s.Title(), Explanation: inspect.Explain(p, known.Catalog.Plural)})
		}
	}
	if n := len(wrong); n > 0 {
		_ = files.PrintText(stderr, wrong) // the exit code tells the result
		return fmt.Errorf("cannot explain %s: it has %s", c.File, terminal.Counted(n, "error", "errors"))
	}
	nameRoles(steps, out)
	var b bytes.Buffer
	if err := printExplained(&b, c.Output, out); err != nil {
		return err
	}
	if _, err := stdout.Write(b.Bytes()); err != nil {
		return fmt.Errorf("cannot write the explanation: %w", err)
	}
	return nil
}

// load loads the inputs of the file, and the known kinds.
func (c *Command) load(stdin io.Reader) ([]files.Step, *files.Knowledge, error) {
	f := files.Read(c.File, stdin, files.AnyText)
	if err := f.First(); err != nil {
		return nil, nil, err
	}
	steps, unread := files.FindSteps(f)
	if len(unread) > 0 {
		return nil, nil, fmt.Errorf("%s:%d: %s", f.Name, unread[0].Line, unread[0].Message)
	}
	if len(steps) == 0 {
		return nil, nil, fmt.Errorf("%s: has no input of function-export: name a Composition with an input, or the input itself", f.Name)
	}
	known, err := files.NewKnowledge(c.Schema, nil, nil)
	if err != nil {
		return nil, nil, err
	}
	_ = known.Learn([]files.File{f}) // fn check reports errors in kinds
	return steps, known, known.LearnSchemas(steps)
}

// An explained is an input and its explanation.
type explained struct {
	// Title names the input.
	Title string `json:"title"`

	// ClusterRole is the name of the ClusterRole with the rules, empty if there are no rules.
	ClusterRole string `json:"clusterRole,omitempty"`

	*inspect.Explanation
}

// nameRoles gives each ClusterRole a name of its own, so that the role of one Composition does not
// replace another's. The name is that of the Composition, with the step if several of its steps
// need a role, and that of the step without a Composition.
func nameRoles(steps []files.Step, out []explained) {
	needed := map[string]int{}
	for i, s := range steps {
		if len(out[i].Rules) > 0 {
			needed[s.Owner()]++
		}
	}
	for i, s := range steps {
		if len(out[i].Rules) == 0 {
			continue
		}
		parts := []string{"function-export-sources", s.Owner()}
		if parts[1] == "" || needed[parts[1]] > 1 {
			parts = append(parts, s.Name)
		}
		out[i].ClusterRole = objectName(parts)
	}
}

// objectName returns a valid name of an object from any texts.
func objectName(parts []string) string {
	var out []string
	for _, p := range parts {
		p = strings.Trim(notInNames.ReplaceAllString(strings.ToLower(p), "-"), "-.")
		if p != "" {
			out = append(out, p)
		}
	}
	return strings.Join(out, "-")
}

var notInNames = regexp.MustCompile(`[^a-z0-9.]+`)
