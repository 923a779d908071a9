package generator

import (
	"bytes"
	"encoding/base64"
	"errors"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/crypto/curve25519"
)

func TestWireGuardMake(t *testing.T) {
	ones := bytes.Repeat([]byte{0xff}, 32)
	zeros := make([]byte, 32)
	// The first key is Alice's in RFC 7748, section 6.1, which is already without the other bits.
	alice := []byte("\x77\x07\x6d\x0a\x73\x18\xa5\x7d\x3c\x16\xc1\x72\x51\xb2\x66\x45\xdf\x4c\x2f\x87\xeb\xc0\x99\x2a\xb1\x77\xfb\xa5\x1d\xb9\x2c\x2a")
	cases := map[string]struct {
		reason string
		random []byte
		want   map[string]string
	}{
		"Alice": {
			"an example of the RFC, whose three free bits are cleared", append(bytes.Clone(alice), ones...),
			map[string]string{
				privateKey: "cAdtCnMYpX08FsFyUbJmRd9ML4frwJkqsXf7pR25LGo=", publicKey: "hSDwCYkwp1R0i33ctD73Wg2/Og0mOBr066SpjqqbTmo=",
				presharedKey: "//////////////////////////////////////////8=",
			},
		},
		"Ones": {
			"the bits that are cleared", append(bytes.Clone(ones), zeros...),
			map[string]string{
				privateKey: "+P///////////////////////////////////////38=", publicKey: "hHwNLDdSNPNl5mCVUYejc1oPdhPRYJ06ak2MU66qWiI=",
				presharedKey: "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=",
			},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			o, err := (&WireGuard{}).Make(From{Random: bytes.NewReader(tc.random)})
			if err != nil {
				t.Fatal(err)
			}
			haveKeys(t, o, (&WireGuard{}).Keys())
			if diff := cmp.Diff(tc.want, revealed(o)); diff != "" {
				t.Errorf("%s\n-want +got:\n%s", tc.reason, diff)
			}
		})
	}
	fails(t, &WireGuard{}, From{Random: iotest.ErrReader(errors.New("no entropy"))}, "cannot read randomness: no entropy")
	fails(t, &WireGuard{}, From{Random: bytes.NewReader(make([]byte, 63))}, "cannot read randomness: unexpected EOF")
}

// A private key has exactly the bits of RFC 7748, and the public key belongs to it.
func FuzzWireGuardKeysAreClamped(f *testing.F) {
	f.Add(make([]byte, 64))
	f.Add(bytes.Repeat([]byte{0xff}, 64))
	f.Fuzz(func(t *testing.T, random []byte) {
		o, err := (&WireGuard{}).Make(From{Random: bytes.NewReader(random)})
		if (err != nil) != (len(random) < 64) {
			t.Fatal(err)
		}
		if err != nil {
			return
		}
		key, err := base64.StdEncoding.DecodeString(string(o[privateKey].Reveal()))
		if err != nil || len(key) != 32 || key[0]&7 != 0 || key[31]>>6 != 1 {
			t.Fatal("the key is not one of X25519")
		}
		public, err := curve25519.X25519(key, curve25519.Basepoint)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(base64.StdEncoding.EncodeToString(public), string(o[publicKey].Reveal())); diff != "" {
			t.Errorf("public key -want +got:\n%s", diff)
		}
	})
}
