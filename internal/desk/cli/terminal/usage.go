package terminal

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/alecthomas/kong"

	"github.com/crossplane-contrib/function-export/internal/engine/suggest"
)

// Usage returns the parser's message about a command line without the values that it quotes, because a value
// may be a secret. A message that may contain a value is not passed on.
func Usage(err error) error {
	var parse *kong.ParseError
	var own *UsageError
	switch {
	case !errors.As(err, &parse):
		return err
	case errors.As(err, &own):
		return &UsageError{own.Text, parse.ExitCode()}
	}
	return &UsageError{usageText(err.Error(), parse.Context), parse.ExitCode()}
}

func usageText(text string, c *kong.Context) string {
	if f := flagOf(text, c); f != nil {
		return fmt.Sprintf("--%s: cannot read its value: write it as %s", f.Name, wanted(f.Value))
	}
	if a := argumentOf(text, c); a != nil {
		return fmt.Sprintf("<%s>: write one of %s", a.Name, strings.Join(a.EnumSlice(), ", "))
	}
	if rest, ok := strings.CutPrefix(text, "unknown flag "); ok {
		typed, _, _ := strings.Cut(rest, ", did you mean ")
		return unknownFlag(typed, c)
	}
	if typed, ok := strings.CutPrefix(text, "unexpected argument "); ok {
		typed, _, _ = strings.Cut(typed, ", did you mean ")
		if command := typedCommand(c); command != nil {
			return "unexpected argument" + position(typed, c) + seeHelp(c)
		}
		if instead := foreignCommand(typed, c); instead != "" {
			return "unknown command" + position(typed, c) + instead
		}
		return "unknown command" + position(typed, c) + suggest.ThereAre(typed, names(commands(c.Model)), "")
	}
	if wrong := flagOfDefault(text, c); wrong != "" {
		return wrong
	}
	named := strings.HasPrefix(text, "expected ") || strings.HasPrefix(text, "missing ") // a missing argument has only a name
	if named && !strings.Contains(text, " but got ") {
		return text + seeHelp(c)
	}
	return "cannot read the command line" + seeHelp(c)
}

// seeHelp returns the end of a message that names the help of the command.
func seeHelp(c *kong.Context) string {
	if command := typedCommand(c); command != nil {
		return fmt.Sprintf(": see %s %s --help", Name(), command.Name)
	}
	return fmt.Sprintf(": see %s --help", Name())
}

// CheckCommand returns an error if there is no command with a name.
func CheckCommand(name string, app *kong.Application) error {
	all := names(commands(app))
	if slices.Contains(all, name) {
		return nil
	}
	return &UsageError{Text: "unknown command" + suggest.ThereAre(name, all, "")}
}

func commands(app *kong.Application) []*kong.Node { return app.Leaves(true) }

func names(nodes []*kong.Node) []string {
	out := make([]string, 0, len(nodes))
	for _, node := range nodes {
		out = append(out, node.Name)
	}
	return out
}

// typedCommand returns the command of the command line, or nil if the command line does not name one.
func typedCommand(c *kong.Context) *kong.Node {
	if node := c.Selected(); node != nil && slices.Contains(c.Args, node.Name) {
		return node
	}
	return nil
}

// flagOf finds the flag whose value cannot be read, if the text is about one.
func flagOf(text string, c *kong.Context) *kong.Flag {
	name, ok := strings.CutPrefix(text, "--")
	if i := strings.IndexAny(name, "= :"); ok && i > 0 {
		name = name[:i]
	}
	i := slices.IndexFunc(c.Flags(), func(f *kong.Flag) bool { return ok && f.Name == name })
	if i < 0 {
		return nil
	}
	return c.Flags()[i]
}

// wanted describes the values that a flag accepts.
func wanted(v *kong.Value) string {
	switch {
	case v.Enum != "":
		return "one of " + strings.Join(v.EnumSlice(), ", ")
	case v.IsMap():
		return "KEY=VALUE"
	case v.Target.Type() == reflect.TypeFor[time.Duration]():
		return "a duration, for example 90s"
	case v.Target.Type() == reflect.TypeFor[time.Time]():
		return "a time, for example 2026-11-21T12:00:00Z"
	case v.IsBool():
		return "true or false"
	case v.Target.CanInt(), v.Target.CanUint():
		return "a whole number"
	}
	return "a text"
}

// position returns the position of an argument that the parser quotes.
func position(typed string, c *kong.Context) string {
	i := slices.IndexFunc(c.Args, func(arg string) bool { return arg == typed || strings.HasPrefix(arg, typed+"=") })
	if i < 0 {
		return ""
	}
	return fmt.Sprintf(" (argument %d)", i+1)
}

// argumentOf finds the argument whose value is not one of its values, if the text is about one.
func argumentOf(text string, c *kong.Context) *kong.Positional {
	node := c.Selected()
	if node == nil {
		return nil
	}
	i := slices.IndexFunc(node.Positional, func(a *kong.Positional) bool {
		return a.Enum != "" && strings.HasPrefix(text, a.ShortSummary()+" must be one of ")
	})
	if i < 0 {
		return nil
	}
	return node.Positional[i]
}
