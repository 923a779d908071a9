package test_test

import (
	"bytes"
	"context"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/alecthomas/kong"
	"github.com/crossplane/function-sdk-go/logging"
	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"

	"github.com/crossplane-contrib/function-export/internal/desk/cli/render"
	"github.com/crossplane-contrib/function-export/internal/desk/cli/terminal"
	"github.com/crossplane-contrib/function-export/internal/desk/cli/test"
	"github.com/crossplane-contrib/function-export/internal/desk/exportstest"
	"github.com/crossplane-contrib/function-export/internal/desk/world"
	"github.com/crossplane-contrib/function-export/internal/engine/credential"
	"github.com/crossplane-contrib/function-export/internal/engine/function"
)

const examples = "../../../../example"

func engine(now func() time.Time, seed [32]byte) (world.Function, error) {
	f, err := function.New(logging.NewNopLogger(), nil)
	if err != nil {
		return nil, err
	}
	entropy := credential.Seeded{Reader: rand.NewChaCha8(seed)}
	f.Now, f.Entropy = now, func() io.Reader { return entropy }
	return f.RunFunction, nil
}

func functionAt(at time.Time, seed [32]byte) (fnv1.FunctionRunnerServiceServer, error) {
	f, err := function.New(logging.NewNopLogger(), nil)
	if err != nil {
		return nil, err
	}
	f.Now = func() time.Time { return at }
	f.Entropy = func() io.Reader { return credential.Seeded{Reader: rand.NewChaCha8(seed)} }
	return f, nil
}

// run runs the command. It returns its output and its exit code.
func run(ctx context.Context, t testing.TB, c *test.Command) (stdout, stderr string, code int) {
	t.Helper()
	var out, errs bytes.Buffer
	if c.Output == "" {
		c.Output = "text"
	}
	err := c.Run(ctx, &kong.Kong{Stdout: &out, Stderr: &errs}, render.FunctionAt(functionAt), exportstest.Engine(engine))
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
