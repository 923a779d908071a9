package main

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// TestScripts runs the scripts in testdata/script with the program itself. Each script is a text that is
// followed by its files. `exits 1 fn check a.yaml` says that the exit code must be 1.
func TestScripts(t *testing.T) {
	runScripts(t, filepath.Join("testdata", "script"))
}

// runScripts runs the scripts of a folder.
func runScripts(t *testing.T, dir string) {
	t.Helper()
	bin := programFolder(t)
	testscript.Run(t, testscript.Params{
		Dir: dir,
		Setup: func(e *testscript.Env) error {
			e.Setenv("PATH", bin+string(filepath.ListSeparator)+e.Getenv("PATH"))
			return nil
		},
		Condition: func(name string) (bool, error) {
			if name != "root" {
				return false, errors.New("no such condition: " + name)
			}
			return os.Geteuid() == 0, nil
		},
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){"exits": exits, "crlf": crlf,
			"cut": cut},
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		UpdateScripts:       os.Getenv("UPDATE_SCRIPTS") != "",
	})
}

// programFolder returns a folder with the program.
func programFolder(t *testing.T) string {
	t.Helper()
	fn, err := builtFunction.path()
	if err != nil {
		t.Fatal(err)
	}
	return filepath.Dir(fn)
}

// exits runs a program that must end with an exit code. The built-in exec of scripts only checks whether the
// code is zero.
func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits CODE PROGRAM ARGUMENTS...")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	got := 0
	if err := ts.Exec(args[1], args[2:]...); err != nil {
		var ended *exec.ExitError
		if !errors.As(err, &ended) {
			ts.Fatalf("cannot run %s: %v", args[1], err)
		}
		got = ended.ExitCode()
	}
	if got != want {
		ts.Fatalf("exit code %d, want %d", got, want)
	}
}

// crlf changes the line ends of files to those of Windows, which a script cannot contain.
func crlf(ts *testscript.TestScript, _ bool, files []string) {
	for _, f := range files {
		text := strings.ReplaceAll(ts.ReadFile(f), "\n", "\r\n")
		ts.Check(os.WriteFile(ts.MkAbs(f), []byte(text), 0o600))
	}
}

// cut removes the last bytes of a file.
func cut(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) != 2 {
		ts.Fatalf("usage: cut BYTES FILE")
	}
	n, err := strconv.Atoi(args[0])
	ts.Check(err)
	text := ts.ReadFile(args[1])
	ts.Check(os.WriteFile(ts.MkAbs(args[1]), []byte(text[:len(text)-n]), 0o600))
}
