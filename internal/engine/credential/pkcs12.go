package credential

import (
	"fmt"

	"software.sslmate.com/src/go-pkcs12"

	"github.com/crossplane-contrib/function-export/input/v1beta1"
	"github.com/crossplane-contrib/function-export/internal/engine/sensitive"
)

// The outputs of a PKCS12, besides the password. The names are cert-manager's.
const (
	keystoreP12   = "keystore.p12"
	truststoreP12 = "truststore.p12"
)

// profiles are cert-manager's.
var profiles = map[string]*pkcs12.Encoder{
	"": pkcs12.Modern2023, "Modern2023": pkcs12.Modern2023, "LegacyDES": pkcs12.LegacyDES, "LegacyRC2": pkcs12.LegacyRC2,
}

// A PKCS12 writes keystores. It is immutable, and safe for concurrent use.
type PKCS12 struct {
	encoder    *pkcs12.Encoder
	truststore bool
}

// NewPKCS12 compiles a section of the input, except for its expression.
func NewPKCS12(in *v1beta1.PKCS12Generator) *PKCS12 {
	return &PKCS12{encoder: profiles[in.Profile], truststore: in.Truststore}
}

// Keys are the names of the outputs.
func (p *PKCS12) Keys() []string {
	if p.truststore {
		return []string{keystoreP12, truststoreP12, keystorePassword}
	}
	return []string{keystoreP12, keystorePassword}
}

func (p *PKCS12) reads() []string { return keystoreSource(p.truststore) }

// Make writes a keystore with the key and its chain, and a truststore with the certificates of the CAs. The password
// and the salts are from Random.
func (p *PKCS12) Make(from From) (Outputs, error) {
	k, err := newKeystore(from, p.truststore)
	if err != nil {
		return nil, err
	}
	encoder, password := p.encoder.WithRand(from.Random), string(k.password.Reveal())
	store, err := encoder.Encode(k.key(), k.chain[0], k.chain[1:], password)
	if err != nil {
		return nil, fmt.Errorf("cannot encode %s: %w", keystoreP12, err)
	}
	out := Outputs{keystoreP12: sensitive.New(store), keystorePassword: k.password}
	if !p.truststore {
		return out, nil
	}
	var entries []pkcs12.TrustStoreEntry
	for i, ca := range k.cas {
		entries = append(entries, pkcs12.TrustStoreEntry{Cert: ca, FriendlyName: caAlias(i)})
	}
	store, err = encoder.EncodeTrustStoreEntries(entries, password)
	if err != nil {
		return nil, fmt.Errorf("cannot encode %s: %w", truststoreP12, err)
	}
	out[truststoreP12] = sensitive.New(store)
	return out, nil
}
