//go:build peers

// Tests that read what is generated back with OpenSSH and OpenSSL. Not every machine
// has them, so these tests have a build tag instead of passing without them:
//
//	go test -tags peers ./internal/generator
package generator

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/crossplane-contrib/function-export/internal/sensitive"
)

// command runs a program, and returns what it printed.
func command(t *testing.T, name string, args ...string) string {
	t.Helper()
	if _, err := exec.LookPath(name); err != nil {
		t.Fatalf("cannot run %s: %v: install OpenSSH and OpenSSL, or leave the tag peers out", name, err)
	}
	out, err := exec.Command(name, args...).CombinedOutput()
	if err != nil {
		t.Fatalf("%s %s: %s\n%s", name, strings.Join(args, " "), err, out)
	}
	return string(out)
}

// written is the path of a file with one of the outputs.
func written(t *testing.T, o Outputs, key string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), key)
	if err := os.WriteFile(path, o[key].Reveal(), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestSSHKeyBySSHKeygen(t *testing.T) {
	for name, tc := range sshKinds {
		t.Run(name, func(t *testing.T) {
			o, err := sshKey(t, &tc.in).Make(From{})
			if err != nil {
				t.Fatal(err)
			}
			private, public := written(t, o, privateKey), written(t, o, publicKey)
			derived := command(t, "ssh-keygen", "-y", "-P", "", "-f", private)
			if diff := cmp.Diff(string(o[publicKey].Reveal())+"\n", derived); diff != "" {
				t.Errorf("public key -ours +ssh-keygen's:\n%s", diff)
			}
			if printed := strings.Fields(command(t, "ssh-keygen", "-l", "-f", public)); printed[0] != fmt.Sprint(tc.bits) || printed[len(printed)-1] != "("+tc.shown+")" {
				t.Errorf("ssh-keygen says %s", printed)
			}
		})
	}
}

func TestCertificateByOpenSSL(t *testing.T) {
	now := time.Now()
	for _, keyType := range []string{"ecdsa", "rsa", "ed25519"} {
		t.Run(keyType, func(t *testing.T) {
			root := mustMake(t, certificate(t, strings.Replace(rootInput, "{", "{keyType: "+keyType+", ", 1)), now, nil)
			old := mustMake(t, certificate(t, rootInput), now, nil) // of the same name
			leaf := mustMake(t, certificate(t, strings.Replace(leafInput, "{", "{keyType: "+keyType+", ", 1)), now, issuerOf(t, root))
			self := mustMake(t, certificate(t, strings.Replace(leafInput, "ca: root,", "keyType: "+keyType+",", 1)), now, nil)
			bundle := written(t, Outputs{"all": sensitive.New(append(bytes.Clone(old[tlsCert].Reveal()), root[tlsCert].Reveal()...))}, "all")
			for _, purpose := range []string{"sslserver", "sslclient"} {
				command(t, "openssl", "verify", "-x509_strict", "-purpose", purpose, "-verify_hostname", "a.shop.example", "-CAfile", bundle, written(t, leaf, tlsCert))
				command(t, "openssl", "verify", "-x509_strict", "-purpose", purpose, "-verify_ip", "10.0.0.1", "-CAfile", written(t, leaf, caCert), written(t, leaf, tlsCert))
				command(t, "openssl", "verify", "-purpose", purpose, "-CAfile", written(t, self, caCert), written(t, self, tlsCert))
			}
			for _, o := range []Outputs{root, leaf, self} {
				of := command(t, "openssl", "x509", "-noout", "-pubkey", "-in", written(t, o, tlsCert))
				if got := command(t, "openssl", "pkey", "-pubout", "-in", written(t, o, tlsKey)); got != of {
					t.Errorf("the key\n%sis not that of the certificate\n%s", got, of)
				}
				command(t, "openssl", "pkey", "-check", "-noout", "-in", written(t, o, tlsKey))
			}
			text := command(t, "openssl", "x509", "-noout", "-text", "-nameopt", "oneline", "-in", written(t, root, tlsCert)) // OpenSSL 3.2 has another default
			for _, want := range []string{"CA:TRUE, pathlen:0", "Certificate Sign, CRL Sign", "Issuer: O = Acme, CN = root"} {
				if !strings.Contains(text, want) {
					t.Errorf("openssl does not say %q of the CA:\n%s", want, text)
				}
			}
			text = command(t, "openssl", "x509", "-noout", "-text", "-in", written(t, leaf, tlsCert))
			for _, want := range []string{
				"CA:FALSE", "Digital Signature", "TLS Web Server Authentication, TLS Web Client Authentication", "Authority Key Identifier",
				"DNS:shop.example, DNS:*.shop.example, IP Address:10.0.0.1, IP Address:FD00:0:0:0:0:0:0:1, IP Address:10.0.0.2",
			} {
				if !strings.Contains(text, want) {
					t.Errorf("openssl does not say %q of the leaf:\n%s", want, text)
				}
			}
		})
	}
}
