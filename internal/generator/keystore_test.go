package generator

import (
	"bytes"
	"crypto"
	"crypto/ecdh"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"maps"
	"math/big"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/crossplane-contrib/function-export/internal/limits"
	pemtexts "github.com/crossplane-contrib/function-export/internal/pem"
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
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name}, NotBefore: noon.Add(-time.Hour), NotAfter: noon.Add(time.Hour),
		IsCA: name != "leaf", BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
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
	return map[string]string{"tls.crt": text(f.leaf, f.sub, f.mid), "tls.key": pkcs8Text(t, f.leaf.key), "ca.crt": text(f.root), "other": "ignored"}
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

func TestKeystoreSources(t *testing.T) {
	f := newFamily(t, ecdsaKey(elliptic.P384()))
	ec := f.leaf.key.(*ecdsa.PrivateKey)
	sec1, err := x509.MarshalECPrivateKey(ec)
	inSEC1 := keyText(t, "EC PRIVATE KEY", sec1, err)
	byRSA := newFamily(t, rsaKey(2048))
	pkcs1 := x509.MarshalPKCS1PrivateKey(byRSA.leaf.key.(*rsa.PrivateKey))
	in, chain := f.source(t), ders(f.leaf, f.sub, f.mid)
	cases := map[string]struct {
		reason string
		in     map[string]string
		want   [][]byte
	}{
		"Sorted":     {"as servers require it", in, chain},
		"Unsorted":   {"after the first certificate, the order is that of the signatures", with(in, "tls.crt", text(f.leaf, f.mid, f.sub)), chain},
		"Twice":      {"the same certificate again adds nothing", with(in, "tls.crt", text(f.leaf, f.mid, f.sub, f.mid, f.leaf)), chain},
		"WithRoot":   {"a root may be a part of the chain", with(in, "tls.crt", text(f.root, f.leaf, f.root, f.sub, f.mid)[len(text(f.root)):]), ders(f.leaf, f.sub, f.mid, f.root)},
		"Alone":      {"a chain is not required", with(in, "tls.crt", text(f.leaf)), ders(f.leaf)},
		"SelfSigned": {"it is its own CA", with(in, "tls.crt", text(f.root), "tls.key", pkcs8Text(t, f.root.key)), ders(f.root)},
		"SEC1":       {"as OpenSSL writes keys", with(in, "tls.key", inSEC1), chain},
		"Parameters": {"as OpenSSL also writes keys", with(in, "tls.key", "-----BEGIN EC PARAMETERS-----\nBgUrgQQAIg==\n-----END EC PARAMETERS-----\n"+inSEC1), chain},
		"PKCS1":      {"as older programs write keys", with(byRSA.source(t), "tls.key", keyText(t, "RSA PRIVATE KEY", pkcs1, nil)), ders(byRSA.leaf, byRSA.sub, byRSA.mid)},
		"Comments":   {"as openssl x509 -text writes it", with(in, "tls.crt", "Certificate:\n"+text(f.leaf)+"\nsub:\n"+text(f.sub, f.mid)+"# end"), chain},
		"LongestCA": {
			"the limit is allowed",
			with(in, "ca.crt", strings.Repeat("x", 256<<10-1-len(in["ca.crt"]))+"\n"+in["ca.crt"]), chain,
		},
		"LongestKey": {
			"the limit is allowed",
			with(in, "tls.key", strings.Repeat("x", 16<<10-1-len(in["tls.key"]))+"\n"+in["tls.key"]), chain,
		},
		"MostBlocks": {"the limit is allowed", with(in, "tls.crt", strings.Repeat(text(f.leaf), 16)), ders(f.leaf)},
		"LargestRSA": {"the limit is allowed", with(in, "ca.crt", text(largeRSA(t, f.root, 8192))), chain},
		"Windows":    {"lines end in several ways", with(in, "tls.crt", strings.ReplaceAll(text(f.leaf, f.sub, f.mid), "\n", "\r\n")), chain},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			k, err := newKeystore(ofMap(tc.in), true)
			if err != nil {
				t.Fatalf("%s: %v", tc.reason, err)
			}
			var got [][]byte
			for _, c := range k.chain {
				got = append(got, c.Raw)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s\nchain -want +got:\n%s", tc.reason, diff)
			}
			if !isKeyOf(k.key(), k.chain[0].PublicKey) {
				t.Errorf("%s: the key of another certificate", tc.reason)
			}
			if k.password.Len() != 32 {
				t.Errorf("a password of %d characters", k.password.Len())
			}
		})
	}
}

// largeRSA returns a certificate of an RSA key of a size. There is no private key.
func largeRSA(t testing.TB, issuer *signed, bits uint) *signed {
	t.Helper()
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: noon}
	n := new(big.Int).Add(new(big.Int).Lsh(big.NewInt(1), bits-1), big.NewInt(1))
	der, err := x509.CreateCertificate(rand.Reader, template, issuer.cert, &rsa.PublicKey{N: n, E: 65537}, issuer.key)
	if err != nil {
		t.Fatal(err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return &signed{cert: cert}
}

// padded returns a certificate that signed itself, of a name that others have, with an extension of a size.
func padded(t testing.TB, key crypto.Signer, size int) *signed {
	t.Helper()
	template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "same"}}
	template.ExtraExtensions = []pkix.Extension{{Id: []int{1, 2, 3}, Value: make([]byte, size)}}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return &signed{cert, key}
}

// ofOneName returns certificates of one name without key identifiers.
func ofOneName(t *testing.T, n int) string {
	t.Helper()
	var out bytes.Buffer
	for range n {
		out.WriteString(text(padded(t, newKey(t, ecdsaKey(elliptic.P256())), 0)))
	}
	return out.String()
}

func TestKeystoreSourceErrors(t *testing.T) {
	const canary = "aHVudGVyMmNhbmFyeQ=="
	f, other := newFamily(t, ecdsaKey(elliptic.P256())), newFamily(t, ecdsaKey(elliptic.P256()))
	in := f.source(t)
	exchange, err := ecdh.X25519().GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	// Two CAs of one name, and two names of one CA. The leaf does not say which key signed it.
	ca := sign(t, "same", newKey(t, ed25519Key), nil)
	sameName, sameKey := sign(t, "same", newKey(t, ed25519Key), nil), sign(t, "other", ca.key, nil)
	unidentified := *ca.cert
	unidentified.SubjectKeyId = nil
	leaf := sign(t, "leaf", f.leaf.key, &signed{&unidentified, ca.key})
	junk := "-----BEGIN CERTIFICATE-----\n" + canary + "\n-----END CERTIFICATE-----\n"
	const (
		oneKey   = "tls.key must have one private key in PEM: PKCS #8, PKCS #1 or SEC 1"
		onlyCert = "tls.crt must only have certificates in PEM"
		noPEM    = "tls.crt is not PEM, or a part of it is not: compare it with its origin"
		secret   = "tls.key is encrypted with a password: use a key that is not encrypted"
		otherKey = "tls.key is not the key of the first certificate in tls.crt: use the key and the certificate of the same generation, " +
			"and put the certificate of the server first"
		manySigners = "tls.crt has several certificates of one name, or very large keys: leave out what does not belong to the chain"
		noChain     = "tls.crt has a certificate that did not sign another certificate in it: leave it out"
	)
	cases := map[string]struct {
		reason string
		in     map[string]string
		want   string
	}{
		"Nothing": {"no map", nil, "the map of secretExpression has no tls.crt"},
		"NoKey":   {"half of it", with(in, "tls.key", ""), "the map of secretExpression has no tls.key"},
		"NoCA": {
			"a truststore without a certificate is useless", with(in, "ca.crt", ""),
			"the map of secretExpression has no ca.crt, which truststore requires",
		},
		"Text":   {"no PEM", with(in, "tls.crt", canary), noPEM},
		"DER":    {"another encoding", with(in, "tls.crt", string(f.leaf.cert.Raw)), noPEM},
		"Part":   {"a cut copy would be a shorter chain", with(in, "tls.crt", strings.TrimSuffix(in["tls.crt"], "E-----\n")), noPEM},
		"Broken": {"a broken block would be skipped", with(in, "tls.crt", strings.Replace(in["tls.crt"], "\nM", "\n!", 1)), noPEM},
		"Junk":   {"PEM of nothing", with(in, "tls.crt", in["tls.crt"]+junk), onlyCert},
		"TypeOfCert": {
			"PEM of another type",
			with(in, "tls.crt", strings.ReplaceAll(in["tls.crt"], "CERTIFICATE", "TRUSTED CERTIFICATE")), onlyCert,
		},
		"KeyInCert":   {"a key in a truststore would be shown", with(in, "tls.crt", in["tls.crt"]+in["tls.key"]), onlyCert},
		"KeyInCA":     {"a key in a truststore would be shown", with(in, "ca.crt", in["ca.crt"]+in["tls.key"]), "ca.crt must only have certificates in PEM"},
		"CAText":      {"no PEM", with(in, "ca.crt", canary), "ca.crt is not PEM, or a part of it is not: compare it with its origin"},
		"CertAsKey":   {"mixed up", with(in, "tls.key", in["tls.crt"]), oneKey},
		"TwoKeys":     {"which one would it be", with(in, "tls.key", in["tls.key"]+in["tls.key"]), oneKey},
		"KeyJunk":     {"PEM of nothing", with(in, "tls.key", strings.ReplaceAll(junk, "CERTIFICATE", "PRIVATE KEY")), oneKey},
		"Exchange":    {"a key that does not sign", with(in, "tls.key", pkcs8Text(t, exchange)), oneKey},
		"Encrypted":   {"its password is not known", with(in, "tls.key", strings.ReplaceAll(junk, "CERTIFICATE", "ENCRYPTED PRIVATE KEY")), secret},
		"EncryptedV1": {"the way of SSLeay", with(in, "tls.key", "-----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,00\n\n"+canary+"\n-----END RSA PRIVATE KEY-----\n"), secret},
		"OtherKey":    {"two generations are never mixed", with(in, "tls.key", pkcs8Text(t, other.leaf.key)), otherKey},
		"OtherCert":   {"two generations are never mixed", with(in, "tls.crt", text(other.leaf, f.sub, f.mid)), otherKey},
		"Reversed":    {"the first one is the server's", with(in, "tls.crt", text(f.mid, f.sub, f.leaf)), otherKey},
		"Gap":         {"no reader would find the way", with(in, "tls.crt", text(f.leaf, f.mid)), noChain},
		"Stranger":    {"of the same name, by another key", with(in, "tls.crt", text(f.leaf, other.sub, f.mid)), noChain},
		"SameName":    {"it has the name of the one that signed", with(in, "tls.crt", text(leaf, sameName, ca)), noChain},
		"SameKey":     {"it has the key of the one that signed", with(in, "tls.crt", text(leaf, sameKey, ca)), noChain},
		"Children":    {"a CA does not need what it signed", with(in, "tls.crt", text(f.sub, f.mid, f.leaf), "tls.key", pkcs8Text(t, f.sub.key)), noChain},
		"Same":        {"each may have signed each", with(in, "tls.crt", in["tls.crt"]+ofOneName(t, 12)), manySigners},
		"Large":       {"more than any bundle", with(in, "ca.crt", strings.Repeat("x", 256<<10)+text(f.root)), "ca.crt has more than 262144 bytes"},
		"LargeKey":    {"more than any key", with(in, "tls.key", strings.Repeat("x", 16<<10)+in["tls.key"]), "tls.key has more than 16384 bytes"},
		"LargeRSA": {
			"each check of a signature would take long", with(in, "tls.crt", text(largeRSA(t, f.root, 8193))),
			"tls.crt has an RSA key of more than 8192 bits",
		},
		"LongChain": {
			"each signature may be checked with each key", with(in, "tls.crt", strings.Repeat(text(f.leaf), 17)),
			"tls.crt has more than 16 blocks of PEM",
		},
		"Many": {
			"more than any bundle",
			with(in, "ca.crt", strings.Repeat("-----BEGIN CERTIFICATE-----\n-----END CERTIFICATE-----\n", 257)),
			"ca.crt has more than 256 blocks of PEM",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Log(tc.reason)
			fails(t, &PKCS12{encoder: profiles[""], truststore: true}, ofMap(tc.in), tc.want)
			fails(t, &JKS{alias: defaultAlias, truststore: true}, ofMap(tc.in), tc.want)
		})
	}
	for name, k := range map[string]Kind{
		"pkcs12": &PKCS12{encoder: profiles[""], truststore: true}, "jks": &JKS{alias: defaultAlias, truststore: true},
		"pkcs12 without a truststore": &PKCS12{encoder: profiles[""]},
	} {
		for n := range int64(200) {
			from, random := ofMap(in), &failing{after: n}
			from.Random = random
			o, err := k.Make(from)
			if (err != nil) != (random.after < 0) {
				t.Fatalf("%s after %d bytes: error %v, %d bytes left", name, n, err, random.after)
			}
			if err != nil && (o != nil || !strings.Contains(err.Error(), "cannot read randomness: no entropy")) {
				t.Fatalf("%s after %d bytes: %v, %v", name, n, o, err)
			}
		}
	}
}

// A source whose signatures take as long as allowed is read further: it has no key.
func TestKeystoreWorkAtTheLimit(t *testing.T) {
	var certs []*signed
	issuers := []keyFunc{
		ecdsaKey(elliptic.P521()), ecdsaKey(elliptic.P384()), ecdsaKey(elliptic.P384()), ecdsaKey(elliptic.P256()), ed25519Key, ed25519Key,
	}
	for _, of := range issuers {
		certs = append(certs, padded(t, newKey(t, of), 0))
	}
	missing := limits.KeystoreWork - pemtexts.Work(text(certs...))
	pairs := int64(len(certs) - 1)                    // in which one certificate is checked
	for size := int(missing / pairs * 64); ; size-- { // a check reads 64 bytes in a microsecond
		certs[0] = padded(t, certs[0].key, size)
		if pemtexts.Work(text(certs...)) <= limits.KeystoreWork {
			break
		}
	}
	if got := pemtexts.Work(text(certs...)); got != limits.KeystoreWork {
		t.Fatalf("the work is %d, want %d", got, limits.KeystoreWork)
	}
	_, err := parseIdentity(ofMap(map[string]string{"tls.crt": text(certs...)}).Source.Map)
	if want := "the map of secretExpression has no tls.key"; err == nil || err.Error() != want {
		t.Errorf("the error is %v, want %s", err, want)
	}
}

func TestKeystorePasswords(t *testing.T) {
	in := ofMap(newFamily(t, ed25519Key).source(t))
	in.Random = always(0)
	k, err := newKeystore(in, false)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(strings.Repeat("a", 32), string(k.password.Reveal())); diff != "" {
		t.Errorf("each character is drawn from all of them: -want, +got:\n%s", diff)
	}
	in.Random = &failing{}
	if _, err := newKeystore(in, false); err == nil || err.Error() != "cannot read randomness: no entropy" {
		t.Errorf("without randomness, the error is %v", err)
	}
}

// A source of randomness may return less than was asked for. The rest of a salt must not stay zero.
func TestKeystoresReadWholeSalts(t *testing.T) {
	in := ofMap(newFamily(t, ed25519Key).source(t))
	for name, k := range map[string]Kind{"pkcs12": &PKCS12{encoder: profiles[""]}, "jks": &JKS{alias: defaultAlias}} {
		in.Random = seeded(1)
		want, err := k.Make(in)
		if err != nil {
			t.Fatal(err)
		}
		in.Random = iotest.OneByteReader(seeded(1))
		got, err := k.Make(in)
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Errorf("%s: %v, whole reads and parts:\n%s", name, err, diff)
		}
	}
}

func TestFullReader(t *testing.T) {
	b := make([]byte, 3)
	if n, err := (fullReader{iotest.OneByteReader(strings.NewReader("abc"))}).Read(b); n != 3 || err != nil || string(b) != "abc" {
		t.Errorf("read %d bytes: %q, %v", n, b, err)
	}
	if n, err := (fullReader{strings.NewReader("ab")}).Read(b); n != 0 || err == nil {
		t.Errorf("read %d bytes, which are fewer than requested, with error %v", n, err)
	}
}

// failing returns zeros, one at a time, and then an error.
type failing struct{ after int64 }

func (r *failing) Read(b []byte) (int, error) {
	if r.after--; r.after < 0 {
		return iotest.ErrReader(errors.New("no entropy")).Read(b)
	}
	b[0] = byte(r.after)
	return 1, nil
}

func TestKeystoreDoesNotPrintItsKey(t *testing.T) {
	f := newFamily(t, ecdsaKey(elliptic.P256()))
	id, err := parseIdentity(ofMap(f.source(t)).Source.Map)
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
