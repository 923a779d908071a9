package generator

import (
	"bytes"
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/rsa"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/cryptotest"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/crypto/ssh"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	"github.com/crossplane-contrib/function-export/input/v1beta1"
)

// faultTexts are what a user reads.
func faultTexts(faults field.ErrorList) []string {
	var out []string
	for _, f := range faults {
		out = append(out, f.Field+": "+f.Detail)
	}
	return out
}

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

func sshKey(t testing.TB, in *v1beta1.SSHKeyGenerator) *SSHKey {
	t.Helper()
	k, faults := CompileSSHKey(field.NewPath("sshKey"), in)
	if len(faults) > 0 {
		t.Fatal(faults.ToAggregate())
	}
	return k
}

func TestCompileSSHKeyFaults(t *testing.T) {
	cases := map[string]struct {
		reason string
		in     v1beta1.SSHKeyGenerator
		want   []string
	}{
		"Empty":        {reason: "all has defaults"},
		"Bits":         {reason: "one of the sizes that are known", in: v1beta1.SSHKeyGenerator{Type: "ecdsa", Bits: ptr.To[uint64](521)}},
		"CommentFull":  {reason: "characters are counted, not bytes", in: v1beta1.SSHKeyGenerator{Comment: strings.Repeat("é", 256)}},
		"CommentWords": {reason: "a comment may have blanks", in: v1beta1.SSHKeyGenerator{Comment: "deploy key of shop"}},
		"Type": {
			reason: "dsa is no more, and its bits are not looked at",
			in:     v1beta1.SSHKeyGenerator{Type: "dsa", Bits: ptr.To[uint64](1024)},
			want:   []string{"sshKey.type: must be ed25519, rsa or ecdsa"},
		},
		"BitsOfRSA": {
			reason: "short keys are broken, and the sizes of one type are not those of another",
			in:     v1beta1.SSHKeyGenerator{Type: "rsa", Bits: ptr.To[uint64](1024)},
			want:   []string{"sshKey.bits: is 1024: must be 2048, 3072 or 4096 for type rsa"},
		},
		"BitsOfECDSA": {
			reason: "a usual slip: the curve is P-521",
			in:     v1beta1.SSHKeyGenerator{Type: "ecdsa", Bits: ptr.To[uint64](512)},
			want:   []string{"sshKey.bits: is 512: must be 256, 384 or 521 for type ecdsa"},
		},
		"BitsZero": {
			reason: "a zero that is set is no default",
			in:     v1beta1.SSHKeyGenerator{Type: "ecdsa", Bits: ptr.To[uint64](0)},
			want:   []string{"sshKey.bits: is 0: must be 256, 384 or 521 for type ecdsa"},
		},
		"BitsOfDefault": {
			reason: "even the right size",
			in:     v1beta1.SSHKeyGenerator{Bits: ptr.To[uint64](256)},
			want:   []string{"sshKey.bits: must not be set for type ed25519, which has one size: leave it out, or set type to rsa or ecdsa"},
		},
		"BitsOfED25519": {
			reason: "the default, said aloud",
			in:     v1beta1.SSHKeyGenerator{Type: "ed25519", Bits: ptr.To[uint64](256)},
			want:   []string{"sshKey.bits: must not be set for type ed25519, which has one size: leave it out, or set type to rsa or ecdsa"},
		},
		"CommentLines": {
			reason: "another line of authorized_keys would be another key",
			in:     v1beta1.SSHKeyGenerator{Comment: "me\nssh-ed25519 AAAA mallory"},
			want:   []string{"sshKey.comment: has a line break or another invisible character: write one line of text"},
		},
		"CommentReturn": {
			reason: "some take it for a line break",
			in:     v1beta1.SSHKeyGenerator{Comment: "me\r"},
			want:   []string{"sshKey.comment: has a line break or another invisible character: write one line of text"},
		},
		"CommentDirection": {
			reason: "what turns the direction of reading hides what is there",
			in:     v1beta1.SSHKeyGenerator{Comment: "a\u202eb"},
			want:   []string{"sshKey.comment: has a line break or another invisible character: write one line of text"},
		},
		"CommentBytes": {
			reason: "no text",
			in:     v1beta1.SSHKeyGenerator{Comment: "\xff"},
			want:   []string{"sshKey.comment: is not UTF-8"},
		},
		"Several": {
			reason: "all faults at once",
			in:     v1beta1.SSHKeyGenerator{Type: "RSA", Comment: strings.Repeat("x", 257)},
			want:   []string{"sshKey.type: must be ed25519, rsa or ecdsa", "sshKey.comment: has 257 characters, over the limit of 256"},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			k, faults := CompileSSHKey(field.NewPath("sshKey"), &tc.in)
			if diff := cmp.Diff(tc.want, faultTexts(faults)); diff != "" {
				t.Errorf("%s\n-want +got:\n%s", tc.reason, diff)
			}
			if (k == nil) != (len(tc.want) > 0) {
				t.Errorf("%s\na key %v with faults %v", tc.reason, k, faults)
			}
		})
	}
}

// sshKinds are all types and sizes.
var sshKinds = map[string]struct {
	in    v1beta1.SSHKeyGenerator
	bits  int
	kind  string // as a public key says
	shown string // as ssh-keygen says
}{
	"Default":   {bits: 256, kind: "ssh-ed25519", shown: "ED25519"},
	"ED25519":   {in: v1beta1.SSHKeyGenerator{Type: "ed25519", Comment: "me@home"}, bits: 256, kind: "ssh-ed25519", shown: "ED25519"},
	"RSA":       {in: v1beta1.SSHKeyGenerator{Type: "rsa"}, bits: 3072, kind: "ssh-rsa", shown: "RSA"},
	"RSA2048":   {in: v1beta1.SSHKeyGenerator{Type: "rsa", Bits: ptr.To[uint64](2048), Comment: "two words"}, bits: 2048, kind: "ssh-rsa", shown: "RSA"},
	"RSA3072":   {in: v1beta1.SSHKeyGenerator{Type: "rsa", Bits: ptr.To[uint64](3072)}, bits: 3072, kind: "ssh-rsa", shown: "RSA"},
	"RSA4096":   {in: v1beta1.SSHKeyGenerator{Type: "rsa", Bits: ptr.To[uint64](4096)}, bits: 4096, kind: "ssh-rsa", shown: "RSA"},
	"ECDSA":     {in: v1beta1.SSHKeyGenerator{Type: "ecdsa"}, bits: 256, kind: "ecdsa-sha2-nistp256", shown: "ECDSA"},
	"ECDSA256":  {in: v1beta1.SSHKeyGenerator{Type: "ecdsa", Bits: ptr.To[uint64](256)}, bits: 256, kind: "ecdsa-sha2-nistp256", shown: "ECDSA"},
	"ECDSA384":  {in: v1beta1.SSHKeyGenerator{Type: "ecdsa", Bits: ptr.To[uint64](384), Comment: "ключ"}, bits: 384, kind: "ecdsa-sha2-nistp384", shown: "ECDSA"},
	"ECDSA521":  {in: v1beta1.SSHKeyGenerator{Type: "ecdsa", Bits: ptr.To[uint64](521)}, bits: 521, kind: "ecdsa-sha2-nistp521", shown: "ECDSA"},
	"FullWidth": {in: v1beta1.SSHKeyGenerator{Comment: strings.Repeat("x", 256)}, bits: 256, kind: "ssh-ed25519", shown: "ED25519"},
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

func TestSSHKeyParsesBack(t *testing.T) {
	for name, tc := range sshKinds {
		t.Run(name, func(t *testing.T) {
			k := sshKey(t, &tc.in)
			o, err := k.Make(From{})
			if err != nil {
				t.Fatal(err)
			}
			haveKeys(t, o, k.Keys())
			raw, err := ssh.ParseRawPrivateKey(o[privateKey].Reveal())
			if err != nil {
				t.Fatal(err)
			}
			if got := bitsOfPublic(t, raw.(crypto.Signer).Public()); got != tc.bits {
				t.Errorf("%d bits, not %d", got, tc.bits)
			}
			public, comment, options, rest, err := ssh.ParseAuthorizedKey(o[publicKey].Reveal())
			if err != nil {
				t.Fatal(err)
			}
			if public.Type() != tc.kind || comment != tc.in.Comment || len(options) > 0 || len(rest) > 0 {
				t.Errorf("public key of type %s, comment %q, options %q and more %q", public.Type(), comment, options, rest)
			}
			if strings.TrimSpace(string(o[publicKey].Reveal())) != string(o[publicKey].Reveal()) {
				t.Error("the public key has blanks around it")
			}
			signer, err := ssh.NewSignerFromKey(raw)
			if err != nil {
				t.Fatal(err)
			}
			signature, err := signer.Sign(rand.Reader, []byte("hello"))
			if err != nil || public.Verify([]byte("hello"), signature) != nil {
				t.Errorf("what the private key signed the public key does not know: %v", err)
			}
		})
	}
}

// The randomness is that of the process, and nothing else: under a seed all is the
// same again.
func TestSSHKeyRandomness(t *testing.T) {
	for name, in := range map[string]v1beta1.SSHKeyGenerator{
		"ED25519": {}, "ECDSA": {Type: "ecdsa"}, "RSA": {Type: "rsa", Bits: ptr.To[uint64](2048)},
	} {
		t.Run(name, func(t *testing.T) {
			k := sshKey(t, &in)
			made := func() []byte {
				o, err := k.Make(From{})
				if err != nil {
					t.Fatal(err)
				}
				return slices.Concat(o[privateKey].Reveal(), o[publicKey].Reveal())
			}
			if bytes.Equal(made(), made()) {
				t.Error("two keys are one")
			}
			cryptotest.SetGlobalRandom(t, 1)
			first, second := made(), made()
			cryptotest.SetGlobalRandom(t, 1)
			if !bytes.Equal(first, made()) {
				t.Error("the same randomness gave another key")
			}
			if bytes.Equal(first, second) {
				t.Error("two keys of one seed are one")
			}
		})
	}
}

func TestSSHKeyConcurrently(t *testing.T) {
	k := sshKey(t, &v1beta1.SSHKeyGenerator{Comment: "me"})
	var seen sync.Map
	var wg sync.WaitGroup
	for range 16 {
		wg.Go(func() {
			o, err := k.Make(From{})
			if err != nil {
				t.Error(err)
				return
			}
			if _, again := seen.LoadOrStore(string(o[publicKey].Reveal()), true); again {
				t.Error("two keys are one")
			}
		})
	}
	wg.Wait()
}

func BenchmarkSSHKeyMake(b *testing.B) {
	for _, name := range []string{"ED25519", "ECDSA256", "ECDSA384", "ECDSA521", "RSA2048", "RSA3072", "RSA4096"} {
		in := sshKinds[name].in
		b.Run(name, func(b *testing.B) {
			k := sshKey(b, &in)
			for b.Loop() {
				if _, err := k.Make(From{}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
