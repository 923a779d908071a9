package test_test

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/alecthomas/kong"

	"github.com/crossplane-contrib/function-export/internal/desk/cli/terminal"
	"github.com/crossplane-contrib/function-export/internal/desk/cli/test"
	"github.com/crossplane-contrib/function-export/internal/desk/pipeline"
)

const examples = "../../../../example"

func engine(t testing.TB) pipeline.Engine {
	t.Helper()
	out, err := pipeline.NewEngine()
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// run runs the command. It returns its output and its exit code.
func run(ctx context.Context, t testing.TB, c *test.Command) (stdout, stderr string, code int) {
	t.Helper()
	var out, errs bytes.Buffer
	if c.Output == "" {
		c.Output = "text"
	}
	err := c.Run(ctx, &kong.Kong{Stdout: &out, Stderr: &errs}, engine(t))
	code, _ = terminal.ExitCode(err)
	if err != nil && code == 0 {
		code = terminal.ExitUnread
		errs.WriteString(err.Error() + "\n")
	}
	return out.String(), errs.String(), code
}

// copied returns a copy of the folder of an example, in which texts of files are replaced in pairs.
func copied(t testing.TB, folder string, file string, replace ...string) string {
	t.Helper()
	dir := t.TempDir()
	entries, err := os.ReadDir(filepath.Join(examples, folder))
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		text, err := os.ReadFile(filepath.Join(examples, folder, e.Name()))
		if err != nil { // a folder
			continue
		}
		content := string(text)
		for i := 0; e.Name() == file && i < len(replace); i += 2 {
			if !strings.Contains(content, replace[i]) {
				t.Fatalf("%s of %s has no %q", file, folder, replace[i])
			}
			content = strings.Replace(content, replace[i], replace[i+1], 1)
		}
		if err := os.WriteFile(filepath.Join(dir, e.Name()), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// folder returns a folder with files.
func folder(t testing.TB, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}
