package generator

import (
	"bytes"
	"crypto/elliptic"
	"strings"
	"testing"
	"testing/cryptotest"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/crypto/ssh"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	"github.com/crossplane-contrib/function-export/input/v1beta1"
)

const onlyRSA = "must not be PKCS1 for this type, because only RSA keys have that format: set type to rsa, or format to PKCS8"

func TestCompileKeyFormatFaults(t *testing.T) {
	for name, tc := range map[string]struct {
		reason string
		in     v1beta1.SSHKeyGenerator
		want   []string
	}{
		"Default": {reason: "a format is not required"},
		"OpenSSH": {reason: "the default, said aloud", in: v1beta1.SSHKeyGenerator{Format: "OpenSSH"}},
		"PKCS1":   {reason: "all RSA keys have it", in: v1beta1.SSHKeyGenerator{Type: "rsa", Format: "PKCS1"}},
		"PKCS8":   {reason: "all keys have it", in: v1beta1.SSHKeyGenerator{Format: "PKCS8"}},
		"Ed25519": {reason: "no such format", in: v1beta1.SSHKeyGenerator{Format: "PKCS1"}, want: []string{"sshKey.format: " + onlyRSA}},
		"ECDSA":   {reason: "no such format", in: v1beta1.SSHKeyGenerator{Type: "ecdsa", Format: "PKCS1"}, want: []string{"sshKey.format: " + onlyRSA}},
		"Case":    {reason: "one spelling", in: v1beta1.SSHKeyGenerator{Type: "rsa", Format: "pkcs1"}, want: []string{"sshKey.format: must be OpenSSH, PKCS1 or PKCS8"}},
	} {
		_, faults := CompileSSHKey(field.NewPath("sshKey"), &tc.in)
		if diff := cmp.Diff(tc.want, faultTexts(faults)); diff != "" {
			t.Errorf("%s: %s\n-want +got:\n%s", name, tc.reason, diff)
		}
	}
	for name, tc := range map[string]struct {
		reason string
		in     string
		want   []string
	}{
		"Default": {reason: "a format is not required", in: "{subject: {commonName: a}}"},
		"PKCS8":   {reason: "all keys have it", in: "{subject: {commonName: a}, keyFormat: PKCS8}"},
		"PKCS1":   {reason: "all RSA keys have it", in: "{subject: {commonName: a}, keyType: rsa, keyFormat: PKCS1}"},
		"Ed25519": {
			reason: "no such format", in: "{subject: {commonName: a}, keyType: ed25519, keyFormat: PKCS1}",
			want: []string{"certificate.keyFormat: must not be PKCS1 for this keyType, because only RSA keys have that format: set keyType to rsa, or leave keyFormat out"},
		},
		"OpenSSH": {reason: "not for TLS", in: "{subject: {commonName: a}, keyFormat: OpenSSH}", want: []string{"certificate.keyFormat: must be PKCS8 or PKCS1"}},
	} {
		_, faults := CompileCertificate(field.NewPath("certificate"), certificateInput(t, tc.in))
		if diff := cmp.Diff(tc.want, faultTexts(faults)); diff != "" {
			t.Errorf("%s: %s\n-want +got:\n%s", name, tc.reason, diff)
		}
	}
}

// The default is what it was before there were formats, to the byte.
func TestKeyFormatDefault(t *testing.T) {
	makes := func(format string) Outputs {
		cryptotest.SetGlobalRandom(t, 1)
		o, err := sshKey(t, &v1beta1.SSHKeyGenerator{Type: "ecdsa", Comment: "me", Format: format}).Make(From{})
		if err != nil {
			t.Fatal(err)
		}
		return o
	}
	if diff := cmp.Diff(makes(""), makes("OpenSSH")); diff != "" {
		t.Errorf("default and OpenSSH:\n%s", diff)
	}
	if b := onlyBlock(makes("")[privateKey].Reveal()); b.Type != "OPENSSH PRIVATE KEY" {
		t.Errorf("a block of type %s", b.Type)
	}
	key := newKey(t, ecdsaKey(elliptic.P256()))
	byDefault, err := keyInPEM(key, "")
	if err != nil || string(byDefault.Reveal()) != pkcs8Text(t, key) {
		t.Errorf("the key of a certificate is not in PKCS #8: %v", err)
	}
}

func TestSSHKeyFormats(t *testing.T) {
	for name, tc := range map[string]struct{ keyType, format, block string }{
		"RSA1": {"rsa", "PKCS1", "RSA PRIVATE KEY"}, "RSA8": {"rsa", "PKCS8", "PRIVATE KEY"},
		"ECDSA": {"ecdsa", "PKCS8", "PRIVATE KEY"}, "Ed25519": {"ed25519", "PKCS8", "PRIVATE KEY"},
	} {
		t.Run(name, func(t *testing.T) {
			in := v1beta1.SSHKeyGenerator{Type: tc.keyType, Format: tc.format, Comment: "me"}
			if tc.keyType == "rsa" {
				in.Bits = ptr.To[uint64](2048)
			}
			o, err := sshKey(t, &in).Make(From{})
			if err != nil {
				t.Fatal(err)
			}
			b := onlyBlock(o[privateKey].Reveal())
			if b.Type != tc.block {
				t.Errorf("a block of type %s, want %s", b.Type, tc.block)
			}
			public, err := ssh.NewPublicKey(parseKeyBlock(b).Public())
			if err != nil {
				t.Fatal(err)
			}
			line := string(bytes.TrimSpace(ssh.MarshalAuthorizedKey(public))) + " me"
			if diff := cmp.Diff(line, string(o[publicKey].Reveal())); diff != "" {
				t.Errorf("public key -want +got:\n%s", diff)
			}
		})
	}
}

func TestCertificateKeyFormat(t *testing.T) {
	root := mustMake(t, certificate(t, strings.Replace(rootInput, "{", "{keyType: rsa, keyFormat: PKCS1, ", 1)), noon, nil)
	if b := onlyBlock(root[tlsKey].Reveal()); b.Type != "RSA PRIVATE KEY" {
		t.Errorf("a block of type %s", b.Type)
	}
	leaf := mustMake(t, certificate(t, leafInput), noon, issuerOf(t, root)) // a CA in PKCS1 signs
	if !certificate(t, leafInput).IssuedBy(leaf, issuerOf(t, root)) {
		t.Error("the CA did not sign")
	}
	_, err := keyInPEM(newKey(t, ed25519Key), pkcs1Format)
	if err == nil || err.Error() != "only RSA keys have the format PKCS1" {
		t.Error(err)
	}
}
