package suggest

import (
	"strings"
	"testing"
)

func TestNearest(t *testing.T) {
	cases := map[string]struct {
		reason string
		wrong  string
		known  []string
		want   string
	}{
		"Swapped": {"Two letters in the wrong order are one mistake.", "hsot", []string{"port", "host"}, "host"},
		"Case":    {"A name in another case is the same name.", "DBNAME", []string{"dbName"}, "dbName"},
		"Missing": {"A letter that is missing.", "enpoint", []string{"endpoint", "port"}, "endpoint"},
		"TooFar": {"A third of the letters is the most: a wrong suggestion is worse than none.", "user",
			[]string{"host"}, ""},
		"Short":    {"A name of two letters, of which one is wrong.", "bd", []string{"cd", "db"}, "cd"},
		"Swap":     {"A name of two letters, which are swapped.", "bd", []string{"xy", "db"}, "db"},
		"Other":    {"A name of two letters that has nothing of the other.", "ab", []string{"cd"}, ""},
		"Letter":   {"A name of one letter has nothing left when it is wrong.", "a", []string{"b"}, ""},
		"NoneSuch": {"Nothing is known.", "a", nil, ""},
		"First":    {"Of two that are equally near the first.", "port", []string{"ports", "sport"}, "ports"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := Nearest(tc.wrong, tc.known); got != tc.want {
				t.Errorf("%s\nwant %q, got %q", tc.reason, tc.want, got)
			}
		})
	}
}

func TestDidYouMean(t *testing.T) {
	if got, want := DidYouMean("host"), ": did you mean host?"; got != want {
		t.Errorf("want %q, got %q", want, got)
	}
	if got := DidYouMean(""); got != "" {
		t.Errorf("want nothing for no name, got %q", got)
	}
}

func TestThereAre(t *testing.T) {
	many := strings.Split("a1 b2 c3 d4 e5 f6 g7 h8 i9 j10 k11 l12 m13 n14", " ")
	for name, tc := range map[string]struct {
		reason string
		known  []string
		want   string
	}{
		"Near": {"The one that was meant is enough.", []string{"user", "hsot"}, ": did you mean hsot?"},
		"None": {"There is nothing to choose from, so the message says where to add it.", nil, ": add it"},
		"One":  {"It is that one.", []string{"user"}, ": there is only user"},
		"Few":  {"A reader finds it.", []string{"user", "word"}, ": there are user, word"},
		"Many": {"The first, and how many more.", many, ": there are a1, b2, c3, d4, e5, f6, g7, h8, i9, j10, " +
			"k11, l12 and 2 more"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := ThereAre("host", tc.known, "add it"); got != tc.want {
				t.Errorf("%s\nwant %q, got %q", tc.reason, tc.want, got)
			}
		})
	}
}
