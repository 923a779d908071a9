package files

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"

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

// ReadFile reads a regular file, standard input, or an open file of the process, up to a limit. Devices and pipes may
// never end, and a pull request can add a link to one.
func (s *System) ReadFile(name string) ([]byte, error) {
	if text, ok := s.Texts[s.Absolute(name)]; ok {
		return []byte(text), nil
	}
	if name == Stdin && s.Stdin == nil {
		return nil, errors.New("pass it as a file")
	} else if name == Stdin {
		return readAll(s.Stdin)
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

// Stdin is the path for stdin.
const Stdin = "-"

// StdinName is the name of stdin in diagnostics.
const StdinName = "<stdin>"

// A Selection selects files in a folder by the ends of their names. Without ends, it selects all.
type Selection struct {
	ends  []string
	below bool // also in all folders below it, except hidden ones
}

// Selections of files. There is at least one for In.
var ( //nolint:gochecknoglobals // constants
	Below         = Selection{[]string{".yaml", ".yml"}, true}
	WithJSONBelow = Selection{[]string{".yaml", ".yml", ".json"}, true}
	In            = Selection{[]string{".yaml", ".yml"}, false}
	AllBelow      = Selection{nil, true}
)

// Find returns the files that the paths select, each once, in the order of the paths, and for one
// path in the order of their names. A path is a file, a folder with the files that a selection
// finds there, a pattern with *, **, ? or [ ], or - for stdin.
func (s *System) Find(paths []string, selected Selection) ([]string, error) {
	var out []string
	seen := map[string]bool{}
	for _, p := range paths {
		files, err := s.filesOf(p, selected)
		if err != nil {
			return nil, err
		}
		for _, f := range files {
			if same := s.Absolute(f); !seen[same] {
				seen[same] = true
				out = append(out, f)
			}
		}
	}
	return out, nil
}

func (s *System) filesOf(path string, selected Selection) ([]string, error) {
	if _, isPart := s.parts[path]; path == Stdin || isPart {
		return []string{path}, nil
	}
	isFolder, err := s.IsFolder(path)
	switch {
	case err == nil && !isFolder:
		return []string{path}, nil
	case err == nil:
		return s.walk(path, selected)
	case !strings.ContainsAny(path, "*?[{"):
		return nil, CannotRead(path, err)
	}
	matches, err := doublestar.Glob(s.FS, filepath.ToSlash(filepath.Clean(path)), doublestar.WithFilesOnly())
	if err != nil {
		return nil, fmt.Errorf("cannot read %s: it is not a valid pattern", path)
	}
	if !strings.HasPrefix(path, ".") && !strings.Contains(path, "/.") {
		matches = slices.DeleteFunc(matches, isHidden) // as in a folder
	}
	if len(matches) == 0 {
		return nil, fmt.Errorf("cannot find a file that matches %s", path)
	}
	slices.Sort(matches)
	return matches, nil
}

// isHidden reports whether the name of a file, or of a folder that it is in, begins with a dot.
func isHidden(path string) bool {
	return slices.ContainsFunc(strings.Split(filepath.ToSlash(path), "/"), func(name string) bool {
		return strings.HasPrefix(name, ".") && name != "." && name != ".."
	})
}

func (s *System) walk(folder string, selected Selection) ([]string, error) {
	var out []string
	err := fs.WalkDir(s.FS, folder, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return CannotRead(path, err)
		case d.IsDir() && path != folder && (!selected.below || strings.HasPrefix(d.Name(), ".")):
			return fs.SkipDir
		case !d.IsDir() && (selected.ends == nil || slices.Contains(selected.ends, filepath.Ext(path))):
			out = append(out, path)
		}
		return nil
	})
	if err == nil && len(out) == 0 && !selected.below {
		err = fmt.Errorf("cannot find a .yaml or .yml file in %s", folder)
	}
	return out, err
}

// CannotRead names the file as it was passed, and the cause once.
func CannotRead(file string, err error) error {
	return fmt.Errorf("cannot read %s: %w", file, WithoutPath(err))
}

// WithoutPath returns the cause of an error about a file.
func WithoutPath(err error) error {
	if pe := (*fs.PathError)(nil); errors.As(err, &pe) {
		return pe.Err
	}
	return err
}
