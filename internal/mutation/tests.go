package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// A binary is a test binary that contains the mutants.
type binary struct {
	path, dir string
	env       []string
	tests     []test // the fastest first
	skip      string // a pattern of tests that measure time or memory

	only string // a pattern of the tests that are run

	mutex    sync.Mutex
	unstable []string // guarded by mutex
}

// A test is one test function.
type test struct {
	name    string
	took    time.Duration // of a processor
	reaches map[int]bool  // numbers of mutants
}

// build compiles the tests of the package in dir with an overlay.
func build(folder, dir, overlay string, t target) (*binary, error) {
	b := &binary{path: filepath.Join(folder, filepath.Base(dir)+".test"), dir: dir, env: t.env, skip: t.skip, only: t.tests}
	//nolint:noctx,gosec // It ends by itself, and the paths belong to this program.
	cmd := exec.Command("go", "test", "-c", "-vet=off", "-overlay", overlay, "-o", b.path, ".")
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("cannot build the tests in %s: %w\n%s", dir, err, out)
	}
	return b, nil
}

// record runs each test on its own, and notes which mutants it reaches and how long it takes.
// A test that takes longer than slow is left out.
func (b *binary) record(parallel int, slow time.Duration) error {
	out, err := b.command(context.Background(), nil, time.Minute, "-test.list", cmp.Or(b.only, "^(Test|Fuzz|Example)")).Output()
	if err != nil {
		return fmt.Errorf("cannot list the tests in %s: %w", b.dir, err)
	}
	b.tests = make([]test, 0, 100)
	skip := regexp.MustCompile(cmp.Or(b.skip, "^$"))
	for name := range strings.FieldsSeq(string(out)) {
		if skip.MatchString(name) {
			continue
		}
		b.tests = append(b.tests, test{name: name})
	}
	err = each(parallel, len(b.tests), func(i int) error { return b.recordTest(&b.tests[i], slow) })
	b.tests = slices.DeleteFunc(b.tests, func(t test) bool { return t.took > slow })
	slices.SortStableFunc(b.tests, func(a, b test) int { return int(a.took - b.took) })
	return err
}

func (b *binary) recordTest(t *test, slow time.Duration) error {
	path := b.path + "." + t.name
	ctx, cancel := context.WithTimeout(context.Background(), longestWait)
	defer cancel()
	cmd := b.command(ctx, []string{"FUNCTION_EXPORT_MUTANT_RECORD=" + path}, slow, runOnly(t.name))
	out, err := cmd.CombinedOutput()
	if cmd.ProcessState == nil {
		return fmt.Errorf("cannot run %s: %w", t.name, err)
	}
	t.took, t.reaches = cmd.ProcessState.UserTime()+cmd.ProcessState.SystemTime(), map[int]bool{}
	if t.took > slow {
		return nil
	}
	if err != nil { // it depends on how busy the machine is, so it would also fail with each mutant
		b.mutex.Lock()
		defer b.mutex.Unlock()
		b.unstable = append(b.unstable, fmt.Sprintf("%s fails without a mutant, and is left out: %s", t.name, out))
		t.took = slow + 1
		return nil
	}
	content, err := os.ReadFile(path) //nolint:gosec // The path belongs to this program.
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("cannot read what %s reaches: %w", t.name, err)
	}
	for line := range strings.FieldsSeq(string(content)) {
		n, err := strconv.Atoi(line)
		if err != nil {
			return fmt.Errorf("cannot read what %s reaches: %w", t.name, err)
		}
		t.reaches[n] = true
	}
	return nil
}

// longestWait is how long tests may wait for something that does not happen.
const longestWait = 2 * time.Minute

// Fast tests run in the first process, and the next ones in the second one. Each other test runs in its own.
const (
	first  = 200 * time.Millisecond
	second = 2 * time.Second
)

// kills returns the test that kills a mutant, or nothing. The fast tests run together, and the slow ones one by one,
// unless only the fast ones are asked for.
func (b *binary) kills(id int, onlyFast bool) (string, error) {
	var groups [][]test
	var total time.Duration
	for _, t := range b.tests {
		if !t.reaches[id] {
			continue
		}
		before := total
		total += t.took
		if len(groups) == 0 || total > second || before <= first && total > first {
			groups = append(groups, nil)
		}
		groups[len(groups)-1] = append(groups[len(groups)-1], t)
	}
	for _, group := range groups {
		killed, err := b.killedBy(id, group)
		if killed != "" || err != nil || onlyFast {
			return killed, err
		}
	}
	return "", nil
}

var failed = regexp.MustCompile(`(?m)^--- FAIL: (\S+)`)

func (b *binary) killedBy(id int, group []test) (string, error) {
	names := make([]string, 0, len(group))
	limit := 20 * time.Second // of a processor, which does not depend on how busy the machine is
	for _, t := range group {
		names, limit = append(names, t.name), limit+20*t.took
	}
	ctx, cancel := context.WithTimeout(context.Background(), max(longestWait, 8*limit))
	defer cancel()
	cmd := b.command(ctx, []string{"FUNCTION_EXPORT_MUTANT=" + strconv.Itoa(id)}, limit, runOnly(names...))
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	switch {
	case err == nil:
		return "", nil
	case ctx.Err() != nil, cmd.ProcessState != nil && cmd.ProcessState.UserTime()+cmd.ProcessState.SystemTime() >= limit:
		return "time", nil
	case !errors.As(err, &exit):
		return "", fmt.Errorf("cannot run the tests in %s: %w", b.dir, err)
	}
	if found := failed.FindSubmatch(out); found != nil {
		return string(found[1]), nil
	}
	if bytes.Contains(out, []byte("panic: ")) || bytes.Contains(out, []byte("fatal error: ")) {
		return "panic", nil
	}
	return "exit", nil
}

func runOnly(names ...string) string { return "-test.run=^(" + strings.Join(names, "|") + ")$" }

// command returns a run of the tests. It may use a processor until the limit, and 8 GiB of addresses, because a mutant
// may run or allocate without end.
func (b *binary) command(ctx context.Context, env []string, limit time.Duration, args ...string) *exec.Cmd {
	script := fmt.Sprintf(`ulimit -t %d; ulimit -v 8388608; exec "$0" "$@"`, int(limit.Seconds())+1)
	args = append([]string{"-c", script, b.path, "-test.short", "-test.failfast"}, args...)
	cmd := exec.CommandContext(ctx, "sh", args...) //nolint:gosec // The arguments belong to this program.
	cmd.Dir = b.dir
	cmd.Env = slices.Concat(b.env, os.Environ(), env)
	cmd.WaitDelay = time.Second
	return cmd
}

// each calls do for each number below n, from several goroutines. It returns the first error.
func each(parallel, n int, do func(int) error) error {
	numbers := make(chan int)
	errs := make(chan error, n)
	var workers sync.WaitGroup
	for range parallel {
		workers.Go(func() {
			for i := range numbers {
				errs <- do(i)
			}
		})
	}
	for i := range n {
		numbers <- i
	}
	close(numbers)
	workers.Wait()
	close(errs)
	var all error
	for err := range errs {
		all = errors.Join(all, err)
	}
	return all
}
