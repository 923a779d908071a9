// Package completions implements the command function-export completions: it prints a script with which a shell
// completes command lines of the program. The script asks the program itself for the completions, so that it stays
// correct when the program is updated.
//
// This is not github.com/jotaen/kong-completion, which shows no descriptions and completes no --flag=value, and which
// needs five modules.
package completions

import (
	"embed"
	"io"
	"strings"

	"github.com/alecthomas/kong"
)

// Command is the command `function-export completions`.
type Command struct {
	Shell string `arg:"" enum:"bash,zsh,fish" help:"The shell: bash, zsh, or fish." name:"shell"`
}

//go:embed script.bash script.zsh script.fish
var scripts embed.FS

// Help is what kong prints below the flags.
func (c *Command) Help() string {
	return `Prints a script with which the shell completes commands, flags, their values, and
files. Load it when the shell starts:

    bash, in ~/.bashrc                     source <(function-export completions bash)

    zsh, in ~/.zshrc                       source <(function-export completions zsh)

    fish, in ~/.config/fish/config.fish    function-export completions fish | source

Examples:

    function-export completions bash

    function-export completions fish | source`
}

// Run is called by kong.
func (c *Command) Run(k *kong.Context) error {
	script, err := scripts.ReadFile("script." + c.Shell) // kong accepts only shells with a script
	if err == nil {
		_, err = k.Stdout.Write(script)
	}
	return err
}

// WordsCommand is the hidden command that the scripts call. It prints the completions of the last word, one on each
// line, with a tab before their description. The line ":files" asks the shell to complete a file.
type WordsCommand struct {
	Words []string `arg:"" help:"The words of a command line up to the cursor." name:"word" optional:""`
}

// files is the line that asks the shell to complete a file.
const files = ":files"

// Run is called by kong.
func (c *WordsCommand) Run(k *kong.Context) error {
	_, err := io.WriteString(k.Stdout, strings.Join(complete(k.Model, c.Words), ""))
	return err
}
