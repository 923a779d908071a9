// Package explain implements the command fn explain: it says what an input reads and makes.
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

// Command is the command `fn explain`: it prints what an Exports input reads and
// makes, of which there is no data at hand.
type Command struct {
	File string `arg:"" help:"A Composition, or an Exports input by itself, or - for stdin." name:"file" predictor:"path"`

	// Flags. Keep them in alphabetical order.
	Output string   `default:"text" enum:"text,mermaid,json" help:"What to print: ${enum}. Mermaid is a graph from the inputs to the objects." placeholder:"FORMAT" short:"o"`
	Schema []string `help:"Files or folders with XRDs and CRDs, for the names of the resources in the ClusterRole. Those in the file count anyway. May be repeated." placeholder:"PATH" predictor:"path" sep:"none" short:"s"`
}

// Help is what kong prints below the flags.
func (c *Command) Help() string {
	return `Says of each key that is exported which inputs it reads, which of them are
secret, and what it waits for:

    waits for         the object is held, or not created, while the input is absent
    may wait for      the same, if the expression comes that far
    reads if there    the expression can do without

Then what Crossplane is asked for, by name or by the expression that gives it, and
the ClusterRole that lets Crossplane read it; and how much of its fuel each
expression may take at most with data of the usual size.

No cluster, no composite and no data is needed, and nothing is evaluated. The
resources in the ClusterRole are those that XRDs and CRDs declare for their kinds, or
guesses, which say so.

Examples:

    fn explain example/ca-from-a-secret/composition.yaml

    fn explain composition.yaml --schema crds/

    fn explain composition.yaml --output mermaid`
}

// Run is called by kong.
func (c *Command) Run(k *kong.Context) error {
	return c.RunWith(context.Background(), os.Stdin, k.Stdout, k.Stderr)
}

// RunWith explains all inputs of the file to stdout, in one write and only if all of them
// compile. Their faults are on stderr, as check prints them.
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
		_ = files.PrintText(stderr, wrong) // the exit code is what counts
		return fmt.Errorf("cannot explain %s: it has %s", c.File, terminal.Counted(n, "fault", "faults"))
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

// load the inputs of the file, and what is known of kinds.
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
		return nil, nil, fmt.Errorf("%s: has no input of function-export: give a Composition with one, or the input itself", f.Name)
	}
	known, err := files.NewKnowledge(c.Schema, nil, nil)
	if err != nil {
		return nil, nil, err
	}
	_ = known.Learn([]files.File{f}) // what is wrong with a kind is for check to say
	return steps, known, known.LearnSchemas(steps)
}

// An explained is an input and its explanation.
type explained struct {
	// Title says which input it is.
	Title string `json:"title"`

	// ClusterRole is the name of the one with the rules, empty if there are none.
	ClusterRole string `json:"clusterRole,omitempty"`

	*inspect.Explanation
}

// nameRoles gives each ClusterRole a name of its own: that of the Composition, with the
// step where several of its steps need one, and without a Composition that of the step.
// Else the role of one Composition would take the place of another's.
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

// objectName is a legal name of an object, of texts that need not be.
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
