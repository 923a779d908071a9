// Program empty is a function that returns what it received, with the command line and the imports of Crossplane's
// template of a function. The benchmarks of fn compare with it.
package main

import (
	"context"

	"github.com/alecthomas/kong"
	"github.com/crossplane/function-sdk-go"
	"github.com/crossplane/function-sdk-go/logging"
	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	_ "github.com/crossplane/function-sdk-go/request" // as the template
	_ "github.com/crossplane/function-sdk-go/resource"
	"github.com/crossplane/function-sdk-go/response"
)

// cli has the flags of the template.
type cli struct {
	Debug bool `help:"Emit debug logs in addition to info logs." short:"d"`

	Network            string `default:"tcp"`
	Address            string `default:":9443"`
	TLSCertsDir        string `env:"TLS_SERVER_CERTS_DIR"`
	Insecure           bool
	MaxRecvMessageSize int    `default:"4"`
	MetricsAddress     string `default:":8080"`
}

// Run serves the function.
func (c *cli) Run() error {
	log, err := function.NewLogger(c.Debug)
	if err != nil {
		return err
	}
	return function.Serve(&empty{log: log},
		function.Listen(c.Network, c.Address),
		function.MTLSCertificates(c.TLSCertsDir),
		function.Insecure(c.Insecure),
		function.MaxRecvMessageSize(c.MaxRecvMessageSize*1024*1024),
		function.WithMetricsServer(c.MetricsAddress))
}

type empty struct {
	fnv1.UnimplementedFunctionRunnerServiceServer

	log logging.Logger
}

// RunFunction returns the desired state of a request.
func (f *empty) RunFunction(_ context.Context, req *fnv1.RunFunctionRequest) (*fnv1.RunFunctionResponse, error) {
	f.log.Debug("Running function", "tag", req.GetMeta().GetTag())
	return response.To(req, response.DefaultTTL), nil
}

func main() {
	ctx := kong.Parse(&cli{})
	ctx.FatalIfErrorf(ctx.Run())
}
