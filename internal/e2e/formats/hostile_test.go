// Package formats holds the law of package format: real parsers read exactly what was written. It is a module of its
// own, so that the product depends on none of them.
package formats

import (
	"flag"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

// atoms are the parts of hostile values.
var atoms = []string{
	"", "a", "Z9", "'", `"`, "`", "\\", "$", "${", "$x", "$(", "{", "}", "(", ")", "[", "]", "%", "%(", "%41", "@", "/",
	"//", ":", ";",
	"#", "!", "=", "&", "?", "+", ",", "*", "~", "-", "<", "|", " ", "\t", "\n", "\r", "\r\n", "\x00", "\x01", "\x1f",
	"\x7f", "\f",
	"\u0085", "\u00a0", "\u2028", "\ufeff", "é", "日", "🔑", `\n`, `\u0041`, "x=y", "true", "1", "null", "address=(",
}

// hostile are the atoms, all pairs of them, and some longer values.
func hostile() []string {
	out := []string{
		"p'a\"s$s`w\\o#r;d=%", `\\`, `a\\`, `\\"`, `'\\"`, `\'`, `\"`, `'"`, `"'`, `"""`, `'''`, `"a"`, `'a'`, "`a`", `a'b"c`,
		`it's 5"`, `it's "so" x`, `\\x\\y`, `C:\dir\`, `{a}}b}`, "}}", `%(a)s`, "${HOME}", "$HOME", "`id`", "$(id)",
		"-----BEGIN\nabc\n-----END",
		strings.Repeat("x", 5000), " both ", "a b", "#a", "a#b", "a #b", ";a", "a ;b", "a:b:c", `a\:b`, "a@b@c", "a/b/c",
		"key = value", "[section]",
		"rem", "export x", "a\n\nb", "\na", "a\n", "$$", "\\$", "\\`", `\\$`, `'$`, "'`", "日本\u2028語",
	}
	for _, a := range atoms {
		for _, b := range atoms {
			out = append(out, a+b, a+"m"+b)
		}
	}
	return out
}

// seed adds pairs of hostile values to a fuzz target. All of them are tested. Only the first ones are the seeds of
// fuzzing, which needs minutes to begin otherwise.
func seed(f *testing.F) {
	f.Helper()
	all := hostile()
	if flag.Lookup("test.fuzz").Value.String() != "" {
		all = all[:200]
	}
	for i, s := range all {
		f.Add(s, all[(i*7+3)%len(all)])
	}
}

// written is a text that a function wrote, or a refusal.
type written struct {
	text string
	err  error
}

func write(text string, err error) written { return written{text, err} }

// refused reports whether the function returned an error. It fails if the error contains one of the values, or if there
// may be none.
func (w written) refused(t *testing.T, may bool, values ...string) bool {
	t.Helper()
	if w.err == nil {
		return false
	}
	for _, v := range values {
		if len(v) > 8 && strings.Contains(w.err.Error(), v) {
			t.Fatalf("the error contains a value: %v", w.err)
		}
		may = may || !utf8.ValidString(v)
	}
	if !may {
		t.Fatalf("want no error for %q, got %v", values, w.err)
	}
	return true
}

// same fails if a reader did not read what was written.
func (w written) same(t *testing.T, reader string, want, got any, err error) {
	t.Helper()
	if err != nil {
		t.Fatalf("%s cannot read %q: %v", reader, w.text, err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatalf("%s reads %q differently, -want +got:\n%s", reader, w.text, diff)
	}
}

// entries is a map with two hostile values, alone and among others.
func entries(a, b string) map[string]any {
	return map[string]any{"A": a, "B_2": b, "c": "plain", "d": a + "m" + b}
}

func textsOf(m map[string]any) map[string]string {
	out := make(map[string]string, len(m))
	for k, v := range m {
		out[k] = fmt.Sprint(v)
	}
	return out
}
