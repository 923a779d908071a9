package credential

import (
	"bytes"
	"cmp"
	"crypto"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"slices"

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

// errNotItsKey contains no part of a source.
var errNotItsKey = errors.New(tlsKey + " is not the key of the certificate in " + tlsCert + ", or is encrypted with " +
	"a password: use the key and the certificate of the same generation")

// NewPKCS12 compiles a section of the input, except for its expression.
func NewPKCS12(in *v1beta1.PKCS12Generator) Kind {
	return newKeystore(p12Extension, in.Truststore, func(k keystoreContent) ([]byte, error) {
		encoder, password := profiles[in.Profile].WithRand(k.from.Random), string(k.password.Reveal())
		if k.key != nil {
			return encoder.Encode(k.key(), k.chain[0], k.chain[1:], password)
		}
		entries := make([]pkcs12.TrustStoreEntry, 0, len(k.cas))
		for i, ca := range k.cas {
			entries = append(entries, pkcs12.TrustStoreEntry{Cert: ca, FriendlyName: caAlias(i)})
		}
		return encoder.EncodeTrustStoreEntries(entries, password)
	})
}

// NewJKS compiles a section of the input, except for its expression. The password of the key is that of the keystore.
func NewJKS(in *v1beta1.JKSGenerator) Kind {
	return newKeystore(jksExtension, in.Truststore, func(k keystoreContent) ([]byte, error) {
		store := keystore.New(keystore.WithOrderedAliases(), keystore.WithCustomRandomNumberGenerator(k.from.Random))
		certificate := func(c *x509.Certificate) keystore.Certificate {
			return keystore.Certificate{Type: "X509", Content: c.Raw}
		}
		if k.key != nil {
			key, err := x509.MarshalPKCS8PrivateKey(k.key())
			if err != nil {
				return nil, err
			}
			entry := keystore.PrivateKeyEntry{CreationTime: k.from.Now, PrivateKey: key}
			for _, cert := range k.chain {
				entry.CertificateChain = append(entry.CertificateChain, certificate(cert))
			}
			err = store.SetPrivateKeyEntry(cmp.Or(in.Alias, defaultAlias), entry, k.password.Reveal())
			if err != nil {
				return nil, err
			}
		}
		for i, ca := range k.cas {
			entry := keystore.TrustedCertificateEntry{CreationTime: k.from.Now, Certificate: certificate(ca)}
			if err := store.SetTrustedCertificateEntry(caAlias(i), entry); err != nil {
				return nil, err
			}
		}
		var out bytes.Buffer
		err := store.Store(&out, k.password.Reveal())
		return out.Bytes(), err
	})
}

// caAlias returns the name of the i-th certificate of a truststore. Two generations of a CA have the same subject, so
// that a subject is not a name.
func caAlias(i int) string { return fmt.Sprintf("ca-%d", i+1) }

// newKeystore writes a keystore with the key and its chain, and a truststore with the certificates of the CAs. The
// password and the salts are from Random.
func newKeystore(extension string, truststore bool, encode func(keystoreContent) ([]byte, error)) Kind {
	store, trust := keystoreOutput+extension, truststoreOutput+extension
	out := Kind{Keys: []string{store, keystorePassword}, Reads: []string{tlsCert, tlsKey}}
	if truststore {
		out.Keys, out.Reads = []string{store, trust, keystorePassword}, append(out.Reads, caCert)
	}
	out.Make = func(from From) (Outputs, error) {
		all, err := readKeystore(from, truststore)
		if err != nil {
			return nil, err
		}
		outputs, pair, cas := Outputs{keystorePassword: all.password}, *all, *all
		pair.cas, cas.key = nil, nil
		file, err := encode(pair)
		outputs[store] = sensitive.New(file)
		if err == nil && truststore {
			file, err = encode(cas)
			outputs[trust] = sensitive.New(file)
		}
		if err != nil {
			return nil, fmt.Errorf("cannot encode a keystore: %w", err)
		}
		return outputs, nil
	}
	return out
}

// A keystoreContent is the content of a keystore, or of its truststore.
type keystoreContent struct {
	from     From
	key      func() crypto.PrivateKey // a function, because fmt would print a key in a field; nil in a truststore
	chain    []*x509.Certificate      // each one is signed by the next one
	cas      []*x509.Certificate      // nil in a keystore
	password sensitive.Bytes
}

// readKeystore reads a source, and generates a password. It refuses a key that does not belong to the certificate.
func readKeystore(from From, truststore bool) (*keystoreContent, error) {
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
	out := &keystoreContent{from: from, key: func() crypto.PrivateKey { return pair.PrivateKey }}
	out.chain, _ = x509.ParseCertificates(slices.Concat(pair.Certificate...)) // they were parsed for the chain
	if truststore {
		if out.cas, err = readPEM(source, caCert, limits.SourceBytes, pem.Parsed); err != nil {
			return nil, err
		}
	}
	d := &dice{random: from.Random}
	out.password = sensitive.FromString(string(d.draw(newClass(lowerCase+upperCase+allDigits, passwordLength, true))))
	return out, d.err
}

// readPEM reads a key of the source.
func readPEM[T any](
	source map[string]sensitive.Bytes, name string, most int, read func(string) (T, error),
) (out T, err error) {
	text := source[name].Reveal()
	switch {
	case len(text) == 0:
		return out, fmt.Errorf("the map of secretExpression has no %s", name)
	case len(text) > most:
		return out, fmt.Errorf("%s has more than %d bytes", name, most)
	}
	if out, err = read(string(text)); err != nil {
		return out, fmt.Errorf("cannot read %s: %w", name, err)
	}
	return out, nil
}
