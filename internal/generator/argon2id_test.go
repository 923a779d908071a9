package generator

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/crypto/argon2"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	"github.com/crossplane-contrib/function-export/input/v1beta1"
	"github.com/crossplane-contrib/function-export/internal/limits"
	"github.com/crossplane-contrib/function-export/internal/sensitive"
)

func argon2id(t testing.TB, in *v1beta1.Argon2idGenerator) *Argon2id {
	t.Helper()
	out, faults := CompileArgon2id(field.NewPath("argon2id"), in)
	if len(faults) > 0 {
		t.Fatal(faults.ToAggregate())
	}
	return out
}

func TestCompileArgon2id(t *testing.T) {
	n := ptr.To[uint64]
	const memory = "argon2id.memory: must be from 7Mi to 19Mi, without a fraction"
	cases := map[string]struct {
		reason string
		in     v1beta1.Argon2idGenerator
		want   *Argon2id
		faults []string
	}{
		"Default":  {reason: "the first choice of OWASP", want: &Argon2id{19456, 2, 1}},
		"Least":    {reason: "the limits are allowed", in: v1beta1.Argon2idGenerator{Memory: "7Mi", Iterations: n(1), Parallelism: n(1)}, want: &Argon2id{7168, 1, 1}},
		"Most":     {reason: "the limits are allowed", in: v1beta1.Argon2idGenerator{Memory: "19Mi", Iterations: n(10), Parallelism: n(4)}, want: &Argon2id{19456, 10, 4}},
		"Third":    {reason: "the third choice of OWASP", in: v1beta1.Argon2idGenerator{Memory: "12Mi", Iterations: n(3)}, want: &Argon2id{12288, 3, 1}},
		"Ki":       {reason: "one spelling", in: v1beta1.Argon2idGenerator{Memory: "47104Ki"}, faults: []string{memory}},
		"Small":    {reason: "below the limit", in: v1beta1.Argon2idGenerator{Memory: "6Mi"}, faults: []string{memory}},
		"Large":    {reason: "over the limit", in: v1beta1.Argon2idGenerator{Memory: "20Mi"}, faults: []string{memory}},
		"Padded":   {reason: "one spelling", in: v1beta1.Argon2idGenerator{Memory: "019Mi"}, faults: []string{memory}},
		"NoUnit":   {reason: "Kubernetes counts bytes, and Argon2id KiB", in: v1beta1.Argon2idGenerator{Memory: "19456"}, faults: []string{memory}},
		"Huge":     {reason: "no number wraps around", in: v1beta1.Argon2idGenerator{Memory: "18014398509481984Ei"}, faults: []string{memory}},
		"Negative": {reason: "no number wraps around", in: v1beta1.Argon2idGenerator{Memory: "-19Mi"}, faults: []string{memory}},
		"NoText":   {reason: "no quantity", in: v1beta1.Argon2idGenerator{Memory: "much"}, faults: []string{memory}},
		"Zero": {
			reason: "zeros that are set are no defaults", in: v1beta1.Argon2idGenerator{Iterations: n(0), Parallelism: n(0)},
			faults: []string{"argon2id.iterations: is 0: must be from 1 to 10", "argon2id.parallelism: is 0: must be from 1 to 4"},
		},
		"Many": {
			reason: "over the limits", in: v1beta1.Argon2idGenerator{Iterations: n(11), Parallelism: n(256 + 1)},
			faults: []string{"argon2id.iterations: is 11: must be from 1 to 10", "argon2id.parallelism: is 257: must be from 1 to 4"},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got, faults := CompileArgon2id(field.NewPath("argon2id"), &tc.in)
			if diff := cmp.Diff(tc.faults, faultTexts(faults)); diff != "" {
				t.Errorf("%s\nfaults -want +got:\n%s", tc.reason, diff)
			}
			if diff := cmp.Diff(tc.want, got, cmp.AllowUnexported(Argon2id{})); diff != "" {
				t.Errorf("%s\n-want +got:\n%s", tc.reason, diff)
			}
		})
	}
}

// phc splits a hash into its parts, without code of the generator.
func phc(t *testing.T, hash string) (version, memory, iterations, threads int, salt, tag string) {
	t.Helper()
	parts := strings.Split(hash, "$")
	if len(parts) != 6 || parts[0] != "" || parts[1] != "argon2id" {
		t.Fatal("not a hash of Argon2id")
	}
	if _, err := fmt.Sscanf(parts[2]+" "+parts[3], "v=%d m=%d,t=%d,p=%d", &version, &memory, &iterations, &threads); err != nil {
		t.Fatal(err)
	}
	return version, memory, iterations, threads, parts[4], parts[5]
}

func TestArgon2idMake(t *testing.T) {
	k := argon2id(t, &v1beta1.Argon2idGenerator{Memory: "7Mi", Iterations: ptr.To[uint64](1), Parallelism: ptr.To[uint64](2)})
	from := ofText("hunter2\x00 and more than bcrypt reads" + strings.Repeat("x", 72))
	from.Random = strings.NewReader("0123456789abcdef")
	o, err := k.Make(from)
	if err != nil {
		t.Fatal(err)
	}
	haveKeys(t, o, k.Keys())
	version, memory, iterations, threads, salt, tag := phc(t, string(o[hashKey].Reveal()))
	got := fmt.Sprint(version, memory, iterations, threads, salt)
	if diff := cmp.Diff(fmt.Sprint(19, 7168, 1, 2, "MDEyMzQ1Njc4OWFiY2RlZg"), got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	want := argon2.IDKey(from.Source.Text.Reveal(), []byte("0123456789abcdef"), 1, 7168, 2, 32)
	if diff := cmp.Diff(base64.RawStdEncoding.EncodeToString(want), tag); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if _, err := k.Make(ofText(strings.Repeat("x", limits.SourceBytes))); err != nil {
		t.Errorf("the limit is allowed: %v", err)
	}
}

func TestArgon2idMakeErrors(t *testing.T) {
	broken := ofText("hunter2")
	broken.Random = iotest.ErrReader(errors.New("no entropy"))
	short := ofText("hunter2")
	short.Random = bytes.NewReader(make([]byte, 15))
	cases := map[string]struct {
		reason string
		from   From
		want   string
	}{
		"Empty":  {"anybody would be let in", ofText(""), "a password is empty: check the value of secretExpression"},
		"Large":  {"no password is so long", ofText(strings.Repeat("x", 256<<10+1)), "the password has more than 262144 bytes"},
		"Broken": {"no hash without a salt", broken, "cannot read randomness: no entropy"},
		"Short":  {"no hash with half a salt", short, "cannot read randomness: unexpected EOF"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Log(tc.reason)
			fails(t, argon2id(t, &v1beta1.Argon2idGenerator{}), tc.from, tc.want)
		})
	}
}

// Many requests at the same time need the memory of a few hashes, below the memory limit of the program.
func TestArgon2idConcurrently(t *testing.T) {
	defer debug.SetMemoryLimit(debug.SetMemoryLimit(200 << 20))
	k := argon2id(t, &v1beta1.Argon2idGenerator{Memory: "19Mi", Iterations: ptr.To[uint64](1)})
	var before, after runtime.MemStats
	debug.FreeOSMemory()
	runtime.ReadMemStats(&before)
	var all sync.WaitGroup
	for range 16 {
		all.Go(func() {
			if _, err := k.Make(From{Random: seeded(1), Source: Source{Text: sensitive.FromString("hunter2")}}); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	runtime.ReadMemStats(&after)
	if grown := int64(after.HeapSys) - int64(before.HeapSys); grown > 3*limits.HashingMemory {
		t.Errorf("the heap grew by %d MiB", grown>>20)
	}
}

func FuzzArgon2idSourcesNeverFail(f *testing.F) {
	f.Add([]byte("hunter2"))
	f.Add([]byte{0})
	k := argon2id(f, &v1beta1.Argon2idGenerator{Memory: "7Mi", Iterations: ptr.To[uint64](1)})
	f.Fuzz(func(t *testing.T, password []byte) {
		o, err := k.Make(From{Random: seeded(1), Source: Source{Text: sensitive.New(password)}})
		if (err != nil) != (len(password) == 0 || len(password) > limits.SourceBytes) {
			t.Fatal(err)
		}
		if err == nil {
			phc(t, string(o[hashKey].Reveal()))
		}
	})
}

func BenchmarkArgon2idMake(b *testing.B) {
	for name, in := range map[string]v1beta1.Argon2idGenerator{
		"default": {}, "largest": {Memory: "19Mi", Iterations: ptr.To[uint64](10)},
	} {
		k := argon2id(b, &in)
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := k.Make(ofText("hunter2")); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
