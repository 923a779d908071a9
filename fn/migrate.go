package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/crossplane-contrib/function-export/internal/document"
	"github.com/crossplane-contrib/function-export/internal/expression"
	"github.com/crossplane-contrib/function-export/internal/migrate"
)

// migrateCmd is the command `fn migrate`: it reads what people export with today,
// and prints the pipeline steps of this function that take its place.
type migrateCmd struct {
	Paths []string `arg:"" help:"A YAML file, or - for stdin. Several are read as if they were one." name:"file" predictor:"path"`
}

// Help is what kong prints below the flags.
func (c *migrateCmd) Help() string {
	return `Reads YAML, and prints a pipeline step for each of these:

  - a Composition whose function-patch-and-transform, or whose own resources, have
    connectionDetails
  - an ExternalSecret, together with the generators that are in the files, too
  - a resource of Azure Service Operator whose operatorSpec exports, on its own or
    in a Composition

Other objects are ignored, and counted on stderr.

What no machine can know is a comment "DECIDE" in the step. What does not compile
is a comment with the reason, as is a step of which nothing is left; all the rest
was compiled. Nothing is changed: what
a step replaces, and is to be removed, is a comment, too. A value that stands in a
file, such as that of a connection detail, is printed as it is.

If something cannot be read, each fault is a line on stderr with its line and
the field, nothing is printed, and the exit code is 1.

Examples:

    fn migrate composition.yaml

    kubectl get externalsecret orders -o yaml | fn migrate -`
}

// Run is called by kong.
func (c *migrateCmd) Run(k *kong.Context) error {
	return c.run(context.Background(), os.Stdin, k.Stdout, k.Stderr)
}

// run writes all steps to stdout at once, or none of them. No text that it writes
// to stderr, or returns, quotes a value of a file.
func (c *migrateCmd) run(ctx context.Context, stdin io.Reader, stdout, stderr io.Writer) error {
	documents, err := c.load(stdin)
	if err != nil {
		return err
	}
	env, err := expression.NewEnvironment()
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
			_, _ = fmt.Fprintln(stderr, oneLine(f.Error())) // the exit code is what counts
		}
		return fmt.Errorf("cannot migrate %s: %d faults", what, len(faults))
	}
	_, _ = fmt.Fprintf(stderr, "%s: %s; %s, %s\n", what, counted(r.Steps, "step", "steps"),
		counted(r.Decisions, "decision is yours", "decisions are yours"), counted(r.Ignored, "other object ignored", "other objects ignored"))
	if _, err := stdout.Write(r.YAML); err != nil {
		return fmt.Errorf("cannot write the steps: %w", err)
	}
	return nil
}

func counted(n int, one, several string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, several)
}

// load the documents of all files. Each is named by where it begins.
func (c *migrateCmd) load(stdin io.Reader) ([]migrate.Document, error) {
	var out []migrate.Document
	for _, path := range c.Paths {
		var text []byte
		var err error
		if path == "-" {
			text, err = io.ReadAll(stdin)
		} else {
			text, err = os.ReadFile(path)
		}
		if err != nil {
			return nil, cannotRead(path, err)
		}
		documents, err := document.Parse(string(text))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		for _, d := range documents {
			out = append(out, objects(path, d)...)
		}
	}
	return out, nil
}

// objects of a document: its items, if it is a List, as kubectl prints several.
func objects(path string, d *document.Document) []migrate.Document {
	line := func(at ...any) string {
		p, _ := d.Find(at...)
		return fmt.Sprintf("%s:%d", path, p.Key.Line)
	}
	name := fmt.Sprintf("%s:%d", path, d.Start().Line)
	o, _ := d.Value().(map[string]any)
	items, ok := o["items"].([]any)
	if kind, _ := o["kind"].(string); !ok || o["apiVersion"] != "v1" || kind != "List" {
		return []migrate.Document{{Name: name, Value: d.Value(), At: line}}
	}
	out := make([]migrate.Document, 0, len(items))
	for i, v := range items {
		item := fmt.Sprintf(": items[%d]", i)
		out = append(out, migrate.Document{Name: name + item, Value: v, At: func(at ...any) string {
			return line(append([]any{"items", i}, at...)...) + item
		}})
	}
	return out
}
