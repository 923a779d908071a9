// Package main is function-export: a Crossplane composition function that
// exports values of a composition as Secrets and ConfigMaps.
//
// It is the only room that knows gRPC, requests and responses, flags and logs.
// RunFunction hands a request to the plan of its input, and turns the result
// into a response; an error becomes a result here and nowhere else.
package main

import (
	"errors"
	"time"

	"github.com/alecthomas/kong"
	"github.com/crossplane/function-sdk-go/logging"
	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
)

// version is set when a release is built: see internal/release.
var version = "devel"

// cli is the command line. Without a command it serves, as every function does.
type cli struct {
	Serve  serveCmd  `cmd:"" default:"withargs" help:"Serve the function to Crossplane. The default command."`
	Render renderCmd `cmd:"" help:"Run the function on local files, without a cluster."`

	Version kong.VersionFlag `help:"Print the version, and do nothing else."`
}

func main() {
	k := kong.Parse(&cli{},
		kong.Name("fn"),
		kong.Vars{"version": version},
		kong.Description("A Crossplane composition function that exports values of a composition as Secrets and ConfigMaps."),
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
	err := k.Run()
	var fatal *renderFatalError
	if errors.As(err, &fatal) {
		k.Exit(1) // it was reported as a result already
	}
	k.FatalIfErrorf(err)
}
