// Package explain implements the command function-export explain: it prints what an input reads and composes.
package explain

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/crossplane-contrib/function-export/internal/desk/cli/terminal"
	"github.com/crossplane-contrib/function-export/internal/desk/files"
	"github.com/crossplane-contrib/function-export/internal/desk/inspect"
	"github.com/crossplane-contrib/function-export/internal/engine/advice"
	"github.com/crossplane-contrib/function-export/internal/engine/lazy"
)

// Command is the command `function-export explain`: it prints what the Exports inputs in files read and compose,
// without any data. With --functions, it prints the functions of expressions.
type Command struct {
	Paths []string `arg:"" help:"Files, folders, or names." name:"file|folder" optional:"" predictor:"path"`

	// Flags. Keep them in alphabetical order.
	Functions bool     `help:"Print the functions of expressions instead, whose name contains an argument."`
	Output    string   `default:"text" enum:"text,json" short:"o" help:"The format: ${enum}." placeholder:"FORMAT"`
	Schema    []string `help:"Files with XRDs and CRDs." placeholder:"PATH" predictor:"path" sep:"none" short:"s"`
}

// Help is what kong prints below the flags.
func (c *Command) Help() string {
	return `Prints for each exported key which inputs it reads, which of them are secret, and
which of them it waits for:

    waits for         while the input is missing, the object is kept or not created
    may wait for      the same, if the evaluation reaches the input
    reads if present  the expression does not need the input

Then prints the ClusterRole that permits Crossplane to read the sources and to compose
the generations, if its default role does not.

The command needs no cluster, no composite and no data, and evaluates nothing. The
resource names in the ClusterRole come from XRDs and CRDs, or are guesses, which are
marked as guesses.

With --functions, it reads no file. It prints the functions, operators and macros of
expressions with their signatures, and an example with its result.

Examples:

    function-export explain example/ca-from-a-secret/composition.yaml

    function-export explain apis/ --schema crds/

    function-export explain --functions hex`
}

// Run is called by kong, with the values that main binds.
func (c *Command) Run(k *kong.Context, system *files.System) error {
	return c.RunWith(context.Background(), system, k.Stdout, k.Stderr)
}

// RunWith explains all inputs of the files to stdout, in one write and only if all of them compile.
// Diagnostics are on stderr, as check prints them.
func (c *Command) RunWith(ctx context.Context, system *files.System, stdout, stderr io.Writer) error {
	env, err := advice.NewEnvironment()
	if err != nil {
		return err
	}
	if c.Functions {
		return printFunctions(stdout, c.Paths)
	}
	in, err := system.Load(c.Paths, files.Flags{Schemas: c.Schema})
	if err != nil {
		return err
	}
	wrong, out := in.Unread, make([]explained, 0, len(in.Steps))
	for _, s := range in.Steps {
		p, list := s.Compile(ctx, env)
		wrong = append(wrong, s.AllInFile(list)...)
		if p == nil {
			continue
		}
		x := explained{Title: s.Title(), File: s.File, Step: s.Name,
			Explanation: inspect.Explain(p, in.Known.Catalog.Plural)}
		if len(x.Rules) > 0 { // the role of one step must not replace another's
			x.ClusterRole = objectName("function-export-sources", s.Owner(), s.Name)
		}
		out = append(out, x)
	}
	if n := len(wrong); n > 0 {
		_ = terminal.PrintText(stderr, wrong) // the exit code tells the result
		why := fmt.Sprintf("cannot explain %s: %s", strings.Join(c.Paths, ", "), terminal.Counted(n, "error", "errors"))
		_, _ = fmt.Fprintln(stderr, terminal.Name()+": error: "+terminal.OneLine(why))
		return terminal.Exit(wrong)
	}
	if c.Output == "json" {
		return terminal.WriteJSON(stdout, out)
	}
	_, err = stdout.Write(textOf(out))
	return err
}

// An explained is an input and its explanation.
type explained struct {
	// Title names the input.
	Title string `json:"title"`

	// File is the file with the input, and Step the step of the pipeline, if there is one.
	File string `json:"file"`
	Step string `json:"step,omitempty"`

	// ClusterRole is the name of the ClusterRole with the rules that are missing, empty if none are.
	ClusterRole string `json:"clusterRole,omitempty"`

	*inspect.Explanation
}

// objectName returns a valid name of an object from any texts.
func objectName(parts ...string) string {
	var out []string
	for _, p := range parts {
		p = strings.Trim(notInNames().ReplaceAllString(strings.ToLower(p), "-"), "-.")
		if p != "" {
			out = append(out, p)
		}
	}
	return strings.Join(out, "-")
}

var notInNames = lazy.MustCompile(`[^a-z0-9.]+`)
