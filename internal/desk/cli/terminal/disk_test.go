//go:build unix

package terminal

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/crossplane-contrib/function-export/internal/desk/files"
	"github.com/crossplane-contrib/function-export/internal/engine/limits"
)

// A pull request cannot keep a command busy without end.
func TestReadIsBounded(t *testing.T) {
	dir := t.TempDir()
	in := func(name string) string { return filepath.Join(dir, name) }
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(syscall.Mkfifo(in("fifo.yaml"), 0o600))
	must(os.Symlink(in("fifo.yaml"), in("link.yaml")))
	must(os.Symlink("/dev/zero", in("device.yaml")))
	must(os.Symlink("/dev/fd/0", in("descriptor.yaml")))
	must(os.WriteFile(in("system.yaml"), nil, 0o600))
	if _, err := os.Stat("/proc/self/environ"); err == nil {
		must(os.Remove(in("system.yaml")))
		must(os.Symlink("/proc/self/environ", in("system.yaml"))) // with NULs, which are not YAML
	}
	must(os.WriteFile(in("right.yaml"), []byte("a: b\n"), 0o600))
	must(os.Symlink(in("right.yaml"), in("right-link.yaml")))
	must(os.WriteFile(in("large.yaml"), nil, 0o600))
	must(os.Truncate(in("large.yaml"), limits.FileBytes+1))
	must(os.WriteFile(in("many.yaml"), []byte(strings.Repeat("a: b\n---\n", limits.FileDocuments+1)), 0o600))
	r, w, err := os.Pipe()
	must(err)
	defer func() { _ = r.Close() }()
	go func() {
		_, _ = w.WriteString("a: b\n")
		_ = w.Close()
	}()
	const irregular = ": it is not a regular file: pass the output of a command as -"
	for name, c := range map[string]struct {
		reason, file, want string
		stdin              io.Reader
	}{
		"Regular":    {"a file", in("right.yaml"), "", nil},
		"Link":       {"a link to a file", in("right-link.yaml"), "", nil},
		"Shell":      {"the output of a command in <(...)", fmt.Sprintf("/dev/fd/%d", r.Fd()), "", nil},
		"Stdin":      {"standard input", files.Stdin, "", strings.NewReader("a: b")},
		"FIFO":       {"a pipe without a writer never opens", in("fifo.yaml"), irregular, nil},
		"LinkToFIFO": {"a link to it", in("link.yaml"), irregular, nil},
		"Device":     {"it never ends", in("device.yaml"), irregular, nil},
		"Descriptor": {"a file of the repository never stands for standard input", in("descriptor.yaml"), irregular,
			nil},
		"System":     {"it says that it is empty, and can be without an end", in("system.yaml"), "", nil},
		"Large":      {"one more byte", in("large.yaml"), ": it has more than 67108864 bytes", nil},
		"LargeStdin": {"a stream without an end", files.Stdin, ": it has more than 67108864 bytes", endless{}},
		"Many": {"each document takes time", in("many.yaml"),
			": it has 100001 documents, over the limit of 100000", nil},
		"Folder": {"it has its own error", dir, ": is a directory", nil},
	} {
		t.Run(name, func(t *testing.T) {
			f, got, want := Disk(c.stdin).Read(c.file, files.AnyText), "", ""
			if err := f.First(); err != nil {
				got = err.Error()
			}
			if c.want != "" {
				want = "cannot read " + c.file + c.want
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s: -want, +got:\n%s", c.reason, diff)
			}
		})
	}
}

// endless never ends.
type endless struct{}

func (endless) Read(p []byte) (int, error) { return len(p), nil }
