package generator

import (
	"bytes"
	"crypto"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"math/big"
	"time"
)

// The outputs of a Certificate.
const (
	tlsCert = "tls.crt"
	tlsKey  = "tls.key"
	caCert  = "ca.crt"
)

// skew is the time by which a certificate is valid before it is created, because some clocks are late.
const skew = 5 * time.Minute

// serialBytes of a serial number: 128 bits of randomness, which no two certificates of a CA share. RFC 5280 allows 20
// bytes.
const serialBytes = 16

var (
	errNoIssuer  = errors.New("cannot sign without a CA")
	errOwnIssuer = errors.New("cannot sign a self-signed certificate with a CA")
	errSameName  = errors.New("cannot sign with a CA of the same subject: set another subject.commonName for one of them")
)

// Keys are the names of the outputs.
func (c *Certificate) Keys() []string { return []string{tlsCert, tlsKey, caCert} }

// Make generates a certificate and its key. A self-signed certificate is its own ca.crt.
//
// It is valid from five minutes before now, and for the duration after, but not
// outside of the validity of the issuer. An issuer that is not valid now is an error.
func (c *Certificate) Make(from From) (Outputs, error) {
	now, issuer := from.Now, from.Issuer
	t := c.template
	t.NotBefore, t.NotAfter = now.Add(-skew), now.Add(c.duration)
	random, signing := rand.Reader, rand.Reader
	if seeded := from.seeded(); seeded != nil {
		random, signing = seeded, nil // signatures without a source are deterministic
	}
	t.SerialNumber = newSerial(random)
	if err := c.limit(&t, now, issuer); err != nil {
		return nil, err
	}
	key, err := c.newKey(from.seeded())
	if err != nil {
		return nil, fmt.Errorf("cannot generate a key: %w", err)
	}
	parent, signer := &t, key
	if issuer != nil {
		parent, signer = issuer.cert, issuer.key()
	}
	der, err := x509.CreateCertificate(signing, &t, parent, key.Public(), signer)
	if err != nil {
		return nil, fmt.Errorf("cannot create a certificate: %w", err)
	}
	return c.encode(der, key, issuer)
}

// limit checks that the issuer can sign the certificate, and limits its validity to the validity of the issuer.
func (c *Certificate) limit(t *x509.Certificate, now time.Time, issuer *Issuer) error {
	switch {
	case issuer == nil && c.ca == "":
		return nil
	case issuer == nil:
		return errNoIssuer
	case c.ca == "":
		return errOwnIssuer
	}
	ca := issuer.cert
	switch {
	case bytes.Equal(t.RawSubject, ca.RawSubject):
		return errSameName
	case now.Before(ca.NotBefore):
		return fmt.Errorf("cannot sign with a CA that is not valid before %s", ca.NotBefore.Format(time.RFC3339))
	case !now.Before(ca.NotAfter):
		return fmt.Errorf("cannot sign with a CA that was valid until %s: rotate the CA",
			ca.NotAfter.Format(time.RFC3339))
	}
	if t.NotBefore.Before(ca.NotBefore) {
		t.NotBefore = ca.NotBefore
	}
	if t.NotAfter.After(ca.NotAfter) {
		t.NotAfter = ca.NotAfter
	}
	return nil
}

func (c *Certificate) encode(der []byte, key crypto.Signer, issuer *Issuer) (Outputs, error) {
	private, err := keyInPEM(key, c.keyFormat)
	if err != nil {
		return nil, fmt.Errorf("cannot encode a private key: %w", err)
	}
	ca := der
	if issuer != nil {
		ca = issuer.cert.Raw
	}
	return Outputs{
		tlsCert: block(certificateBlock, der),
		tlsKey:  private,
		caCert:  block(certificateBlock, ca),
	}, nil
}

func newSerial(random io.Reader) *big.Int {
	b := make([]byte, serialBytes)
	_, _ = io.ReadFull(random, b) // neither source fails
	return new(big.Int).SetBytes(b)
}

// RenewAt returns the time when another generation must follow the one with these outputs: renewBefore the end of its
// validity. A certificate that ends together with its CA is only followed at its end, because until there is another CA
// the next certificate would end at the same time. Errors contain no part of the outputs.
func (c *Certificate) RenewAt(o Outputs) (time.Time, error) {
	cert, err := parseCertificate(o, tlsCert)
	if err != nil {
		return time.Time{}, err
	}
	if c.ca != "" {
		ca, err := parseCertificate(o, caCert)
		if err != nil {
			return time.Time{}, err
		}
		if !cert.NotAfter.Before(ca.NotAfter) {
			return cert.NotAfter, nil
		}
	}
	return cert.NotAfter.Add(-c.renewBefore), nil
}

// EndsAt returns the end of the validity of a certificate, or zero if the outputs have none.
func (c *Certificate) EndsAt(o Outputs) time.Time {
	cert, err := parseCertificate(o, tlsCert)
	if err != nil {
		return time.Time{}
	}
	return cert.NotAfter
}

// An Issuer is a CA's certificate and key. It is immutable, and safe for concurrent use.
type Issuer struct {
	cert *x509.Certificate
	key  func() crypto.Signer // a function, because fmt would print a key in a field
}

var errNoKey = errors.New(tlsKey + " is not a private key in PEM that can sign")

// ParseIssuer reads a CA from the outputs of one of its generations, which may have been changed. It does not check the
// validity. Errors contain no part of the outputs.
func ParseIssuer(o Outputs) (*Issuer, error) {
	cert, err := parseCertificate(o, tlsCert)
	if err != nil {
		return nil, err
	}
	if !cert.IsCA || cert.KeyUsage&x509.KeyUsageCertSign == 0 {
		return nil, errors.New(tlsCert + " is not the certificate of a CA")
	}
	key := parseKeyBlock(onlyBlock(o[tlsKey].Reveal()))
	switch {
	case key == nil:
		return nil, errNoKey
	case !isKeyOf(key, cert.PublicKey):
		return nil, errors.New(tlsKey + " is not the key of " + tlsCert)
	}
	return &Issuer{cert: cert, key: func() crypto.Signer { return key }}, nil
}

// IssuedBy reports whether the issuer signed the certificate in o. It returns false if the CA has another generation or
// the outputs have no certificate.
func (c *Certificate) IssuedBy(o Outputs, issuer *Issuer) bool {
	cert, err := parseCertificate(o, tlsCert)
	return err == nil && bytes.Equal(cert.RawIssuer, issuer.cert.RawSubject) && cert.CheckSignatureFrom(issuer.cert) == nil
}

func parseCertificate(o Outputs, key string) (*x509.Certificate, error) {
	b := onlyBlock(o[key].Reveal())
	cert, err := x509.ParseCertificate(b.Bytes)
	if err != nil || b.Type != certificateBlock { // the error may contain a part of it
		return nil, fmt.Errorf("%s is not a certificate in PEM", key)
	}
	return cert, nil
}

// onlyBlock returns the only PEM block, or an empty block.
func onlyBlock(text []byte) *pem.Block {
	b, rest := pem.Decode(text)
	if b == nil || len(bytes.TrimSpace(rest)) > 0 {
		return &pem.Block{}
	}
	return b
}
