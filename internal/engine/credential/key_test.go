package credential

import (
	"bytes"
	"encoding/pem"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/crypto/ssh"
	"k8s.io/utils/ptr"

	"github.com/crossplane-contrib/function-export/input/v1beta1"
)

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
			b, _ := pem.Decode(o[privateKey].Reveal())
			if b.Type != tc.block {
				t.Errorf("a block of type %s, want %s", b.Type, tc.block)
			}
			signer, err := ssh.ParsePrivateKey(o[privateKey].Reveal())
			if err != nil {
				t.Fatal(err)
			}
			line := string(bytes.TrimSpace(ssh.MarshalAuthorizedKey(signer.PublicKey()))) + " me"
			if diff := cmp.Diff(line, string(o[publicKey].Reveal())); diff != "" {
				t.Errorf("public key -want +got:\n%s", diff)
			}
		})
	}
}

func TestCertificateKeyFormat(t *testing.T) {
	root := mustMake(t, certificate(t, strings.Replace(rootInput, "{", "{keyType: rsa, keyFormat: PKCS1, ", 1)), noon, nil)
	if b, _ := pem.Decode(root[tlsKey].Reveal()); b.Type != "RSA PRIVATE KEY" {
		t.Errorf("a block of type %s", b.Type)
	}
	leaf := mustMake(t, certificate(t, leafInput), noon, issuerOf(t, root)) // a CA in PKCS1 signs
	if !certificate(t, leafInput).IssuedBy(leaf, issuerOf(t, root)) {
		t.Error("the CA did not sign")
	}
}
