package generator

import (
	"bytes"
	"crypto"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
)

// An Issuer is a CA's certificate and key. It is immutable, and safe for concurrent
// use.
type Issuer struct {
	cert *x509.Certificate

	// key stands behind a closure: a key in a field is one that fmt prints.
	key func() crypto.Signer
}

var errNoKey = fmt.Errorf("%s is no private key in PEM and PKCS #8", tlsKey)

// ParseIssuer reads a CA from the outputs of one of its generations, which may have
// been tampered with since. Its validity does not matter. An error holds nothing of the
// outputs.
func ParseIssuer(o Outputs) (*Issuer, error) {
	cert, err := parseCertificate(o, tlsCert)
	if err != nil {
		return nil, err
	}
	if !cert.IsCA || cert.KeyUsage&x509.KeyUsageCertSign == 0 {
		return nil, errors.New(tlsCert + " is no certificate of a CA")
	}
	der, ok := onlyBlock(o[tlsKey].Reveal(), privateKeyBlock)
	if !ok {
		return nil, errNoKey
	}
	parsed, err := x509.ParsePKCS8PrivateKey(der) // whose error may hold some of it
	if err != nil {
		return nil, errNoKey
	}
	key, ok := parsed.(crypto.Signer)
	if !ok {
		return nil, errors.New(tlsKey + " is a key that cannot sign")
	}
	public, ok := key.Public().(interface{ Equal(crypto.PublicKey) bool })
	if !ok || !public.Equal(cert.PublicKey) {
		return nil, errors.New(tlsKey + " is not the key of " + tlsCert)
	}
	return &Issuer{cert: cert, key: func() crypto.Signer { return key }}, nil
}

// IssuedBy reports whether the certificate in o was signed by the issuer. It is false
// once the CA has another generation, and for outputs without a certificate.
func (c *Certificate) IssuedBy(o Outputs, issuer *Issuer) bool {
	cert, err := parseCertificate(o, tlsCert)
	return err == nil && bytes.Equal(cert.RawIssuer, issuer.cert.RawSubject) && cert.CheckSignatureFrom(issuer.cert) == nil
}

func parseCertificate(o Outputs, key string) (*x509.Certificate, error) {
	if der, ok := onlyBlock(o[key].Reveal(), certificateBlock); ok {
		if cert, err := x509.ParseCertificate(der); err == nil { // whose error may hold some of it
			return cert, nil
		}
	}
	return nil, fmt.Errorf("%s is no certificate in PEM", key)
}

// onlyBlock is the content of the one PEM block there is.
func onlyBlock(text []byte, kind string) (der []byte, ok bool) {
	b, rest := pem.Decode(text)
	if b == nil || b.Type != kind || len(bytes.TrimSpace(rest)) > 0 {
		return nil, false
	}
	return b.Bytes, true
}
