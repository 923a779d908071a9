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

// checkInterval is how long a handshake uses the last check of the files. Kubernetes takes up to a
// minute to copy a new Secret into a pod, so another second does not matter, and three small reads
// per second have almost no cost.
const checkInterval = time.Second

// certificates are the TLS files of a directory, read again when they change. If a set cannot
// be used, for example because it is half written, that is logged once, and the set before it
// stays in use. Safe for concurrent use.
//
// gRPC's own provider (certprovider/pemfile) does not promise that: it replaces the CA apart from
// the certificate, and logs a key that does not fit.
type certificates struct {
	log  logging.Logger
	now  func() time.Time
	read func() (certificateFiles, error)

	mu      sync.Mutex
	checked time.Time        // when the files were last read
	seen    certificateFiles // the files of the last read, usable or not
	seenErr string           // the text of the error of that
	current *tls.Config      // of the last usable set; never nil, never changed
}

// TLSCredentials returns credentials that require a client certificate, and that use the current TLS files
// of a directory.
func TLSCredentials(dir string, log logging.Logger) (credentials.TransportCredentials, error) {
	certs, err := newCertificates(dir, log)
	if err != nil {
		return nil, err
	}
	return credentials.NewTLS(certs.config()), nil
}

// newCertificates reads tls.crt, tls.key and ca.crt. If the first set cannot be used, it returns an
// error, because there is no previous set.
func newCertificates(dir string, log logging.Logger) (*certificates, error) {
	c := &certificates{log: log, now: time.Now}
	c.read = func() (certificateFiles, error) { return readCertificateFiles(dir) }
	files, err := c.read()
	if err != nil {
		return nil, err
	}
	c.checked, c.seen, c.seenErr = c.now(), files, fmt.Sprint(err)
	c.current, err = files.config()
	return c, err
}

// config returns a configuration that uses the current certificates for each handshake. It applies
// to new connections; open connections keep their certificates.
func (c *certificates) config() *tls.Config {
	return &tls.Config{
		MinVersion:         tls.VersionTLS12,
		ClientAuth:         tls.RequireAndVerifyClientCert, // even without a current configuration
		GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) { return c.latest(), nil },
	}
}

// latest returns the latest usable configuration. It reads the files if they were not read within the checkInterval.
func (c *certificates) latest() *tls.Config {
	c.mu.Lock()
	defer c.mu.Unlock()
	if now := c.now(); now.Sub(c.checked) >= checkInterval {
		c.checked = now
		c.reload()
	}
	return c.current
}

// reload uses a set of files that differs from the last set. Kubernetes replaces all files at the
// same time, but they are read one after the other, and a new tls.crt must not be used with an old
// ca.crt. If a second read returns other files, the next check reads them again.
func (c *certificates) reload() {
	files, err := c.read()
	if files == c.seen && fmt.Sprint(err) == c.seenErr {
		return
	}
	if err == nil {
		if again, err := c.read(); err != nil || again != files {
			return
		}
	}
	c.seen, c.seenErr = files, fmt.Sprint(err)
	var config *tls.Config
	if err == nil {
		config, err = files.config()
	}
	if err != nil {
		c.log.Info("Cannot use the new TLS certificates, keeping the previous ones", "error", err.Error())
		return
	}
	c.current = config
	c.log.Info("Using new TLS certificates", "not-after", config.Certificates[0].Leaf.NotAfter.Format(time.RFC3339))
}

// certificateFiles are the contents of one set of files, in PEM.
type certificateFiles struct{ crt, key, ca string }

// readCertificateFiles follows symbolic links, as Kubernetes mounts Secrets.
func readCertificateFiles(dir string) (f certificateFiles, err error) {
	for name, content := range map[string]*string{"tls.crt": &f.crt, "tls.key": &f.key, "ca.crt": &f.ca} {
		b, err := os.ReadFile(filepath.Join(dir, name)) //nolint:gosec // in the folder of a flag
		if err != nil {
			return certificateFiles{}, fmt.Errorf("cannot read TLS file %q: %w", name, err)
		}
		*content = string(b)
	}
	return f, nil
}

// config returns the configuration of a server that requires a client certificate signed by the CA.
// Sessions are not resumed, because a ticket from before a change of the CA would admit a client
// without verifying its certificate.
func (f certificateFiles) config() (*tls.Config, error) {
	pair, err := tls.X509KeyPair([]byte(f.crt), []byte(f.key))
	if err != nil {
		return nil, fmt.Errorf("cannot use TLS files %q and %q: %w", "tls.crt", "tls.key", err)
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM([]byte(f.ca)) {
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
