package credential

import (
	"bytes"
	"crypto"
	"crypto/elliptic"
	"crypto/x509"
	"testing"

	"github.com/google/go-cmp/cmp"
	"software.sslmate.com/src/go-pkcs12"

	"github.com/crossplane-contrib/function-export/input/v1beta1"
)

// keyKinds are the types of keys that certificates have.
var keyKinds = map[string]keyFunc{"ecdsa": ecdsaKey(elliptic.P256()), "rsa": rsaKey(2048), "ed25519": ed25519Key}

func TestPKCS12Make(t *testing.T) {
	for name, newKey := range keyKinds {
		for profile := range profiles {
			t.Run(name+profile, func(t *testing.T) {
				f := newFamily(t, newKey)
				checkPKCS12(t, NewPKCS12(&v1beta1.PKCS12Generator{Profile: profile, Truststore: true}), f, with(f.source(t), "ca.crt", text(f.root, f.mid)))
			})
		}
	}
}

// checkPKCS12 reads both stores back.
func checkPKCS12(t *testing.T, k *PKCS12, f family, in map[string]string) {
	t.Helper()
	o, err := k.Make(ofMap(in))
	if err != nil {
		t.Fatal(err)
	}
	haveKeys(t, o, k.Keys())
	password := string(o[keystorePassword].Reveal())
	key, leaf, rest, err := pkcs12.DecodeChain(o[keystoreP12].Reveal(), password)
	if err != nil {
		t.Fatal(err)
	}
	sameChain(t, ders(f.leaf, f.sub, f.mid), append([]*x509.Certificate{leaf}, rest...))
	if !f.leaf.key.(interface {
		Equal(x crypto.PrivateKey) bool
	}).Equal(key) {
		t.Error("another key")
	}
	trusted, err := pkcs12.DecodeTrustStore(o[truststoreP12].Reveal(), password)
	if err != nil {
		t.Fatal(err)
	}
	sameChain(t, ders(f.root, f.mid), trusted)
	// The library does not read names back.
	named, err := k.encoder.EncodeTrustStoreEntries([]pkcs12.TrustStoreEntry{
		{Cert: f.root.cert, FriendlyName: "ca-1"}, {Cert: f.mid.cert, FriendlyName: "ca-2"},
	}, password)
	if got := o[truststoreP12].Len(); err != nil || got != len(named) {
		t.Errorf("the truststore has %d bytes, want %d as with the names ca-1 and ca-2: %v", got, len(named), err)
	}
	again, err := k.Make(ofMap(in))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(o, again); diff != "" {
		t.Errorf("the same randomness makes another keystore:\n%s", diff)
	}
	other := ofMap(in)
	other.Random = seeded(2)
	if again, err = k.Make(other); err != nil || bytes.Equal(again[keystoreP12].Reveal(), o[keystoreP12].Reveal()) || again[keystorePassword].Equal(o[keystorePassword]) {
		t.Errorf("other randomness makes the same keystore, or %v", err)
	}
}

func sameChain(t *testing.T, want [][]byte, got []*x509.Certificate) {
	t.Helper()
	var raw [][]byte
	for _, c := range got {
		raw = append(raw, c.Raw)
	}
	if diff := cmp.Diff(want, raw); diff != "" {
		t.Errorf("certificates -want +got:\n%s", diff)
	}
}

// A keystore has the key of the source, its certificate first, and the chain.
func FuzzPKCS12RoundTrips(f *testing.F) {
	fuzzIdentities(f, func(t *testing.T, from From) (crypto.PrivateKey, []*x509.Certificate, error) {
		o, err := (&PKCS12{encoder: profiles[""]}).Make(from)
		if err != nil {
			return nil, nil, err
		}
		key, leaf, rest, err := pkcs12.DecodeChain(o[keystoreP12].Reveal(), string(o[keystorePassword].Reveal()))
		if err != nil {
			t.Fatal(err)
		}
		return key, append([]*x509.Certificate{leaf}, rest...), nil
	})
}

// fuzzIdentities changes a valid source, and compares what was read back with what the standard library reads.
func fuzzIdentities(f *testing.F, roundTrip func(*testing.T, From) (crypto.PrivateKey, []*x509.Certificate, error)) {
	f.Helper()
	of := newFamily(f, ed25519Key)
	in := of.source(f)
	f.Add(in["tls.crt"], in["tls.key"])
	f.Add(text(of.leaf, of.mid, of.sub), in["tls.key"])
	f.Add(text(of.leaf, of.leaf), "key\n"+in["tls.key"])
	f.Add(text(of.sub), in["tls.key"])
	f.Add("", "")
	f.Fuzz(func(t *testing.T, certs, key string) {
		source := map[string]string{"tls.crt": certs, "tls.key": key}
		got, chain, err := roundTrip(t, ofMap(source))
		if err != nil {
			return
		}
		signer, ok := got.(crypto.Signer)
		if !ok || !chain[0].PublicKey.(interface{ Equal(crypto.PublicKey) bool }).Equal(signer.Public()) {
			t.Error("the key is not that of the first certificate")
		}
		for i, c := range chain {
			if !bytes.Contains([]byte(certs), []byte("BEGIN CERTIFICATE")) || i > 0 && chain[i-1].CheckSignatureFrom(c) != nil {
				t.Errorf("certificate %d is not the next one of the chain", i)
			}
		}
	})
}
