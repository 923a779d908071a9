package live

import (
	"bytes"
	"cmp"
	"io"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

// A Program is what a process runs. Its log is the path of a file.
type Program struct {
	Path, Log string
	Args, Env []string
}

// Program returns what the process runs, or ran last.
func (p *Process) Program() Program {
	p.mu.Lock()
	defer p.mu.Unlock()

	return Program{Path: p.program, Log: p.log, Args: slices.Clone(p.args), Env: slices.Clone(p.env)}
}

// Exchange stops the program, as an upgrade does, and starts another one in its place. A program that does not stop in
// time is killed.
func (p *Process) Exchange(next Program, within time.Duration) error {
	p.mu.Lock()
	defer p.mu.Unlock()

	p.halt(syscall.SIGTERM, within)
	p.program, p.log, p.args, p.env = next.Path, next.Log, next.Args, next.Env

	return p.start()
}

// Variant returns this program with another path, a log of its own, and more environment variables. An empty path means
// the same path.
func (p Program) Variant(name, path string, env ...string) Program {
	p.Path = cmp.Or(path, p.Path)
	p.Log = strings.TrimSuffix(p.Log, filepath.Ext(p.Log)) + "-" + name + ".log"
	p.Env = slices.Concat(p.Env, env)

	return p
}

// Output returns what the program has printed, or nothing if it never ran.
func (p Program) Output() string {
	b, _ := os.ReadFile(p.Log) // it may never have run

	return string(b)
}

// A Tail counts a text in what a log gets from now on. It is not safe for concurrent use.
type Tail struct {
	log, text string
	at        int64 // what is before it has been read
	n         int
}

// Follow returns the Tail of the program's log.
func (p Program) Follow(text string) *Tail {
	t := &Tail{log: p.Log, text: text}

	if info, err := os.Stat(p.Log); err == nil { // it may never have run
		t.at = info.Size()
	}

	return t
}

// Count returns how often whole lines of the log have had the text. It reads only what is new.
func (t *Tail) Count() int {
	log, err := os.Open(t.log)
	if err != nil {
		return t.n // it has never run
	}
	defer log.Close() //nolint:errcheck // It was only read.

	b, _ := io.ReadAll(io.NewSectionReader(log, t.at, 1<<40)) // the next call reads what this one cannot
	b = b[:bytes.LastIndexByte(b, '\n')+1]
	t.at += int64(len(b))
	t.n += bytes.Count(b, []byte(t.text))

	return t.n
}

// Cut closes all connections of the Service. The next connection goes to another replica.
func (f *Function) Cut() {
	f.service.mu.Lock()
	defer f.service.mu.Unlock()

	for conn := range f.service.open {
		_ = conn.Close() // its end does not matter
	}
}

// track keeps a connection for Cut. The returned function closes and forgets it.
func (s *service) track(conn net.Conn) func() {
	s.mu.Lock()
	defer s.mu.Unlock()

	s.open[conn] = true

	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()

		delete(s.open, conn)
		_ = conn.Close() // it is gone
	}
}
