package pages

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

const text = "# A `page`\n\nA [link](b.md#c)\n\n```shell\n# why\nA=1 fn check \\\n  x.yaml # exit code 1\n\nfn render" +
	" y\n```\n\n```text output\n...\nb\n```\n"

func TestParse(t *testing.T) {
	p, err := parse("x/a.md", text)
	if err != nil {
		t.Fatal(err)
	}

	want := []Block{
		{Line: 5, Lang: "shell", Text: "# why\nA=1 fn check \\\n  x.yaml # exit code 1\n\nfn render y\n"},
		{Line: 13, Lang: "text", Output: true, Text: "...\nb\n"},
	}
	if diff := cmp.Diff(want, p.Blocks); diff != "" {
		t.Errorf("blocks: -want, +got:\n%s", diff)
	}

	commands := []Command{
		{Line: 8, Text: "A=1 fn check   x.yaml", Program: "fn", ExitCode: 1},
		{Line: 10, Text: "fn render y", Program: "fn"},
	}
	if diff := cmp.Diff(commands, Commands(p.Blocks[0])); diff != "" {
		t.Errorf("commands: -want, +got:\n%s", diff)
	}
}

func TestParseRefusesABlockWithoutEnd(t *testing.T) {
	if _, err := parse("a.md", "```shell\nfn\n"); err == nil {
		t.Error("want an error")
	}
}

func TestMatches(t *testing.T) {
	cases := map[string]struct {
		shown, got string
		want       bool
	}{
		"Same":             {"a\nb\n", "a\nb\n", true},
		"Other":            {"a\nb\n", "a\nc\n", false},
		"Longer":           {"a\n", "a\nb\n", false},
		"DotsAtTheEnd":     {"a\n...\n", "a\nb\nc\n", true},
		"DotsForNothing":   {"a\n  ...\nb\n", "a\nb\n", true},
		"DotsAtTheStart":   {"...\nb\n", "a\nb\n", true},
		"DotsInALine":      {"a...\n", "abc\n", false},
		"DotsThenOther":    {"...\nd\n", "a\nb\n", false},
		"SpecialCharacter": {"a.c\n", "abc\n", false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := Matches(tc.shown, tc.got); got != tc.want {
				t.Errorf("want %t, got %t", tc.want, got)
			}
		})
	}
}
