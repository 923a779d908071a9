// Package peers reads what is generated with the programs that will read it: OpenSSH, OpenSSL, Java, Apache, and
// shells. .ci/run installs them.
package peers

import (
	"bytes"
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/yaml"

	"github.com/crossplane-contrib/function-export/input/v1beta1"
	"github.com/crossplane-contrib/function-export/internal/engine/credential"
	"github.com/crossplane-contrib/function-export/internal/engine/sensitive"
)

// The outputs of generators, and the inputs of certificates.
const (
	privateKey, publicKey      = "privateKey", "publicKey"
	tlsCert, tlsKey, caCert    = "tls.crt", "tls.key", "ca.crt"
	keystoreP12, truststoreP12 = "keystore.p12", "truststore.p12"
	keystoreJKS, truststoreJKS = "keystore.jks", "truststore.jks"
	keystorePassword           = "password"

	rootInput = `{isCA: true, subject: {commonName: root, organizations: [Acme]}}`
	leafInput = `{ca: root, subject: {commonName: shop}, dnsNames: [shop.example, "*.shop.example"], ` +
		`ipAddresses: [10.0.0.1, "fd00::1", "::ffff:10.0.0.2"]}`
)

// A keyFunc makes a key of a type.
type keyFunc func() (crypto.Signer, error)

func ed25519Key() (crypto.Signer, error) {
	_, key, err := ed25519.GenerateKey(rand.Reader)
	return key, err
}

func ecdsaKey(curve elliptic.Curve) keyFunc {
	return func() (crypto.Signer, error) { return ecdsa.GenerateKey(curve, rand.Reader) }
}

// keyKinds are the types of keys that certificates have.
var keyKinds = map[string]keyFunc{
	"ecdsa": ecdsaKey(elliptic.P256()), "ed25519": ed25519Key,
	"rsa": func() (crypto.Signer, error) { return rsa.GenerateKey(rand.Reader, 2048) },
}

// made compiles a section of the input, and returns the outputs of one generation.
func made[In any](t *testing.T, compile func(*field.Path, *In) (credential.Kind, field.ErrorList), section string,
	from credential.From) credential.Outputs {
	t.Helper()
	var in In
	if err := yaml.UnmarshalStrict([]byte(section), &in); err != nil {
		t.Fatal(err)
	}
	kind, diagnostics := compile(field.NewPath("generator"), &in)
	if len(diagnostics) > 0 {
		t.Fatal(diagnostics.ToAggregate())
	}
	o, err := kind.Make(from)
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// without returns the compiler of a kind without rules of its own.
func without[In any](compile func(*In) credential.Kind) func(*field.Path, *In) (credential.Kind, field.ErrorList) {
	return func(_ *field.Path, in *In) (credential.Kind, field.ErrorList) { return compile(in), nil }
}

func certificate(at *field.Path, in *v1beta1.CertificateGenerator) (credential.Kind, field.ErrorList) {
	c, diagnostics := credential.CompileCertificate(at, in)
	return c.Kind, diagnostics
}

func ofMap(texts map[string]string) credential.From {
	out := credential.From{Random: rand.Reader, Source: credential.Source{Map: map[string]sensitive.Bytes{}}}
	for k, v := range texts {
		out.Source.Map[k] = sensitive.FromString(v)
	}
	return out
}

// command runs a program, and returns what it printed.
func command(t *testing.T, name string, args ...string) string {
	t.Helper()
	return commandWith(t, "", name, args...)
}

// commandWith also gives the program an input.
func commandWith(t *testing.T, input, name string, args ...string) string {
	t.Helper()
	out, err := run(t, input, name, args...)
	if err != nil {
		t.Fatalf("%s %s: %s\n%s", name, strings.Join(args, " "), err, out)
	}
	return out
}

// refused fails unless the program does.
func refused(t *testing.T, name string, args ...string) {
	t.Helper()
	if out, err := run(t, "", name, args...); err == nil {
		t.Errorf("%s %s accepts it:\n%s", name, strings.Join(args, " "), out)
	}
}

func run(t *testing.T, input, name string, args ...string) (string, error) {
	t.Helper()
	if _, err := exec.LookPath(name); err != nil {
		t.Fatalf("cannot run %s: %v: install it as .ci/run does", name, err)
	}
	c := exec.Command(name, args...)
	c.Stdin = strings.NewReader(input)
	out, err := c.CombinedOutput()
	return string(out), err
}

// written is the path of a file with one of the outputs.
func written(t *testing.T, o credential.Outputs, key string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), key)
	if err := os.WriteFile(path, o[key].Reveal(), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestSSHKeyBySSHKeygen(t *testing.T) {
	for section, want := range map[string]string{ // the number of bits, and the type, as ssh-keygen says them
		"{}": "256 (ED25519)", "{type: ed25519, comment: me@home}": "256 (ED25519)", "{type: rsa}": "3072 (RSA)",
		"{type: rsa, bits: 2048, comment: two words}": "2048 (RSA)", "{type: rsa, bits: 4096}": "4096 (RSA)",
		"{type: ecdsa}": "256 (ECDSA)", "{type: ecdsa, bits: 384, comment: ключ}": "384 (ECDSA)",
		"{type: ecdsa, bits: 521}": "521 (ECDSA)",
	} {
		t.Run(section, func(t *testing.T) {
			o := made(t, credential.CompileSSHKey, section, credential.From{Random: rand.Reader})
			private, public := written(t, o, privateKey), written(t, o, publicKey)
			derived := command(t, "ssh-keygen", "-y", "-P", "", "-f", private)
			if diff := cmp.Diff(string(o[publicKey].Reveal())+"\n", derived); diff != "" {
				t.Errorf("public key -ours +ssh-keygen's:\n%s", diff)
			}
			printed := strings.Fields(command(t, "ssh-keygen", "-l", "-f", public))
			if got := printed[0] + " " + printed[len(printed)-1]; got != want {
				t.Errorf("ssh-keygen says %s, want %s", got, want)
			}
		})
	}
}

func TestCertificateByOpenSSL(t *testing.T) {
	now := time.Now()
	for _, keyType := range []string{"ecdsa", "rsa", "ed25519"} {
		t.Run(keyType, func(t *testing.T) {
			of := func(section string, issuer *credential.Issuer) credential.Outputs {
				return made(t, certificate, section,
					credential.From{Random: rand.Reader, Now: now, Issuer: issuer})
			}
			root := of(strings.Replace(rootInput, "{", "{keyType: "+keyType+", ", 1), nil)
			old := of(rootInput, nil) // of the same name
			issuer, err := credential.ParseIssuer(root)
			if err != nil {
				t.Fatal(err)
			}
			leaf := of(strings.Replace(leafInput, "{", "{keyType: "+keyType+", ", 1), issuer)
			self := of(strings.Replace(leafInput, "ca: root,", "keyType: "+keyType+",", 1), nil)
			bundle := written(t, credential.Outputs{"all": sensitive.New(append(bytes.Clone(old[tlsCert].Reveal()),
				root[tlsCert].Reveal()...))}, "all")
			for _, purpose := range []string{"sslserver", "sslclient"} {
				command(t, "openssl", "verify", "-x509_strict", "-purpose", purpose, "-verify_hostname",
					"a.shop.example", "-CAfile", bundle, written(t, leaf, tlsCert))
				command(t, "openssl", "verify", "-x509_strict", "-purpose", purpose, "-verify_ip", "10.0.0.1",
					"-CAfile", written(t, leaf, caCert), written(t, leaf, tlsCert))
				command(t, "openssl", "verify", "-purpose", purpose, "-CAfile", written(t, self, caCert),
					written(t, self, tlsCert))
			}
			for _, o := range []credential.Outputs{root, leaf, self} {
				public := command(t, "openssl", "x509", "-noout", "-pubkey", "-in", written(t, o, tlsCert))
				if got := command(t, "openssl", "pkey", "-pubout", "-in", written(t, o, tlsKey)); got != public {
					t.Errorf("the key\n%sis not that of the certificate\n%s", got, public)
				}
				command(t, "openssl", "pkey", "-check", "-noout", "-in", written(t, o, tlsKey))
			}
			text := command(t, "openssl", "x509", "-noout", "-text", "-nameopt", "oneline", "-in",
				written(t, root, tlsCert)) // OpenSSL 3.2 has another default
			for _, want := range []string{"CA:TRUE, pathlen:0", "Certificate Sign, CRL Sign",
				"Issuer: O = Acme, CN = root"} {
				if !strings.Contains(text, want) {
					t.Errorf("openssl does not say %q of the CA:\n%s", want, text)
				}
			}
			text = command(t, "openssl", "x509", "-noout", "-text", "-in", written(t, leaf, tlsCert))
			for _, want := range []string{
				"CA:FALSE", "Digital Signature", "TLS Web Server Authentication, TLS Web Client Authentication",
				"Authority Key Identifier",
				"DNS:shop.example, DNS:*.shop.example, IP Address:10.0.0.1, IP Address:FD00:0:0:0:0:0:0:1, IP Address:10.0.0.2",
			} {
				if !strings.Contains(text, want) {
					t.Errorf("openssl does not say %q of the leaf:\n%s", want, text)
				}
			}
		})
	}
}

func TestHashesByPeers(t *testing.T) {
	const password = "hunter2 \xc3\xa9"
	const section = "{cost: 5, secretExpression: x}"
	o := made(t, without(credential.NewHtpasswd), section,
		ofMap(map[string]string{"admin": password, "zo\xc3\xab b": "other"}))
	file := written(t, o, "auth")
	command(t, "htpasswd", "-vb", file, "admin", password)
	command(t, "htpasswd", "-vb", file, "zo\xc3\xab b", "other")
	refused(t, "htpasswd", "-vb", file, "admin", password+"x")
}

func TestKeystoresByKeytool(t *testing.T) {
	for name, newKey := range keyKinds {
		t.Run(name, func(t *testing.T) {
			f := newFamily(t, newKey)
			more := f.source(t)
			more["ca.crt"] = text(f.root, f.mid)
			in := ofMap(more)
			modes := []string{""} // each call starts Java, so that not all combinations are tried
			if name == "ecdsa" {
				modes = []string{"Modern2023", "LegacyDES", "LegacyRC2"}
			}
			for _, profile := range modes {
				o := made(t, without(credential.NewPKCS12), keystoreSection(profile), in)
				keytoolReads(t, f, o, keystoreP12, truststoreP12, "1")
			}
			o := made(t, without(credential.NewJKS), "{truststore: true, alias: App, secretExpression: x}", in)
			keytoolReads(t, f, o, keystoreJKS, truststoreJKS, "app")
		})
	}
}

// keytoolReads checks that Java reads the chain and, by copying it into another keystore, the key.
func keytoolReads(t *testing.T, f family, o credential.Outputs, store, trust, alias string) {
	t.Helper()
	path, password := written(t, o, store), string(o[keystorePassword].Reveal())
	list := command(t, "keytool", "-list", "-rfc", "-keystore", path, "-storepass", password)
	for _, want := range []string{"Alias name: " + alias, "Entry type: PrivateKeyEntry",
		"Certificate chain length: 3"} {
		if !strings.Contains(list, want) {
			t.Errorf("keytool does not say %q of %s:\n%s", want, store, list)
		}
	}
	if diff := cmp.Diff(ders(f.leaf, f.sub, f.mid), blocks(list)); diff != "" {
		t.Errorf("chain of %s -ours +keytool's:\n%s", store, diff)
	}
	copied := filepath.Join(t.TempDir(), "copied.p12")
	command(t, "keytool", "-importkeystore", "-srckeystore", path, "-srcstorepass", password, "-srcalias", alias,
		"-destkeystore", copied, "-deststoretype", "PKCS12", "-deststorepass", "changeit")
	command(t, "openssl", "pkcs12", "-in", copied, "-passin", "pass:changeit", "-nodes", "-nocerts", "-out",
		copied+".pem")
	public := command(t, "openssl", "pkey", "-in", copied+".pem", "-pubout")
	if !bytes.Equal(blocks(public)[0], f.leaf.cert.RawSubjectPublicKeyInfo) {
		t.Errorf("Java reads another key from %s", store)
	}
	refused(t, "keytool", "-list", "-keystore", path, "-storepass", password+"x")

	list = command(t, "keytool", "-list", "-rfc", "-keystore", written(t, o, trust), "-storepass", password)
	first, second, _ := strings.Cut(list[strings.Index(list, "Alias name: "):], "Alias name: ca-2")
	if strings.Count(list, "trustedCertEntry") != 2 || !strings.HasPrefix(first, "Alias name: ca-1") {
		t.Errorf("keytool does not trust the two CAs of %s:\n%s", trust, list)
	}
	if diff := cmp.Diff(ders(f.root, f.mid), slices.Concat(blocks(first), blocks(second))); diff != "" {
		t.Errorf("certificates of %s -ours +keytool's:\n%s", trust, diff)
	}
}

// blocks returns the contents of all PEM blocks in a text.
func blocks(text string) [][]byte {
	var out [][]byte
	for b, rest := pem.Decode([]byte(text)); b != nil; b, rest = pem.Decode(rest) {
		out = append(out, b.Bytes)
	}
	return out
}

func TestKeyFormatsByOpenSSL(t *testing.T) {
	o := made(t, credential.CompileSSHKey, "{type: rsa, bits: 2048, format: PKCS1}",
		credential.From{Random: rand.Reader})
	path := written(t, o, privateKey)
	command(t, "openssl", "rsa", "-check", "-noout", "-in", path)
	if derived := command(t, "ssh-keygen", "-y", "-f",
		path); strings.TrimSpace(derived) != string(o[publicKey].Reveal()) {
		t.Error("OpenSSH reads another key")
	}
}

func keystoreSection(profile string) string {
	return fmt.Sprintf("{truststore: true, profile: %q, secretExpression: x}", profile)
}

// A signed certificate of a chain, and its key.
type signed struct {
	cert *x509.Certificate
	key  crypto.Signer
}

// sign returns a certificate that an issuer signed, or one that signed itself.
func sign(t testing.TB, name string, key crypto.Signer, issuer *signed) *signed {
	t.Helper()
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name}, NotBefore: time.Now().Add(-time.Hour),
		NotAfter: time.Now().Add(time.Hour),
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
	key, err := of()
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

func ders(certs ...*signed) [][]byte {
	var out [][]byte
	for _, c := range certs {
		out = append(out, c.cert.Raw)
	}
	return out
}
