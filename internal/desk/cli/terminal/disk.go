package terminal

import (
	"cmp"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/crossplane-contrib/function-export/internal/desk/files"
)

// Disk returns the files of the operating system, with a text for standard input.
func Disk(stdin io.Reader) *files.System {
	folder, _ := os.Getwd() // without one, names stay relative
	home, _ := os.UserHomeDir()
	return &files.System{FS: disk{}, Folder: folder, Home: home, Stdin: stdin}
}

// ReplaceFile replaces the text of a file at once, and keeps its mode. It fails if the file has another text than the
// former one. A link stays, and its target is replaced.
func ReplaceFile(name, former, next string) (err error) {
	if name, err = filepath.EvalSymlinks(name); err != nil {
		return err
	}
	info, err := os.Stat(name)
	if err != nil {
		return err
	}
	if present, err := os.ReadFile(name); err != nil || string(present) != former {
		return cmp.Or(err, errors.New("it has changed meanwhile"))
	}
	f, err := os.CreateTemp(filepath.Dir(name), ".function-export-*")
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(f.Name()) }() // it is not there after the rename
	_, err = f.WriteString(next)
	if err = errors.Join(err, f.Chmod(info.Mode().Perm()), f.Sync(), f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), name)
}

// A disk opens files by the names that users write, such as /etc/app.yaml and ../app.yaml, which [os.DirFS] refuses.
type disk struct{}

// Open opens a file.
func (disk) Open(name string) (fs.File, error) { return os.Open(name) } //nolint:gosec,wrapcheck // the user names it

// Stat describes a file without opening it.
func (disk) Stat(name string) (fs.FileInfo, error) { return os.Stat(name) } //nolint:wrapcheck // by the caller

// ReadDir lists a folder.
func (disk) ReadDir(name string) ([]fs.DirEntry, error) { return os.ReadDir(name) } //nolint:wrapcheck // by the caller
