package server

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"os"
	"path/filepath"
	"testing"
	"time"

	"google.golang.org/grpc/credentials"
)

// An authority signs the certificates of a test.
type authority struct {
	crt *x509.Certificate
	key *ecdsa.PrivateKey
}

func newAuthority(t *testing.T, name string) authority {
	t.Helper()
	a := authority{key: newKey(t)}
	a.crt = a.sign(t, a.key, &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name},
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	})
	return a
}

func newKey(t *testing.T) *ecdsa.PrivateKey {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

// sign a certificate; an authority without one of its own signs it itself.
func (a authority) sign(t *testing.T, key *ecdsa.PrivateKey, crt *x509.Certificate) *x509.Certificate {
	t.Helper()
	crt.NotBefore, crt.NotAfter = time.Now().Add(-time.Hour), time.Now().Add(time.Hour)
	parent := a.crt
	if parent == nil {
		parent = crt
	}
	der, err := x509.CreateCertificate(rand.Reader, crt, parent, key.Public(), a.key)
	if err != nil {
		t.Fatal(err)
	}
	parsed, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return parsed
}

// leaf for both ends of a connection, as Crossplane's are.
func (a authority) leaf(t *testing.T, serial int64) (*x509.Certificate, *ecdsa.PrivateKey) {
	t.Helper()
	key := newKey(t)
	return a.sign(t, key, &x509.Certificate{
		SerialNumber: big.NewInt(serial), DNSNames: []string{"function"},
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}), key
}

// clientConfig trusts any server, so that only the server's view is under test,
// and presents a certificate of these authorities, if any.
func clientConfig(t *testing.T, signers ...authority) *tls.Config {
	t.Helper()
	c := &tls.Config{InsecureSkipVerify: true, NextProtos: []string{"h2"}}
	for _, a := range signers {
		crt, key := a.leaf(t, 99)
		pair := &tls.Certificate{Certificate: [][]byte{crt.Raw}, PrivateKey: key}
		// The server says which authorities it knows; a client that heeds it
		// would send no foreign certificate at all.
		c.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return pair, nil }
	}
	return c
}

func (a authority) client(t *testing.T) credentials.TransportCredentials {
	t.Helper()
	return credentials.NewTLS(clientConfig(t, a))
}

// secret of a server, by file.
type secret map[string][]byte

func (a authority) secret(t *testing.T, serial int64) secret {
	t.Helper()
	crt, key := a.leaf(t, serial)
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	return secret{
		"tls.crt": pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: crt.Raw}),
		"tls.key": pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}),
		"ca.crt":  pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: a.crt.Raw}),
	}
}

// write the files in place, one after the other, and return their directory.
func (s secret) write(t *testing.T, dir string) string {
	t.Helper()
	for name, content := range s {
		if err := os.WriteFile(filepath.Join(dir, name), content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// mount the files as Kubernetes does: links through ..data, which is swapped.
func (s secret) mount(t *testing.T, dir string) string {
	t.Helper()
	version, err := os.MkdirTemp(dir, "..version-")
	if err != nil {
		t.Fatal(err)
	}
	s.write(t, version)
	if err := os.Symlink(filepath.Base(version), filepath.Join(dir, "..data_tmp")); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(filepath.Join(dir, "..data_tmp"), filepath.Join(dir, "..data")); err != nil {
		t.Fatal(err)
	}
	for name := range s {
		if err := os.Symlink(filepath.Join("..data", name), filepath.Join(dir, name)); err != nil && !os.IsExist(err) {
			t.Fatal(err)
		}
	}
	return dir
}
