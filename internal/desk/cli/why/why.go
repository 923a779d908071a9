// Package why implements the command function-export why: it says why the exports of a composite are as they are.
package why

import (
	"context"
	"fmt"
	"strings"

	"github.com/alecthomas/kong"

	cmddiff "github.com/crossplane-contrib/function-export/internal/desk/cli/diff"
	"github.com/crossplane-contrib/function-export/internal/desk/cli/terminal"
	"github.com/crossplane-contrib/function-export/internal/desk/diff"
	"github.com/crossplane-contrib/function-export/internal/desk/files"
	"github.com/crossplane-contrib/function-export/internal/desk/inspect"
	"github.com/crossplane-contrib/function-export/internal/desk/pipeline"
	"github.com/crossplane-contrib/function-export/internal/desk/state"
	"github.com/crossplane-contrib/function-export/internal/engine/advice"
	"github.com/crossplane-contrib/function-export/internal/engine/lazy"
	"github.com/crossplane-contrib/function-export/internal/engine/observation"
	"github.com/crossplane-contrib/function-export/internal/engine/outcome"
)

// Command is the command `function-export why`.
type Command struct {
	Composite string `arg:"" help:"The namespace and the name of the composite, or only the name of a cluster-scoped one." name:"namespace/name"`

	cmddiff.Place

	// Flags. Keep them in alphabetical order.
	Kind string `help:"The kind of the composite, if several kinds have one of this name." placeholder:"KIND"`
}

// Help is what kong prints below the flags.
func (c *Command) Help() string {
	return `Says for each export of a composite in which state it is and since when, which input of
which key is missing, who must act, and which command shows more. Then lists the
generations of each generator with their age, and its next rotation.

It reads the cluster with kubectl (--cluster), or files that kubectl get printed (--from),
and runs the Composition in use on this machine. Nothing is written, and no value of a
Secret is printed.

Exit codes: 0 if everything is available, 1 if something is not, 2 if it cannot be read.

Examples:

    function-export why team-a/orders --cluster

    function-export why team-a/orders --from dump.yaml`
}

// Run is called by kong, with the values that main binds. Its error tells the exit code.
func (c *Command) Run(ctx context.Context, k *kong.Kong, system *files.System, engine pipeline.Engine) error {
	answer, err := c.answer(ctx, system, engine)
	if err != nil {
		return err
	}
	if _, err = k.Stdout.Write(answer.Bytes()); err != nil {
		return fmt.Errorf("cannot write the answer: %w", err)
	}
	if !answer.isAvailable() {
		return &terminal.ExitError{Code: terminal.ExitErrors, Why: "something is not available"}
	}
	return nil
}

// answer reads the state, until nothing more is required of it.
func (c *Command) answer(ctx context.Context, system *files.System, engine pipeline.Engine) (*answer, error) {
	namespace, name, ok := strings.Cut(c.Composite, "/")
	if !ok {
		namespace, name = "", c.Composite
	}
	all, err := c.read(ctx, system, namespace, name)
	if err != nil {
		return nil, err
	}
	run := &diff.Rehearsal{State: all, Engine: engine, Now: c.Time()}
	for {
		composite, err := find(all, c.Kind, namespace, name)
		if err != nil {
			return nil, err
		}
		out, err := answerOf(ctx, run, composite)
		if err != nil {
			return nil, err
		}
		if again, err := all.Fetch(ctx); err != nil || !again {
			return out, err //nolint:wrapcheck // of kubectl
		}
	}
}

func (c *Command) read(ctx context.Context, system *files.System, namespace, name string) (*state.State, error) {
	if !c.Cluster {
		return cmddiff.FromFiles(system, c.From) //nolint:wrapcheck // it names the file
	}
	return state.OneFromCluster(ctx, c.Kubectl(), c.Kind, namespace, name) //nolint:wrapcheck // of kubectl
}

type missing = observation.Missing

// The people and programs that can act.
const (
	compositionAuthor = "the author of the Composition"
	compositeAuthor   = "the author of the composite"
	crossplane        = "Crossplane, in one of its next reconciles: wait"
	provider          = "the provider of {object}"
)

// acts are those who can provide a missing input, by what is known about it, if it is not the author of the
// Composition. {object} is the object that lacks it.
var acts = [observation.EndOfFacts]string{ //nolint:gochecknoglobals // a table
	observation.CompositeLacks:   compositeAuthor,
	observation.ItemLacks:        "the author of the list",
	observation.EnvironmentLacks: "the owner of the EnvironmentConfigs",
	observation.NotCreated:       crossplane,
	observation.NotReady:         provider,
	observation.Exists:           provider,
	observation.LacksField:       provider,
	observation.LacksKey:         provider,
	observation.LacksSourceKey:   "the owner of {object}",
	observation.NoSecret:         provider,
	observation.NoDetails:        provider,
}

// absent matches an object in a message that does not exist.
var absent = lazy.MustCompile(`\((\w+ [\w./-]+) does not exist`)

// act returns who must act, so that an outcome becomes available. Waiting does not help if an object is ready and lacks
// something: the Composition reads the wrong part of it.
func act(o outcome.Outcome, all []missing) string {
	switch {
	case o.Author:
		return compositeAuthor
	case o.State == outcome.Created:
		return crossplane
	case o.State == outcome.Conflict:
		return compositionAuthor + ", or the owner of the other object"
	case o.Wrong:
		return compositionAuthor
	}
	for _, m := range all {
		if !strings.Contains(o.Message, m.Input) || acts[m.Fact] == "" {
			continue
		}
		if m.State == observation.ObjectReady && (m.Fact == observation.LacksField || m.Fact == observation.LacksKey) {
			return compositionAuthor
		}
		return strings.ReplaceAll(acts[m.Fact], "{object}", m.Object)
	}
	if m := absent().FindStringSubmatch(o.Message); m != nil {
		return "the owner of " + m[1] + ", who creates it"
	}
	if strings.Contains(o.Message, "generated.") || strings.Contains(o.Message, "candidate.") {
		return crossplane
	}
	return compositionAuthor
}

// missingFrom returns keys whose missing inputs are marked. An expression names the first of its missing inputs only.
func missingFrom(keys []inspect.Key, message string, all []missing) []inspect.Key {
	for i := range keys {
		for j := range keys[i].Inputs {
			in := &keys[i].Inputs[j]
			for _, m := range all {
				if m.Input == in.Name && strings.Contains(message, m.Input) {
					in.Missing = advice.Missing(m)
				}
			}
		}
	}
	return keys
}
