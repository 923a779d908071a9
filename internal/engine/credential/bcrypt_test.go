package credential

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/crypto/bcrypt"

	"github.com/crossplane-contrib/function-export/internal/engine/sensitive"
)

func ofText(text string) From {
	return From{Random: seeded(1), Now: noon, Source: Source{Text: sensitive.FromString(text)}}
}

func ofMap(texts map[string]string) From {
	m := map[string]sensitive.Bytes{}
	for k, v := range texts {
		m[k] = sensitive.FromString(v)
	}
	return From{Random: seeded(1), Now: noon, Source: Source{Map: m}}
}

// fails checks that a kind makes nothing, and only says the reason.
func fails(t *testing.T, k Kind, from From, want string) {
	t.Helper()
	o, err := k.Make(from)
	if err == nil || o != nil {
		t.Fatalf("made %v, %v, want %s", o, err, want)
	}
	if diff := cmp.Diff(want, err.Error()); diff != "" {
		t.Errorf("error -want +got:\n%s", diff)
	}
}

func TestBcryptMake(t *testing.T) {
	cases := map[string]struct {
		reason, password string
	}{
		"One":   {"the shortest", "x"},
		"Words": {"blanks and line breaks are a part of it", " hunter2\n"},
		"Bytes": {"bytes are hashed, not text", "\xff\xfe"},
		"Full":  {"all of 72 bytes are hashed", strings.Repeat("é", 36)},
	}
	k := &Bcrypt{cost: 4}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			o, err := k.Make(ofText(tc.password))
			if err != nil {
				t.Fatal(err)
			}
			haveKeys(t, o, k.Keys())
			hash := o[hashKey].Reveal()
			if !strings.HasPrefix(string(hash), "$2a$04$") {
				t.Errorf("%s: another prefix or cost: %.7s", tc.reason, hash)
			}
			if err := bcrypt.CompareHashAndPassword(hash, []byte(tc.password)); err != nil {
				t.Errorf("%s: %v", tc.reason, err)
			}
			other := tc.password[:len(tc.password)-1] + "!"
			if bcrypt.CompareHashAndPassword(hash, []byte(other)) == nil {
				t.Errorf("%s: the last byte does not matter", tc.reason)
			}
			again, err := k.Make(ofText(tc.password))
			if err != nil || again[hashKey].Equal(o[hashKey]) {
				t.Errorf("%s: two hashes have one salt, or %v", tc.reason, err)
			}
		})
	}
}

func TestBcryptMakeErrors(t *testing.T) {
	cases := map[string]struct {
		reason, password, want string
	}{
		"Empty": {"anybody would be let in", "", "a password is empty: check the value of secretExpression"},
		"Long": {
			"a longer password would be as good as its first 72 bytes", strings.Repeat("é", 36) + "x",
			"a password has more than 72 bytes, of which bcrypt would ignore the rest: use a shorter password",
		},
		"Zero": {
			"programs in C would read a shorter one", "a\x00b",
			"a password contains a zero byte, where many programs end it: use a password of text",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Log(tc.reason)
			fails(t, &Bcrypt{cost: 4}, ofText(tc.password), tc.want)
			fails(t, &Htpasswd{cost: 4}, ofMap(map[string]string{"a": "x", "b": tc.password}), tc.want)
		})
	}
}

func FuzzBcryptHashIsOfItsPassword(f *testing.F) {
	for _, seed := range []string{"", "hunter2", "\x00", "a\x00b", strings.Repeat("x", 72), strings.Repeat("x", 73), "\xff"} {
		f.Add([]byte(seed), byte(1))
	}
	f.Fuzz(func(t *testing.T, password []byte, flip byte) {
		o, err := (&Bcrypt{cost: 4}).Make(From{Source: Source{Text: sensitive.New(password)}})
		if err != nil {
			if strings.Contains(err.Error(), string(password)) && len(password) > 9 {
				t.Error("the error contains the password")
			}
			return
		}
		if err := bcrypt.CompareHashAndPassword(o[hashKey].Reveal(), password); err != nil {
			t.Error(err)
		}
		if flip == 0 {
			return
		}
		password[len(password)-1] ^= flip
		if bcrypt.CompareHashAndPassword(o[hashKey].Reveal(), password) == nil {
			t.Error("the hash is also of another password")
		}
	})
}
