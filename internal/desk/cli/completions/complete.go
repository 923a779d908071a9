package completions

import (
	"slices"
	"strings"

	"github.com/alecthomas/kong"
)

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
