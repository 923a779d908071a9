package main

import (
	"bytes"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/crossplane/function-sdk-go/logging"
)

// checkInterval is how long a handshake trusts the last look at the files.
// Kubernetes takes up to a minute to bring a new Secret into a pod, so a second
// more delays nothing, and three small reads a second are nothing.
const checkInterval = time.Second

// certificates are the TLS files of a directory, read again when they change.
// A set that cannot be used, half-written for example, is logged once, and the
// one before it stays in use. Safe for concurrent use.
type certificates struct {
	log  logging.Logger
	now  func() time.Time
	read func() (certificateFiles, error)

	mu      sync.Mutex
	checked time.Time   // of the last look at the files
	seen    string      // what the last look saw, good or bad
	current *tls.Config // of the last good set, never nil, never changed
}

// newCertificates reads tls.crt, tls.key and ca.crt. A first set that cannot be
// used is an error: there is nothing to fall back to.
func newCertificates(dir string, log logging.Logger) (*certificates, error) {
	c := &certificates{
		log:  log,
		now:  time.Now,
		read: func() (certificateFiles, error) { return readCertificateFiles(dir) },
	}

	files, err := c.read()
	if err != nil {
		return nil, err
	}

	c.checked, c.seen = c.now(), files.digest()

	c.current, err = files.config()
	if err != nil {
		return nil, err
	}

	return c, nil
}

// config asks for the current certificates on each handshake. It applies to new
// connections; open ones keep what they were opened with.
func (c *certificates) config() *tls.Config {
	return &tls.Config{
		MinVersion: tls.VersionTLS12,
		ClientAuth: tls.RequireAndVerifyClientCert,
		NextProtos: []string{"h2"},
		GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) {
			return c.latest(), nil
		},
	}
}

// latest good configuration, after a look at the files if the last one is older
// than checkInterval. Do not change what it returns.
func (c *certificates) latest() *tls.Config {
	c.mu.Lock()
	defer c.mu.Unlock()

	if now := c.now(); now.Sub(c.checked) >= checkInterval {
		c.checked = now
		c.reload()
	}

	return c.current
}

// reload takes over a set of files that differs from the one seen last.
func (c *certificates) reload() {
	files, err := c.read()

	seen := files.digest()
	if err != nil {
		seen = err.Error()
	}

	if seen == c.seen || err == nil && c.changing(seen) {
		return
	}

	c.seen = seen

	var config *tls.Config
	if err == nil {
		config, err = files.config()
	}

	if err != nil {
		c.log.Info("Cannot use the new TLS certificates, keeping the former ones", "error", err.Error())
		return
	}

	c.current = config
	c.log.Info("Using new TLS certificates", "not-after", config.Certificates[0].Leaf.NotAfter.Format(time.RFC3339))
}

// changing says whether a second look sees other files. Kubernetes swaps all of
// them at once, but we read one after the other, and a new tls.crt must not meet
// an old ca.crt. Such a set is left to the check after this one.
func (c *certificates) changing(seen string) bool {
	files, err := c.read()
	return err != nil || files.digest() != seen
}

// certificateFiles are the contents of one set of files, in PEM.
type certificateFiles struct {
	crt, key, ca []byte
}

// readCertificateFiles follows symbolic links, as Kubernetes mounts Secrets.
func readCertificateFiles(dir string) (certificateFiles, error) {
	var f certificateFiles

	for name, content := range map[string]*[]byte{"tls.crt": &f.crt, "tls.key": &f.key, "ca.crt": &f.ca} {
		var err error
		if *content, err = os.ReadFile(filepath.Join(dir, name)); err != nil {
			return certificateFiles{}, fmt.Errorf("cannot read TLS file %q: %w", name, err)
		}
	}

	return f, nil
}

// digest differs whenever a file does, and tells nothing about the key.
func (f certificateFiles) digest() string {
	return fmt.Sprintf("%x %x %x", sha256.Sum256(f.crt), sha256.Sum256(f.key), sha256.Sum256(f.ca))
}

// config of a server that demands a client certificate signed by the CA.
// Sessions are not resumed: a ticket from before a change of the CA would let a
// client in without a look at its certificate.
func (f certificateFiles) config() (*tls.Config, error) {
	if _, err := parseCertificates(f.crt); err != nil {
		return nil, fmt.Errorf("cannot parse TLS file %q: %w", "tls.crt", err)
	}

	pair, err := tls.X509KeyPair(f.crt, f.key)
	if err != nil {
		return nil, fmt.Errorf("cannot use TLS files %q and %q: %w", "tls.crt", "tls.key", err)
	}

	authorities, err := parseCertificates(f.ca)
	if err != nil {
		return nil, fmt.Errorf("cannot parse TLS file %q: %w", "ca.crt", err)
	}

	pool := x509.NewCertPool()
	for _, ca := range authorities {
		pool.AddCert(ca)
	}

	return &tls.Config{
		MinVersion:             tls.VersionTLS12,
		Certificates:           []tls.Certificate{pair},
		ClientCAs:              pool,
		ClientAuth:             tls.RequireAndVerifyClientCert,
		NextProtos:             []string{"h2"},
		SessionTicketsDisabled: true,
	}, nil
}

// parseCertificates reads every certificate of a PEM file, in order. Unlike
// x509.CertPool and tls.X509KeyPair it refuses a file with a block that is cut
// off, which they read as a file that ends before it.
func parseCertificates(file []byte) ([]*x509.Certificate, error) {
	var found []*x509.Certificate

	for {
		block, rest := pem.Decode(file)
		if block == nil {
			break
		}

		file = rest

		if block.Type != "CERTIFICATE" {
			continue
		}

		crt, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			return nil, err
		}

		found = append(found, crt)
	}

	if bytes.Contains(file, []byte("-----")) {
		return nil, errors.New("a PEM block is cut off")
	}

	if len(found) == 0 {
		return nil, errors.New("no certificate found")
	}

	return found, nil
}
