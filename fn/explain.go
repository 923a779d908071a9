package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"
	"strings"

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
	Output string   `default:"text" enum:"text,mermaid,dot,json" help:"What to print: ${enum}. Mermaid and DOT are graphs from the inputs to the objects." placeholder:"FORMAT" short:"o"`
	Schema []string `help:"Files or folders with XRDs and CRDs, for the names of the resources in the ClusterRole. Those in the file count anyway. May be repeated." placeholder:"PATH" predictor:"path" sep:"none" short:"s"`
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
resources in the ClusterRole are those that XRDs and CRDs declare for their kinds, or
guesses, which say so.

Examples:

    fn explain example/ca-from-a-secret/composition.yaml

    fn explain composition.yaml --schema crds/

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
	steps, known, err := c.load(stdin)
	if err != nil {
		return err
	}
	out := make([]explained, 0, len(steps))
	var wrong []finding
	for _, s := range steps {
		p, faults := s.compile(ctx, env)
		for _, f := range faults {
			wrong = append(wrong, s.finding(f, false))
		}
		if p != nil {
			out = append(out, explained{Title: s.title(), Explanation: p.Explain(known.catalog.Plural)})
		}
	}
	if n := len(wrong); n > 0 {
		_ = printText(stderr, wrong) // the exit code is what counts
		return fmt.Errorf("cannot explain %s: it has %s", c.File, counted(n, "fault", "faults"))
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
func (c *explainCmd) load(stdin io.Reader) ([]exportsStep, *knowledge, error) {
	f := readFile(c.File, stdin, func(string) bool { return true })
	if err := f.first(); err != nil {
		return nil, nil, err
	}
	steps, errs := findSteps(f)
	if len(errs) > 0 {
		return nil, nil, fmt.Errorf("%s:%d: %w", f.name, errs[0].position.Line, errs[0].err)
	}
	if len(steps) == 0 {
		return nil, nil, fmt.Errorf("%s: has no input of function-export: give a Composition with one, or the input itself", f.name)
	}
	known, err := (&checkCmd{Schema: c.Schema}).knowledge()
	if err != nil {
		return nil, nil, err
	}
	_ = known.learn([]foundFile{f}) // what is wrong with a kind is for check to say
	return steps, known, known.learnSchemas(steps)
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

	// ClusterRole is the name of the one with the rules, empty if there are none.
	ClusterRole string `json:"clusterRole,omitempty"`

	*plan.Explanation
}

// nameRoles gives each ClusterRole a name of its own: that of the Composition, with the
// step where several of its steps need one, and without a Composition that of the step.
// Else the role of one Composition would take the place of another's.
func nameRoles(steps []exportsStep, out []explained) {
	needed := map[string]int{}
	for i, s := range steps {
		if len(out[i].Rules) > 0 {
			needed[s.owner()]++
		}
	}
	for i, s := range steps {
		if len(out[i].Rules) == 0 {
			continue
		}
		parts := []string{"function-export-sources", s.owner()}
		if parts[1] == "" || needed[parts[1]] > 1 {
			parts = append(parts, s.name)
		}
		out[i].ClusterRole = objectName(parts)
	}
}

// owner is the name of the Composition that the step is of, empty if it is of none.
func (s exportsStep) owner() string {
	i := slices.Index(s.at, any("spec"))
	if s.composition == nil || i < 0 {
		return ""
	}
	v := s.doc.Value()
	for _, at := range s.at[:i] {
		switch k := at.(type) {
		case string:
			v, _ = v.(map[string]any)[k]
		case int:
			v = v.([]any)[k] //nolint:forcetypeassert // the step was found there
		}
	}
	object, _ := v.(map[string]any)
	metadata, _ := object["metadata"].(map[string]any)
	name, _ := metadata["name"].(string)
	return name
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
