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
	last := words[len(words)-1]
	if last == "=" { // bash separates --flag=value into three words
		last = ""
	}
	c := &commandLine{node: app.Node}
	for _, w := range words[:len(words)-1] {
		c.read(w)
	}
	return c.complete(last)
}

// A commandLine is what was read before the word that is completed.
type commandLine struct {
	node      *kong.Node // the command
	pending   *kong.Flag // it has no value yet
	arguments int
	noFlags   bool // after --
}

func (c *commandLine) read(word string) {
	switch {
	case word == "=" && c.pending != nil:
	case c.pending != nil:
		c.pending = nil
	case c.noFlags || word == "-" || !strings.HasPrefix(word, "-"):
		c.readArgument(word)
	case word == "--":
		c.noFlags = true
	default:
		name, _, hasValue := strings.Cut(word, "=")
		if f := c.flag(name); f != nil && !f.IsBool() && !hasValue {
			c.pending = f
		}
	}
}

func (c *commandLine) readArgument(word string) {
	for _, command := range c.node.Children {
		if command.Name == word {
			c.node = command
			return
		}
	}
	c.arguments++
}

// flags returns the flags of the command. Without a command, they include those of the default command.
func (c *commandLine) flags() []*kong.Flag {
	node := c.node
	if node.DefaultCmd != nil {
		node = node.DefaultCmd
	}
	return slices.Concat(node.AllFlags(true)...)
}

// flag returns the flag with a name such as --output or -s. In a group of short flags such as -rc, only the last one
// may have a value.
func (c *commandLine) flag(name string) *kong.Flag {
	for _, f := range c.flags() {
		isShort := f.Short != 0 && !strings.HasPrefix(name, "--") && strings.HasSuffix(name, string(f.Short))
		if name == "--"+f.Name || isShort {
			return f
		}
	}
	return nil
}

func (c *commandLine) complete(word string) []string {
	name, value, hasValue := strings.Cut(word, "=")
	switch {
	case c.pending != nil:
		return c.values(c.pending.Value, "", word)
	case !c.noFlags && strings.HasPrefix(word, "--") && hasValue:
		if f := c.flag(name); f != nil {
			return c.values(f.Value, name+"=", value)
		}
		return nil
	case !c.noFlags && strings.HasPrefix(word, "-"):
		var out []string
		for _, f := range c.flags() {
			out = append(out, line("--"+f.Name, f.Help, word)...)
		}
		return out
	case len(c.node.Children) > 0:
		return commands(c.node, word)
	case len(c.node.Positional) == 0:
		return nil
	}
	last := len(c.node.Positional) - 1
	if c.arguments > last && !c.node.Positional[last].IsCumulative() {
		return nil
	}
	return c.values(c.node.Positional[min(c.arguments, last)], "", word)
}

// values returns the values of a flag or an argument. Its tag "predictor" says which ones it has, unless it is an
// enumeration: path or command.
func (c *commandLine) values(v *kong.Value, before, word string) []string {
	if v.Tag.Get("predictor") == "path" {
		return []string{files + "\n"}
	}
	if v.Tag.Get("predictor") == "command" {
		root := c.node
		for root.Parent != nil {
			root = root.Parent
		}
		return commands(root, word)
	}
	if v.Enum == "" {
		return nil
	}
	var out []string
	for _, e := range v.EnumSlice() {
		out = append(out, line(before+e, "", before+word)...)
	}
	return out
}

func commands(node *kong.Node, word string) []string {
	var out []string
	for _, command := range node.Children {
		if !command.Hidden {
			out = append(out, line(command.Name, command.Help, word)...)
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
