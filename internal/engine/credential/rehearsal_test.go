package credential

import (
	"crypto/elliptic"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/crypto/bcrypt"
	"golang.org/x/crypto/ssh"
	"k8s.io/utils/ptr"

	"github.com/crossplane-contrib/function-export/input/v1beta1"
)

// Each kind makes the same outputs from the same source in a rehearsal, and other ones from another source. Outside of
// a rehearsal, keys and hashes never come from the source.
func TestRehearsals(t *testing.T) {
	root := mustMake(t, certificate(t, rootInput), noon, nil)
	server := newFamily(t, ed25519Key).source(t)
	cases := map[string]struct {
		kind Kind
		from From
	}{
		"Password":       {compiledPassword(t, `{}`), From{}},
		"UUID":           {NewUUID(), From{}},
		"SSHKey":         {sshKey(t, &v1beta1.SSHKeyGenerator{Comment: "a"}), From{}},
		"SSHKeyECDSA":    {sshKey(t, &v1beta1.SSHKeyGenerator{Type: "ecdsa"}), From{}},
		"SSHKeyRSA":      {sshKey(t, &v1beta1.SSHKeyGenerator{Type: "rsa", Bits: ptr.To[uint64](2048)}), From{}},
		"SSHKeyPKCS8":    {sshKey(t, &v1beta1.SSHKeyGenerator{Type: "ecdsa", Format: "PKCS8"}), From{}},
		"CA":             {certificate(t, rootInput).Kind, From{}},
		"Certificate":    {certificate(t, leafInput).Kind, From{Issuer: issuerOf(t, root)}},
		"CertificateRSA": {certificate(t, strings.Replace(rootInput, "{", "{keyType: rsa, ", 1)).Kind, From{}},
		"Bcrypt":         {cheapBcrypt, ofText("made-up")},
		"Htpasswd":       {cheapHtpasswd, ofMap(map[string]string{"ann": "made-up", "bob": "made-up"})},
		"PKCS12":         {NewPKCS12(&v1beta1.PKCS12Generator{}), ofMap(server)},
		"JKS":            {NewJKS(&v1beta1.JKSGenerator{}), ofMap(server)},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			tc.from.Now = noon
			outputs := func(random io.Reader) map[string]string {
				tc.from.Random = random
				o, err := tc.kind.Make(tc.from)
				if err != nil {
					t.Fatal(err)
				}
				return texts(Source{Map: o})
			}
			first := outputs(Seeded{seeded(1)})
			if diff := cmp.Diff(first, outputs(Seeded{seeded(1)})); diff != "" {
				t.Errorf("the same source makes other outputs:\n%s", diff)
			}
			if cmp.Equal(first, outputs(Seeded{seeded(2)})) {
				t.Error("another source makes the same outputs")
			}
			fromSource := map[string]bool{"Password": true, "UUID": true, "PKCS12": true, "JKS": true}
			if cmp.Equal(first, outputs(seeded(1))) != fromSource[name] {
				t.Error("keys and hashes come from the source outside of a rehearsal")
			}
		})
	}
}

// The outputs of a rehearsal are valid.
func TestRehearsedOutputsAreValid(t *testing.T) {
	if hash, err := seededBcrypt(seeded(1), []byte("made-up"), 4); err != nil ||
		bcrypt.CompareHashAndPassword(hash, []byte("made-up")) != nil {
		t.Errorf("the hash is not that of the password: %v", err)
	}
	for _, curve := range []elliptic.Curve{elliptic.P256(), elliptic.P384(), elliptic.P521()} {
		if _, err := ecdsaKey(curve)(seeded(1)); err != nil {
			t.Errorf("%s: %v", curve.Params().Name, err)
		}
	}
	key, err := rsaKey(2048)(seeded(1))
	if err != nil || key.(*rsa.PrivateKey).N.BitLen() != 2048 {
		t.Errorf("an RSA key of 2048 bits: %v", err)
	}
	o, err := sshKey(t, &v1beta1.SSHKeyGenerator{}).Make(From{Random: Seeded{seeded(1)}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := ssh.ParsePrivateKey(o[privateKey].Reveal()); err != nil {
		t.Errorf("OpenSSH cannot read the key: %v", err)
	}
	root := mustMake(t, certificate(t, rootInput), noon, nil)
	o, err = certificate(t, leafInput).Make(From{Random: Seeded{seeded(1)}, Now: noon, Issuer: issuerOf(t, root)})
	if err != nil {
		t.Fatal(err)
	}
	parsed := func(text []byte) *x509.Certificate {
		b, _ := pem.Decode(text)
		cert, err := x509.ParseCertificate(b.Bytes)
		if err != nil {
			t.Fatal(err)
		}
		return cert
	}
	if err := parsed(o[tlsCert].Reveal()).CheckSignatureFrom(parsed(o[caCert].Reveal())); err != nil {
		t.Errorf("the CA did not sign the certificate: %v", err)
	}
}
