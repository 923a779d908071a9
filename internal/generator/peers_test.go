//go:build peers

// Tests that read what is generated back with OpenSSH, OpenSSL, Java and Apache. Not every machine has them, so
// these tests have a build tag instead of passing without them:
//
//	go test -tags peers ./internal/generator
package generator

import (
	"bytes"
	"encoding/pem"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/utils/ptr"

	"github.com/crossplane-contrib/function-export/input/v1beta1"
	"github.com/crossplane-contrib/function-export/internal/sensitive"
)

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
		t.Fatalf("cannot run %s: %v: install it as .ci/run does, or leave the tag peers out", name, err)
	}
	c := exec.Command(name, args...)
	c.Stdin = strings.NewReader(input)
	out, err := c.CombinedOutput()
	return string(out), err
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

func TestHashesByPeers(t *testing.T) {
	const password = "hunter2 \xc3\xa9"
	o, err := (&Htpasswd{cost: 5}).Make(ofMap(map[string]string{"admin": password, "zo\xc3\xab b": "other"}))
	if err != nil {
		t.Fatal(err)
	}
	file := written(t, o, auth)
	command(t, "htpasswd", "-vb", file, "admin", password)
	command(t, "htpasswd", "-vb", file, "zo\xc3\xab b", "other")
	refused(t, "htpasswd", "-vb", file, "admin", password+"x")
}

func TestKeystoresByKeytool(t *testing.T) {
	for name, newKey := range keyKinds {
		t.Run(name, func(t *testing.T) {
			f := newFamily(t, newKey)
			in := ofMap(with(f.source(t), "ca.crt", text(f.root, f.mid)))
			modes := []string{""} // each call starts Java, so that not all combinations are tried
			if name == "ecdsa" {
				modes = []string{"Modern2023", "LegacyDES", "LegacyRC2"}
			}
			for _, profile := range modes {
				o, err := pkcs12Of(t, &v1beta1.PKCS12Generator{Truststore: true, Profile: profile}).Make(in)
				if err != nil {
					t.Fatal(err)
				}
				keytoolReads(t, f, o, keystoreP12, truststoreP12, "1")
			}
			o, err := jks(t, &v1beta1.JKSGenerator{Truststore: true, Alias: "App"}).Make(in)
			if err != nil {
				t.Fatal(err)
			}
			keytoolReads(t, f, o, keystoreJKS, truststoreJKS, "app")
		})
	}
}

// keytoolReads checks that Java reads the chain and, by copying it into another keystore, the key.
func keytoolReads(t *testing.T, f family, o Outputs, store, trust, alias string) {
	t.Helper()
	path, password := written(t, o, store), string(o[keystorePassword].Reveal())
	list := command(t, "keytool", "-list", "-rfc", "-keystore", path, "-storepass", password)
	for _, want := range []string{"Alias name: " + alias, "Entry type: PrivateKeyEntry", "Certificate chain length: 3"} {
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
	command(t, "openssl", "pkcs12", "-in", copied, "-passin", "pass:changeit", "-nodes", "-nocerts", "-out", copied+".pem")
	public := command(t, "openssl", "pkey", "-in", copied+".pem", "-pubout")
	if !bytes.Equal(onlyBlock([]byte(public)).Bytes, f.leaf.cert.RawSubjectPublicKeyInfo) {
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

func TestPKCS12ByOpenSSL(t *testing.T) {
	for name, newKey := range keyKinds {
		for profile := range profiles {
			t.Run(name+profile, func(t *testing.T) {
				f := newFamily(t, newKey)
				o, err := pkcs12Of(t, &v1beta1.PKCS12Generator{Truststore: true, Profile: profile}).Make(ofMap(f.source(t)))
				if err != nil {
					t.Fatal(err)
				}
				pass := []string{"-passin", "pass:" + string(o[keystorePassword].Reveal()), "-nodes"}
				if strings.HasPrefix(profile, "Legacy") {
					pass = append(pass, "-legacy")
				}
				store, out := written(t, o, keystoreP12), filepath.Join(t.TempDir(), "out")
				command(t, "openssl", append([]string{"pkcs12", "-nocerts", "-in", store, "-out", out}, pass...)...)
				public := command(t, "openssl", "pkey", "-in", out, "-pubout")
				if !bytes.Equal(onlyBlock([]byte(public)).Bytes, f.leaf.cert.RawSubjectPublicKeyInfo) {
					t.Error("OpenSSL reads another key")
				}
			})
		}
	}
}

func TestKeyFormatsByOpenSSL(t *testing.T) {
	in := v1beta1.SSHKeyGenerator{Type: "rsa", Bits: ptr.To[uint64](2048), Format: "PKCS1"}
	o, err := sshKey(t, &in).Make(From{})
	if err != nil {
		t.Fatal(err)
	}
	path := written(t, o, privateKey)
	command(t, "openssl", "rsa", "-check", "-noout", "-in", path)
	if derived := command(t, "ssh-keygen", "-y", "-f", path); strings.TrimSpace(derived) != string(o[publicKey].Reveal()) {
		t.Error("OpenSSH reads another key")
	}
}
