package terminal

import (
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"

	"github.com/crossplane-contrib/function-export/internal/engine/lazy"
)

// Version is set when a release is built: see internal/release.
var Version = ""

// VersionText returns the version of a release, of the module that `go install` built, or devel.
func VersionText() string {
	if Version != "" {
		return Version
	}
	if info, ok := debug.ReadBuildInfo(); ok && strings.HasPrefix(info.Main.Version, "v") {
		return info.Main.Version
	}
	return "devel"
}

// The names of the program: its own, and the one that `go run ./fn` gives it.
const (
	installedName = "function-export"
	sourceName    = "fn"
)

// Name returns the name of the program in help and messages. It is fn if the program was started as fn, so that a
// printed command can be repeated. Otherwise it is function-export, whatever the name of the file is: /function in
// the image, or function-export_linux_amd64 after a download.
func Name() string {
	if strings.TrimSuffix(filepath.Base(os.Args[0]), ".exe") == sourceName {
		return sourceName
	}
	return installedName
}

// Named returns a help text whose examples begin with fn, with the name of the program instead.
func Named(help string) string { return example.ReplaceAllString(help, "${1}"+Name()+" ") }

// example is the program in an example: at the beginning of an indented line, after a pipe, or in a substitution.
var example = lazy.MustCompile(`(?m)(^ +|\| |<\(|   )fn `)
