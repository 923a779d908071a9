// Package help implements the commands function-export help and function-export version.
package help

import (
	"fmt"

	"github.com/alecthomas/kong"

	"github.com/crossplane-contrib/function-export/internal/desk/cli/terminal"
)

// Command is the command `function-export help`: it prints what --help prints.
type Command struct {
	Command string `arg:"" help:"The command to describe." name:"command" optional:"" predictor:"command"`
}

// Help is what kong prints below the flags.
func (c *Command) Help() string {
	return `Prints the help of a command. Without a command, it lists all commands.

Examples:

    function-export help

    function-export help check`
}

// Validate is called by kong when the arguments are parsed.
func (c *Command) Validate(k *kong.Context) error {
	if c.Command == "" {
		return nil
	}
	return terminal.CheckCommand(c.Command, k.Model)
}

// Run is called by kong. The flag --help keeps kong from selecting the default command.
func (c *Command) Run(k *kong.Context) error {
	args := []string{"--help"}
	if c.Command != "" {
		args = []string{c.Command, "--help"}
	}
	described, err := kong.Trace(k.Kong, args)
	if err != nil {
		return fmt.Errorf("cannot find the command: %w", err)
	}
	return described.PrintUsage(false)
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
