package server

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/crossplane/function-sdk-go/logging"
	"google.golang.org/grpc/credentials"
)

// certificates are the TLS files of a directory, which each handshake reads. If a set cannot be used, for example
// because it is half written, that is logged once, and the set before it stays in use.
//
// gRPC's own provider (certprovider/pemfile) does not promise that: it replaces the CA apart from the certificate, and
// logs a key that does not fit.
type certificates struct {
	dir string
	log logging.Logger

	mu      sync.Mutex
	current *tls.Config // of the last usable set; never nil, never changed
	serial  string      // of its certificate
	wrong   string      // why the files cannot be used now, or empty
}

// TLSCredentials returns credentials that require a client certificate, and that use the current tls.crt, tls.key and
// ca.crt of a directory. Open connections keep their certificates. It fails if the first set cannot be used.
func TLSCredentials(dir string, log logging.Logger) (credentials.TransportCredentials, error) {
	config, err := readCertificates(dir)
	if err != nil {
		return nil, err
	}
	c := &certificates{dir: dir, log: log, current: config, serial: serialOf(config)}
	return credentials.NewTLS(&tls.Config{
		MinVersion:         tls.VersionTLS12,
		ClientAuth:         tls.RequireAndVerifyClientCert, // even without a current configuration
		GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) { return c.latest(), nil },
	}), nil
}

// latest returns the latest usable configuration.
func (c *certificates) latest() *tls.Config {
	config, err := readCertificates(c.dir)
	c.mu.Lock()
	defer c.mu.Unlock()
	if err != nil {
		if err.Error() != c.wrong {
			c.wrong = err.Error()
			c.log.Info("Cannot use the new TLS certificates, keeping the previous ones", "error", c.wrong)
		}
		return c.current
	}
	c.current, c.wrong = config, ""
	if serial := serialOf(config); serial != c.serial {
		c.serial = serial
		c.log.Info("Using new TLS certificates", "not-after", config.Certificates[0].Leaf.NotAfter.Format(time.RFC3339))
	}
	return config
}

func serialOf(config *tls.Config) string { return config.Certificates[0].Leaf.SerialNumber.String() }

// readCertificates returns the configuration of a server that requires a client certificate signed by the CA. Sessions
// are not resumed, because a ticket from before a change of the CA would admit a client without verifying its
// certificate.
func readCertificates(dir string) (*tls.Config, error) {
	var files [3][]byte
	for i, name := range []string{"tls.crt", "tls.key", "ca.crt"} {
		var err error
		if files[i], err = os.ReadFile(filepath.Join(dir, name)); err != nil { //nolint:gosec // in the folder of a flag
			return nil, fmt.Errorf("cannot read TLS file %q: %w", name, err)
		}
	}
	pair, err := tls.X509KeyPair(files[0], files[1])
	if err != nil {
		return nil, fmt.Errorf("cannot use TLS files %q and %q: %w", "tls.crt", "tls.key", err)
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(files[2]) {
		return nil, fmt.Errorf("cannot parse TLS file %q: no certificate found", "ca.crt")
	}
	return &tls.Config{
		MinVersion:             tls.VersionTLS12,
		Certificates:           []tls.Certificate{pair},
		ClientCAs:              pool,
		ClientAuth:             tls.RequireAndVerifyClientCert,
		SessionTicketsDisabled: true,
	}, nil
}
