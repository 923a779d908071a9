package live

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net"
	"time"
)

// An authority signs certificates.
type authority struct {
	cert *x509.Certificate
	key  any
	pem  []byte
}

// A pair is a certificate and its key in PEM.
type pair struct{ cert, key []byte }

func newAuthority() (*authority, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("cannot make a key: %w", err)
	}

	t := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "live"}, NotBefore: time.Now().Add(-time.Hour),
		NotAfter: time.Now().AddDate(1, 0, 0),
		IsCA:     true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
	}

	der, err := x509.CreateCertificate(rand.Reader, t, t, key.Public(), key)
	if err != nil {
		return nil, fmt.Errorf("cannot make a CA: %w", err)
	}

	cert, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, fmt.Errorf("cannot parse the CA: %w", err)
	}

	return &authority{cert: cert, key: key, pem: pemOf("CERTIFICATE", der)}, nil
}

// parseAuthority returns an authority that another program created.
func parseAuthority(cert, key []byte) (*authority, error) {
	c, _ := pem.Decode(cert)

	k, _ := pem.Decode(key)
	if c == nil || k == nil {
		return nil, errors.New("cannot read a CA: it is not PEM")
	}

	parsed, err := x509.ParseCertificate(c.Bytes)
	if err != nil {
		return nil, fmt.Errorf("cannot parse a CA: %w", err)
	}

	for _, parse := range []func([]byte) (any, error){
		x509.ParsePKCS8PrivateKey,
		func(b []byte) (any, error) { return x509.ParsePKCS1PrivateKey(b) },
		func(b []byte) (any, error) { return x509.ParseECPrivateKey(b) },
	} {
		if own, err := parse(k.Bytes); err == nil {
			return &authority{cert: parsed, key: own, pem: cert}, nil
		}
	}

	return nil, errors.New("cannot parse the key of a CA")
}

// sign signs a new key. A certificate with names is for a server, and one without names is for a client.
func (a *authority) sign(subject pkix.Name, names ...string) (pair, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return pair{}, fmt.Errorf("cannot make a key: %w", err)
	}

	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 64))
	if err != nil {
		return pair{}, fmt.Errorf("cannot make a serial number: %w", err)
	}

	t := &x509.Certificate{
		SerialNumber: serial, Subject: subject, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().AddDate(1,
			0, 0),
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	}
	if len(names) > 0 {
		t.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}
		t.DNSNames, t.IPAddresses = names, []net.IP{net.IPv4(127, 0, 0, 1)}
	}

	der, err := x509.CreateCertificate(rand.Reader, t, a.cert, key.Public(), a.key)
	if err != nil {
		return pair{}, fmt.Errorf("cannot sign a certificate: %w", err)
	}

	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return pair{}, fmt.Errorf("cannot encode a key: %w", err)
	}

	return pair{cert: pemOf("CERTIFICATE", der), key: pemOf("PRIVATE KEY", private)}, nil
}

func pemOf(kind string, der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der})
}
