package main

import (
	"strings"
	"testing"

	"github.com/crossplane-contrib/function-export/internal/desk/cli/terminal"
)

// TestHelp checks the help of each command. It must say what the command does, show examples, and describe
// each flag.
func TestHelp(t *testing.T) {
	parser := newParser()
	for _, node := range parser.Model.Leaves(true) {
		t.Run(node.Name, func(t *testing.T) {
			if node.Help == "" {
				t.Error("want a line of help")
			}
			_, examples, ok := strings.Cut(node.Detail, "Examples:\n")
			if !ok || !strings.Contains(examples, terminal.Name()+" ") {
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
			if _, piped, ok := strings.Cut(line, "| "+terminal.Name()+" "); ok {
				line = terminal.Name() + " " + piped
			}
			if !strings.HasPrefix(line, terminal.Name()+" "+node.Name) &&
				(node.Name != "serve" || !strings.HasPrefix(line, terminal.Name())) {
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
