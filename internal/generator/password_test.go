package generator

import (
	"bytes"
	"crypto/rand"
	"encoding/base32"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	mathrand "math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/yaml"

	"github.com/crossplane-contrib/function-export/input/v1beta1"
	"github.com/crossplane-contrib/function-export/internal/proof"
)

var passwordPath = field.NewPath("generators").Index(0).Child("password")

func passwordInput(t testing.TB, text string) *v1beta1.PasswordGenerator {
	t.Helper()
	in := &v1beta1.PasswordGenerator{}
	if err := yaml.UnmarshalStrict([]byte(text), in); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return in
}

func compiledPassword(t testing.TB, in *v1beta1.PasswordGenerator) *Password {
	t.Helper()
	p, faults := CompilePassword(passwordPath, in)
	if len(faults) > 0 {
		t.Fatal(faults.ToAggregate())
	}
	return p
}

// seeded is entropy that is the same in each run.
func seeded(seed uint64) io.Reader {
	return mathrand.NewChaCha8([32]byte{byte(seed), byte(seed >> 8), byte(seed >> 16), byte(seed >> 24), byte(seed >> 32)})
}

// always is a source of entropy that always returns the same byte.
type always byte

func (a always) Read(b []byte) (int, error) {
	for i := range b {
		b[i] = byte(a)
	}
	return len(b), nil
}

func revealed(out Outputs) map[string]string {
	texts := map[string]string{}
	for k, v := range out {
		texts[k] = string(v.Reveal())
	}
	return texts
}

func TestCompilePasswordFaults(t *testing.T) {
	const quarter = " (by default a quarter of the length)"
	cases := map[string]struct {
		reason string
		in     string
		want   []string // after "generators[0].password."
	}{
		"Defaults": {
			reason: "nothing has to be set",
			in:     `{}`,
		},
		"LengthZero": {
			reason: "an empty password is none, and nothing else can be judged",
			in:     `{length: 0, digits: 70}`,
			want:   []string{"length: is 0: must be 1 to 1024"},
		},
		"LengthOne": {
			reason: "a quarter of 1 is 0",
			in:     `{length: 1}`,
		},
		"LengthLimit": {
			reason: "the limit is still allowed",
			in:     `{length: 1024, allowRepeat: true}`,
		},
		"LengthOverLimit": {
			reason: "nobody holds an input against its schema before",
			in:     `{length: 1025, allowRepeat: true}`,
			want:   []string{"length: is 1025: must be 1 to 1024"},
		},
		"DefaultsOf43": {
			reason: "the longest that the defaults can make",
			in:     `{length: 43}`,
		},
		"DefaultsOf44": {
			reason: "the defaults ask for more digits than there are, and the user asked for none",
			in:     `{length: 44}`,
			want: []string{
				"digits: 11 digits" + quarter + " without repeats need 11 different characters, and there are 10: set allowRepeat, or ask for at most 10 digits",
			},
		},
		"DefaultsOf44WithRepeats": {
			reason: "the way out that the fault names",
			in:     `{length: 44, allowRepeat: true}`,
		},
		"DefaultsOf44WithFewerDigits": {
			reason: "the other one",
			in:     `{length: 44, digits: 10}`,
		},
		"EveryClassRunsOut": {
			reason: "all faults at once",
			in:     `{length: 128}`,
			want: []string{
				"digits: 32 digits" + quarter + " without repeats need 32 different characters, and there are 10: set allowRepeat, or ask for at most 10 digits",
				"symbols: 32 symbols" + quarter + " without repeats need 32 different characters, and symbolCharacters has 30: set allowRepeat, or ask for at most 30 symbols",
				"length: 128 characters less 32 digits" + quarter + " and 32 symbols" + quarter + " leave 64 letters, which without repeats need 64 different characters, and there are 52: set allowRepeat, or ask for a smaller length",
			},
		},
		"AllThereIs": {
			reason: "each character once",
			in:     `{length: 92, digits: 10, symbols: 30}`,
		},
		"LettersWithoutUpper": {
			reason: "without upper case there are 26",
			in:     `{length: 28, digits: 1, symbols: 0, noUpper: true}`,
			want:   []string{"length: 28 characters less 1 digit and 0 symbols leave 27 letters, which without repeats need 27 different characters, and there are 26, as noUpper is set: set allowRepeat, or ask for a smaller length"},
		},
		"LettersWithoutUpperFit": {
			reason: "26 are enough for 26",
			in:     `{length: 27, digits: 1, symbols: 0, noUpper: true}`,
		},
		"TooManyTogether": {
			reason: "no letter is left, not even none",
			in:     `{length: 24, digits: 20, symbols: 10}`,
			want:   []string{"length: 20 digits and 10 symbols are 30 characters, over the length of 24: use fewer of them, or a greater length"},
		},
		"PIN": {
			reason: "the default for symbols is not what its author thinks of",
			in:     `{length: 6, digits: 6}`,
			want:   []string{"length: 6 digits and 1 symbol" + quarter + " are 7 characters, over the length of 6: use fewer of them, or a greater length"},
		},
		"PINWithoutSymbols": {
			reason: "no letters at all are fine",
			in:     `{length: 6, digits: 6, symbols: 0}`,
		},
		"OverTheLength": {
			reason: "the greatest numbers there are do not wrap around",
			in:     `{length: 8, digits: 18446744073709551615, symbols: 9}`,
			want:   []string{"digits: 18446744073709551615 digits are over the length of 8", "symbols: 9 symbols are over the length of 8"},
		},
		"OneOverTheLength": {
			reason: "as many as the length is are allowed, alone",
			in:     `{length: 8, digits: 9, symbols: 9}`,
			want:   []string{"digits: 9 digits are over the length of 8", "symbols: 9 symbols are over the length of 8"},
		},
		"DigitsOverTheLength": {
			reason: "the total is not reported", in: `{length: 8, digits: 9, symbols: 0}`,
			want: []string{"digits: 9 digits are over the length of 8"},
		},
		"SymbolsOverTheLength": {
			reason: "the total is not reported", in: `{length: 8, digits: 0, symbols: 9}`,
			want: []string{"symbols: 9 symbols are over the length of 8"},
		},
		"OnlySymbols": {reason: "no letters at all are fine", in: `{length: 8, digits: 0, symbols: 8}`},
		"OneSymbol": {
			reason: "one character is not enough for two symbols", in: `{symbols: 2, symbolCharacters: "!", allowRepeat: false}`,
			want: []string{
				"symbols: 2 symbols without repeats need 2 different characters, and symbolCharacters has 1: set " +
					"allowRepeat, or ask for at most 1 symbols",
			},
		},
		"TooFewValidSymbols": {
			reason: "it is unknown how many there will be", in: `{symbols: 8, symbolCharacters: "!a", allowRepeat: false}`,
			want: []string{
				"symbolCharacters: has letters or digits, the first is 'a': leave them out, because a password has " +
					"them in addition to its symbols",
			},
		},
		"TooFewVisibleSymbols": {
			reason: "it is unknown how many there will be", in: `{symbols: 8, symbolCharacters: "!a\u0007", allowRepeat: false}`,
			want: []string{
				"symbolCharacters: has letters or digits, the first is 'a': leave them out, because a password has " +
					"them in addition to its symbols",
				"symbolCharacters: has invisible, combining or invalid characters, the first is U+0007: leave them out",
			},
		},
		"NoSymbolForOne": {
			reason: "the one symbol has no character", in: `{length: 4, symbols: 1, symbolCharacters: ""}`,
			want: []string{"symbolCharacters: is empty, but the password must have 1 symbol: set symbols to 0"},
		},
		"NoSymbolsWithoutRepeats": {
			reason: "repeats would not help", in: `{length: 4, symbols: 1, symbolCharacters: "", allowRepeat: false}`,
			want: []string{"symbolCharacters: is empty, but the password must have 1 symbol: set symbols to 0"},
		},
		"TooManyTogetherWithoutSymbols": {
			reason: "both are reported", in: `{length: 8, digits: 5, symbols: 5, symbolCharacters: ""}`,
			want: []string{
				"length: 5 digits and 5 symbols are 10 characters, over the length of 8: use fewer of them, or a greater length",
				"symbolCharacters: is empty, but the password must have 5 symbols: set symbols to 0",
			},
		},
		"MostSymbols": {
			reason: "the limit is allowed", in: fmt.Sprintf(`{symbolCharacters: %q}`, strings.Repeat("!", 256)),
		},
		"MostKeys": {reason: "the limit is allowed", in: `{secretKeys: [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p]}`},
		"TooFewSymbols": {
			reason: "a symbol that is there twice is one",
			in:     `{symbols: 8, symbolCharacters: "!?!%?€", allowRepeat: false}`,
			want:   []string{"symbols: 8 symbols without repeats need 8 different characters, and symbolCharacters has 4 (2 of its 6 are duplicates): set allowRepeat, or ask for at most 4 symbols"},
		},
		"OneSymbolTooFew": {
			reason: "three are not enough for four",
			in:     `{symbols: 4, symbolCharacters: "!?€", allowRepeat: false}`,
			want:   []string{"symbols: 4 symbols without repeats need 4 different characters, and symbolCharacters has 3: set allowRepeat, or ask for at most 3 symbols"},
		},
		"TooFewSymbolsThatAreSpelled": {
			reason: "who spells two and wants four of them wants repeats, unless they say that they do not",
			in:     `{length: 32, symbols: 4, symbolCharacters: "-_"}`,
		},
		"TooFewSymbolsWithRepeats": {
			reason: "one symbol can stand there as often as you like",
			in:     `{symbols: 8, symbolCharacters: "!", allowRepeat: true}`,
		},
		"NoSymbols": {
			reason: "the defaults ask for six",
			in:     `{symbolCharacters: "", allowRepeat: true}`,
			want:   []string{"symbolCharacters: is empty, but the password must have 6 symbols" + quarter + ": set symbols to 0"},
		},
		"NoSymbolsWanted": {
			reason: "none are needed for none",
			in:     `{symbolCharacters: "", symbols: 0}`,
		},
		"SymbolsOfOtherClasses": {
			reason: "the library of External Secrets never ends with digits for symbols",
			in:     `{symbolCharacters: "0123456789"}`,
			want:   []string{"symbolCharacters: has letters or digits, the first is '0': leave them out, because a password has them in addition to its symbols"},
		},
		"SymbolsNobodySees": {
			reason: "a character that does not show, or changes the one before, cannot be copied from a screen",
			in:     `{symbolCharacters: "!é\u0301\u0007"}`,
			want: []string{
				"symbolCharacters: has letters or digits, the first is 'é': leave them out, because a password has them in addition to its symbols",
				"symbolCharacters: has invisible, combining or invalid characters, the first is U+0301: leave them out",
			},
		},
		"ControlCharacters": {
			reason: "nobody can type one",
			in:     `{symbolCharacters: "!\u0007"}`,
			want:   []string{"symbolCharacters: has invisible, combining or invalid characters, the first is U+0007: leave them out"},
		},
		"ReplacementCharacter": {
			reason: "it stands for what was not UTF-8",
			in:     `{symbolCharacters: "!\uFFFD"}`,
			want:   []string{"symbolCharacters: has invisible, combining or invalid characters, the first is U+FFFD: leave them out"},
		},
		"TooLong": {
			reason: "nobody holds an input against its schema before; characters, not bytes",
			in:     fmt.Sprintf(`{prefix: %q, suffix: %q, symbolCharacters: %q}`, strings.Repeat("ä", 257), strings.Repeat("ä", 256), strings.Repeat("!", 257)),
			want:   []string{"prefix: has 257 characters, over the limit of 256", "symbolCharacters: has 257 characters, over the limit of 256"},
		},
		"Encoding": {
			reason: "an encoding is written as in External Secrets",
			in:     `{encoding: Base64}`,
			want:   []string{"encoding: must be raw, base64, base64url, base32 or hex"},
		},
		"Keys": {
			reason: "an output becomes a key of a Secret, and one value",
			in:     `{secretKeys: [a, b/c, a, "", export.fn.crossplane.io-salt]}`,
			want: []string{
				`secretKeys[1]: cannot use key "b/c": use letters, digits, '-', '_' and '.' only`,
				"secretKeys[2]: is also the key of secretKeys[0]",
				"secretKeys[3]: cannot use an empty key: give it a name",
				"secretKeys[4]: is the key of the salts of hashes: use another key",
			},
		},
		"NoKeys": {
			reason: "a list without keys is a mistake: it would make nothing",
			in:     `{secretKeys: []}`,
			want:   []string{"secretKeys: must not be empty: name a key, or leave it out for password"},
		},
		"TooManyKeys": {
			reason: "nobody holds an input against its schema before",
			in:     `{secretKeys: [a,b,c,d,e,f,g,h,i,j,k,l,m,n,o,p,q]}`,
			want:   []string{"secretKeys: has 17 keys, over the limit of 16"},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			p, faults := CompilePassword(passwordPath, passwordInput(t, tc.in))
			var got []string
			for _, f := range faults {
				got = append(got, strings.TrimPrefix(f.Field, "generators[0].password.")+": "+f.Detail)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s: -want, +got:\n%s", tc.reason, diff)
			}
			if (p == nil) != (len(faults) > 0) {
				t.Errorf("%s: a password and its faults, or neither", tc.reason)
			}
			if p == nil {
				return
			}
			if out, err := p.Make(From{Random: seeded(1)}); err != nil || len(out) != len(p.Keys()) {
				t.Errorf("%s: what compiles cannot be made: %v", tc.reason, err)
			}
		})
	}
}

func TestMakePassword(t *testing.T) {
	cases := map[string]struct {
		reason string
		in     string
		want   map[string]string
	}{
		"Defaults": {
			reason: "24 characters, six digits, six symbols",
			in:     `{}`,
			want:   map[string]string{"password": "W+5g:M?9Y[>PJSI/jf842qE1"},
		},
		"PIN": {
			reason: "digits alone",
			in:     `{length: 4, digits: 4, symbols: 0, allowRepeat: true, secretKeys: [pin]}`,
			want:   map[string]string{"pin": "8968"},
		},
		"Affixes": {
			reason: "they stand around the password, beside its length, and may repeat its characters",
			in:     `{length: 10, digits: 10, symbols: 0, prefix: "01-", suffix: "-é"}`,
			want:   map[string]string{"password": "01-7490628315-é"},
		},
		"WholeSymbols": {
			reason: "a symbol of several bytes is not cut",
			in:     `{length: 4, digits: 0, symbols: 3, symbolCharacters: "€→🔑"}`,
			want:   map[string]string{"password": "g🔑€→"},
		},
		"NoUpper": {
			reason: "lower-case letters only",
			in:     `{length: 26, digits: 0, symbols: 0, noUpper: true}`,
			want:   map[string]string{"password": "mnalqhzrxpgkoecjviwutsfdyb"},
		},
		"OnlySymbols": {
			reason: "no letter is left",
			in:     `{length: 4, digits: 0, symbols: 4, symbolCharacters: "!"}`,
			want:   map[string]string{"password": "!!!!"},
		},
		"Raw": {
			reason: "the name of the default encoding",
			in:     `{length: 26, digits: 0, symbols: 0, noUpper: true, encoding: raw}`,
			want:   map[string]string{"password": "mnalqhzrxpgkoecjviwutsfdyb"},
		},
		"SeveralKeys": {
			reason: "each is a password of its own, made in the order of the names",
			in:     `{length: 12, secretKeys: [second, first]}`,
			want:   map[string]string{"first": "M(P28{JQt4%e", "second": `LoE7\nR~68@y`},
		},
		"Encoded": {
			reason: "prefix and suffix are encoded with the password",
			in:     `{length: 4, encoding: base64url, prefix: "ÿ?>", suffix: "."}`,
			want:   map[string]string{"password": "w78_Pmo4UF8u"},
		},
		"Base32": {
			reason: "padded, as in External Secrets",
			in:     `{length: 4, encoding: base32}`,
			want:   map[string]string{"password": "NI4FAXY="},
		},
		"Hex": {
			reason: "lower case, as in External Secrets",
			in:     `{length: 6, encoding: hex, suffix: "é"}`,
			want:   map[string]string{"password": "3324504a7951c3a9"},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			p := compiledPassword(t, passwordInput(t, tc.in))
			out, err := p.Make(From{Random: seeded(1)})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, revealed(out)); diff != "" {
				t.Errorf("%s: -want, +got:\n%s", tc.reason, diff)
			}
			clear(p.Keys()) // they are its caller's
			if diff := cmp.Diff(slices.Sorted(maps.Keys(tc.want)), p.Keys()); diff != "" {
				t.Errorf("keys: -want, +got:\n%s", diff)
			}
		})
	}
}

func TestDrawOfOneByteFails(t *testing.T) {
	broken := errors.New("no entropy")
	for random, want := range map[io.Reader]error{always(0xff): errUnfair, iotest.ErrReader(broken): broken} {
		d := &dice{random: random}
		if n := d.below(10); n != 0 || !errors.Is(d.err, want) {
			t.Errorf("draws %d with error %v, want 0 with %v", n, d.err, want)
		}
	}
	var reads bytes.Buffer
	d := &dice{random: io.TeeReader(always(0xff), &reads)}
	if d.below(10); reads.Len() != 128 {
		t.Errorf("%d tries, want 128", reads.Len())
	}
}

func TestPasswordSourceFails(t *testing.T) {
	broken := errors.New("no entropy today")
	cases := map[string]struct {
		reason string
		random func() io.Reader
		want   error
	}{
		"Empty": {
			reason: "there is nothing to draw from",
			random: func() io.Reader { return bytes.NewReader(nil) },
			want:   io.EOF,
		},
		"Short": {
			reason: "the second password cannot be made, so the first one is not given away",
			random: func() io.Reader { return io.LimitReader(seeded(1), 100) },
			want:   io.EOF,
		},
		"Broken": {
			reason: "the cause is told",
			random: func() io.Reader { return iotest.ErrReader(broken) },
			want:   broken,
		},
		"BrokenOnce": {
			reason: "the first cause is told, and nothing is drawn after it",
			random: func() io.Reader { return iotest.TimeoutReader(io.LimitReader(seeded(1), 100)) },
			want:   iotest.ErrTimeout,
		},
		"Ones": {
			reason: "no draw is ever in range, and it ends",
			random: func() io.Reader { return always(0xff) },
			want:   errUnfair,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			for _, in := range []string{`{secretKeys: [a, b]}`, `{secretKeys: [a, b], allowRepeat: true}`} {
				out, err := compiledPassword(t, passwordInput(t, in)).Make(From{Random: tc.random()})
				if !errors.Is(err, tc.want) || !strings.HasPrefix(err.Error(), "cannot generate a password: ") {
					t.Errorf("%s: got error %v", tc.reason, err)
				}
				if out != nil {
					t.Errorf("%s: outputs in spite of an error", tc.reason)
				}
			}
		})
	}
}

// A draw of 1,024 bits, of which the first is out of range, takes 256 bytes: that they
// come one by one makes no more draws of them.
func TestPasswordReadsWholeDraws(t *testing.T) {
	p := compiledPassword(t, passwordInput(t, `{length: 1024, digits: 0, symbols: 0, allowRepeat: true}`))
	source := func() io.Reader { return io.MultiReader(io.LimitReader(always(0xff), 128), seeded(1)) }
	want, err := p.Make(From{Random: source()})
	if err != nil {
		t.Fatal(err)
	}
	got, err := p.Make(From{Random: iotest.OneByteReader(source())})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(revealed(want), revealed(got)); diff != "" {
		t.Errorf("-whole, +in parts:\n%s", diff)
	}
}

func TestPasswordsAreSecret(t *testing.T) {
	out, err := compiledPassword(t, passwordInput(t, `{}`)).Make(From{Random: rand.Reader})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := fmt.Sprintf("%+v", out), "map[password:[redacted]]"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// passwordClass is U, L, D or S.
func passwordClass(r rune) byte {
	switch {
	case r >= 'A' && r <= 'Z':
		return 'U'
	case r >= 'a' && r <= 'z':
		return 'L'
	case r >= '0' && r <= '9':
		return 'D'
	}
	return 'S'
}

// classes of a password, in its order.
func classes(password string) string {
	var b strings.Builder
	for _, r := range password {
		b.WriteByte(passwordClass(r))
	}
	return b.String()
}

func distinct(text string) int {
	set := map[rune]bool{}
	for _, r := range text {
		set[r] = true
	}
	return len(set)
}

// repeats is one of what allowRepeat can be.
func repeats(flags byte) *bool {
	set := flags&2 != 0
	if !set && flags&64 == 0 {
		return nil
	}
	return &set
}

// wrong says why a password, without prefix and suffix, is none that was asked for.
func wrong(in *v1beta1.PasswordGenerator, password string) string {
	length := int(ptr.Deref(in.Length, 24))
	digits, symbols := int(ptr.Deref(in.Digits, uint64(length/4))), int(ptr.Deref(in.Symbols, uint64(length/4)))
	is, seen := classes(password), map[rune]bool{}
	upper, lower := strings.Count(is, "U"), strings.Count(is, "L")
	for _, r := range password {
		if passwordClass(r) == 'S' && !strings.ContainsRune(ptr.Deref(in.SymbolCharacters, "~!@#$%^&*()_+`-={}|[]\\:\"<>?,./"), r) {
			return "it has a symbol that is none"
		}
		spelled := in.AllowRepeat == nil && in.SymbolCharacters != nil && symbols > distinct(*in.SymbolCharacters)
		if seen[r] && !ptr.Deref(in.AllowRepeat, spelled && passwordClass(r) == 'S') {
			return "it has a character twice"
		}
		seen[r] = true
	}
	switch {
	case len(is) != length:
		return "its length"
	case strings.Count(is, "D") != digits:
		return "the number of its digits"
	case strings.Count(is, "S") != symbols:
		return "the number of its symbols"
	case in.NoUpper && upper > 0:
		return "it has upper-case letters"
	case !in.NoUpper && upper+lower > 1 && (upper == 0 || lower == 0):
		return "its letters are all of one case"
	}
	return ""
}

// chiSquared fails if the observed counts differ from the expected ones by so much that it happens
// once in 300,000 fair experiments. The quantile is Wilson and Hilferty's.
func chiSquared(t *testing.T, what string, observed map[string]int, expected map[string]float64) {
	t.Helper()
	const z = 4.5
	sum, total, left := 0.0, 0.0, maps.Clone(observed)
	for cell, want := range expected {
		d := float64(observed[cell]) - want
		sum += d * d / want
		total += want
		delete(left, cell)
	}
	if len(left) > 0 {
		t.Errorf("%s: %d that should not be", what, len(left))
	}
	n := 0
	for _, o := range observed {
		n += o
	}
	if math.Abs(total-float64(n)) > 1e-6*total {
		t.Errorf("%s: expected %f together, observed %d", what, total, n)
	}
	df := float64(len(expected) - 1)
	if limit := df * math.Pow(1-2/(9*df)+z*math.Sqrt(2/(9*df)), 3); df > 0 && sum > limit {
		t.Errorf("%s: chi-squared is %.1f, over %.1f for %.0f degrees of freedom", what, sum, limit, df)
	}
}

// made are n passwords, from one source.
func made(t *testing.T, in string, n int) []string {
	t.Helper()
	p, random := compiledPassword(t, passwordInput(t, in)), seeded(7)
	out := make([]string, n)
	for i := range out {
		o, err := p.Make(From{Random: random})
		if err != nil {
			t.Fatal(err)
		}
		out[i] = string(o["password"].Reveal())
	}
	return out
}

// allOf are all passwords that were asked for: of all texts those that are not wrong.
func allOf(t *testing.T, text string) []string {
	t.Helper()
	in := passwordInput(t, text)
	texts := []string{""}
	for range *in.Length {
		var longer []string
		for _, s := range texts {
			for _, r := range lowerCase + upperCase + allDigits + *in.SymbolCharacters {
				longer = append(longer, s+string(r))
			}
		}
		texts = longer
	}
	return slices.DeleteFunc(texts, func(s string) bool { return wrong(in, s) != "" })
}

func TestEveryPasswordIsAsLikely(t *testing.T) {
	cases := map[string]struct {
		reason string
		in     string
		want   int // passwords there are
	}{
		"Digits":                {in: `{length: 2, digits: 2, symbols: 0, symbolCharacters: ""}`, want: 10 * 9, reason: "none twice"},
		"DigitsWithRepeats":     {in: `{length: 2, digits: 2, symbols: 0, symbolCharacters: "", allowRepeat: true}`, want: 10 * 10, reason: "some twice"},
		"Symbols":               {in: `{length: 3, digits: 1, symbols: 2, symbolCharacters: "!€%"}`, want: 3 * 10 * 3 * 2, reason: "symbols and digits change places"},
		"SymbolsThatMustRepeat": {in: `{length: 4, digits: 1, symbols: 3, symbolCharacters: "!€"}`, want: 4 * 10 * 2 * 2 * 2, reason: "only symbols repeat"},
		"SymbolsWithRepeats":    {in: `{length: 3, digits: 1, symbols: 2, symbolCharacters: "!€%", allowRepeat: true}`, want: 3 * 10 * 3 * 3, reason: "symbols and digits change places"},
		"SymbolsGivenTwice":     {in: `{length: 2, digits: 1, symbols: 1, symbolCharacters: "!!!€"}`, want: 2 * 10 * 2, reason: "a symbol that is given three times is not more likely"},
		"Letter":                {in: `{length: 1, digits: 0, symbols: 0, symbolCharacters: ""}`, want: 52, reason: "a single letter may be of either case"},
		"Letters":               {in: `{length: 2, digits: 0, symbols: 0, symbolCharacters: ""}`, want: 2 * 26 * 26, reason: "two letters are one of each case"},
		"LettersNoUpper":        {in: `{length: 2, digits: 0, symbols: 0, symbolCharacters: "", noUpper: true}`, want: 26 * 25, reason: "unless there shall be no upper case"},
		"LettersAndDigits":      {in: `{length: 2, digits: 1, symbols: 0, symbolCharacters: ""}`, want: 2 * 10 * 52, reason: "a single letter beside a digit"},
		"EveryClass":            {in: `{length: 3, digits: 0, symbols: 1, symbolCharacters: "!"}`, want: 3 * 2 * 26 * 26, reason: "any order"},
	}
	for _, name := range proof.Part(slices.Sorted(maps.Keys(cases)), 6) {
		tc := cases[name]
		t.Run(name, func(t *testing.T) {
			all := allOf(t, tc.in)
			slices.Sort(all)
			all = slices.Compact(all)
			if len(all) != tc.want {
				t.Fatalf("the test knows of %d passwords, want %d", len(all), tc.want)
			}
			const each = 12
			expected, observed := map[string]float64{}, map[string]int{}
			for _, s := range all {
				expected[s] = each
			}
			for _, s := range made(t, tc.in, each*len(all)) {
				observed[s]++
			}
			chiSquared(t, tc.reason, observed, expected)
		})
	}
}

// The passwords there are cannot be counted any more: the class at each place, the
// characters at each place, and the characters of all places.
func TestClassesAndCharactersByPosition(t *testing.T) {
	const n = 12_000
	cases := map[string]struct {
		reason string
		in     string
		counts map[byte]float64
	}{
		"Defaults": {
			reason: "none twice",
			in:     `{}`,
			counts: map[byte]float64{'U': 6, 'L': 6, 'D': 6, 'S': 6},
		},
		"Repeats": {
			reason: "some twice",
			in:     `{length: 24, digits: 5, symbols: 1, allowRepeat: true}`,
			counts: map[byte]float64{'U': 9, 'L': 9, 'D': 5, 'S': 1},
		},
		"NoUpper": {
			reason: "fewer letters",
			in:     `{length: 24, digits: 3, noUpper: true}`,
			counts: map[byte]float64{'L': 15, 'D': 3, 'S': 6},
		},
	}
	sizes := map[byte]float64{'U': 26, 'L': 26, 'D': 10, 'S': 30}
	for _, name := range proof.Part(slices.Sorted(maps.Keys(cases)), 3) {
		tc := cases[name]
		t.Run(name, func(t *testing.T) {
			passwords := made(t, tc.in, n)
			ofClass, ofRune := map[string]float64{}, map[string]float64{}
			for _, r := range lowerCase + upperCase + allDigits + defaultSymbols {
				c := passwordClass(r)
				if tc.counts[c] > 0 {
					ofClass[string(c)] = n * tc.counts[c] / 24
					ofRune[string(r)] = ofClass[string(c)] / sizes[c]
				}
			}
			inAll := map[string]int{}
			for i := range 24 {
				classAt, runeAt := map[string]int{}, map[string]int{}
				for _, s := range passwords {
					classAt[string(passwordClass(rune(s[i])))]++
					runeAt[s[i:i+1]]++
					inAll[s[i:i+1]]++
				}
				chiSquared(t, fmt.Sprintf("%s: classes at %d", tc.reason, i), classAt, ofClass)
				chiSquared(t, fmt.Sprintf("%s: characters at %d", tc.reason, i), runeAt, ofRune)
			}
			for s := range ofRune {
				ofRune[s] *= 24
			}
			chiSquared(t, tc.reason+": characters", inAll, ofRune)
		})
	}
}

func TestEveryOrderIsAsLikely(t *testing.T) {
	const n = 12_000
	expected, observed := map[string]float64{}, map[string]int{}
	for _, s := range made(t, `{length: 5, digits: 2, symbols: 1}`, n) {
		observed[classes(s)]++
	}
	for order := range observed {
		expected[order] = n / 60 // 5! orders, and two digits that look the same
	}
	if len(observed) != 60 {
		t.Errorf("got %d orders, want 60", len(observed))
	}
	chiSquared(t, "orders", observed, expected)
}

// split is how likely each number of upper-case letters is, one letter after the other.
func split(letters int, allowRepeat bool) map[int]float64 {
	p := map[int]float64{0: 1} // of so many upper-case letters, so far
	for drawn := range letters {
		next := map[int]float64{}
		for upper, was := range p {
			isUpper := 0.5
			if !allowRepeat {
				isUpper = float64(26-upper) / float64(52-drawn)
			}
			next[upper+1] += was * isUpper
			next[upper] += was * (1 - isUpper)
		}
		p = next
	}
	delete(p, 0)
	delete(p, letters)
	sum := 0.0
	for _, x := range p {
		sum += x
	}
	for upper := range p {
		p[upper] /= sum
	}
	return p
}

func TestUpperCaseSplit(t *testing.T) {
	const n = 1500
	for _, letters := range []int{2, 3, 4, 12, 27, 30, 50, 51, 52, 70, 1024} {
		for _, allowRepeat := range []bool{false, true} {
			if letters > 52 && !allowRepeat {
				continue
			}
			size := n
			if letters > 52 {
				size = n / 10
			}
			what := fmt.Sprintf("%d letters, repeats %t", letters, allowRepeat)
			is := split(letters, allowRepeat)
			observed, expected, cells := map[string]int{}, map[string]float64{}, map[int]string{}
			for upper, cell := 0, 0; upper <= letters; upper++ {
				if is[upper] > 0 { // together with its neighbours, if it is rare
					cells[upper] = fmt.Sprint(cell)
					expected[cells[upper]] += is[upper] * float64(size)
				}
				if expected[fmt.Sprint(cell)] >= 5 {
					cell++
				}
			}
			for _, s := range made(t, fmt.Sprintf(`{length: %d, digits: 0, symbols: 0, allowRepeat: %t}`, letters, allowRepeat), size) {
				observed[cells[strings.Count(classes(s), "U")]]++
			}
			chiSquared(t, what, observed, expected)
		}
	}
}

// decodedPassword undoes an encoding.
func decodedPassword(encoding, text string) (string, error) {
	var b []byte
	var err error
	switch encoding {
	case "base64":
		b, err = base64.StdEncoding.DecodeString(text)
	case "base64url":
		b, err = base64.URLEncoding.DecodeString(text)
	case "base32":
		b, err = base32.StdEncoding.DecodeString(text)
	case "hex":
		b, err = hex.DecodeString(text)
	default:
		return text, nil
	}
	return string(b), err
}

// From any entropy, a password that compiles generates passwords of exactly its form, or returns
// the error of the entropy. A password that does not compile has a diagnostic with a path.
func FuzzPasswordKeepsItsShape(f *testing.F) {
	f.Add(uint64(24), uint64(6), uint64(6), defaultSymbols, byte(0), "", "", "raw", "password", uint64(1), []byte("entropy"))
	f.Add(uint64(92), uint64(10), uint64(30), defaultSymbols, byte(0x3c), "<", ">", "base64", "b,a", uint64(2), []byte{})
	f.Add(uint64(44), uint64(0), uint64(0), "", byte(0x04), "", "", "", "", uint64(3), []byte{0xff})
	f.Add(uint64(1024), uint64(1), uint64(2), "€→", byte(0x3e), "ü", "\n", "base64url", "a", uint64(4), bytes.Repeat([]byte{1, 0xff}, 99))
	f.Add(uint64(1), uint64(1)<<63, uint64(1)<<63, "aé\u0301\xff", byte(0x3f), "\xff", "", "hex", "a,a", uint64(5), []byte{})
	f.Add(uint64(8), uint64(1), uint64(1), "!", byte(0), "\xff", "", "raw", "", uint64(7), []byte{})
	f.Add(uint64(26), uint64(0), uint64(0), "!", byte(0x3d), "", "", "base32", "a/b", uint64(6), []byte{})
	f.Fuzz(func(t *testing.T, length, digits, symbols uint64, characters string, flags byte, prefix, suffix, encoding, keys string, seed uint64, entropy []byte) {
		in := &v1beta1.PasswordGenerator{NoUpper: flags&1 != 0, AllowRepeat: repeats(flags), Prefix: &prefix, Suffix: &suffix, Encoding: encoding}
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
			in.SecretKeys = strings.Split(keys, ",")
		}
		before := in.DeepCopy()
		p, faults := CompilePassword(passwordPath, in)
		if diff := cmp.Diff(before, in); diff != "" {
			t.Errorf("the input: -before, +after:\n%s", diff)
		}
		if p == nil {
			checkPasswordFaults(t, faults)
			return
		}
		if len(faults) > 0 {
			t.Fatalf("a password with faults: %v", faults.ToAggregate())
		}
		out, err := p.Make(From{Random: seeded(seed)})
		if err != nil {
			t.Fatalf("cannot make what compiles: %v", err)
		}
		checkPasswords(t, in, p, out)
		for name, random := range map[string]io.Reader{"finite": bytes.NewReader(entropy), "zeros": always(0), "ones": always(0xff)} {
			out, err := p.Make(From{Random: random})
			switch {
			case err == nil:
				checkPasswords(t, in, p, out)
			case out != nil:
				t.Errorf("%s: outputs in spite of %v", name, err)
			case name == "zeros":
				t.Errorf("zeros are always in range: %v", err)
			}
		}
	})
}

func checkPasswordFaults(t *testing.T, faults field.ErrorList) {
	t.Helper()
	if len(faults) == 0 {
		t.Error("no password, and no fault")
	}
	for _, fault := range faults {
		if !strings.HasPrefix(fault.Field, passwordPath.String()+".") || fault.Detail == "" || fault.Type != field.ErrorTypeInvalid ||
			strings.ContainsAny(fault.Error(), "\n\r") || !utf8.ValidString(fault.Error()) {
			t.Errorf("%q is no fault", fault.Error())
		}
	}
}

func checkPasswords(t *testing.T, in *v1beta1.PasswordGenerator, p *Password, out Outputs) {
	t.Helper()
	want := slices.Sorted(slices.Values(in.SecretKeys))
	if len(want) == 0 {
		want = []string{"password"}
	}
	if diff := cmp.Diff(want, p.Keys()); diff != "" {
		t.Errorf("keys: -want, +got:\n%s", diff)
	}
	if diff := cmp.Diff(want, slices.Sorted(maps.Keys(out))); diff != "" {
		t.Errorf("outputs: -want, +got:\n%s", diff)
	}
	for key, value := range out {
		text, err := decodedPassword(in.Encoding, string(value.Reveal()))
		if err != nil {
			t.Fatalf("%s is not %s: %v", key, in.Encoding, err)
		}
		if !utf8.ValidString(text) {
			t.Errorf("%s is not UTF-8", key)
		}
		text, hasPrefix := strings.CutPrefix(text, *in.Prefix)
		text, hasSuffix := strings.CutSuffix(text, *in.Suffix)
		if !hasPrefix || !hasSuffix {
			t.Errorf("%s lacks its prefix or its suffix", key)
		}
		if why := wrong(in, text); why != "" {
			t.Errorf("%s is none that was asked for: %s", key, why)
		}
	}
}

func BenchmarkMakePassword(b *testing.B) {
	for name, in := range map[string]string{
		"defaults": `{}`,
		"repeats":  `{allowRepeat: true}`,
		"longest":  `{length: 1024, allowRepeat: true}`,
	} {
		b.Run(name, func(b *testing.B) {
			p := compiledPassword(b, passwordInput(b, in))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := p.Make(From{Random: rand.Reader}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
