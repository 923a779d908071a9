package credential

import (
	"bytes"
	"crypto"
	"crypto/x509"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/pavlo-v-chernykh/keystore-go/v4"

	"github.com/crossplane-contrib/function-export/input/v1beta1"
)

func loadJKS(t *testing.T, o Outputs, key string) keystore.KeyStore {
	t.Helper()
	store := keystore.New(keystore.WithOrderedAliases())
	if err := store.Load(bytes.NewReader(o[key].Reveal()), o[keystorePassword].Reveal()); err != nil {
		t.Fatal(err)
	}
	return store
}

// jksIdentity reads the key of an alias and its chain.
func jksIdentity(t *testing.T, o Outputs, alias string) (crypto.PrivateKey, []*x509.Certificate) {
	t.Helper()
	entry, err := loadJKS(t, o, keystoreJKS).GetPrivateKeyEntry(alias, o[keystorePassword].Reveal())
	if err != nil {
		t.Fatal(err)
	}
	if !entry.CreationTime.Equal(noon.Truncate(time.Millisecond)) {
		t.Errorf("created at %s, want %s to the millisecond", entry.CreationTime, noon)
	}
	key, err := x509.ParsePKCS8PrivateKey(entry.PrivateKey)
	if err != nil {
		t.Fatal(err)
	}
	var chain []*x509.Certificate
	for _, c := range entry.CertificateChain {
		cert, err := x509.ParseCertificate(c.Content)
		if err != nil || c.Type != "X509" {
			t.Fatal(c.Type, err)
		}
		chain = append(chain, cert)
	}
	return key, chain
}

func TestJKSMake(t *testing.T) {
	for name, newKey := range keyKinds {
		t.Run(name, func(t *testing.T) {
			f := newFamily(t, newKey)
			in := with(f.source(t), "ca.crt", text(f.root, f.mid))
			k := NewJKS(&v1beta1.JKSGenerator{Alias: "App", Truststore: true})
			o, err := k.Make(ofMap(in))
			if err != nil {
				t.Fatal(err)
			}
			haveKeys(t, o, k.Keys())
			key, chain := jksIdentity(t, o, "app")
			sameChain(t, ders(f.leaf, f.sub, f.mid), chain)
			if !f.leaf.key.(interface {
				Equal(x crypto.PrivateKey) bool
			}).Equal(key) {
				t.Error("another key")
			}
			trust := loadJKS(t, o, truststoreJKS)
			if diff := cmp.Diff([]string{"ca-1", "ca-2"}, trust.Aliases()); diff != "" {
				t.Errorf("aliases -want +got:\n%s", diff)
			}
			for alias, want := range map[string]*signed{"ca-1": f.root, "ca-2": f.mid} {
				got, err := trust.GetTrustedCertificateEntry(alias)
				if err != nil || !bytes.Equal(got.Certificate.Content, want.cert.Raw) || !got.CreationTime.Equal(noon.Truncate(time.Millisecond)) {
					t.Errorf("%s is another certificate, or of another time: %v", alias, err)
				}
			}
			again, err := k.Make(ofMap(in))
			if diff := cmp.Diff(o, again); err != nil || diff != "" {
				t.Errorf("the same randomness and time make another keystore, or %v:\n%s", err, diff)
			}
		})
	}
}

// A keystore has the key of the source, its certificate first, and the chain.
func FuzzJKSRoundTrips(f *testing.F) {
	fuzzIdentities(f, func(t *testing.T, from From) (crypto.PrivateKey, []*x509.Certificate, error) {
		o, err := (&JKS{alias: defaultAlias}).Make(from)
		if err != nil {
			return nil, nil, err
		}
		key, chain := jksIdentity(t, o, defaultAlias)
		return key, chain, nil
	})
}
