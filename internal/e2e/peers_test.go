package e2e

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// toolsOf is the environment variable that makes this test binary a process which builds
// the program of the module in that folder, and nothing else.
const toolsOf = "FUNCTION_EXPORT_TEST_TOOLS"

func TestMain(m *testing.M) {
	tools := os.Getenv(toolsOf)
	if tools == "" {
		os.Exit(m.Run())
	}

	var path string

	err := buildProgram(context.Background(), func(text string) { fmt.Println(text) }, tools, program{"hello", ".", "./hello", &path, "0"})
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}

	fmt.Println("built at", path)
}

// goCommand is the go command of a builder.
const goCommand = `#!/bin/sh
if [ "$1" = build ]; then
	echo $$ >> '%s'
	while [ -e '%s' ]; do sleep 0.05; done
fi
exec '%s' "$@"
`

// A builder has a module with one small program, an empty cache, and a go command that
// counts its builds, and holds them while there is a file named hold.
type builder struct {
	dir string
}

func newBuilder(t *testing.T) builder {
	t.Helper()

	b := builder{dir: t.TempDir()}

	goPath, err := exec.LookPath("go")
	if err != nil {
		t.Fatal(err)
	}

	gocache, err := goTool(t.Context(), "", "env", "GOCACHE")
	if err != nil {
		t.Fatal(err)
	}

	for name, text := range map[string]string{
		"go.mod":        "module example.org/hello\n",
		"go.sum":        "",
		"hello/main.go": "package main\n\nfunc main() { println(\"hello\") }\n",
		"bin/go":        fmt.Sprintf(goCommand, b.path("builds"), b.path("hold"), goPath),
		"hold":          "",
	} {
		if err := os.MkdirAll(filepath.Dir(b.path(name)), 0o700); err != nil {
			t.Fatal(err)
		}

		if err := os.WriteFile(b.path(name), []byte(text), 0o700); err != nil {
			t.Fatal(err)
		}
	}

	t.Setenv("GOCACHE", gocache)
	t.Setenv("HOME", b.dir)
	t.Setenv("XDG_CACHE_HOME", b.path("cache"))
	t.Setenv("PATH", b.path("bin")+string(filepath.ListSeparator)+os.Getenv("PATH"))

	return b
}

func (b builder) path(name string) string { return filepath.Join(b.dir, filepath.FromSlash(name)) }

// start a process that builds.
func (b builder) start(t *testing.T) (*exec.Cmd, *log) {
	t.Helper()

	cmd, out := exec.CommandContext(t.Context(), os.Args[0]), &log{}
	cmd.Env = append(os.Environ(), toolsOf+"="+b.dir)
	cmd.Stdout, cmd.Stderr = out, out

	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}

	return cmd, out
}

// release lets builds go on.
func (b builder) release(t *testing.T) {
	t.Helper()

	if err := os.Remove(b.path("hold")); err != nil {
		t.Fatal(err)
	}
}

// builds are the process ids of all builds.
func (b builder) builds(t *testing.T) []string {
	t.Helper()

	text, err := os.ReadFile(b.path("builds"))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}

	return strings.Fields(string(text))
}

// await returns when the condition is true, and fails after five minutes.
func await(t *testing.T, what string, condition func() bool) {
	t.Helper()

	for limit := time.Now().Add(5 * time.Minute); !condition(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(limit) {
			t.Fatalf("want %s within five minutes", what)
		}
	}
}

// left are the files in the cache, without the folder that is named for a hash.
func (b builder) left(t *testing.T) []string {
	t.Helper()

	cache, err := os.UserCacheDir()
	if err != nil {
		t.Fatal(err)
	}

	paths, err := filepath.Glob(filepath.Join(cache, "function-export", "*", "*"))
	if err != nil {
		t.Fatal(err)
	}

	for i, p := range paths {
		paths[i] = filepath.Base(p)
	}

	return paths
}

// go test runs several packages at the same time. Two that built Crossplane at once hit
// its time limit on a machine with two cores.
func TestProgramsAreBuiltOnce(t *testing.T) {
	const processes = 8

	b := newBuilder(t)

	var (
		cmds [processes]*exec.Cmd
		outs [processes]*log
	)

	for i := range processes {
		cmds[i], outs[i] = b.start(t)
	}

	await(t, "all processes but one to wait", func() bool {
		waiting := 0
		for _, out := range outs {
			waiting += strings.Count(out.String(), "waiting for another process, which builds hello\n")
		}

		return waiting == processes-1
	})
	b.release(t)

	for i, cmd := range cmds {
		if err := cmd.Wait(); err != nil || !strings.Contains(outs[i].String(), "built at ") {
			t.Errorf("a process failed: %v\n%s", err, outs[i])
		}
	}

	if n := len(b.builds(t)); n != 1 {
		t.Errorf("want one build, got %d", n)
	}

	if got := strings.Join(b.left(t), " "); got != "hello hello.lock" {
		t.Errorf("want the program and its lock in the cache, got %q", got)
	}
}

// The lock of a process ends with it, even if it is killed and its go command goes on.
// Its folder is removed by the next process.
func TestKilledBuildLeavesNoLock(t *testing.T) {
	b := newBuilder(t)

	killed, _ := b.start(t)
	await(t, "a build", func() bool { return len(b.builds(t)) == 1 })

	if err := killed.Process.Kill(); err != nil {
		t.Fatal(err)
	}

	if err := killed.Wait(); err == nil {
		t.Fatal("the process was not killed")
	}

	if got := b.left(t); len(got) != 2 {
		t.Fatalf("want the lock and the folder of the killed build, got %q", got)
	}

	next, out := b.start(t)
	await(t, "a second build", func() bool { return len(b.builds(t)) == 2 })

	if got := b.left(t); len(got) != 2 {
		t.Errorf("want the lock and the folder of the second build, got %q", got)
	}

	orphan, err := strconv.Atoi(b.builds(t)[0])
	if err != nil {
		t.Fatal(err)
	}

	if err := syscall.Kill(orphan, syscall.SIGKILL); err != nil {
		t.Errorf("the go command of the killed process has ended: %v", err)
	}

	b.release(t)

	if err := next.Wait(); err != nil || !strings.Contains(out.String(), "built at ") {
		t.Errorf("the second process failed: %v\n%s", err, out)
	}
}

// A process that waits for another one too long says what to do, and keeps nothing locked.
func TestBuildEndsWithItsTimeLimit(t *testing.T) {
	path := filepath.Join(t.TempDir(), "hello.lock")

	unlock, err := lock(t.Context(), path, func() { t.Error("the lock is free, and it waits") })
	if err != nil {
		t.Fatal(err)
	}

	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()

	_, err = lock(ctx, path, func() {})
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("want the end of the time limit, got %v", err)
	}

	for _, want := range []string{"Raise -timeout", "go -C internal/e2e run ./build"} {
		if !strings.Contains(hint(err), want) {
			t.Errorf("want a hint with %q, got %q", want, hint(err))
		}
	}

	unlock()

	unlock, err = lock(t.Context(), path, func() {})
	if err != nil {
		t.Fatal(err)
	}

	unlock()
}
