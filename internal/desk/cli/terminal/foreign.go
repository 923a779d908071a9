package terminal

import (
	"fmt"
	"slices"

	"github.com/alecthomas/kong"

	"github.com/crossplane-contrib/function-export/internal/engine/suggest"
)

const check = "check"

// foreignCommands are commands of other tools, and the commands here.
var foreignCommands = map[string]string{ //nolint:gochecknoglobals // a table
	"validate": check, "lint": check, "vet": check, "verify": check,
	"template": "render", "build": "render", "run": "render", "trace": "why", "describe": "why", "convert": "migrate",
	"completion": "completions", "start": "serve",
}

// foreignFlags are flags of other tools that no command needs, with the reason.
var foreignFlags = map[string]string{ //nolint:gochecknoglobals // a table
	"--name":      "the name is metadata.name of the composite resource",
	"--namespace": "the namespace is metadata.namespace of the composite resource",
}

// foreignCommand returns what to write instead of a command of another tool, or instead of a word before a command,
// such as beta. It is empty if the word is unknown.
func foreignCommand(typed string, c *kong.Context) string {
	if meant := foreignCommands[typed]; meant != "" {
		return suggest.DidYouMean(meant)
	}
	i := slices.Index(c.Args, typed)
	if i < 0 || i+1 == len(c.Args) {
		return ""
	}
	if next := c.Args[i+1]; slices.Contains(names(commands(c.Model)), next) {
		return fmt.Sprintf(": leave it out: write %s %s", Name(), next)
	}
	return ""
}
