package generator

import (
	"bytes"
	"crypto"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"time"

	"github.com/crossplane-contrib/function-export/internal/sensitive"
)

// The outputs of a Certificate.
const (
	tlsCert = "tls.crt"
	tlsKey  = "tls.key"
	caCert  = "ca.crt"
)

// The types of PEM blocks.
const (
	certificateBlock = "CERTIFICATE"
	privateKeyBlock  = "PRIVATE KEY" // PKCS #8
)

// skew is how much earlier than it is made a certificate becomes valid, for those
// whose clock is late.
const skew = 5 * time.Minute

// serialBytes of a serial number: 128 bits of randomness, which no two certificates of
// a CA share. RFC 5280 allows 20 bytes.
const serialBytes = 16

var (
	errNoIssuer  = errors.New("cannot sign without a CA")
	errOwnIssuer = errors.New("cannot sign with a CA what signs itself")
	errSameName  = errors.New("cannot sign with a CA of the same subject: give one of them another subject.commonName")
)

// Keys are the names of the outputs.
func (c *Certificate) Keys() []string { return []string{tlsCert, tlsKey, caCert} }

// Make makes a certificate and its key. The issuer is that of [Certificate.CA], or nil
// for a certificate that signs itself, which is its own ca.crt.
//
// It is valid from five minutes before now, and for the duration after, but not
// outside of the validity of the issuer. An issuer that is not valid now is an error.
func (c *Certificate) Make(now time.Time, issuer *Issuer) (Outputs, error) {
	t := c.template
	t.NotBefore, t.NotAfter = now.Add(-skew), now.Add(c.duration)
	t.SerialNumber = newSerial()
	if err := c.limit(&t, now, issuer); err != nil {
		return nil, err
	}
	key, err := c.newKey()
	if err != nil {
		return nil, fmt.Errorf("cannot make a key: %w", err)
	}
	parent, signer := &t, key
	if issuer != nil {
		parent, signer = issuer.cert, issuer.key()
	}
	der, err := x509.CreateCertificate(rand.Reader, &t, parent, key.Public(), signer)
	if err != nil {
		return nil, fmt.Errorf("cannot make a certificate: %w", err)
	}
	return encode(der, key, issuer)
}

// limit is whether the issuer can sign the certificate, whose validity it cuts to the
// issuer's.
func (c *Certificate) limit(t *x509.Certificate, now time.Time, issuer *Issuer) error {
	switch {
	case issuer == nil && c.ca == "":
		return nil
	case issuer == nil:
		return errNoIssuer
	case c.ca == "":
		return errOwnIssuer
	case bytes.Equal(t.RawSubject, issuer.cert.RawSubject):
		return errSameName
	case now.Before(issuer.cert.NotBefore):
		return fmt.Errorf("cannot sign with a CA that is not valid before %s", issuer.cert.NotBefore.Format(time.RFC3339))
	case !now.Before(issuer.cert.NotAfter):
		return fmt.Errorf("cannot sign with a CA that was valid until %s: make another generation of it", issuer.cert.NotAfter.Format(time.RFC3339))
	}
	if t.NotBefore.Before(issuer.cert.NotBefore) {
		t.NotBefore = issuer.cert.NotBefore
	}
	if t.NotAfter.After(issuer.cert.NotAfter) {
		t.NotAfter = issuer.cert.NotAfter
	}
	return nil
}

func encode(der []byte, key crypto.Signer, issuer *Issuer) (Outputs, error) {
	pkcs8, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, fmt.Errorf("cannot encode a private key: %w", err)
	}
	ca := der
	if issuer != nil {
		ca = issuer.cert.Raw
	}
	return Outputs{
		tlsCert: block(certificateBlock, der),
		tlsKey:  block(privateKeyBlock, pkcs8),
		caCert:  block(certificateBlock, ca),
	}, nil
}

func block(kind string, der []byte) sensitive.Bytes {
	return sensitive.New(pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}))
}

func newSerial() *big.Int {
	b := make([]byte, serialBytes)
	_, _ = rand.Read(b) // which never fails
	return new(big.Int).SetBytes(b)
}

// RenewAt is when a generation with these outputs has to be followed by another one:
// renewBefore the end of its validity. One that ends with its CA is followed at its
// end, and not before: until there is another CA another one would end then, too.
// An error holds nothing of the outputs.
func (c *Certificate) RenewAt(o Outputs) (time.Time, error) {
	cert, err := parseCertificate(o, tlsCert)
	if err != nil {
		return time.Time{}, err
	}
	if c.ca == "" {
		return cert.NotAfter.Add(-c.renewBefore), nil
	}
	ca, err := parseCertificate(o, caCert)
	if err != nil {
		return time.Time{}, err
	}
	if !cert.NotAfter.Before(ca.NotAfter) {
		return cert.NotAfter, nil
	}
	return cert.NotAfter.Add(-c.renewBefore), nil
}
