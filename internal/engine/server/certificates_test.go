package server

import (
	"context"
	"crypto/tls"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/crossplane/function-sdk-go/logging"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"

	"github.com/crossplane-contrib/function-export/internal/engine/function/functiontest"
)

// startTLS serves with the certificates of a directory.
func startTLS(t *testing.T, dir string, log logging.Logger) testServer {
	t.Helper()
	creds, err := TLSCredentials(dir, log)
	if err != nil {
		t.Fatal(err)
	}
	return startServer(t, testFunction{}, log, func(s *Server) { s.Credentials = creds })
}

// serial of the server's certificate as this connection sees it.
func serial(t *testing.T, conn *grpc.ClientConn) string {
	t.Helper()
	var p peer.Peer
	if err := call(t, conn, grpc.Peer(&p)); err != nil {
		return status.Code(err).String()
	}
	return p.AuthInfo.(credentials.TLSInfo).State.PeerCertificates[0].SerialNumber.String()
}

func TestServeDemandsClientCertificate(t *testing.T) {
	ours, theirs := newAuthority(t, "ca"), newAuthority(t, "ca")
	creds, err := TLSCredentials(ours.secret(t, 1).write(t, t.TempDir()), logging.NewNopLogger())
	if err != nil {
		t.Fatal(err)
	}
	cases := map[string]struct {
		reason string
		client credentials.TransportCredentials
		want   string
		calls  int64
	}{
		"Good": {"Crossplane's certificate is signed by the CA of the Secret", ours.client(t), "1", 1},
		"None": {"whoever can reach the port must not read Secrets through " +
			"us", credentials.NewTLS(clientConfig(t)), "Unavailable", 0},
		"Foreign": {"a CA of the same name is another one", theirs.client(t), "Unavailable", 0},
		"Plain":   {"there is no way around TLS", insecure.NewCredentials(), "Unavailable", 0},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			var calls atomic.Int64
			count := func(context.Context) error { calls.Add(1); return nil }
			s := startServer(
				t,
				testFunction{do: count},
				logging.NewNopLogger(),
				func(s *Server) { s.Credentials = creds },
			)
			if got := serial(t, s.dial(t, tc.client)); got != tc.want {
				t.Errorf("%s: want %s, got %s", tc.reason, tc.want, got)
			}
			if got := calls.Load(); got != tc.calls {
				t.Errorf("%s: want %d calls of the function, got %d", tc.reason, tc.calls, got)
			}
		})
	}
}

// Crossplane rotates all three files; how they get into the directory differs.
func TestServeReloadsCertificates(t *testing.T) {
	cases := map[string]struct {
		reason  string
		replace func(s secret, t *testing.T, dir string) string
	}{
		"Swapped": {"Kubernetes swaps a link to all files", secret.mount},
		"Written": {"a developer copies files over the old ones", secret.write},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			former, latter := newAuthority(t, "ca"), newAuthority(t, "ca")
			dir, log := t.TempDir(), &functiontest.Log{}
			tc.replace(former.secret(t, 1), t, dir)
			s := startTLS(t, dir, log)
			open := s.dial(t, former.client(t))
			if got := serial(t, open); got != "1" {
				t.Fatalf("%s: want the first certificate, got %s", tc.reason, got)
			}
			tc.replace(latter.secret(t, 2), t, dir)
			if got := serial(t, s.dial(t, latter.client(t))); got != "2" {
				t.Errorf("%s: a new connection wants the second certificate, got %s", tc.reason, got)
			}
			if got := serial(t, s.dial(t, former.client(t))); got != "Unavailable" {
				t.Errorf("%s: a client of the former CA is still served: %s", tc.reason, got)
			}
			if got := serial(t, open); got != "1" {
				t.Errorf("%s: the open connection did not go on: %s", tc.reason, got)
			}
			if got := strings.Count(log.String(), "Using new TLS certificates"); got != 1 {
				t.Errorf("%s: want one line in the log, got:\n%s", tc.reason, log)
			}
		})
	}
}

// sessionCache remembers whether it was given a ticket.
type sessionCache struct {
	tls.ClientSessionCache

	taken atomic.Bool
}

func (c *sessionCache) Put(key string, state *tls.ClientSessionState) {
	c.taken.Store(true)
	c.ClientSessionCache.Put(key, state)
}

// A ticket from before a change of the CA is no way in after it.
func TestServeResumesNoSession(t *testing.T) {
	former, latter := newAuthority(t, "ca"), newAuthority(t, "ca")
	dir := former.secret(t, 1).write(t, t.TempDir())
	s := startTLS(t, dir, logging.NewNopLogger())
	config := clientConfig(t, former)
	tickets := &sessionCache{ClientSessionCache: tls.NewLRUClientSessionCache(1)}
	config.ClientSessionCache = tickets
	client := credentials.NewTLS(config)
	if got := serial(t, s.dial(t, client)); got != "1" {
		t.Fatalf("want the first certificate, got %s", got)
	}
	if tickets.taken.Load() {
		t.Error("the server gave out a session ticket")
	}
	latter.secret(t, 2).write(t, dir)
	if got := serial(t, s.dial(t, client)); got != "Unavailable" {
		t.Errorf("a client of the former CA is still served: %s", got)
	}
}

func TestServeKeepsLastGoodCertificates(t *testing.T) {
	former, latter := newAuthority(t, "ca"), newAuthority(t, "ca")
	good, next := former.secret(t, 1), latter.secret(t, 2)
	half := func(b []byte) []byte { return b[:len(b)/2] }
	change := func(file string, content []byte) func(*testing.T, string) {
		return func(t *testing.T, dir string) { t.Helper(); secret{file: content}.write(t, dir) }
	}
	cases := map[string]struct {
		reason string
		spoil  func(t *testing.T, dir string)
	}{
		"HalfKey": {"a key is no key until its end", change("tls.key", half(next["tls.key"]))},
		"HalfCA":  {"half a CA would lock Crossplane out", change("ca.crt", half(next["ca.crt"]))},
		"NoKey": {"a file is missing before it is written", func(t *testing.T, dir string) {
			t.Helper()
			if err := os.Remove(filepath.Join(dir, "tls.key")); err != nil {
				t.Fatal(err)
			}
		}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			dir, log := good.write(t, t.TempDir()), &functiontest.Log{}
			s := startTLS(t, dir, log)
			tc.spoil(t, dir)
			for range 3 {
				if got := serial(t, s.dial(t, former.client(t))); got != "1" {
					t.Errorf("%s: want the former certificate, got %s", tc.reason, got)
				}
			}
			if got := strings.Count(log.String(), "Cannot use the new TLS certificates"); got != 1 {
				t.Errorf("%s: want one warning a change, got:\n%s", tc.reason, log)
			}
			if strings.Contains(log.String(), "PRIVATE") || strings.Contains(log.String(), "BEGIN") {
				t.Errorf("%s: the log shows the files:\n%s", tc.reason, log)
			}
			next.write(t, dir)
			if got := serial(t, s.dial(t, latter.client(t))); got != "2" {
				t.Errorf("%s: the complete set is not used: %s", tc.reason, got)
			}
		})
	}
}
