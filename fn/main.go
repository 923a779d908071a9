// Package main is function-export: a Crossplane composition function that
// exports values of a composition as Secrets and ConfigMaps.
//
// It is the only room that knows gRPC, requests and responses, flags, files and
// logs. RunFunction hands a request to the plan of its input, and turns the result
// into a response; an error becomes a result here and nowhere else. The other
// commands do at a desk what it does in a cluster, or say what it would do.
package main

import (
	"errors"
	"os"
	"time"

	"github.com/alecthomas/kong"
	"github.com/crossplane/function-sdk-go/logging"
	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"github.com/posener/complete"
	"github.com/willabides/kongplete"
)

// version is set when a release is built: see internal/release.
var version = "devel"

// cli is the command line. Without a command it serves, as every function does.
type cli struct {
	Serve   serveCmd   `cmd:"" default:"withargs" help:"Serve the function to Crossplane. The default command."`
	Render  renderCmd  `cmd:"" help:"Run the function on local files, without a cluster."`
	Check   checkCmd   `cmd:"" help:"Find the faults of all inputs in files, with their places."`
	Explain explainCmd `cmd:"" help:"Say what each exported key reads, waits for and asks for."`
	Migrate migrateCmd `cmd:"" help:"Print the pipeline step that replaces what people have today."`

	Completions kongplete.InstallCompletions `cmd:"" help:"Print what makes a shell (bash, zsh or fish) complete commands and flags: source <(fn completions)"`

	Version kong.VersionFlag `help:"Print the version, and do nothing else."`
}

// description is what --help says first.
const description = `A Crossplane composition function that exports values of a composition as Secrets
and ConfigMaps.

Crossplane runs it without a command. The other commands work on files: check finds
faults before a cluster sees them, render shows what comes out, explain says what is
read, and migrate begins a move. 'fn COMMAND --help' has examples of each.`

func newParser() *kong.Kong {
	return kong.Must(&cli{},
		kong.Name("fn"),
		kong.Vars{"version": version},
		kong.Description(description),
		kong.Exit(func(code int) {
			if code == exitUsage {
				code = exitUnread // what cannot be parsed
			}
			os.Exit(code)
		}),
		kong.Bind(functionMaker(func(log logging.Logger, m *metrics) (fnv1.FunctionRunnerServiceServer, error) {
			return NewFunction(log, m)
		})),
		kong.Bind(functionAt(func(at time.Time) (fnv1.FunctionRunnerServiceServer, error) {
			f, err := NewFunction(logging.NewNopLogger(), nil)
			if err == nil && !at.IsZero() {
				f.now = func() time.Time { return at }
			}
			return f, err
		})),
	)
}

func main() {
	parser := newParser()
	kongplete.Complete(parser, kongplete.WithPredictor("path", complete.PredictFiles("*")))
	k, err := parser.Parse(os.Args[1:])
	parser.FatalIfErrorf(usage(err))
	err = k.Run()
	var fatal *renderFatalError
	if errors.As(err, &fatal) {
		k.Exit(1) // it was reported as a result already
	}
	if code, ok := exitCode(err); ok {
		k.Exit(code)
	}
	k.FatalIfErrorf(err)
}
