// Package serve implements the command function-export serve: it serves the function to Crossplane.
package serve

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/signal"
	"syscall"
	"time"

	sdk "github.com/crossplane/function-sdk-go"
	"github.com/crossplane/function-sdk-go/logging"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/crossplane-contrib/function-export/internal/desk/cli/terminal"
	"github.com/crossplane-contrib/function-export/internal/engine/function"
	"github.com/crossplane-contrib/function-export/internal/engine/metrics"
	"github.com/crossplane-contrib/function-export/internal/engine/server"
)

// maxMessageMegabytes keeps --max-recv-message-size within the 32 bits of the length of a gRPC
// message.
const maxMessageMegabytes = 4095

// Command serves the function to Crossplane. It accepts every flag and environment variable of
// functions based on function-template-go, so that one DeploymentRuntimeConfig fits all of them.
type Command struct {
	Debug bool `help:"Emit debug logs in addition to info logs." short:"d"`

	Network            string        `default:"tcp"              help:"Network on which to listen for gRPC connections."`
	Address            string        `default:":9443"            help:"Address at which to listen for gRPC connections."`
	TLSCertsDir        string        `env:"TLS_SERVER_CERTS_DIR" help:"Directory containing server certs (tls.key, tls.crt) and the CA used to verify client certificates (ca.crt)"`
	Insecure           bool          `help:"Run without mTLS credentials. If you supply this flag --tls-certs-dir will be ignored."`
	MaxRecvMessageSize int           `default:"4"                help:"Maximum size of received messages in MB."`
	MetricsAddress     string        `default:":8080"            help:"Address at which to serve Prometheus metrics. An empty address turns metrics off."`
	RequireGrants      bool          `help:"Read objects of another namespace only if a ReferenceGrant there permits it, as if each input had requireGrants: true."`
	GracePeriod        time.Duration `default:"25s"              help:"Maximum time for running requests to finish after SIGTERM. Keep it below the terminationGracePeriodSeconds of the pod."`
}

// Help is what kong prints below the flags.
func (c *Command) Help() string {
	return `Serves Crossplane's calls until SIGTERM or SIGINT, and then finishes the running
calls. The package runs this command. It has the flags of all functions, so that one
DeploymentRuntimeConfig fits all functions, and some flags of its own.

In a cluster Crossplane sets TLS_SERVER_CERTS_DIR. The certificates in that directory
are read again when they change. Without certificates the function needs the flag
--insecure, and works only with crossplane composition render.

The server at --metrics-address serves /metrics for Prometheus. The server at --address
serves the function, gRPC health and gRPC reflection.

Examples:

    function-export --insecure --debug

    function-export serve --tls-certs-dir /tls/server --metrics-address :8081

    # in another terminal; functions.yaml has the annotation
    # render.crossplane.io/runtime: Development
    crossplane composition render xr.yaml composition.yaml functions.yaml`
}

// Arguments returns the arguments of the program, and those of the help for a person who starts it without any in a
// terminal. Crossplane also starts it without arguments, but in a container, with certificates.
func Arguments(args []string, stdout io.Writer) []string {
	if len(args) == 0 && os.Getenv(certsDirVariable) == "" && terminal.IsTerminal(stdout) {
		return []string{"--help"}
	}
	return args
}

// certsDirVariable is the environment variable of the directory of certificates. Crossplane sets it.
const certsDirVariable = "TLS_SERVER_CERTS_DIR"

// Validate is called by kong once the flags are parsed.
func (c *Command) Validate() error {
	if c.MaxRecvMessageSize < 1 || c.MaxRecvMessageSize > maxMessageMegabytes {
		const text = "--max-recv-message-size must be between 1 and %d"
		return &terminal.UsageError{Text: fmt.Sprintf(text, maxMessageMegabytes)}
	}
	if c.GracePeriod < 0 {
		return &terminal.UsageError{Text: "--grace-period must not be negative"}
	}
	return nil
}

// Run serves until SIGTERM or SIGINT, and then returns nil, because a stop on request is not a
// failure. A second signal ends the process immediately.
func (c *Command) Run() error {
	server.TuneMemory()
	log, err := sdk.NewLogger(c.Debug)
	if err != nil {
		return fmt.Errorf("cannot create logger: %w", err)
	}
	ctx, restore := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	defer restore()
	context.AfterFunc(ctx, restore)
	s, err := c.server(ctx, log)
	if err != nil {
		return err
	}
	return s.Serve(ctx)
}

// server checks certificates and addresses, and returns a server that is ready to serve.
func (c *Command) server(ctx context.Context, log logging.Logger) (*server.Server, error) {
	creds, err := c.credentials(log)
	if err != nil {
		return nil, err
	}
	s := &server.Server{
		Log:                log,
		Credentials:        creds,
		MemoryLimit:        server.MemoryLimit(),
		MaxRecvMessageSize: c.MaxRecvMessageSize * 1024 * 1024,
		GracePeriod:        c.GracePeriod,
		ConnectionAge:      server.ConnectionAge,
		Registry:           metrics.NewRegistry(),
	}
	f, err := function.New(log, metrics.New(s.Registry))
	if err != nil {
		return nil, fmt.Errorf("cannot create function: %w", err)
	}
	f.RequireGrants = c.RequireGrants
	s.Function = f
	s.Listener, err = (&net.ListenConfig{}).Listen(ctx, c.Network, c.Address)
	if err != nil {
		return nil, fmt.Errorf("cannot listen at --address %q: %w", c.Address, err)
	}
	if c.MetricsAddress == "" {
		return s, nil
	}
	s.MetricsListener, err = (&net.ListenConfig{}).Listen(ctx, "tcp", c.MetricsAddress)
	if err != nil {
		_ = s.Listener.Close() // The first error is the one to report.
		return nil, fmt.Errorf("cannot listen at --metrics-address %q: %w", c.MetricsAddress, err)
	}
	return s, nil
}

// credentials prefers --insecure to a certificate directory, as the SDK does, because every
// Crossplane pod has the environment variable of the directory.
func (c *Command) credentials(log logging.Logger) (credentials.TransportCredentials, error) {
	if c.Insecure {
		return insecure.NewCredentials(), nil
	}
	if c.TLSCertsDir == "" {
		return nil, errors.New("cannot serve without credentials: " +
			"set --tls-certs-dir (or $TLS_SERVER_CERTS_DIR) or --insecure")
	}
	return server.TLSCredentials(c.TLSCertsDir, log)
}
