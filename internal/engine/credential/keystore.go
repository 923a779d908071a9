package credential

import (
	"crypto"
	"crypto/tls"
	"crypto/x509"
	stdpem "encoding/pem"
	"errors"
	"fmt"

	"github.com/crossplane-contrib/function-export/internal/engine/limits"
	"github.com/crossplane-contrib/function-export/internal/engine/pem"
	"github.com/crossplane-contrib/function-export/internal/engine/sensitive"
)

// keystorePassword is the output with the password of a keystore and of its truststore.
const keystorePassword = "password"

// passwordLength is the length of the password of a keystore. 32 letters and digits have 190 bits, because the formats
// hash a password too few times to protect a weak one.
const passwordLength = 32

// The errors of a source contain no part of it.
var (
	errNotItsKey = errors.New(tlsKey + " is not the key of the certificate in " + tlsCert + ", or is encrypted with " +
		"a password: use the key and the certificate of the same generation")
)

// A keystoreContent is the content of a keystore and of its truststore.
type keystoreContent struct {
	key      func() crypto.PrivateKey // a function, because fmt would print a key in a field
	chain    []*x509.Certificate      // each one is signed by the next one
	cas      []*x509.Certificate      // nil without a truststore
	password sensitive.Bytes
}

// keystoreSource returns the keys of a source that a keystore reads.
func keystoreSource(truststore bool) []string {
	if truststore {
		return []string{tlsCert, tlsKey, caCert}
	}
	return []string{tlsCert, tlsKey}
}

// newKeystore reads a source, and generates a password. It refuses a key that does not belong to the certificate.
func newKeystore(from From, truststore bool) (*keystoreContent, error) {
	source := from.Source.Map
	chain, err := readPEM(source, tlsCert, limits.SourceBytes, pem.Chain)
	if err != nil {
		return nil, err
	}
	key, err := readPEM(source, tlsKey, limits.KeyBytes, pem.PrivateKey)
	if err != nil {
		return nil, err
	}
	pair, err := tls.X509KeyPair([]byte(chain), []byte(key))
	if err != nil { // it may contain a part of the key
		return nil, errNotItsKey
	}
	out := &keystoreContent{key: func() crypto.PrivateKey { return pair.PrivateKey }}
	if out.chain, err = parseCertificates(tlsCert, chain); err != nil {
		return nil, err
	}
	if truststore {
		cas, err := readPEM(source, caCert, limits.SourceBytes, pem.Certificates)
		if err != nil {
			return nil, err
		}
		if out.cas, err = parseCertificates(caCert, cas); err != nil {
			return nil, err
		}
	}
	d := &dice{random: from.Random}
	out.password = sensitive.FromString(string(d.draw(newClass(lowerCase+upperCase+allDigits, passwordLength, true))))
	return out, d.err
}

// readPEM reads a key of the source.
func readPEM(
	source map[string]sensitive.Bytes, name string, most int, read func(string) (string, error),
) (string, error) {
	text := source[name].Reveal()
	switch {
	case len(text) == 0:
		return "", fmt.Errorf("the map of secretExpression has no %s", name)
	case len(text) > most:
		return "", fmt.Errorf("%s has more than %d bytes", name, most)
	}
	out, err := read(string(text))
	if err != nil {
		return "", fmt.Errorf("cannot read %s: %w", name, err)
	}
	return out, nil
}

func parseCertificates(name, text string) (out []*x509.Certificate, err error) {
	for b, rest := stdpem.Decode([]byte(text)); b != nil; b, rest = stdpem.Decode(rest) {
		cert, err := x509.ParseCertificate(b.Bytes)
		if err != nil { // it may contain a part of it
			return nil, fmt.Errorf("%s has a certificate that cannot be parsed", name)
		}
		out = append(out, cert)
	}
	return out, nil
}

// caAlias returns the name of the i-th certificate of a truststore. Two generations of a CA have the same subject, so
// that a subject is not a name.
func caAlias(i int) string { return fmt.Sprintf("ca-%d", i+1) }
