package credential

import (
	"bytes"
	"cmp"
	"crypto/x509"
	"fmt"

	"github.com/pavlo-v-chernykh/keystore-go/v4"

	"github.com/crossplane-contrib/function-export/input/v1beta1"
	"github.com/crossplane-contrib/function-export/internal/engine/sensitive"
)

// The outputs of a JKS, besides the password. The names are cert-manager's.
const (
	keystoreJKS   = "keystore.jks"
	truststoreJKS = "truststore.jks"
)

// defaultAlias is cert-manager's.
const defaultAlias = "certificate"

// x509Type is the only type of certificates of Java.
const x509Type = "X509"

// A JKS writes Java keystores. It is immutable, and safe for concurrent use.
type JKS struct {
	alias      string
	truststore bool
}

// NewJKS compiles a section of the input, except for its expression.
func NewJKS(in *v1beta1.JKSGenerator) *JKS {
	return &JKS{alias: cmp.Or(in.Alias, defaultAlias), truststore: in.Truststore}
}

// Keys are the names of the outputs.
func (j *JKS) Keys() []string {
	if j.truststore {
		return []string{keystoreJKS, truststoreJKS, keystorePassword}
	}
	return []string{keystoreJKS, keystorePassword}
}

func (j *JKS) reads() []string { return keystoreSource(j.truststore) }

// Make writes a keystore with the key and its chain, and a truststore with the certificates of the CAs. The password
// and the salts are from Random. The password of the key is that of the keystore.
func (j *JKS) Make(from From) (Outputs, error) {
	k, err := newKeystore(from, j.truststore)
	if err != nil {
		return nil, err
	}
	pkcs8, err := x509.MarshalPKCS8PrivateKey(k.key())
	if err != nil {
		return nil, fmt.Errorf("cannot encode a private key: %w", err)
	}
	store := newJKS(from)
	entry := keystore.PrivateKeyEntry{CreationTime: from.Now, PrivateKey: pkcs8}
	for _, cert := range k.chain {
		entry.CertificateChain = append(entry.CertificateChain, jksCertificate(cert))
	}
	if err := store.SetPrivateKeyEntry(j.alias, entry, k.password.Reveal()); err != nil {
		return nil, fmt.Errorf("cannot encode %s: %w", keystoreJKS, err)
	}
	out := Outputs{keystorePassword: k.password}
	if out[keystoreJKS], err = stored(store, k.password); err != nil || !j.truststore {
		return out, err
	}
	store = newJKS(from)
	for i, ca := range k.cas {
		entry := keystore.TrustedCertificateEntry{CreationTime: from.Now, Certificate: jksCertificate(ca)}
		if err := store.SetTrustedCertificateEntry(caAlias(i), entry); err != nil {
			return nil, fmt.Errorf("cannot encode %s: %w", truststoreJKS, err)
		}
	}
	out[truststoreJKS], err = stored(store, k.password)
	return out, err
}

func newJKS(from From) keystore.KeyStore {
	return keystore.New(keystore.WithOrderedAliases(), keystore.WithCustomRandomNumberGenerator(from.Random))
}

func jksCertificate(cert *x509.Certificate) keystore.Certificate {
	return keystore.Certificate{Type: x509Type, Content: cert.Raw}
}

func stored(store keystore.KeyStore, password sensitive.Bytes) (sensitive.Bytes, error) {
	var out bytes.Buffer
	if err := store.Store(&out, password.Reveal()); err != nil {
		return sensitive.Bytes{}, fmt.Errorf("cannot encode a keystore: %w", err)
	}
	return sensitive.New(out.Bytes()), nil
}
