// Package migrate implements the command function-export migrate: it prints pipeline steps that replace existing ways
// of exporting values.
package migrate

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/crossplane-contrib/function-export/internal/desk/cli/terminal"
	"github.com/crossplane-contrib/function-export/internal/desk/files"
	"github.com/crossplane-contrib/function-export/internal/desk/migrate"
	"github.com/crossplane-contrib/function-export/internal/engine/advice"
)

// Command is the command `function-export migrate`: it reads objects that export values today, and prints the
// pipeline steps of this function that replace them.
type Command struct {
	Paths []string `arg:"" help:"A YAML file, or - for stdin. Several are read as one." name:"file" predictor:"path"`
}

// Help is what kong prints below the flags.
func (c *Command) Help() string {
	return `Reads YAML, and prints a pipeline step for each of these objects:

  - a Composition with connectionDetails in its function-patch-and-transform steps
    or in its own resources, or with Secrets in inline templates of
    function-go-templating
  - an ExternalSecret
  - a resource of Azure Service Operator whose operatorSpec exports, as an object of
    its own or in a Composition

XRDs and CRDs among the files settle decisions about types and scopes. Other objects
are ignored.

A comment "DECIDE" in the step marks a decision that the command cannot make. A part
that does not compile is a comment with the reason. A step without any other part is
a comment as a whole. Everything else is compiled. The command changes no file: a
comment names the parts that a step replaces and that you must remove. Literal values
in a file, such as the value of a connection detail, are printed unchanged.

If no step could be translated, the reason is a line on stderr, and the exit code is 1.
If an object cannot be read, each error is a line on stderr with the line of the object
and the field, no step is printed, and the exit code is 2.

Examples:

    function-export migrate composition.yaml

    kubectl get externalsecret orders -o yaml | function-export migrate -`
}

// Run is called by kong, with the values that main binds.
func (c *Command) Run(k *kong.Context, system *files.System) error {
	return c.RunWith(context.Background(), system, k.Stdout, k.Stderr)
}

// RunWith writes all steps to stdout at once, or no step. No text that it writes to stderr or
// returns quotes a value of a file.
func (c *Command) RunWith(ctx context.Context, system *files.System, stdout, stderr io.Writer) error {
	documents, err := c.load(system)
	if err != nil {
		return err
	}
	env, err := advice.NewEnvironment()
	if err != nil {
		return err
	}
	what := strings.Join(c.Paths, ", ")
	r, faults := migrate.Migrate(ctx, env, documents)
	switch len(faults) {
	case 0:
	case 1:
		return fmt.Errorf("cannot migrate %s: %w", what, faults[0])
	default:
		for _, f := range faults {
			_, _ = fmt.Fprintln(stderr, terminal.OneLine(f.Error())) // the exit code tells the result
		}
		return fmt.Errorf("cannot migrate %s: %d errors", what, len(faults))
	}
	if r.Steps == 0 {
		_, _ = fmt.Fprintf(stderr, "cannot migrate %s: %s\n", what, terminal.OneLine(r.Reason))
	} else {
		_, _ = fmt.Fprintf(stderr, "%s: %s; %s\n", what, terminal.Counted(r.Steps, "step", "steps"),
			terminal.Counted(r.Decisions, "decision is left to you", "decisions are left to you"))
	}
	if _, err := stdout.Write(r.YAML); err != nil {
		return fmt.Errorf("cannot write the steps: %w", err)
	}
	if r.Steps == 0 {
		return &terminal.ExitError{Code: terminal.ExitErrors, Why: r.Reason}
	}
	return nil
}

// load loads the objects of all files. Each is named by the position where it begins.
func (c *Command) load(system *files.System) ([]migrate.Document, error) {
	var out []migrate.Document
	for _, path := range c.Paths {
		f := system.Read(path, files.AnyText)
		f.Name = path
		if err := f.First(); err != nil {
			return nil, err
		}
		for _, o := range f.Objects() {
			out = append(out, objectToMigrate(path, o))
		}
	}
	return out, nil
}

func objectToMigrate(path string, o files.Object) migrate.Document {
	item := ""
	for i := 1; i < len(o.At); i += 2 { // for example of a List in a List
		item += fmt.Sprintf(": items[%d]", o.At[i])
	}
	return migrate.Document{Name: fmt.Sprintf("%s:%d%s", path, o.Doc.Start().Line, item), Value: o.Value}
}
