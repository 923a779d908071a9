// Package editors plays what the page says about editors: Neovim runs its snippet, and talks to the program.
package editors

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/BurntSushi/toml"
	"github.com/google/go-cmp/cmp"

	"github.com/crossplane-contrib/function-export/internal/desk/pages"
)

const root = "../../.."

// mistake is a Composition with one mistake, which the tests of each editor open.
const mistake = root + "/internal/desk/editor/testdata/composition.yaml"

// program builds the program, and puts it into the PATH.
func program(t *testing.T) {
	t.Helper()
	dir := t.TempDir()
	run(t, root, nil, "go", "build", "-o", filepath.Join(dir, "function-export"), "./fn")
	t.Setenv("PATH", dir+string(os.PathListSeparator)+os.Getenv("PATH"))
}

// run runs a program, and returns what it prints.
func run(t *testing.T, dir string, stdin []byte, name string, args ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	var stdout, stderr bytes.Buffer
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir, cmd.Stdin, cmd.Stdout, cmd.Stderr = dir, bytes.NewReader(stdin), &stdout, &stderr
	if err := cmd.Run(); err != nil {
		t.Fatalf("%s: %v\n%s%s", name, err, stdout.String(), stderr.String())
	}
	return stdout.String()
}

// snippet returns the only block of a language on the page.
func snippet(t *testing.T, lang string) string {
	t.Helper()
	all, err := pages.Read(root)
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, p := range all {
		for _, b := range p.Blocks {
			if b.Lang == lang && p.Path == "fn/README.md" {
				found = append(found, b.Text)
			}
		}
	}
	if len(found) != 1 {
		t.Fatalf("want one block of %s on the page, got %d", lang, len(found))
	}
	return found[0]
}

func TestNeovim(t *testing.T) {
	program(t)
	ask, err := os.ReadFile("testdata/ask.lua")
	if err != nil {
		t.Fatal(err)
	}
	init := filepath.Join(t.TempDir(), "init.lua")
	if err := os.WriteFile(init, []byte(string(ask)+snippet(t, "lua")), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("OPEN", filepath.Base(mistake))
	text := run(t, filepath.Dir(mistake), nil, "nvim", "--headless", "-u", init, "-i", "NONE", "-n")
	var got struct {
		Diagnostics []struct {
			Lnum, Col int
			Message   string
		}
		Completion []struct{ Label string }
		Hover      struct{ Contents struct{ Value string } }
	}
	if err := json.Unmarshal([]byte(text), &got); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	var diagnostics []string
	for _, d := range got.Diagnostics {
		diagnostics = append(diagnostics, fmt.Sprintf("%d:%d: %s", d.Lnum+1, d.Col+1, d.Message))
	}
	want := []string{"27:18: secrets[0].data[0].value: there is no variable resourcee: did you mean resource?"}
	if diff := cmp.Diff(want, diagnostics); diff != "" {
		t.Errorf("diagnostics: -want, +got:\n%s", diff)
	}
	labels := ""
	for _, c := range got.Completion {
		labels += c.Label + "\n"
	}
	if !strings.Contains(labels, "resource\n") {
		t.Errorf("want the variable resource among the completions, got:\n%s", labels)
	}
	if !strings.Contains(strings.ToLower(got.Hover.Contents.Value), "connection details") {
		t.Errorf("want a hover about connection details, got %q", got.Hover.Contents.Value)
	}
}

// Debian has no package of Helix. So the test reads the configuration as Helix does, and starts the server that it
// names.
func TestHelix(t *testing.T) {
	program(t)
	var config struct {
		LanguageServer map[string]struct {
			Command string
			Args    []string
		} `toml:"language-server"`
		Language []struct {
			Name            string
			LanguageServers []string `toml:"language-servers"`
		}
	}
	meta, err := toml.Decode(snippet(t, "toml"), &config)
	if err != nil || len(meta.Undecoded()) > 0 || len(config.Language) != 1 || config.Language[0].Name != "yaml" {
		t.Fatalf("want servers of the language yaml: %v, %v, %+v", err, meta.Undecoded(), config)
	}
	for _, name := range config.Language[0].LanguageServers {
		server, ok := config.LanguageServer[name]
		if !ok { // Helix knows it
			continue
		}
		got := run(t, ".", session(), server.Command, server.Args...)
		if !strings.Contains(got, `"hoverProvider":true`) {
			t.Errorf("%s is no language server: %s", name, got)
		}
		return
	}
	t.Error("want a server in the list of the language")
}

// session returns the messages of a client that begins and ends.
func session() []byte {
	var out bytes.Buffer
	for _, m := range []string{
		`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"capabilities":{}}}`,
		`{"jsonrpc":"2.0","method":"initialized","params":{}}`,
		`{"jsonrpc":"2.0","id":2,"method":"shutdown"}`,
		`{"jsonrpc":"2.0","method":"exit"}`,
	} {
		fmt.Fprintf(&out, "Content-Length: %d\r\n\r\n%s", len(m), m)
	}
	return out.Bytes()
}
