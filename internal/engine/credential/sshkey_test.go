package credential

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/rsa"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	"github.com/crossplane-contrib/function-export/input/v1beta1"
)

func haveKeys(t *testing.T, o Outputs, want []string) {
	t.Helper()
	for _, key := range want {
		if o[key].Len() == 0 {
			t.Errorf("output %s is empty", key)
		}
	}
	if len(o) != len(want) {
		t.Errorf("%d outputs, of %d keys", len(o), len(want))
	}
}

func sshKey(t testing.TB, in *v1beta1.SSHKeyGenerator) Kind {
	t.Helper()
	k, faults := CompileSSHKey(field.NewPath("sshKey"), in)
	if len(faults) > 0 {
		t.Fatal(faults.ToAggregate())
	}
	return k
}

func TestCompileSSHKeyDiagnostics(t *testing.T) {
	const (
		sizes = "must be 2048, 3072 or 4096 for type rsa, and 256, 384 or 521 for type ecdsa"
		line  = "sshKey.comment: has a line break or another invisible character: write one line of text"
	)
	cases := map[string]struct {
		reason string
		in     v1beta1.SSHKeyGenerator
		want   []string
	}{
		"BitsOfRSA": {reason: "the size of another type", in: v1beta1.SSHKeyGenerator{Type: "rsa",
			Bits: ptr.To[uint64](521)}, want: []string{"sshKey.bits: is 521: " + sizes}},
		"NoSize": {reason: "0 is no size", in: v1beta1.SSHKeyGenerator{Type: "rsa",
			Bits: ptr.To[uint64](0)}, want: []string{"sshKey.bits: is 0: " + sizes}},
		"Lines": {reason: "another line of authorized_keys would be another key",
			in: v1beta1.SSHKeyGenerator{Comment: "me\nssh-ed25519 AAAA mallory"}, want: []string{line}},
		"Direction": {reason: "the direction of reading hides a part", in: v1beta1.SSHKeyGenerator{Comment: "a\u202eb"},
			want: []string{line}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			k, faults := CompileSSHKey(field.NewPath("sshKey"), &tc.in)
			if diff := cmp.Diff(tc.want, diagnosticTexts(faults)); diff != "" {
				t.Errorf("%s\n-want +got:\n%s", tc.reason, diff)
			}
			if (k.Make == nil) != (len(tc.want) > 0) {
				t.Errorf("%s\na key %v with faults %v", tc.reason, k, faults)
			}
		})
	}
}

func bitsOfPublic(t *testing.T, key crypto.PublicKey) int {
	t.Helper()
	switch k := key.(type) {
	case *rsa.PublicKey:
		return k.N.BitLen()
	case *ecdsa.PublicKey:
		return k.Curve.Params().BitSize
	case ed25519.PublicKey:
		return 8 * len(k)
	}
	t.Fatalf("a key of type %T", key)
	return 0
}
