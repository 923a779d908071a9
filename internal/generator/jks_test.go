package generator

import (
	"bytes"
	"crypto"
	"crypto/x509"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/pavlo-v-chernykh/keystore-go/v4"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/crossplane-contrib/function-export/input/v1beta1"
)

func jks(t testing.TB, in *v1beta1.JKSGenerator) *JKS {
	t.Helper()
	k, faults := CompileJKS(field.NewPath("jks"), in)
	if len(faults) > 0 {
		t.Fatal(faults.ToAggregate())
	}
	return k
}

func TestCompileJKSFaults(t *testing.T) {
	wrong := []string{"jks.alias: must be 1 to 64 letters, digits, '-', '_' and '.'"}
	cases := map[string]struct {
		reason, alias string
		want          []string
	}{
		"Default": {reason: "an alias is not required"},
		"All":     {reason: "all that is allowed", alias: "A-z_0.9"},
		"Full":    {reason: "the limit is allowed", alias: strings.Repeat("x", 64)},
		"Long":    {reason: "over the limit", alias: strings.Repeat("x", 65), want: wrong},
		"Space":   {reason: "it would be two words on a command line", alias: "a b", want: wrong},
		"Accent":  {reason: "Java has its own UTF-8", alias: "é", want: wrong},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			_, faults := CompileJKS(field.NewPath("jks"), &v1beta1.JKSGenerator{Alias: tc.alias})
			if diff := cmp.Diff(tc.want, faultTexts(faults)); diff != "" {
				t.Errorf("%s\n-want +got:\n%s", tc.reason, diff)
			}
		})
	}
}

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
			in := with(f.source(t), "ca.crt", text(f.root, f.mid, f.root))
			k := jks(t, &v1beta1.JKSGenerator{Alias: "App", Truststore: true})
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

func TestJKSWithoutTruststore(t *testing.T) {
	f := newFamily(t, ed25519Key)
	o, err := jks(t, &v1beta1.JKSGenerator{}).Make(ofMap(with(f.source(t), "ca.crt", "not read")))
	if err != nil {
		t.Fatal(err)
	}
	haveKeys(t, o, []string{"keystore.jks", "password"})
	jksIdentity(t, o, "certificate")
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

func BenchmarkJKSMake(b *testing.B) {
	f := newFamily(b, rsaKey(3072))
	k, from := jks(b, &v1beta1.JKSGenerator{Truststore: true}), f.source(b)
	for b.Loop() {
		if _, err := k.Make(ofMap(from)); err != nil {
			b.Fatal(err)
		}
	}
}
