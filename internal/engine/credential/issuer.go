package credential

import (
	"bytes"
	"crypto"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
)

// certificateBlock is the type of a PEM block.
const certificateBlock = "CERTIFICATE"

// The errors of ParseIssuer.
var (
	errNotPair = errors.New(tlsCert + " and " + tlsKey + " are not a certificate and its key in PEM")
	errNotCA   = errors.New(tlsCert + " is not the certificate of a CA")
)

// An Issuer is a CA's certificate and key. It is immutable, and safe for concurrent use.
type Issuer struct {
	cert *x509.Certificate
	key  func() crypto.Signer // a function, because fmt would print a key in a field
}

// ParseIssuer reads a CA from the outputs of one of its generations, which may have been changed. It does not check the
// validity. Errors contain no part of the outputs.
func ParseIssuer(o Outputs) (*Issuer, error) {
	pair, err := tls.X509KeyPair(o[tlsCert].Reveal(), o[tlsKey].Reveal()) // its error may contain a part of them
	key, ok := pair.PrivateKey.(crypto.Signer)
	switch {
	case err != nil || !ok:
		return nil, errNotPair
	case !pair.Leaf.IsCA || pair.Leaf.KeyUsage&x509.KeyUsageCertSign == 0:
		return nil, errNotCA
	}
	return &Issuer{cert: pair.Leaf, key: func() crypto.Signer { return key }}, nil
}

// IssuedBy reports whether the issuer signed the certificate in o. It returns false if the CA has another generation or
// the outputs have no certificate.
func (c *Certificate) IssuedBy(o Outputs, issuer *Issuer) bool {
	cert, err := parseCertificate(o, tlsCert)
	return err == nil && bytes.Equal(cert.RawIssuer, issuer.cert.RawSubject) && cert.CheckSignatureFrom(issuer.cert) == nil
}

func parseCertificate(o Outputs, key string) (*x509.Certificate, error) {
	if b, _ := pem.Decode(o[key].Reveal()); b != nil && b.Type == certificateBlock {
		if cert, err := x509.ParseCertificate(b.Bytes); err == nil { // the error may contain a part of it
			return cert, nil
		}
	}
	return nil, fmt.Errorf("%s is not a certificate in PEM", key)
}
