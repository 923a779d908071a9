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
	"slices"
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

// complete returns the lines for the last word of a command line.
func complete(app *kong.Application, words []string) []string {
	if len(words) == 0 {
		return nil
	}
	c := &commandLine{node: app.Node}
	for _, w := range words[:len(words)-1] {
		c.read(w)
	}
	word := words[len(words)-1]
	name, value, assigned := strings.Cut(word, "=")
	switch flag := c.flag(name); {
	case c.pending != nil:
		return values(c.pending.Value, "", strings.TrimPrefix(word, "=")) // bash separates --flag=value into three words
	case c.noFlags || !strings.HasPrefix(word, "-"):
		return c.arguments(word)
	case !assigned:
		var out []string
		for _, f := range c.flags() {
			out = append(out, line("--"+f.Name, f.Help, word)...)
		}
		return out
	case flag != nil:
		return values(flag.Value, name+"=", value)
	}
	return nil
}

// A commandLine is what was read before the word that is completed.
type commandLine struct {
	node    *kong.Node // the command
	pending *kong.Flag // it has no value yet
	noFlags bool       // after --
}

func (c *commandLine) read(word string) {
	name, _, assigned := strings.Cut(word, "=")
	switch f := c.flag(name); {
	case c.pending != nil && word == "=":
	case c.pending != nil:
		c.pending = nil
	case word == "--":
		c.noFlags = true
	case !c.noFlags && f != nil && !f.IsBool() && !assigned:
		c.pending = f
	case !strings.HasPrefix(word, "-"):
		for _, command := range c.node.Children {
			if command.Name == word {
				c.node = command
				return
			}
		}
	}
}

// flags returns the flags of the command. Without a command, they include those of the default command.
func (c *commandLine) flags() []*kong.Flag {
	node := c.node
	if node.DefaultCmd != nil {
		node = node.DefaultCmd
	}
	return slices.Concat(node.AllFlags(true)...)
}

// flag returns the flag with a name such as --output or -s, or nil.
func (c *commandLine) flag(name string) *kong.Flag {
	for _, f := range c.flags() {
		if name == "--"+f.Name || f.Short != 0 && name == "-"+string(f.Short) {
			return f
		}
	}
	return nil
}

// arguments returns the commands, or the values of the argument of a command.
func (c *commandLine) arguments(word string) (out []string) {
	for _, command := range c.node.Children {
		if !command.Hidden {
			out = append(out, line(command.Name, command.Help, word)...)
		}
	}
	for _, argument := range c.node.Positional {
		out = append(out, values(argument, "", word)...)
	}
	return out
}

// values returns the values of a flag or an argument that is a path, according to its tag "predictor", or an
// enumeration.
func values(v *kong.Value, before, word string) (out []string) {
	if v.Tag.Get("predictor") == "path" {
		return []string{files + "\n"}
	}
	if v.Enum != "" {
		for _, e := range v.EnumSlice() {
			out = append(out, line(before+e, "", before+word)...)
		}
	}
	return out
}

// line returns a completion if it begins with the typed text, with the first sentence of its help.
func line(text, help, typed string) []string {
	if !strings.HasPrefix(text, typed) {
		return nil
	}
	sentence, _, _ := strings.Cut(help, ". ")
	if sentence = strings.TrimSuffix(sentence, "."); sentence != "" {
		text += "\t" + sentence
	}
	return []string{text + "\n"}
}
