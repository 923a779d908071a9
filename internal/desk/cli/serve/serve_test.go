package serve

import (
	"net"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/alecthomas/kong"
	"github.com/crossplane/function-sdk-go/logging"
	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/crossplane-contrib/function-export/internal/engine/function/functiontest"
)

// serveCLI has serve as the default command, as the real one does.
type serveCLI struct {
	Serve Command `cmd:"" default:"withargs"`
}

func TestServeFlags(t *testing.T) {
	defaults := Command{
		Network:            "tcp",
		Address:            ":9443",
		MaxRecvMessageSize: 4,
		MetricsAddress:     ":8080",
		GracePeriod:        25 * time.Second,
	}
	with := func(change func(*Command)) Command {
		c := defaults
		change(&c)

		return c
	}

	cases := map[string]struct {
		reason string
		args   []string
		env    string
		want   Command
		err    string
	}{
		"Defaults": {
			reason: "without flags it listens where the template's functions do",
			want:   defaults,
		},
		"EveryFlagOfTheTemplate": {
			reason: "a DeploymentRuntimeConfig written for another function fits this one",
			args: []string{
				"-d",
				"--network=tcp4",
				"--address=:1",
				"--tls-certs-dir=/certs",
				"--insecure",
				"--max-recv-message-size=8",
			},
			want: with(func(c *Command) {
				c.Debug, c.Network, c.Address, c.TLSCertsDir, c.Insecure, c.MaxRecvMessageSize = true, "tcp4", ":1", "/certs", true,
					8
			}),
		},
		"FlagBeforeEnvironment": {
			reason: "a flag is closer to the user than the environment",
			env:    "/tls/server",
			args:   []string{"--tls-certs-dir=/certs"},
			want:   with(func(c *Command) { c.TLSCertsDir = "/certs" }),
		},
		"Named": {
			reason: "the command can be named, and metrics turned off",
			args:   []string{"serve", "--metrics-address=", "--grace-period=5s", "--require-grants"},
			want: with(
				func(c *Command) { c.MetricsAddress, c.GracePeriod, c.RequireGrants = "", 5*time.Second, true },
			),
		},
		"NoMessageSize": {
			reason: "a server that refuses every message is a mistake",
			args:   []string{"--max-recv-message-size=0"},
			err:    "--max-recv-message-size must be between 1 and 4095",
		},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Setenv("TLS_SERVER_CERTS_DIR", tc.env)

			cli := &serveCLI{}
			_, err := mustParser(t, cli).Parse(tc.args)

			if tc.err != "" {
				if err == nil || !strings.Contains(err.Error(), tc.err) {
					t.Fatalf("%s: want error %q, got %v", tc.reason, tc.err, err)
				}

				return
			}

			if err != nil {
				t.Fatalf("%s: %v", tc.reason, err)
			}

			if diff := cmp.Diff(tc.want, cli.Serve); diff != "" {
				t.Errorf("%s: -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

func TestServeRefusesToStart(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()

	cases := map[string]struct {
		reason string
		cmd    Command
		want   string
	}{
		"NoCredentials": {
			reason: "it never falls back to serving everybody",
			cmd:    Command{Network: "tcp", Address: "127.0.0.1:0"},
			want:   "cannot serve without credentials",
		},
		"NoCertificates": {
			reason: "there are no former certificates to keep at the start",
			cmd:    Command{Network: "tcp", Address: "127.0.0.1:0", TLSCertsDir: t.TempDir()},
			want:   "cannot read TLS file",
		},
		"AddressTaken": {
			reason: "the error names the flag to change",
			cmd:    Command{Network: "tcp", Address: taken.Addr().String(), Insecure: true},
			want:   "cannot listen at --address",
		},
		"MetricsAddressTaken": {
			reason: "metrics that nobody can read are not a matter to keep silent about",
			cmd: Command{
				Network:        "tcp",
				Address:        "127.0.0.1:0",
				MetricsAddress: taken.Addr().String(),
				Insecure:       true,
			},
			want: "cannot listen at --metrics-address",
		},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			_, err := tc.cmd.server(t.Context(), logging.NewNopLogger())
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("%s: want error %q, got %v", tc.reason, tc.want, err)
			}
		})
	}
}

// The whole command: parsed and run by kong, and ended by a real signal.
func TestServeRunsUntilSIGTERM(t *testing.T) {
	socket := filepath.Join(t.TempDir(), "fn.sock")

	parsed, err := mustParser(t, &serveCLI{}).
		Parse([]string{"--insecure", "--network=unix", "--address=" + socket, "--metrics-address=127.0.0.1:0"})
	if err != nil {
		t.Fatal(err)
	}

	done := make(chan error, 1)
	go func() { done <- parsed.Run() }()

	// Once it answers, it also listens for signals.
	conn, err := grpc.NewClient("unix:"+socket, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()

	if _, err := fnv1.NewFunctionRunnerServiceClient(conn).RunFunction(functiontest.Limited(t), &fnv1.RunFunctionRequest{},
		grpc.WaitForReady(true)); err != nil {
		t.Fatal(err)
	}

	if err := syscall.Kill(syscall.Getpid(), syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}

	if err := functiontest.Receive(t, done); err != nil {
		t.Errorf("a server that was told to stop did not fail: %v", err)
	}
}

func mustParser(t *testing.T, cli any) *kong.Kong {
	t.Helper()

	p, err := kong.New(cli, kong.Exit(func(int) { t.Error("kong ended the process") }))
	if err != nil {
		t.Fatal(err)
	}

	return p
}
