package peers

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/crossplane-contrib/function-export/internal/engine/pem"
)

// openssl runs OpenSSL in a folder, and returns what it printed.
func openssl(t *testing.T, dir string, args ...string) string {
	t.Helper()
	cmd := exec.Command("openssl", args...)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("openssl %s: %s\n%s", strings.Join(args, " "), err, out)
	}
	return string(out)
}

// write writes the result of a function to a file.
func write(t *testing.T, dir, name string) func(string, error) string {
	return func(text string, err error) string {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return text
	}
}

// OpenSSL makes a root, an intermediate CA and a server certificate, and prints them as bundles with attributes.
func TestBundlesByOpenSSL(t *testing.T) {
	for _, key := range [][]string{{"rsa:2048"}, {"ec", "-pkeyopt", "ec_paramgen_curve:P-384"}, {"ed25519"}} {
		t.Run(key[0], func(t *testing.T) {
			dir := t.TempDir()
			request := func(name string, args ...string) {
				openssl(t, dir, append(append(append([]string{"req", "-x509", "-nodes", "-newkey"}, key...),
					"-subj", "/CN="+name, "-keyout", name+".key", "-out", name+".crt"), args...)...)
			}
			request("root")
			request("middle", "-CA", "root.crt", "-CAkey", "root.key")
			request("leaf", "-CA", "middle.crt", "-CAkey", "middle.key", "-addext",
				"basicConstraints=critical,CA:FALSE")
			read := func(name string) string {
				b, err := os.ReadFile(filepath.Join(dir, name))
				if err != nil {
					t.Fatal(err)
				}
				return string(b)
			}
			write(t, dir, "cas.crt")(read("root.crt")+read("middle.crt"), nil)
			openssl(t, dir, "pkcs12", "-export", "-inkey", "leaf.key", "-in", "leaf.crt", "-certfile", "cas.crt",
				"-name", "a", "-passout", "pass:a", "-out", "all.p12")
			bundle := openssl(t, dir, "pkcs12", "-in", "all.p12", "-passin", "pass:a", "-nodes")
			if !strings.Contains(bundle, "Bag Attributes") {
				t.Fatalf("the bundle has no attributes")
			}

			chain := write(t, dir, "chain.pem")(pem.Chain(bundle))
			write(t, dir, "leaf.pem")(pem.Leaf(bundle))
			write(t, dir, "ca.pem")(pem.CA(bundle))
			write(t, dir, "key.pem")(pem.PrivateKey(bundle))
			openssl(t, dir, "verify", "-CAfile", "ca.pem", "leaf.pem")
			openssl(t, dir, "verify", "-CAfile", "root.crt", "-untrusted", "chain.pem", "chain.pem")
			if diff := cmp.Diff(read("leaf.crt")+read("middle.crt")+read("root.crt"), chain); diff != "" {
				t.Errorf("the blocks are not as OpenSSL writes them: -openssl +ours:\n%s", diff)
			}
			if diff := cmp.Diff(openssl(t, dir, "x509", "-in", "leaf.crt", "-noout", "-pubkey"),
				openssl(t, dir, "pkey", "-in", "key.pem", "-pubout")); diff != "" {
				t.Errorf("the key does not belong to the leaf: -certificate +key:\n%s", diff)
			}

			openssl(t, dir, "crl2pkcs7", "-nocrl", "-certfile", "chain.pem", "-out", "chain.p7")
			printed := openssl(t, dir, "pkcs7", "-in", "chain.p7", "-print_certs")
			subjects := regexp.MustCompile(`subject=.*`).FindAllString(printed, -1)
			if diff := cmp.Diff([]string{"subject=CN = leaf", "subject=CN = middle", "subject=CN = root"},
				subjects); diff != "" {
				t.Errorf("-want +openssl pkcs7:\n%s", diff)
			}
			if again, err := pem.Chain(printed); again != chain || err != nil {
				t.Errorf("want the same chain of what openssl pkcs7 prints, got %q, %v", again, err)
			}

		})
	}
}

// The names of the certificate that an example's composite gets, as its page shows them.
func TestExampleCertificate(t *testing.T) {
	b, err := os.ReadFile("../../../example/generator-parameters/expected.yaml")
	if err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile("../../../example/generator-parameters/README.md")
	if err != nil {
		t.Fatal(err)
	}
	for text := range strings.SplitSeq(string(b), "\n---\n") {
		var o struct {
			Metadata struct{ Name string }
			Data     map[string][]byte
		}
		if err := yaml.Unmarshal([]byte(text), &o); err != nil {
			t.Fatal(err)
		}
		if o.Metadata.Name != "edge-tls" {
			continue
		}
		dir := t.TempDir()
		write(t, dir, "tls.crt")(string(o.Data["tls.crt"]), nil)
		write(t, dir, "ca.crt")(string(o.Data["ca.crt"]), nil)
		openssl(t, dir, "verify", "-CAfile", "ca.crt", "-verify_hostname", "edge.shop.svc", "-attime", "1767258360",
			"tls.crt")
		if names := openssl(t, dir, "x509", "-noout", "-ext", "subjectAltName", "-in",
			"tls.crt"); !strings.Contains(string(page), names) {
			t.Errorf("the page does not show what OpenSSL prints:\n%s", names)
		}
		return
	}
	t.Error("the example has no Secret edge-tls")
}
