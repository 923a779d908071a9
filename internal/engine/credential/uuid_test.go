package credential

import (
	"bytes"
	"io"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestMakeUUID(t *testing.T) {
	cases := map[string]struct {
		reason string
		random io.Reader
		want   string
	}{
		"Zeros": {"version and variant are set", bytes.NewReader(make([]byte, 16)), "00000000-0000-4000-8000-000000000000"},
		"Ones": {
			"version and variant are no more than six bits", bytes.NewReader(bytes.Repeat([]byte{0xff}, 16)),
			"ffffffff-ffff-4fff-bfff-ffffffffffff",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			out, err := (&UUID{}).Make(From{Random: tc.random})
			if err != nil {
				t.Fatal(err)
			}
			haveKeys(t, out, (&UUID{}).Keys())
			if diff := cmp.Diff(tc.want, string(out["uuid"].Reveal())); diff != "" {
				t.Errorf("%s: -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
	fails(t, &UUID{}, From{Random: bytes.NewReader(make([]byte, 15))}, "cannot generate a UUID: cannot read randomness: unexpected EOF")
}
