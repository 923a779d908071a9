package files

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"

	"github.com/crossplane-contrib/function-export/internal/engine/lazy"
	"github.com/crossplane-contrib/function-export/internal/engine/limits"
)

// A System is what commands read: files, texts that are not saved yet, and standard input.
type System struct {
	// FS has the files, by names as in paths. Only that of the operating system has names that begin with / or ..
	FS fs.FS

	Folder string            // the current folder, empty if it is the root of FS
	Home   string            // the home folder, with packages that crossplane caches; empty for none
	Texts  map[string]string // of files that are not saved, by absolute name
	Stdin  io.Reader         // nil if it must not be read
	parts  map[string]part   // by the paths that Part returns
}

// Absolute returns the name of a file that does not depend on the current folder.
func (s *System) Absolute(name string) string {
	if filepath.IsAbs(name) {
		return filepath.Clean(name)
	}
	return filepath.Join(s.Folder, name)
}

// IsFolder reports whether a file that exists is a folder.
func (s *System) IsFolder(name string) (bool, error) {
	if _, ok := s.Texts[s.Absolute(name)]; ok {
		return false, nil
	}
	info, err := fs.Stat(s.FS, name)
	return err == nil && info.IsDir(), err //nolint:wrapcheck // CannotRead adds the name
}

// descriptor matches the paths of open files of the process, such as the output of a command in <(command).
var descriptor = lazy.MustCompile(`^(/dev/stdin|/dev/fd/[0-9]+|/proc/self/fd/[0-9]+)$`)

// ReadFile reads a regular file or an open file of the process, up to a limit. Devices and pipes may never end, and a
// pull request can add a link to one.
func (s *System) ReadFile(name string) ([]byte, error) {
	if text, ok := s.Texts[s.Absolute(name)]; ok {
		return []byte(text), nil
	}
	info, err := fs.Stat(s.FS, name)
	switch {
	case err != nil || info.IsDir() || descriptor().MatchString(name):
	case !info.Mode().IsRegular():
		return nil, errors.New("it is not a regular file: pass the output of a command as -")
	case info.Size() == 0: // it is empty, or one of the system, such as /proc/kmsg, whose end may never come
		return nil, nil
	}
	f, err := s.FS.Open(name)
	if err != nil {
		return nil, err //nolint:wrapcheck // CannotRead adds the name
	}
	defer func() { _ = f.Close() }()
	return readAll(f)
}

func readAll(r io.Reader) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(r, limits.FileBytes+1))
	if err == nil && len(data) > limits.FileBytes {
		err = fmt.Errorf("it has more than %d bytes", limits.FileBytes)
	}
	return data, err //nolint:wrapcheck // CannotRead adds the name
}
