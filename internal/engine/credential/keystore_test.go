package credential

import (
	"bytes"
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"io"
	"maps"
	"math/big"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"software.sslmate.com/src/go-pkcs12"

	"github.com/crossplane-contrib/function-export/input/v1beta1"
)

// A signed certificate of a chain, and its key.
type signed struct {
	cert *x509.Certificate
	key  crypto.Signer
}

// sign returns a certificate that an issuer signed, or one that signed itself.
func sign(t testing.TB, name string, key crypto.Signer, issuer *signed) *signed {
	t.Helper()
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name}, NotBefore: noon.Add(-time.Hour),
		NotAfter: noon.Add(time.Hour),
		IsCA:     name != "leaf", BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
	}
	if issuer == nil {
		issuer = &signed{template, key}
	}
	der, err := x509.CreateCertificate(rand.Reader, template, issuer.cert, key.Public(), issuer.key)
	if err != nil {
		t.Fatal(err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return &signed{cert, key}
}

func newKey(t testing.TB, of keyFunc) crypto.Signer {
	t.Helper()
	key, err := of(nil)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

// text of certificates in PEM.
func text(certs ...*signed) string {
	var out bytes.Buffer
	for _, c := range certs {
		_ = pem.Encode(&out, &pem.Block{Type: "CERTIFICATE", Bytes: c.cert.Raw})
	}
	return out.String()
}

func keyText(t testing.TB, kind string, der []byte, err error) string {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}))
}

func pkcs8Text(t testing.TB, key any) string {
	t.Helper()
	der, err := x509.MarshalPKCS8PrivateKey(key)
	return keyText(t, "PRIVATE KEY", der, err)
}

// A family of certificates: the leaf is signed by sub, sub by mid, and mid by root.
type family struct{ root, mid, sub, leaf *signed }

func newFamily(t testing.TB, leafKey keyFunc) family {
	t.Helper()
	f := family{root: sign(t, "root", newKey(t, ed25519Key), nil)}
	f.mid = sign(t, "mid", newKey(t, ecdsaKey(elliptic.P256())), f.root)
	f.sub = sign(t, "sub", newKey(t, ed25519Key), f.mid)
	f.leaf = sign(t, "leaf", newKey(t, leafKey), f.sub)
	return f
}

// source is a valid source of a keystore.
func (f family) source(t testing.TB) map[string]string {
	t.Helper()
	return map[string]string{"tls.crt": text(f.leaf, f.sub, f.mid), "tls.key": pkcs8Text(t, f.leaf.key),
		"ca.crt": text(f.root), "other": "ignored"}
}

// with returns a copy of a source with other keys. An empty text deletes the key.
func with(in map[string]string, keysAndTexts ...string) map[string]string {
	out := maps.Clone(in)
	for pair := range slices.Chunk(keysAndTexts, 2) {
		out[pair[0]] = pair[1]
		if pair[1] == "" {
			delete(out, pair[0])
		}
	}
	return out
}

func ders(certs ...*signed) [][]byte {
	var out [][]byte
	for _, c := range certs {
		out = append(out, c.cert.Raw)
	}
	return out
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

// TestPKCS12 reads both stores back. Other programs read them in the tests of the peers, and those of a JKS.
func TestPKCS12(t *testing.T) {
	for profile := range profiles {
		t.Run(profile, func(t *testing.T) {
			f := newFamily(t, ecdsaKey(elliptic.P256()))
			k := NewPKCS12(&v1beta1.PKCS12Generator{Profile: profile, Truststore: true})
			o, err := k.Make(ofMap(with(f.source(t), "ca.crt", text(f.root, f.mid))))
			if err != nil {
				t.Fatal(err)
			}
			haveKeys(t, o, k.Keys)
			password := string(o[keystorePassword].Reveal())
			key, leaf, rest, err := pkcs12.DecodeChain(o["keystore.p12"].Reveal(), password)
			if err != nil {
				t.Fatal(err)
			}
			sameChain(t, ders(f.leaf, f.sub, f.mid), append([]*x509.Certificate{leaf}, rest...))
			if !f.leaf.key.(*ecdsa.PrivateKey).Equal(key) {
				t.Error("another key")
			}
			trusted, err := pkcs12.DecodeTrustStore(o["truststore.p12"].Reveal(), password)
			if err != nil {
				t.Fatal(err)
			}
			sameChain(t, ders(f.root, f.mid), trusted)
		})
	}
}

func TestKeystoreSources(t *testing.T) {
	f := newFamily(t, ecdsaKey(elliptic.P384()))
	sec1, err := x509.MarshalECPrivateKey(f.leaf.key.(*ecdsa.PrivateKey))
	inSEC1 := keyText(t, "EC PRIVATE KEY", sec1, err)
	byRSA := newFamily(t, rsaKey(2048))
	pkcs1 := x509.MarshalPKCS1PrivateKey(byRSA.leaf.key.(*rsa.PrivateKey))
	in, chain := f.source(t), ders(f.leaf, f.sub, f.mid)
	cases := map[string]struct {
		reason string
		in     map[string]string
		want   [][]byte
	}{
		"Unsorted": {"the order of the signatures counts", with(in, "tls.crt", text(f.mid, f.sub, f.leaf, f.mid)),
			chain},
		"Parameters": {"as OpenSSL also writes keys", with(in, "tls.key",
			"-----BEGIN EC PARAMETERS-----\nBgUrgQQAIg==\n-----END EC PARAMETERS-----\n"+inSEC1), chain},
		"PKCS1": {"as older programs write keys", with(byRSA.source(t), "tls.key",
			keyText(t, "RSA PRIVATE KEY", pkcs1, nil)), ders(byRSA.leaf, byRSA.sub, byRSA.mid)},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			k, err := readKeystore(ofMap(tc.in), true)
			if err != nil {
				t.Fatalf("%s: %v", tc.reason, err)
			}
			sameChain(t, tc.want, k.chain)
			leaf := k.chain[0].PublicKey.(interface{ Equal(crypto.PublicKey) bool })
			if !leaf.Equal(k.key().(crypto.Signer).Public()) {
				t.Errorf("%s: the key of another certificate", tc.reason)
			}
			if k.password.Len() != 32 {
				t.Errorf("a password of %d characters", k.password.Len())
			}
		})
	}
}

func TestKeystoreSourceErrors(t *testing.T) {
	const canary = "aHVudGVyMmNhbmFyeQ=="
	f, other := newFamily(t, ecdsaKey(elliptic.P256())), newFamily(t, ecdsaKey(elliptic.P256()))
	in := f.source(t)
	junk := "-----BEGIN CERTIFICATE-----\n" + canary + "\n-----END CERTIFICATE-----\n"
	const (
		broken   = "cannot read tls.crt: a PEM block is incomplete or invalid"
		noKey    = "cannot read tls.key: the text has no private key"
		otherKey = "tls.key is not the key of the certificate in tls.crt, or is encrypted with a password: use the " +
			"key and the certificate of the same generation"
		noChain = "cannot read tls.crt: the certificates are not one chain: several sign no other one, or " +
			"some sign each other: remove what does not belong to it"
	)
	cases := map[string]struct {
		reason string
		in     map[string]string
		want   string
	}{
		"NoCA": {"a truststore without a certificate is useless", with(in, "ca.crt", ""),
			"the map of secretExpression has no ca.crt"},
		"Junk": {"PEM of nothing", with(in, "tls.crt", in["tls.crt"]+junk),
			"cannot read tls.crt: a certificate cannot be parsed"},
		"OtherKey": {"two generations are never mixed", with(in, "tls.key", pkcs8Text(t, other.leaf.key)), otherKey},
		"Large": {"more than any bundle", with(in, "ca.crt", strings.Repeat("x", 256<<10)+text(f.root)),
			"ca.crt has more than 262144 bytes"},
		"LargeKey": {"more than any key", with(in, "tls.key", strings.Repeat("x", 16<<10)+in["tls.key"]),
			"tls.key has more than 16384 bytes"},
	}
	kinds := []Kind{NewPKCS12(&v1beta1.PKCS12Generator{Truststore: true}),
		NewJKS(&v1beta1.JKSGenerator{Truststore: true})}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Log(tc.reason)
			for _, k := range kinds {
				fails(t, k, ofMap(tc.in), tc.want)
			}
		})
	}
	for _, k := range kinds {
		from := ofMap(in)
		from.Random = io.LimitReader(seeded(1), 31)
		fails(t, k, from, "cannot read randomness: EOF")
	}
}

func TestKeystoreDoesNotPrintItsKey(t *testing.T) {
	f := newFamily(t, ecdsaKey(elliptic.P256()))
	id, err := readKeystore(ofMap(f.source(t)), false)
	if err != nil {
		t.Fatal(err)
	}
	id.chain = nil
	secret := id.key().(*ecdsa.PrivateKey).D.String() //nolint:staticcheck // fmt prints it
	for _, verb := range []string{"%v", "%+v", "%#v"} {
		if strings.Contains(fmt.Sprintf(verb, id), secret) {
			t.Errorf("%s prints the key", verb)
		}
	}
}
