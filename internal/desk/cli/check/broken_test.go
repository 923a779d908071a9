package check

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/alecthomas/kong"
	"github.com/google/go-cmp/cmp"

	"github.com/crossplane-contrib/function-export/internal/desk/cli/terminal"
	"github.com/crossplane-contrib/function-export/internal/engine/function/functiontest"
)

// A mistake is a broken input, and what is said about it.
type mistake struct {
	path   string
	reason string // why it is there, and what its reader does next
	faults int
	files  []mistakeFile
	shared string // the files of testdata/shared that it also has
	args   []string
	want   string
}

type mistakeFile struct{ name, text string }

// readMistake reads a file in txtar's format: lines -- name -- begin files. A comment `faults: 2`
// marks a case that must have two diagnostics.
func readMistake(t testing.TB, path string) mistake {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	m := mistake{path: path, faults: 1}
	var comment strings.Builder
	for line := range strings.Lines(string(b)) {
		if name, ok := strings.CutPrefix(strings.TrimSuffix(line, " --\n"), "-- "); ok && strings.HasSuffix(line, " "+
			"--\n") {
			m.files = append(m.files, mistakeFile{name: name})
			continue
		}
		if len(m.files) == 0 {
			comment.WriteString(line)
			continue
		}
		m.files[len(m.files)-1].text += line
	}
	m.reason = comment.String()
	if n := regexp.MustCompile(`(?m)^# faults: (\d+)$`).FindStringSubmatch(m.reason); n != nil {
		m.faults, _ = strconv.Atoi(n[1])
	}
	m.files = slices.DeleteFunc(m.files, func(f mistakeFile) bool {
		switch f.name {
		case "shared":
			m.shared = f.text
		case "want":
			m.want = f.text
		case "args":
			m.args = strings.Fields(f.text)
		default:
			return false
		}
		return true
	})
	for _, name := range strings.Fields(m.shared) {
		text, err := os.ReadFile(filepath.Join(filepath.Dir(path), "..", "shared", name))
		if err != nil {
			t.Fatal(err)
		}
		m.files = append(m.files, mistakeFile{filepath.Base(name), string(text)})
	}
	return m
}

func readMistakes(t testing.TB, folder string) []mistake {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join("testdata", folder, "*.txtar"))
	if err != nil {
		t.Fatal(err)
	}
	out := make([]mistake, 0, len(paths))
	for _, path := range paths {
		abs, err := filepath.Abs(path)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, readMistake(t, abs))
	}
	return out
}

// check the files as the command does.
func (m mistake) check(t *testing.T) *checked {
	t.Helper()
	t.Chdir(t.TempDir())
	for _, f := range m.files {
		if err := os.WriteFile(f.name, []byte(f.text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	c := m.command(t)
	result, err := c.check(context.Background(), terminal.Disk(nil))
	if err != nil {
		t.Fatal(err)
	}
	return result
}

// command returns the command for the files.
func (m mistake) command(t *testing.T) Command {
	t.Helper()
	args := slices.Clone(m.args)
	for _, f := range m.files {
		args = append(args, f.name)
	}
	var c Command
	parser, err := kong.New(&c)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := parser.Parse(args); err != nil {
		t.Fatal(err)
	}
	return c
}

// rewritten is the case with what is said now.
func (m mistake) rewritten(want string) []byte {
	var b bytes.Buffer
	b.WriteString(m.reason)
	shared := strings.Fields(m.shared)
	for _, f := range m.files[:len(m.files)-len(shared)] {
		b.WriteString("-- " + f.name + " --\n" + f.text)
	}
	if len(shared) > 0 {
		b.WriteString("-- shared --\n" + m.shared)
	}
	if len(m.args) > 0 {
		b.WriteString("-- args --\n" + strings.Join(m.args, " ") + "\n")
	}
	b.WriteString("-- want --\n" + want)
	return b.Bytes()
}

func TestBroken(t *testing.T) {
	cases := map[string]struct {
		reason string
		folder string
		least  int
		unread bool
	}{
		"Faults": {reason: "Each mistake is one fault, which says what is wrong, where, and what to change",
			folder: "broken", least: 60},
		"Unreadable": {reason: "What is no YAML is told from what is no input", folder: "unreadable", least: 5,
			unread: true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			mistakes := readMistakes(t, tc.folder)
			if len(mistakes) < tc.least {
				t.Errorf("\n%s\n%d cases, want at least %d", tc.reason, len(mistakes), tc.least)
			}
			for _, m := range mistakes {
				t.Run(strings.TrimSuffix(filepath.Base(m.path), ".txtar"), func(t *testing.T) { m.test(t, tc.unread) })
			}
		})
	}
}

// hints are how a message says what to change, or what the field can have.
var hints = regexp.MustCompile(`did you mean|\bmust (be|have|not|name)\b|: (there (is|are)|it has|they have|its ` +
	`fields? (is|are)|source has|the input has)|` +
	`\b(write|wrap|put|add|leave|keep|set|use|give|name|rename|read|move|begin|close|replace|compare|export|split|indent|join|ask|make|select|extract|mend|repeat|convert)\b|can never be true|is always true|the variables are|the only variable is|is not a regular expression|cannot be (compiled|parsed|iterated)|(is|are) missing|too early|, as 10\.0`)

func (m mistake) test(t *testing.T, unread bool) {
	result := m.check(t)
	var b bytes.Buffer
	if err := terminal.PrintText(&b, result.Diagnostics); err != nil {
		t.Fatal(err)
	}
	if *functiontest.UpdateGolden {
		if err := os.WriteFile(m.path, m.rewritten(b.String()), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(m.want, b.String()); diff != "" {
		t.Errorf("\n%s\ncheck(...): -want, +got:\n%s", m.reason, diff)
	}
	for _, f := range result.Diagnostics {
		if !unread && !hints.MatchString(f.Message) {
			t.Errorf("\n%s\n%s: %s: has no hint and no known cause", m.reason, f.Field, f.Message)
		}
	}
	if n, got := len(result.Diagnostics), len(result.unreadable()) > 0; n != m.faults || got != unread {
		t.Errorf("\n%s\ncheck(...): %d faults, unread %t: want %d, unread %t", m.reason, n, got, m.faults, unread)
	}
}
