package laws

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"testing"
	"time"
)

// issued returns a certificate that is valid for some hours, and its key. Without a CA, it is signed with its own key.
func issued(t *testing.T, name string, from, until int, ca *x509.Certificate, caKey *ecdsa.PrivateKey) (
	*x509.Certificate, *ecdsa.PrivateKey,
) {
	t.Helper()

	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	certificate := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name}, DNSNames: []string{name},
		NotBefore: start.Add(time.Duration(from) * time.Hour), NotAfter: start.Add(time.Duration(until) * time.Hour),
		IsCA: ca == nil, BasicConstraintsValid: true,
	}

	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}

	if ca == nil {
		ca, caKey = certificate, key
	}

	der, err := x509.CreateCertificate(rand.Reader, certificate, ca, &key.PublicKey, caKey)
	if err != nil {
		t.Fatal(err)
	}

	certificate, err = x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}

	return certificate, key
}

func TestWholeTLS(t *testing.T) {
	ca, caKey := issued(t, "ca", 10, 20, nil, nil)
	another, _ := issued(t, "ca", 10, 20, nil, nil)

	cases := map[string]struct {
		reason      string
		from, until int
		ca          *x509.Certificate
		broken      bool
	}{
		"Whole":    {reason: "the CA is valid whenever the certificate is", from: 10, until: 20, ca: ca},
		"TooEarly": {reason: "the certificate is valid before its CA", from: 9, until: 20, ca: ca, broken: true},
		"TooLate":  {reason: "the certificate is valid after its CA", from: 10, until: 21, ca: ca, broken: true},
		"Torn":     {reason: "the CA has another key", from: 10, until: 20, ca: another, broken: true},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			leaf, key := issued(t, "server.example.org", tc.from, tc.until, ca, caKey)

			der, err := x509.MarshalPKCS8PrivateKey(key)
			if err != nil {
				t.Fatal(err)
			}

			encoded := func(kind string, der []byte) string {
				return string(pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}))
			}

			err = WholeTLS(map[string]string{
				"tls.crt": encoded("CERTIFICATE", leaf.Raw), "tls.key": encoded("PRIVATE KEY", der),
				"ca.crt": encoded("CERTIFICATE", tc.ca.Raw),
			})
			if broken := err != nil; broken != tc.broken {
				t.Errorf("%s: broken is %t, want %t: %v", tc.reason, broken, tc.broken, err)
			}
		})
	}
}
