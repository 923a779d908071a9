// Package main is function-export: a Crossplane composition function that
// exports values of a composition as Secrets and ConfigMaps.
//
// It only wires the commands: serve answers Crossplane, and the other commands work on local files.
package main

import (
	"context"
	"os"

	"github.com/alecthomas/kong"

	"github.com/crossplane-contrib/function-export/internal/desk/cli/check"
	"github.com/crossplane-contrib/function-export/internal/desk/cli/completions"
	"github.com/crossplane-contrib/function-export/internal/desk/cli/diff"
	"github.com/crossplane-contrib/function-export/internal/desk/cli/explain"
	"github.com/crossplane-contrib/function-export/internal/desk/cli/help"
	"github.com/crossplane-contrib/function-export/internal/desk/cli/lsp"
	"github.com/crossplane-contrib/function-export/internal/desk/cli/migrate"
	"github.com/crossplane-contrib/function-export/internal/desk/cli/render"
	"github.com/crossplane-contrib/function-export/internal/desk/cli/serve"
	"github.com/crossplane-contrib/function-export/internal/desk/cli/terminal"
	"github.com/crossplane-contrib/function-export/internal/desk/cli/test"
	"github.com/crossplane-contrib/function-export/internal/desk/cli/why"
	"github.com/crossplane-contrib/function-export/internal/desk/pipeline"
)

// cli is the command line. Without a command it serves, as every function does.
type cli struct {
	Serve   serve.Command   `cmd:"" default:"withargs" help:"Serve the function to Crossplane. The default command."`
	Render  render.Command  `cmd:"" help:"Run the function on local files, without a cluster."`
	Check   check.Command   `cmd:"" help:"Find the errors of all inputs in files, with their positions."`
	Explain explain.Command `cmd:"" help:"Explain what each exported key reads and waits for, and what the function requires."`
	Diff    diff.Command    `cmd:"" help:"Show what a changed Composition would do to each composite of a cluster, or of a dump."`
	Why     why.Command     `cmd:"" help:"Say why the exports of a composite are as they are, and who must act."`
	Test    test.Command    `cmd:"" help:"Test the exports of a Composition over time, without a cluster."`
	Migrate migrate.Command `cmd:"" help:"Print the pipeline step that replaces an existing way of exporting values."`

	LSP         lsp.Command              `cmd:"" help:"Serve an editor: diagnostics, completion, and more in expressions." name:"lsp"`
	Completions completions.Command      `cmd:"" help:"Print a script that completes command lines in bash, zsh, or fish."`
	Words       completions.WordsCommand `cmd:"" help:"Print the completions of a command line." hidden:"" name:"__complete"`
	Help        help.Command             `cmd:"" help:"Describe a command."`
	VersionOf   help.VersionCommand      `cmd:"" help:"Print the version." name:"version"`

	Version kong.VersionFlag `help:"Print the version and exit."`
}

// description is the first text of --help.
const description = `A Crossplane composition function that exports values of a composition as Secrets
and ConfigMaps.

Crossplane runs it without a command. The other commands work on files: check finds
errors before an input reaches a cluster, render shows the composed objects, explain
shows what an input reads, and migrate prints an input that replaces an existing way
of exporting values.`

func newParser() *kong.Kong {
	return kong.Must(&cli{},
		kong.Name(terminal.Name()),
		kong.Vars{"version": terminal.VersionText()},
		kong.Description(description),
		kong.Bind(terminal.Disk(os.Stdin)),
		kong.BindSingletonProvider(pipeline.NewEngine),
		kong.BindTo(context.Background(), (*context.Context)(nil)),
	)
}

func main() {
	k, err := newParser().Parse(help.Arguments(serve.Arguments(os.Args[1:], os.Stdout)))
	if err == nil {
		err = k.Run()
	}
	os.Exit(terminal.End(terminal.Usage(err), os.Stderr))
}
