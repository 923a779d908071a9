package terminal

import (
	"io"
	"io/fs"
	"os"

	"github.com/crossplane-contrib/function-export/internal/desk/files"
)

// Disk returns the files of the operating system, with a text for standard input.
func Disk(stdin io.Reader) *files.System {
	folder, _ := os.Getwd() // without one, names stay relative
	home, _ := os.UserHomeDir()
	return &files.System{FS: disk{}, Folder: folder, Home: home, Stdin: stdin}
}

// A disk opens files by the names that users write, such as /etc/app.yaml and ../app.yaml, which [os.DirFS] refuses.
type disk struct{}

// Open opens a file.
func (disk) Open(name string) (fs.File, error) { return os.Open(name) } //nolint:gosec,wrapcheck // the user names it

// Stat describes a file without opening it.
func (disk) Stat(name string) (fs.FileInfo, error) { return os.Stat(name) } //nolint:wrapcheck // by the caller

// ReadDir lists a folder.
func (disk) ReadDir(name string) ([]fs.DirEntry, error) { return os.ReadDir(name) } //nolint:wrapcheck // by the caller
