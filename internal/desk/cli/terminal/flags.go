package terminal

import (
	"fmt"
	"slices"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/crossplane-contrib/function-export/internal/engine/suggest"
)

// unknownFlag returns the message about a flag that a command does not have. It does not quote what was typed,
// because that may be a secret.
func unknownFlag(typed string, c *kong.Context) string {
	if letter, short := shortFlag(typed); short {
		return unknownShortFlag(letter, c)
	}
	var own []string
	for _, f := range flagsOf(c) {
		own = append(own, "--"+f.Name)
	}
	unknown := "unknown flag" + position(typed, c)
	beginning := slices.DeleteFunc(slices.Clone(own), func(name string) bool { return !strings.HasPrefix(name, typed) })
	if len(beginning) == 1 {
		return unknown + suggest.DidYouMean(beginning[0])
	}
	if f := otherFlag(c, func(f *kong.Flag) bool { return "--"+f.Name == typed }); f != nil {
		unknown += fmt.Sprintf(": --%s is a flag of %s", f.Name, ofCommands(f, c.Model))
		if typedCommand(c) == nil {
			unknown += ": write it after the command"
		}
		return unknown
	}
	if near := suggest.Nearest(typed, own); near != "" {
		return unknown + suggest.DidYouMean(near)
	}
	if hint := foreignFlags[typed]; hint != "" {
		return fmt.Sprintf("%s: leave %s out, because %s", unknown, typed, hint)
	}
	return unknown + seeHelp(c)
}

// unknownShortFlag suggests the long flag that begins with the letter, or names the commands that have the short flag.
func unknownShortFlag(letter string, c *kong.Context) string {
	is := "-" + letter
	if !slices.ContainsFunc(c.Args, func(arg string) bool { return strings.HasPrefix(arg, is) }) {
		return "unknown flag" + seeHelp(c) // the letter may be one of a value
	}
	var long []string
	for _, f := range flagsOf(c) {
		if strings.HasPrefix(f.Name, letter) {
			long = append(long, "--"+f.Name)
		}
	}
	if len(long) > 0 {
		return is + ": write " + strings.Join(long, " or ")
	}
	if f := otherFlag(c, func(f *kong.Flag) bool { return string(f.Short) == letter }); f != nil {
		return is + " is a flag of " + ofCommands(f, c.Model)
	}
	return "unknown flag" + position(is, c) + seeHelp(c)
}

func shortFlag(typed string) (letter string, short bool) {
	letter, short = strings.CutPrefix(typed, "-")
	return letter, short && !strings.HasPrefix(letter, "-")
}

// flagsOf returns the flags that the command line may have: those of its command, or of the default command.
func flagsOf(c *kong.Context) []*kong.Flag {
	node := c.Selected()
	if node == nil {
		node = c.Model.DefaultCmd
	}
	return slices.Concat(node.AllFlags(true)...)
}

// otherFlag returns the first flag of any command that is wanted. A hidden flag is of no use.
func otherFlag(c *kong.Context, wanted func(f *kong.Flag) bool) *kong.Flag {
	for _, command := range commands(c.Model) {
		if i := slices.IndexFunc(command.Flags, func(f *kong.Flag) bool { return !f.Hidden && wanted(f) }); i >= 0 {
			return command.Flags[i]
		}
	}
	return nil
}

// ofCommands lists the commands that have a flag of this name.
func ofCommands(f *kong.Flag, app *kong.Application) string {
	var out []string
	for _, command := range commands(app) {
		if slices.ContainsFunc(command.Flags, func(other *kong.Flag) bool { return other.Name == f.Name }) {
			out = append(out, command.Name)
		}
	}
	slices.Sort(out)
	return strings.Join(out, ", ")
}

// flagOfDefault returns the message about a flag of the default command before the name of another command. It is empty
// if the text of the parser is about something else.
func flagOfDefault(text string, c *kong.Context) string {
	rest, isFlag := strings.CutPrefix(text, "flag --")
	name, rest, isDefault := strings.Cut(rest, " applies to the default command ")
	_, command, isOther := strings.Cut(rest, ", not ")
	f := otherFlag(c, func(f *kong.Flag) bool { return f.Name == name })
	if !isFlag || !isDefault || !isOther || f == nil {
		return ""
	}
	return fmt.Sprintf("--%s is a flag of %s, not of %s", f.Name, ofCommands(f, c.Model), strings.Trim(command, `"`))
}
