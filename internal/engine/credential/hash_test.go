package credential

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/crypto/bcrypt"
	"k8s.io/utils/ptr"

	"github.com/crossplane-contrib/function-export/input/v1beta1"
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

// Kinds with the lowest cost.
var (
	cheapBcrypt   = NewBcrypt(&v1beta1.BcryptGenerator{Cost: ptr.To[uint64](4)})
	cheapHtpasswd = NewHtpasswd(&v1beta1.HtpasswdGenerator{Cost: ptr.To[uint64](4)})
)

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
			fails(t, cheapBcrypt, ofText(tc.password), tc.want)
			fails(t, cheapHtpasswd, ofMap(map[string]string{"a": "x", "b": tc.password}), tc.want)
		})
	}
}

// htpasswdLines reads a file as servers do, and returns the hashes by user.
func htpasswdLines(t *testing.T, text string) (users []string, hashes map[string]string) {
	t.Helper()
	hashes = map[string]string{}
	for line := range strings.Lines(text) {
		user, hash, ok := strings.Cut(strings.TrimSuffix(line, "\n"), ":")
		if !ok || !strings.HasSuffix(line, "\n") || strings.HasPrefix(line, "#") ||
			strings.TrimSpace(line) != strings.TrimSuffix(line, "\n") {
			t.Errorf("servers cannot read the line %q", line)
		}
		users, hashes[user] = append(users, user), hash
	}
	return users, hashes
}

func TestHtpasswdMake(t *testing.T) {
	k := cheapHtpasswd
	passwords := map[string]string{"zoë": "1", "admin": "2", "a b": "3", "Admin": "4", "me@example.org": "4"}
	o, err := k.Make(ofMap(passwords))
	if err != nil {
		t.Fatal(err)
	}
	haveKeys(t, o, k.Keys)
	users, hashes := htpasswdLines(t, string(o[auth].Reveal()))
	if diff := cmp.Diff([]string{"Admin", "a b", "admin", "me@example.org", "zoë"}, users); diff != "" {
		t.Errorf("users -want +got:\n%s", diff)
	}
	for user, hash := range hashes {
		if !strings.HasPrefix(hash, "$2y$04$") {
			t.Errorf("Apache does not know the hash %.7s", hash)
		}
		if err := bcrypt.CompareHashAndPassword([]byte(hash), []byte(passwords[user])); err != nil {
			t.Errorf("%s: %v", user, err)
		}
	}
	if hashes["Admin"] == hashes["me@example.org"] {
		t.Error("it shows that two users have one password")
	}
}

func TestHtpasswdMakeErrors(t *testing.T) {
	user := "the name of a user is not valid: it must be visible characters without ':', and not begin with '#' or a " +
		"space"
	many := func(n int) map[string]string {
		out := map[string]string{}
		for i := range n {
			out[fmt.Sprint("u", i)] = "x"
		}
		return out
	}
	cases := map[string]struct {
		reason string
		cost   uint64
		in     map[string]string
		want   string
	}{
		"Nobody": {reason: "an empty file is a mistake", cost: 4,
			want: "the map of secretExpression is empty: it must have at least one user"},
		"Colon": {reason: "the rest would be the hash", cost: 4, in: map[string]string{"a:b": "x"}, want: user},
		"Line":  {reason: "it would be another user", cost: 4, in: map[string]string{"a\nroot": "x"}, want: user},
		"Many": {reason: "a second of CPU", cost: 10, in: many(17),
			want: "there are more than 16 users, which is the limit with a cost of 10: set a lower cost, or add " +
				"another generator for some of them"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Log(tc.reason)
			fails(t, NewHtpasswd(&v1beta1.HtpasswdGenerator{Cost: &tc.cost}), ofMap(tc.in), tc.want)
		})
	}
}
