package main

import (
	"bytes"
	"io"
	"strings"
	"testing"

	"github.com/posener/complete"
	"github.com/willabides/kongplete"
)

// TestHelp checks the help of each command. It must say what the command does, show examples, and describe
// each flag.
func TestHelp(t *testing.T) {
	parser := newParser()
	for _, node := range parser.Model.Leaves(true) {
		if node.Name == "completions" {
			continue // a library defines it
		}
		t.Run(node.Name, func(t *testing.T) {
			if node.Help == "" {
				t.Error("want a line of help")
			}
			_, examples, ok := strings.Cut(node.Detail, "Examples:\n")
			if !ok || !strings.Contains(examples, "fn ") {
				t.Errorf("want examples at the end of the help, got:\n%s", node.Detail)
			}
			for _, line := range strings.Split(node.Detail, "\n") {
				if len(line) > 90 {
					t.Errorf("want lines of 90 characters at most, got %q", line)
				}
			}
			for _, f := range node.Flags {
				if len(f.Help) < 10 || !strings.HasSuffix(f.Help, ".") && f.Name != "tls-certs-dir" {
					t.Errorf("--%s: want a sentence of help, got %q", f.Name, f.Help)
				}
			}
		})
	}
}

// TestHelpExamples parses every example that is a command of ours.
func TestHelpExamples(t *testing.T) {
	for _, node := range newParser().Model.Leaves(true) {
		text := strings.ReplaceAll(node.Detail, "\\\n", " ")
		for _, line := range strings.Split(text, "\n") {
			line = strings.TrimSpace(line)
			if _, piped, ok := strings.Cut(line, "| fn "); ok {
				line = "fn " + piped
			}
			if !strings.HasPrefix(line, "fn ") || !strings.HasPrefix(line, "fn "+node.Name) && node.Name != "serve" {
				continue
			}
			line, _, _ = strings.Cut(line, " | ")
			line, _, _ = strings.Cut(line, " > ")
			t.Run(line, func(t *testing.T) {
				if _, err := newParser().Parse(words(line)[1:]); err != nil {
					t.Errorf("cannot parse: %v", err)
				}
			})
		}
	}
}

// words splits a command line that may have single quotes.
func words(line string) []string {
	var out []string
	for i, part := range strings.Split(line, "'") {
		if i%2 == 1 {
			out[len(out)-1] += part
			continue
		}
		fields := strings.Fields(part)
		if strings.HasSuffix(part, " ") {
			fields = append(fields, "")
		}
		out = append(out, fields...)
	}
	return out
}

func TestCompletion(t *testing.T) {
	command, err := kongplete.Command(newParser(), kongplete.WithPredictor("path", complete.PredictFiles("*")))
	if err != nil {
		t.Fatal(err)
	}
	for line, want := range map[string]string{
		"fn ":                        "check completions explain migrate render serve",
		"fn check --s":               "--schema",
		"fn check --output ":         "github json sarif text",
		"fn explain --output ":       "json mermaid text",
		"fn render --observed-resou": "--observed-resources",
	} {
		t.Run(line, func(t *testing.T) {
			got := predict(t, command, line)
			for _, w := range strings.Fields(want) {
				if !strings.Contains(" "+got+" ", " "+w+" ") {
					t.Errorf("want %q among the completions of %q, got %q", w, line, got)
				}
			}
		})
	}
}

func predict(t *testing.T, command complete.Command, line string) string {
	t.Helper()
	t.Setenv("COMP_LINE", line)
	t.Setenv("COMP_POINT", "")
	var out bytes.Buffer
	c := complete.New("fn", command)
	c.Out = &out
	c.Complete()
	return strings.Join(strings.Fields(out.String()), " ")
}

// For a shell without completion, the command returns an error. For other shells, it prints a line to
// source.
func TestCompletions(t *testing.T) {
	for _, shell := range []string{"bash", "zsh", "fish"} {
		t.Run(shell, func(t *testing.T) {
			t.Setenv("SHELL", "/bin/"+shell)
			var out bytes.Buffer
			parser := newParser()
			parser.Stdout, parser.Stderr = &out, io.Discard
			parser.Exit = func(int) {}
			_, _ = parser.Parse([]string{"completions"})
			if !strings.Contains(out.String(), "complete") || !strings.Contains(out.String(), "fn") {
				t.Errorf("want a line that completes fn, got %q", out.String())
			}
		})
	}
}
