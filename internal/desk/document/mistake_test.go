package document

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// examples returns the text of the YAML files of the examples.
func examples(t *testing.T, pattern string) map[string]string {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join("../../../example", pattern))
	if err != nil || len(paths) == 0 {
		t.Fatal(paths, err)
	}
	out := map[string]string{}
	for _, path := range paths {
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		out[path] = string(b)
	}
	return out
}

// keyWithPlainValue is a line with the indentation, the key and the plain value of a mapping.
var keyWithPlainValue = regexp.MustCompile(`^( *(?:- )*)([A-Za-z][\w./-]*): ([A-Za-z][^#{\[|>'"]*)$`)

// lineMistakes are mistakes in one line.
var lineMistakes = map[string]struct {
	write func(before, key, value string) string // returns the line with the mistake
	at    string                                 // the text at which the mistake is
	want  string
}{
	"Colon":       {func(b, k, _ string) string { return b + k + ": x ? 'a' : 'b'" }, ": 'b'", colonInPlain},
	"SingleQuote": {func(b, k, v string) string { return b + k + ": '" + v }, "'", unclosedQuote},
	"DoubleQuote": {func(b, k, v string) string { return b + k + ": \"" + v }, "\"", unclosedQuote},
	"AfterQuote":  {func(b, k, v string) string { return b + k + ": 'a' + " + v }, "+ ", "text after the closing quote"},
	"AfterBracket": {func(b, k, v string) string { return b + k + ": [a].join(" + v }, ".join", "text after the " +
		"closing ]"},
	"OpenBrace": {func(b, k, v string) string { return b + k + ": {a: " + v }, "{", "a { that is not closed"},
	"NoSpace":   {func(b, k, v string) string { return b + k + ":" + v }, ":", "no space after the colon"},
	"NoColon":   {func(b, k, v string) string { return b + k + " " + v }, "", "no colon after the key"},
	"Star":      {func(b, k, v string) string { return b + k + ": *" + v }, "*", "a"},
	"Exclamation": {func(b, k, _ string) string { return b + k + ": !x ? 'a' : 'b'" }, "!", "a plain value cannot " +
		"begin with !"},
	"AfterPipe":     {func(b, k, v string) string { return b + k + ": | " + v }, v0, "text after |"},
	"Template":      {func(b, k, _ string) string { return b + k + ": {{ .Values.x }}" }, "{{", template},
	"TemplateStart": {func(b, k, v string) string { return b + k + ": {{ .Values.x }}-" + v }, "{{", template},
	"TabAfterDash": {func(b, k, v string) string { return strings.Replace(b, "- ", "-\t", 1) + k + ": " + v }, "\t",
		"a tab"},
	"Tab": {func(b, k, v string) string { return strings.Replace(b, " ", "\t", 1) + k + ": " + v }, "\t",
		"a tab"},
	"Conflict": {func(_, _, _ string) string { return "<<<<<<< HEAD" }, "<", "a marker of a merge conflict"},
}

const v0 = "\x00" // the value

// TestMistakeInAnyLine: wherever a mistake is in a file, it is named, and its position is exact.
func TestMistakeInAnyLine(t *testing.T) {
	for name, text := range examples(t, "access-keys*/composition.yaml") {
		lines := strings.Split(text, "\n")
		for i, line := range lines {
			m := keyWithPlainValue.FindStringSubmatch(line)
			if m == nil {
				continue
			}
			for mistake, tc := range lineMistakes {
				lines[i] = tc.write(m[1], m[2], m[3])
				if _, diagnostics := Parse(strings.Join(lines, "\n")); lines[i] != line && len(diagnostics) > 0 {
					at := strings.Replace(tc.at, v0, m[3], 1)
					column := 1 + strings.Index(lines[i], at)
					if at == "" {
						column = 1 + len(m[1])
					}
					got := diagnostics[0]
					if want := (Position{i + 1, column}); got.Position != want || !strings.HasPrefix(got.Message,
						notYAML+tc.want) {
						t.Errorf("%s in %s:\n%q\ngot  %v\nwant %v: %s", mistake, name, lines[i], got, want, tc.want)
					}
				}
			}
			lines[i] = line
		}
	}
}
