package generator

import (
	"bytes"
	"crypto/rand"
	"errors"
	"io"
	"regexp"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
)

func compiledUUID(t testing.TB) *UUID {
	t.Helper()
	return &UUID{}
}

func TestMakeUUID(t *testing.T) {
	broken := errors.New("no entropy today")
	cases := map[string]struct {
		reason string
		random io.Reader
		want   string
		err    error
	}{
		"Seeded": {
			reason: "the same entropy gives the same UUID",
			random: seeded(1),
			want:   "6ae6783f-4fbd-491b-aeb8-8b73a48ed247",
		},
		"InParts": {
			reason: "a source may give less than it was asked for",
			random: iotest.OneByteReader(seeded(1)),
			want:   "6ae6783f-4fbd-491b-aeb8-8b73a48ed247",
		},
		"Zeros": {
			reason: "version and variant are set",
			random: always(0),
			want:   "00000000-0000-4000-8000-000000000000",
		},
		"Ones": {
			reason: "version and variant are no more than six bits",
			random: always(0xff),
			want:   "ffffffff-ffff-4fff-bfff-ffffffffffff",
		},
		"Short": {
			reason: "15 bytes are too few",
			random: io.LimitReader(always(1), 15),
			err:    io.ErrUnexpectedEOF,
		},
		"Empty": {
			reason: "none are, too",
			random: bytes.NewReader(nil),
			err:    io.EOF,
		},
		"Broken": {
			reason: "the cause is told",
			random: iotest.ErrReader(broken),
			err:    broken,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			u := compiledUUID(t)
			out, err := u.Make(From{Random: tc.random})
			if !errors.Is(err, tc.err) {
				t.Errorf("%s: got error %v, want %v", tc.reason, err, tc.err)
			}
			if err != nil {
				if out != nil {
					t.Errorf("%s: outputs in spite of an error", tc.reason)
				}
				return
			}
			if diff := cmp.Diff(map[string]string{"uuid": tc.want}, revealed(out)); diff != "" {
				t.Errorf("%s: -want, +got:\n%s", tc.reason, diff)
			}
			if diff := cmp.Diff([]string{"uuid"}, u.Keys()); diff != "" {
				t.Errorf("keys: -want, +got:\n%s", diff)
			}
		})
	}
}

// Each digit that is random is as likely as any other.
func TestUUIDDigitsAreFair(t *testing.T) {
	const n = 4096
	v4 := regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`)
	u, random := compiledUUID(t), seeded(1)
	digits, seen := map[int]map[string]int{}, map[string]bool{}
	for range n {
		out, err := u.Make(From{Random: random})
		if err != nil {
			t.Fatal(err)
		}
		id := string(out["uuid"].Reveal())
		if seen[id] || !v4.MatchString(id) {
			t.Fatalf("%s is no new UUID of version 4", id)
		}
		seen[id] = true
		for i := range id {
			if digits[i] == nil {
				digits[i] = map[string]int{}
			}
			digits[i][id[i:i+1]]++
		}
	}
	for i, observed := range digits {
		expected := map[string]float64{}
		of := map[int]string{8: "-", 13: "-", 14: "4", 18: "-", 19: "89ab", 23: "-"}[i]
		if of == "" {
			of = "0123456789abcdef"
		}
		for _, r := range of {
			expected[string(r)] = n / float64(len(of))
		}
		chiSquared(t, "a digit", observed, expected)
	}
}

func BenchmarkMakeUUID(b *testing.B) {
	u := compiledUUID(b)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := u.Make(From{Random: rand.Reader}); err != nil {
			b.Fatal(err)
		}
	}
}
