package credential

import (
	"bytes"
	"encoding/base32"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"io"
	"maps"
	mathrand "math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/yaml"

	"github.com/crossplane-contrib/function-export/input/v1beta1"
)

func passwordInput(t testing.TB, text string) *v1beta1.PasswordGenerator {
	t.Helper()
	in := &v1beta1.PasswordGenerator{}
	if err := yaml.UnmarshalStrict([]byte(text), in); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return in
}

func compiledPassword(t testing.TB, text string) Kind {
	t.Helper()
	p, diagnostics := CompilePassword(field.NewPath("password"), passwordInput(t, text))
	if len(diagnostics) > 0 {
		t.Fatal(diagnostics.ToAggregate())
	}
	return p
}

// seeded is randomness that is the same in each run.
func seeded(seed byte) io.Reader { return mathrand.NewChaCha8([32]byte{seed}) }

// diagnosticTexts are what a user reads.
func diagnosticTexts(diagnostics field.ErrorList) []string {
	var out []string
	for _, d := range diagnostics {
		out = append(out, d.Field+": "+d.Detail)
	}
	return out
}

func TestCompilePasswordDiagnostics(t *testing.T) {
	const quarter = " (by default a quarter of the length)"
	short := func(at, what string, n, most int) string {
		return fmt.Sprintf("password.%s: %s without repeats need %d different characters, and there are %d: "+
			"set allowRepeat, or ask for at most %[4]d of them", at, what, n, most)
	}
	over := func(digits, symbols string, length int) string {
		return fmt.Sprintf("password.length: %s and %s are over the length of %d: use fewer of them, or a greater "+
			"length", digits, symbols, length)
	}
	others := "password.symbolCharacters: has letters or digits: leave them out, because a password has them in " +
		"addition to its symbols"
	cases := map[string]struct {
		reason string
		in     string
		want   []string
	}{
		"FewSymbols": {reason: "the user named two symbols and asks for four, so they repeat",
			in: `{length: 32, symbols: 4, symbolCharacters: "-_"}`},
		"Digits": {reason: "there are ten", in: `{length: 44}`,
			want: []string{short("digits", "11 digits"+quarter, 11, 10)}},
		"NamedSymbols": {reason: "a repeated character counts once",
			in:   `{symbols: 3, symbolCharacters: "!?!", allowRepeat: false}`,
			want: []string{short("symbols", "3 symbols", 3, 2)}},
		"Overflow": {reason: "large numbers do not wrap around",
			in:   `{length: 8, digits: 1, symbols: 18446744073709551615}`,
			want: []string{over("1 digit", "18446744073709551615 symbols", 8)}},
		"LetterOfSymbols": {reason: "the number of letters would not be exact", in: `{symbolCharacters: "!é"}`,
			want: []string{others}},
		"Salt": {reason: "the salt of a hash has this key",
			in:   `{secretKeys: [a, export.fn.crossplane.io-salt]}`,
			want: []string{"password.secretKeys[1]: is the key of the salts of hashes: use another key"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			p, diagnostics := CompilePassword(field.NewPath("password"), passwordInput(t, tc.in))
			if diff := cmp.Diff(tc.want, diagnosticTexts(diagnostics)); diff != "" {
				t.Errorf("%s: -want, +got:\n%s", tc.reason, diff)
			}
			if (p.Make == nil) != (len(diagnostics) > 0) {
				t.Errorf("%s: a password or its diagnostics, and never both", tc.reason)
			}
		})
	}
}

// If the second password cannot be made, the first one is not used.
func TestPasswordSourceFails(t *testing.T) {
	fails(t, compiledPassword(t, `{secretKeys: [a, b]}`), From{Random: io.LimitReader(seeded(1), 60)},
		"cannot generate a password: cannot read randomness: EOF")
}

// wrong returns why a password, without prefix and suffix, is not one that was asked for.
func wrong(in *v1beta1.PasswordGenerator, password string) string {
	length := ptr.Deref(in.Length, 24)
	digits, symbols := ptr.Deref(in.Digits, length/4), ptr.Deref(in.Symbols, length/4)
	allowed := ptr.Deref(in.SymbolCharacters, "~!@#$%^&*()_+`-={}|[]\\:\"<>?,./")
	fewer := in.AllowRepeat == nil && in.SymbolCharacters != nil &&
		symbols > uint64(len(slices.Compact(slices.Sorted(slices.Values([]rune(allowed))))))
	var upper, lower, digit, symbol uint64
	used := map[rune]bool{}
	for _, r := range password {
		isSymbol := false
		switch {
		case r >= 'A' && r <= 'Z':
			upper++
		case r >= 'a' && r <= 'z':
			lower++
		case r >= '0' && r <= '9':
			digit++
		case strings.ContainsRune(allowed, r):
			symbol++
			isSymbol = true
		default:
			return "it has a symbol that is not allowed"
		}
		if used[r] && !ptr.Deref(in.AllowRepeat, fewer && isSymbol) {
			return "it has a character twice"
		}
		used[r] = true
	}
	switch {
	case digit != digits:
		return "the number of its digits"
	case symbol != symbols:
		return "the number of its symbols"
	case upper+lower+digit+symbol != length:
		return "its length"
	case in.NoUpper && upper > 0:
		return "it has upper-case letters"
	case !in.NoUpper && upper+lower > 1 && (upper == 0 || lower == 0):
		return "its letters are all of one case"
	}
	return ""
}

// A password that compiles generates passwords of exactly its form, or returns the error of the randomness. A password
// that does not compile has a diagnostic with a path.
func FuzzPasswordKeepsItsShape(f *testing.F) {
	f.Add(uint64(24), uint64(6), uint64(6), defaultSymbols, byte(0), "", "", "raw", "password", uint64(1),
		[]byte("entropy"))
	f.Add(uint64(92), uint64(10), uint64(30), defaultSymbols, byte(0x3c), "<", ">", "base64", "b,a", uint64(2),
		[]byte{})
	f.Add(uint64(1024), uint64(1), uint64(2), "€→", byte(0x3e), "ü", "\n", "base64url", "a", uint64(4), []byte{1})
	f.Add(uint64(1), uint64(1)<<63, uint64(1)<<63, "aé\u0301\xff", byte(0x3f), "\xff", "", "hex", "a,a", uint64(5),
		[]byte{})
	f.Add(uint64(26), uint64(0), uint64(0), "!", byte(0x3d), "", "", "base32", "a", uint64(6), []byte{})
	f.Fuzz(func(t *testing.T, length, digits, symbols uint64, characters string, flags byte, prefix, suffix, encoding,
		keys string, seed uint64, entropy []byte) {
		in := &v1beta1.PasswordGenerator{NoUpper: flags&1 != 0, Prefix: &prefix, Suffix: &suffix, Encoding: encoding}
		if flags&64 != 0 {
			in.AllowRepeat = ptr.To(flags&2 != 0)
		}
		for i, set := range []func(){
			func() { in.Length = &length },
			func() { in.Digits = &digits },
			func() { in.Symbols = &symbols },
			func() { in.SymbolCharacters = &characters },
		} {
			if flags&(4<<i) != 0 {
				set()
			}
		}
		if keys != "" {
			in.SecretKeys = slices.Compact(slices.Sorted(slices.Values(strings.Split(keys, ","))))
		}
		p, diagnostics := CompilePassword(field.NewPath("password"), in)
		for _, d := range diagnostics {
			if !strings.HasPrefix(d.Field, "password.") || strings.ContainsAny(d.Error(), "\n\r") {
				t.Errorf("%q is not a diagnostic", d.Error())
			}
		}
		if p.Make == nil || encodings[in.Encoding] == nil || ptr.Deref(in.Length, 24) > 1024 { // as the definition
			return
		}
		for _, random := range []io.Reader{seeded(byte(seed)), bytes.NewReader(entropy)} {
			out, err := p.Make(From{Random: random})
			if err != nil {
				if out != nil {
					t.Errorf("outputs in spite of %v", err)
				}
				continue
			}
			checkPasswords(t, in, p, out)
		}
	})
}

func checkPasswords(t *testing.T, in *v1beta1.PasswordGenerator, p Kind, out Outputs) {
	t.Helper()
	want := in.SecretKeys
	if len(want) == 0 {
		want = []string{"password"}
	}
	if diff := cmp.Diff([][]string{want, want}, [][]string{p.Keys, slices.Sorted(maps.Keys(out))}); diff != "" {
		t.Errorf("keys: -want, +got:\n%s", diff)
	}
	decode := map[string]func(string) ([]byte, error){
		"base64": base64.StdEncoding.DecodeString, "base64url": base64.URLEncoding.DecodeString,
		"base32": base32.StdEncoding.DecodeString, "hex": hex.DecodeString,
	}
	for key, value := range out {
		b, err := value.Reveal(), error(nil)
		if d, ok := decode[in.Encoding]; ok {
			b, err = d(string(b))
		}
		text, hasPrefix := strings.CutPrefix(string(b), *in.Prefix)
		text, hasSuffix := strings.CutSuffix(text, *in.Suffix)
		if err != nil || !hasPrefix || !hasSuffix {
			t.Errorf("%s lacks its prefix, its suffix or its encoding: %v", key, err)
		}
		if why := wrong(in, text); why != "" {
			t.Errorf("%s is not one that was asked for: %s", key, why)
		}
	}
}
