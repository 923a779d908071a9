package pem_test

import (
	"crypto"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	stdpem "encoding/pem"
	"math/big"
	"testing"
	"time"
)

// A signer is a certificate with its key.
type signer struct {
	cert *x509.Certificate
	key  crypto.Signer
	text string
}

// issue returns a certificate with the given subject that the issuer signs. Without an issuer, it signs itself.
func issue(t testing.TB, subject string, issuer *signer, change ...func(*x509.Certificate)) *signer {
	t.Helper()
	_, key, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return issueWith(t, key, subject, issuer, change...)
}

func issueWith(
	t testing.TB, key crypto.Signer, subject string, issuer *signer, change ...func(*x509.Certificate),
) *signer {
	t.Helper()
	serial, err := rand.Int(rand.Reader, big.NewInt(1<<62))
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: serial, Subject: pkix.Name{CommonName: subject},
		NotBefore: time.Unix(0, 0), NotAfter: time.Date(2100, 1, 1, 0, 0, 0, 0, time.UTC),
		BasicConstraintsValid: true, IsCA: true, KeyUsage: x509.KeyUsageCertSign,
	}
	for _, f := range change {
		f(template)
	}
	parent, by := template, key
	if issuer != nil {
		parent, by = issuer.cert, issuer.key
	}
	if template.AuthorityKeyId != nil {
		unidentified := *parent
		unidentified.SubjectKeyId, template.AuthorityKeyId = nil, nil
		parent = &unidentified
	}
	der, err := x509.CreateCertificate(rand.Reader, template, parent, key.Public(), by)
	if err != nil {
		t.Fatal(err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return &signer{cert, key, string(stdpem.EncodeToMemory(&stdpem.Block{Type: "CERTIFICATE", Bytes: der}))}
}

// server makes a certificate that is not the certificate of a CA.
func server(c *x509.Certificate) { c.IsCA, c.KeyUsage = false, x509.KeyUsageDigitalSignature }

// withoutKeyID leaves out the identifier of the issuer's key, so that only its name and the signature are known.
func withoutKeyID(c *x509.Certificate) { c.AuthorityKeyId = []byte{} }
