package credential

import (
	"bytes"
	"cmp"
	"crypto"
	"crypto/tls"
	"crypto/x509"
	stdpem "encoding/pem"
	"errors"
	"fmt"

	"github.com/pavlo-v-chernykh/keystore-go/v4"
	"software.sslmate.com/src/go-pkcs12"

	"github.com/crossplane-contrib/function-export/input/v1beta1"
	"github.com/crossplane-contrib/function-export/internal/engine/limits"
	"github.com/crossplane-contrib/function-export/internal/engine/pem"
	"github.com/crossplane-contrib/function-export/internal/engine/sensitive"
)

// The outputs of a keystore: keystore and truststore have an extension, and the password opens both. The names are
// cert-manager's.
const (
	keystoreOutput   = "keystore."
	truststoreOutput = "truststore."
	keystorePassword = "password"

	p12Extension = "p12"
	jksExtension = "jks"
)

// passwordLength is the length of the password of a keystore. 32 letters and digits have 190 bits, because the formats
// hash a password too few times to protect a weak one.
const passwordLength = 32

// defaultAlias of the key in a JKS is cert-manager's.
const defaultAlias = "certificate"

// profiles of a PKCS12 are cert-manager's.
var profiles = map[string]*pkcs12.Encoder{
	"": pkcs12.Modern2023, "Modern2023": pkcs12.Modern2023, "LegacyDES": pkcs12.LegacyDES,
	"LegacyRC2": pkcs12.LegacyRC2,
}

// The errors of a source contain no part of it.
var (
	errNotItsKey = errors.New(tlsKey + " is not the key of the certificate in " + tlsCert + ", or is encrypted with " +
		"a password: use the key and the certificate of the same generation")
)

// A Keystore writes keystores in one format. It is immutable, and safe for concurrent use.
type Keystore struct {
	extension  string
	truststore bool
	encode     func(From, *keystoreContent) ([]byte, error) // the key and its chain
	encodeCAs  func(From, *keystoreContent) ([]byte, error)
}

// NewPKCS12 compiles a section of the input, except for its expression.
func NewPKCS12(in *v1beta1.PKCS12Generator) *Keystore {
	profile := profiles[in.Profile]
	return &Keystore{
		extension: p12Extension, truststore: in.Truststore,
		encode: func(from From, k *keystoreContent) ([]byte, error) {
			encoder := profile.WithRand(from.Random)
			return encoder.Encode(k.key(), k.chain[0], k.chain[1:], string(k.password.Reveal()))
		},
		encodeCAs: func(from From, k *keystoreContent) ([]byte, error) {
			entries := make([]pkcs12.TrustStoreEntry, 0, len(k.cas))
			for i, ca := range k.cas {
				entries = append(entries, pkcs12.TrustStoreEntry{Cert: ca, FriendlyName: caAlias(i)})
			}
			return profile.WithRand(from.Random).EncodeTrustStoreEntries(entries, string(k.password.Reveal()))
		},
	}
}

// NewJKS compiles a section of the input, except for its expression. The password of the key is that of the keystore.
func NewJKS(in *v1beta1.JKSGenerator) *Keystore {
	alias := cmp.Or(in.Alias, defaultAlias)
	encode := func(from From, k *keystoreContent, fill func(keystore.KeyStore) error) ([]byte, error) {
		store := keystore.New(keystore.WithOrderedAliases(), keystore.WithCustomRandomNumberGenerator(from.Random))
		if err := fill(store); err != nil {
			return nil, err
		}
		var out bytes.Buffer
		err := store.Store(&out, k.password.Reveal())
		return out.Bytes(), err
	}
	certificate := func(c *x509.Certificate) keystore.Certificate {
		return keystore.Certificate{Type: "X509", Content: c.Raw}
	}
	return &Keystore{
		extension: jksExtension, truststore: in.Truststore,
		encode: func(from From, k *keystoreContent) ([]byte, error) {
			return encode(from, k, func(store keystore.KeyStore) error {
				key, err := x509.MarshalPKCS8PrivateKey(k.key())
				if err != nil {
					return err
				}
				entry := keystore.PrivateKeyEntry{CreationTime: from.Now, PrivateKey: key}
				for _, cert := range k.chain {
					entry.CertificateChain = append(entry.CertificateChain, certificate(cert))
				}
				return store.SetPrivateKeyEntry(alias, entry, k.password.Reveal())
			})
		},
		encodeCAs: func(from From, k *keystoreContent) ([]byte, error) {
			return encode(from, k, func(store keystore.KeyStore) error {
				for i, ca := range k.cas {
					entry := keystore.TrustedCertificateEntry{CreationTime: from.Now, Certificate: certificate(ca)}
					if err := store.SetTrustedCertificateEntry(caAlias(i), entry); err != nil {
						return err
					}
				}
				return nil
			})
		},
	}
}

// caAlias returns the name of the i-th certificate of a truststore. Two generations of a CA have the same subject, so
// that a subject is not a name.
func caAlias(i int) string { return fmt.Sprintf("ca-%d", i+1) }

// Keys are the names of the outputs.
func (s *Keystore) Keys() []string {
	if s.truststore {
		return []string{keystoreOutput + s.extension, truststoreOutput + s.extension, keystorePassword}
	}
	return []string{keystoreOutput + s.extension, keystorePassword}
}

// reads returns the keys of a source that a keystore reads.
func (s *Keystore) reads() []string {
	if s.truststore {
		return []string{tlsCert, tlsKey, caCert}
	}
	return []string{tlsCert, tlsKey}
}

// Make writes a keystore with the key and its chain, and a truststore with the certificates of the CAs. The password
// and the salts are from Random.
func (s *Keystore) Make(from From) (Outputs, error) {
	k, err := newKeystore(from, s.truststore)
	if err != nil {
		return nil, err
	}
	out := Outputs{keystorePassword: k.password}
	store, err := s.encode(from, k)
	out[keystoreOutput+s.extension] = sensitive.New(store)
	if err == nil && s.truststore {
		store, err = s.encodeCAs(from, k)
		out[truststoreOutput+s.extension] = sensitive.New(store)
	}
	if err != nil {
		return nil, fmt.Errorf("cannot encode a keystore: %w", err)
	}
	return out, nil
}

// A keystoreContent is the content of a keystore and of its truststore.
type keystoreContent struct {
	key      func() crypto.PrivateKey // a function, because fmt would print a key in a field
	chain    []*x509.Certificate      // each one is signed by the next one
	cas      []*x509.Certificate      // nil without a truststore
	password sensitive.Bytes
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
