package credential

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/crypto/bcrypt"
)

// htpasswdLines reads a file as servers do, and returns the hashes by user.
func htpasswdLines(t *testing.T, text string) (users []string, hashes map[string]string) {
	t.Helper()
	hashes = map[string]string{}
	for line := range strings.Lines(text) {
		user, hash, ok := strings.Cut(strings.TrimSuffix(line, "\n"), ":")
		if !ok || !strings.HasSuffix(line, "\n") || strings.HasPrefix(line, "#") || strings.TrimSpace(line) != strings.TrimSuffix(line, "\n") {
			t.Errorf("servers cannot read the line %q", line)
		}
		users, hashes[user] = append(users, user), hash
	}
	return users, hashes
}

func TestHtpasswdMake(t *testing.T) {
	k := &Htpasswd{cost: 4}
	passwords := map[string]string{"zoë": "1", "admin": "2", "a b": "3", "Admin": "4", "me@example.org": "4"}
	o, err := k.Make(ofMap(passwords))
	if err != nil {
		t.Fatal(err)
	}
	haveKeys(t, o, k.Keys())
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
	user := "the name of a user is not valid: it must be visible characters without ':', and not begin with '#' or a space"
	many := func(n int) map[string]string {
		out := map[string]string{}
		for i := range n {
			out[fmt.Sprint("u", i)] = "x"
		}
		return out
	}
	cases := map[string]struct {
		reason string
		cost   int
		in     map[string]string
		want   string
	}{
		"Nobody":    {reason: "an empty file is a mistake", cost: 4, want: "the map of secretExpression is empty: it must have at least one user"},
		"Empty":     {reason: "a name is required", cost: 4, in: map[string]string{"": "x"}, want: user},
		"Colon":     {reason: "the rest would be the hash", cost: 4, in: map[string]string{"a:b": "x"}, want: user},
		"Line":      {reason: "it would be another user", cost: 4, in: map[string]string{"a\nroot": "x"}, want: user},
		"Return":    {reason: "some take it for a line break", cost: 4, in: map[string]string{"a\r": "x"}, want: user},
		"Comment":   {reason: "servers would skip the line", cost: 4, in: map[string]string{"#a": "x"}, want: user},
		"Space":     {reason: "Apache would remove it", cost: 4, in: map[string]string{" a": "x"}, want: user},
		"Bytes":     {reason: "no text", cost: 4, in: map[string]string{"\xff": "x"}, want: user},
		"Many":      {reason: "a second of CPU", cost: 10, in: many(17), want: "there are more than 16 users, which is the limit with a cost of 10: set a lower cost, or add another generator for some of them"},
		"ManyCheap": {reason: "the limit is of time", cost: 4, in: many(1025), want: "there are more than 1024 users, which is the limit with a cost of 4: set a lower cost, or add another generator for some of them"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Log(tc.reason)
			fails(t, &Htpasswd{cost: tc.cost}, ofMap(tc.in), tc.want)
		})
	}
}

func FuzzHtpasswdLinesAreOfTheirUsers(f *testing.F) {
	f.Add("admin", "hunter2", "guest", "x")
	f.Add("a:b", "x", "a", "y")
	f.Add("a\nb", "x", "#c", "y")
	f.Add(" a", "x", "a ", "y")
	f.Add("é", "\xff", "e\u0301", "\u2028")
	f.Fuzz(func(t *testing.T, a, passwordOfA, b, passwordOfB string) {
		in := map[string]string{a: passwordOfA, b: passwordOfB}
		o, err := (&Htpasswd{cost: 4}).Make(ofMap(in))
		if err != nil {
			return
		}
		users, hashes := htpasswdLines(t, string(o[auth].Reveal()))
		if diff := cmp.Diff(slices.Sorted(maps.Keys(in)), users); diff != "" {
			t.Errorf("users -want +got:\n%s", diff)
		}
		for user, password := range in {
			if err := bcrypt.CompareHashAndPassword([]byte(hashes[user]), []byte(password)); err != nil {
				t.Error(err)
			}
		}
	})
}
