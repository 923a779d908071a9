package generator

import (
	"bytes"
	"encoding/base32"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	"github.com/crossplane-contrib/function-export/input/v1beta1"
	"github.com/crossplane-contrib/function-export/internal/sensitive"
)

func totp(t testing.TB, in *v1beta1.TOTPGenerator) *TOTP {
	t.Helper()
	out, faults := CompileTOTP(field.NewPath("totp"), in)
	if len(faults) > 0 {
		t.Fatal(faults.ToAggregate())
	}
	return out
}

func every(d time.Duration) *metav1.Duration { return &metav1.Duration{Duration: d} }

func TestCompileTOTPFaults(t *testing.T) {
	cases := map[string]struct {
		reason string
		in     v1beta1.TOTPGenerator
		want   []string
	}{
		"Empty":    {reason: "all has defaults"},
		"Shortest": {reason: "the limit is allowed", in: v1beta1.TOTPGenerator{Period: every(5 * time.Second), Digits: ptr.To[uint64](8)}},
		"Longest":  {reason: "the limit is allowed", in: v1beta1.TOTPGenerator{Period: every(time.Hour), Digits: ptr.To[uint64](6), Algorithm: "SHA512"}},
		"DigitsFew": {
			reason: "RFC 4226 wants six",
			in:     v1beta1.TOTPGenerator{Digits: ptr.To[uint64](5)},
			want:   []string{"totp.digits: is 5: must be 6, 7 or 8"},
		},
		"DigitsMany": {
			reason: "31 bits give no more than nine, of which the first is hardly random",
			in:     v1beta1.TOTPGenerator{Digits: ptr.To[uint64](9)},
			want:   []string{"totp.digits: is 9: must be 6, 7 or 8"},
		},
		"DigitsHuge": {
			reason: "no number wraps around",
			in:     v1beta1.TOTPGenerator{Digits: ptr.To[uint64](1<<63 + 6)},
			want:   []string{"totp.digits: is 9223372036854775814: must be 6, 7 or 8"},
		},
		"PeriodZero": {
			reason: "a zero that is set is no default",
			in:     v1beta1.TOTPGenerator{Period: every(0)},
			want:   []string{"totp.period: is 0s: must be from 5s to 1h"},
		},
		"PeriodNegative": {
			reason: "no time runs backwards",
			in:     v1beta1.TOTPGenerator{Period: every(-30 * time.Second)},
			want:   []string{"totp.period: is -30s: must be from 5s to 1h"},
		},
		"PeriodLong": {
			reason: "a second over the limit",
			in:     v1beta1.TOTPGenerator{Period: every(time.Hour + time.Second)},
			want:   []string{"totp.period: is 1h0m1s: must be from 5s to 1h"},
		},
		"PeriodShort": {
			reason: "a second below the limit",
			in:     v1beta1.TOTPGenerator{Period: every(4 * time.Second)},
			want:   []string{"totp.period: is 4s: must be from 5s to 1h"},
		},
		"PeriodParts": {
			reason: "RFC 6238 counts seconds",
			in:     v1beta1.TOTPGenerator{Period: every(30*time.Second + time.Millisecond)},
			want:   []string{"totp.period: is 30.001s: must be whole seconds"},
		},
		"Several": {
			reason: "all faults at once, in the order of the fields",
			in:     v1beta1.TOTPGenerator{Algorithm: "sha1", Period: every(time.Second), Digits: ptr.To[uint64](0)},
			want: []string{
				"totp.digits: is 0: must be 6, 7 or 8",
				"totp.period: is 1s: must be from 5s to 1h",
				"totp.algorithm: must be SHA1, SHA256 or SHA512",
			},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			out, faults := CompileTOTP(field.NewPath("totp"), &tc.in)
			if diff := cmp.Diff(tc.want, faultTexts(faults)); diff != "" {
				t.Errorf("%s\n-want +got:\n%s", tc.reason, diff)
			}
			if (out == nil) != (len(tc.want) > 0) {
				t.Errorf("%s\n%v with faults %v", tc.reason, out, faults)
			}
		})
	}
}

// The test vectors of RFC 6238, appendix B. Its secrets are as long as the hash, which
// its erratum 2866 says.
func TestTOTPOfRFC6238(t *testing.T) {
	secrets := map[string]int{"SHA1": 20, "SHA256": 32, "SHA512": 64}
	for seconds, tokens := range map[int64]map[string]string{
		59:          {"SHA1": "94287082", "SHA256": "46119246", "SHA512": "90693936"},
		1111111109:  {"SHA1": "07081804", "SHA256": "68084774", "SHA512": "25091201"},
		1111111111:  {"SHA1": "14050471", "SHA256": "67062674", "SHA512": "99943326"},
		1234567890:  {"SHA1": "89005924", "SHA256": "91819424", "SHA512": "93441116"},
		2000000000:  {"SHA1": "69279037", "SHA256": "90698825", "SHA512": "38618901"},
		20000000000: {"SHA1": "65353130", "SHA256": "77737706", "SHA512": "47863826"},
	} {
		for algorithm, want := range tokens {
			t.Run(fmt.Sprint(algorithm, "/", seconds), func(t *testing.T) {
				secret := base32.StdEncoding.EncodeToString([]byte(strings.Repeat("1234567890", 7)[:secrets[algorithm]]))
				for digits := uint64(6); digits <= 8; digits++ {
					o, _, err := totp(t, &v1beta1.TOTPGenerator{Algorithm: algorithm, Digits: &digits}).Make(secret, time.Unix(seconds, 0))
					if err != nil {
						t.Fatal(err)
					}
					if got := string(o[token].Reveal()); got != want[8-digits:] {
						t.Errorf("%d digits: token %s of %s", digits, got, want)
					}
				}
			})
		}
	}
}

// As the apps do it without being told anything: SHA1, six digits, 30 seconds.
func TestTOTPDefaults(t *testing.T) {
	o, left, err := totp(t, &v1beta1.TOTPGenerator{}).Make("GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ", time.Unix(59, 0))
	if err != nil {
		t.Fatal(err)
	}
	want := Outputs{"token": sensitive.FromString("287082"), "validUntil": sensitive.FromString("1970-01-01T00:01:00Z")}
	if diff := cmp.Diff(want, o); diff != "" || left != time.Second {
		t.Errorf("%s left, outputs -want +got:\n%s", left, diff)
	}
	haveKeys(t, o, (&TOTP{}).Keys())
}

func TestTOTPLeft(t *testing.T) {
	cases := map[string]struct {
		reason string
		period time.Duration
		now    time.Time
		want   int
	}{
		"Start":  {reason: "a token that starts has its whole period", period: 30 * time.Second, now: time.Unix(60, 0), want: 30},
		"Second": {reason: "one second on", period: 30 * time.Second, now: time.Unix(61, 0), want: 29},
		"Part":   {reason: "parts of a second are rounded up: after 29 s it is another one", period: 30 * time.Second, now: time.Unix(61, 1), want: 29},
		"End":    {reason: "never 0, or whoever waits so long gets the same one again", period: 30 * time.Second, now: time.Unix(89, 999_999_999), want: 1},
		"Hour":   {reason: "the period counts from 1970", period: time.Hour, now: time.Unix(3600*7+5, 0), want: 3595},
		"Odd":    {reason: "which an odd period shows", period: 7 * time.Second, now: time.Unix(1_000_000_000, 0), want: 1},
		"Zone":   {reason: "the zone of a clock does not matter", period: time.Hour, now: time.Unix(3600*7+5, 0).In(time.FixedZone("", 1800)), want: 3595},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			o, left, err := totp(t, &v1beta1.TOTPGenerator{Period: every(tc.period)}).Make("AAAA", tc.now)
			if err != nil {
				t.Fatal(err)
			}
			until := tc.now.Truncate(time.Second).Add(left).UTC().Format(time.RFC3339)
			if left != time.Duration(tc.want)*time.Second || string(o[validUntil].Reveal()) != until {
				t.Errorf("%s\n%s left and valid until %s, not %d s and %s", tc.reason, left, o[validUntil].Reveal(), tc.want, until)
			}
		})
	}
}

func TestTOTPSecret(t *testing.T) {
	const errorText = "the shared secret is not base32, or is empty"
	good := map[string]string{
		"Plain":    "GEZDGNBVGY3TQOJQ",
		"Lower":    "gezdgnbvgy3tqojq",
		"Groups":   "gezd gnbv gy3t qojq",
		"Hyphens":  "GEZD-GNBV-GY3T-QOJQ",
		"Newline":  "GEZDGNBVGY3TQOJQ\r\n",
		"NoBreak":  "GEZD\u00a0GNBV\u00a0GY3T\u00a0QOJQ",
		"Padded":   "GEZDGNBVGY3TQOJQ========",
		"Overpaid": "GEZDGNBVGY3TQOJQ= =",
	}
	now := time.Unix(1111111111, 0)
	want, _, err := totp(t, &v1beta1.TOTPGenerator{}).Make(base32.StdEncoding.EncodeToString([]byte("1234567890")), now)
	if err != nil {
		t.Fatal(err)
	}
	for name, secret := range good {
		t.Run(name, func(t *testing.T) {
			got, _, err := totp(t, &v1beta1.TOTPGenerator{}).Make(secret, now)
			if err != nil {
				t.Fatal(err)
			}
			if !cmp.Equal(want, got) {
				t.Errorf("%q is another secret", secret)
			}
		})
	}
	for name, secret := range map[string]string{
		"Empty": "", "Blank": " \n", "Padding": "====", "Hyphen": "-", "One": "A", "Three": "ABC", "Six": "ABCDEF",
		"Digit": "GEZD1NBV", "Zero": "GEZD0NBV", "Inside": "GE=ZDGNBV", "End": "GEZDGNBVGY3TQOJ1",
		"Wide": "ＧＥＺＤ", "LongS": "ſſſſ", "URI": "otpauth://totp/x?secret=GEZDGNBV", "Bytes": "\xff\xfe",
	} {
		t.Run("Wrong"+name, func(t *testing.T) {
			o, left, err := totp(t, &v1beta1.TOTPGenerator{}).Make(secret, now)
			if err == nil || err.Error() != errorText || o != nil || left != 0 {
				t.Errorf("%q: %v, %s, %v", secret, o, left, err)
			}
		})
	}
}

func TestTOTPLowerCase(t *testing.T) {
	const all = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"
	upper, err := sharedSecret(all)
	if err != nil {
		t.Fatal(err)
	}
	lower, err := sharedSecret(strings.ToLower(all))
	if err != nil || !bytes.Equal(upper, lower) {
		t.Errorf("the letters in lower case are another secret: %v", err)
	}
}

// A secret whose length is no multiple of five bytes, with the padding that some
// leave out.
func TestTOTPPadding(t *testing.T) {
	for n := 1; n <= 20; n++ {
		padded := base32.StdEncoding.EncodeToString([]byte(strings.Repeat("k", n)))
		want, _, err := totp(t, &v1beta1.TOTPGenerator{}).Make(padded, time.Unix(0, 0))
		if err != nil {
			t.Fatalf("%s: %s", padded, err)
		}
		got, _, err := totp(t, &v1beta1.TOTPGenerator{}).Make(strings.TrimRight(padded, "="), time.Unix(0, 0))
		if err != nil || !cmp.Equal(want, got) {
			t.Errorf("%d bytes: without its padding %s is another secret: %v", n, padded, err)
		}
	}
}

func TestTOTPConcurrently(t *testing.T) {
	g := totp(t, &v1beta1.TOTPGenerator{})
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 200 {
				if o, _, err := g.Make("GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ", time.Unix(59, 0)); err != nil || string(o[token].Reveal()) != "287082" {
					t.Errorf("%s, %v", o[token].Reveal(), err)
					return
				}
			}
		})
	}
	wg.Wait()
}

func FuzzTOTPNeverPanics(f *testing.F) {
	f.Add("GEZDGNBVGY3TQOJQ", int64(59), uint64(6), int64(30*time.Second), "SHA1")
	f.Add("gezd gnbv==", int64(20000000000), uint64(8), int64(time.Hour), "SHA512")
	f.Add("", int64(0), uint64(9), int64(-1), "MD5")
	f.Add("\xff=", int64(1)<<61, uint64(7), int64(5*time.Second), "")
	f.Fuzz(func(t *testing.T, secret string, seconds int64, digits uint64, period int64, algorithm string) {
		g, faults := CompileTOTP(field.NewPath("totp"), &v1beta1.TOTPGenerator{Digits: &digits, Period: every(time.Duration(period)), Algorithm: algorithm})
		if len(faults) > 0 {
			return
		}
		if seconds < 0 {
			seconds = ^seconds // time began in 1970
		}
		o, left, err := g.Make(secret, time.Unix(seconds, 0))
		if err != nil {
			if err.Error() != errSecret.Error() { // which holds nothing of any secret
				t.Errorf("the error for %q: %s", secret, err)
			}
			return
		}
		if n, err := strconv.ParseUint(string(o[token].Reveal()), 10, 32); err != nil || o[token].Len() != int(digits) {
			t.Errorf("token %d of %d digits: %v", n, digits, err)
		}
		if left < time.Second || left > time.Duration(period) {
			t.Errorf("%s left of %s", left, time.Duration(period))
		}
	})
}

func BenchmarkTOTPMake(b *testing.B) {
	g, now := totp(b, &v1beta1.TOTPGenerator{}), time.Unix(59, 0)
	for b.Loop() {
		if _, _, err := g.Make("GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ", now); err != nil {
			b.Fatal(err)
		}
	}
}
