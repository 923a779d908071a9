package terminal

import (
	"os"
	"runtime/debug"
	"strings"
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

// EndsSoon says that the process ends soon, and needs almost no garbage collection.
func EndsSoon() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(400)
	}
}

// Name is the name of the program in help and messages, whatever the name of its file is: /function in the image, or fn
// if `go run ./fn` started it.
func Name() string { return "function-export" }
