package live

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

// A Process is a program that runs until it is stopped or killed. It can be started again. It is safe for
// concurrent use.
type Process struct {
	Name string

	program string
	args    []string
	env     []string
	log     string

	mu   sync.Mutex
	cmd  *exec.Cmd
	done chan struct{} // closed after cmd has ended
}

// Start starts the program, unless it runs. The program ends when this process ends.
func (p *Process) Start() error {
	p.mu.Lock()
	defer p.mu.Unlock()

	return p.start()
}

// start starts the program, unless it runs. The caller must hold the lock.
func (p *Process) start() error {
	if p.running() {
		return nil
	}

	log, err := os.OpenFile(p.log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("cannot open log of %s: %w", p.Name, err)
	}
	defer log.Close() //nolint:errcheck // The child has it.

	cmd := exec.Command(p.program, p.args...) //nolint:gosec,noctx // Built for this; Stop ends it.
	cmd.Env = append(os.Environ(), p.env...)
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}

	if err := StartChild(cmd); err != nil {
		return fmt.Errorf("cannot start %s: %w", p.Name, err)
	}

	p.cmd, p.done = cmd, make(chan struct{})

	go func(done chan struct{}) {
		_ = cmd.Wait() // its log says how it ended
		close(done)
	}(p.done)

	return nil
}

// StartChild starts a command that is killed when this process ends. Linux kills it when the thread ends that started
// it, so it is started on a thread that never ends.
func StartChild(cmd *exec.Cmd) error {
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}

	cmd.SysProcAttr.Pdeathsig = syscall.SIGKILL

	started := make(chan error)
	starter() <- func() { started <- cmd.Start() }

	return <-started
}

// starter returns the channel of functions that run on the thread that never ends.
var starter = sync.OnceValue(func() chan<- func() { //nolint:gochecknoglobals // There is one thread.
	todo := make(chan func())

	go func() {
		runtime.LockOSThread()

		for do := range todo {
			do()
		}
	}()

	return todo
})

// running reports whether the program runs. The caller must hold the lock.
func (p *Process) running() bool {
	if p.cmd == nil {
		return false
	}

	select {
	case <-p.done:
		return false
	default:
		return true
	}
}

// Running reports whether the program runs.
func (p *Process) Running() bool {
	p.mu.Lock()
	defer p.mu.Unlock()

	return p.running()
}

// Signal sends a signal if the program runs.
func (p *Process) Signal(s os.Signal) {
	p.mu.Lock()
	defer p.mu.Unlock()

	if p.running() {
		_ = p.cmd.Process.Signal(s)
	}
}

// Kill kills the program, as the loss of its machine would, and waits until it has ended.
func (p *Process) Kill() { p.end(syscall.SIGKILL, time.Minute) }

// Stop stops the program, and kills it if it does not stop in time.
func (p *Process) Stop(within time.Duration) { p.end(syscall.SIGTERM, within) }

func (p *Process) end(s os.Signal, within time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()

	p.halt(s, within)
}

// halt ends the program. The caller must hold the lock.
func (p *Process) halt(s os.Signal, within time.Duration) {
	if !p.running() {
		return
	}

	_ = p.cmd.Process.Signal(s)

	select {
	case <-p.done:
	case <-time.After(within):
		_ = p.cmd.Process.Kill()
		<-p.done
	}
}

// Log returns the output of the program.
func (p *Process) Log() string {
	b, err := os.ReadFile(p.Program().Log)
	if err != nil {
		return err.Error()
	}

	return string(b)
}

// tail returns the last lines of its log.
func (p *Process) tail() string {
	lines := strings.Split(strings.TrimSpace(p.Log()), "\n")

	return strings.Join(lines[max(0, len(lines)-tailLines):], "\n")
}

// tailLines is the number of lines of a log that are shown if a control plane does not start.
const tailLines = 30

// ports are used only once. They are below the ports that the kernel uses for connections. Otherwise, a
// connection could use a port that is free now before its server starts.
var ports = struct {
	sync.Mutex

	next int
}{next: 20000 + os.Getpid()%10000}

// freePort returns a port of loopback that is not in use.
func freePort(ctx context.Context) (int, error) {
	ports.Lock()
	defer ports.Unlock()

	for range 1000 {
		ports.next++

		lis, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:"+strconv.Itoa(ports.next))
		if err != nil {
			continue
		}

		if err := lis.Close(); err != nil {
			return 0, fmt.Errorf("cannot close port: %w", err)
		}

		return ports.next, nil
	}

	return 0, errors.New("cannot find a free port")
}

// until polls a condition every 50 ms. Its error contains the last error of the condition that is not about
// the end of the time.
func until(ctx context.Context, within time.Duration, what string, ok func(ctx context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()

	var cause error

	for {
		err := ok(ctx)
		if err == nil {
			return nil
		}

		if cause == nil || ctx.Err() == nil && !strings.Contains(err.Error(), context.DeadlineExceeded.Error()) {
			cause = err
		}

		select {
		case <-ctx.Done():
			return fmt.Errorf("waited %s for %s: %w", within, what, cause)
		case <-time.After(50 * time.Millisecond):
		}
	}
}

func writeFile(dir, name string, b []byte) error {
	path := filepath.Join(dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return fmt.Errorf("cannot create folder: %w", err)
	}

	if err := os.WriteFile(path, b, 0o600); err != nil {
		return fmt.Errorf("cannot write file: %w", err)
	}

	return nil
}

func readText(path string) string {
	b, err := os.ReadFile(path) //nolint:gosec // A path of a test.
	if err != nil {
		return ""
	}

	return string(b)
}
