// Package help implements the commands function-export help and function-export version.
package help

import (
	"fmt"
	"slices"

	"github.com/alecthomas/kong"

	"github.com/crossplane-contrib/function-export/internal/desk/cli/terminal"
)

// Command is the command `function-export help`. It is the flag --help of another command: see Arguments.
type Command struct {
	Command string `arg:"" help:"The command to describe." name:"command" optional:""`
}

// Help is what kong prints below the flags.
func (c *Command) Help() string {
	return `Prints the help of a command. Without a command, it lists all commands.

Examples:

    function-export help

    function-export help check`
}

// Arguments returns the arguments of the program with a flag in place of the command help.
func Arguments(args []string) []string {
	if len(args) > 0 && args[0] == "help" {
		return append(slices.Clone(args[1:]), "--help")
	}
	return args
}

// VersionCommand is the command `function-export version`: it prints what --version prints.
type VersionCommand struct{}

// Help is what kong prints below the flags.
func (c *VersionCommand) Help() string {
	return `Prints the version of the program. It is devel if the program was built from a
checkout without a version.

Examples:

    function-export version`
}

// Run is called by kong.
func (c *VersionCommand) Run(k *kong.Context) error {
	_, err := fmt.Fprintln(k.Stdout, terminal.VersionText())
	return err
}
