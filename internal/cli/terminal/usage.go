package terminal

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/alecthomas/kong"

	"github.com/crossplane-contrib/function-export/internal/suggest"
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
	for _, what := range []string{"unknown flag", "unexpected argument"} {
		rest, ok := strings.CutPrefix(text, what+" ")
		if !ok {
			continue
		}
		typed, suggestion, _ := strings.Cut(rest, ", did you mean ")
		what += position(typed, c)
		if suggestion != "" {
			return what + ", did you mean " + suggestion
		}
		if command := suggest.Nearest(typed, commands(c)); command != "" {
			return what + suggest.DidYouMean(command)
		}
		return what + ": see fn --help"
	}
	named := strings.HasPrefix(text, "expected ") || strings.HasPrefix(text, "missing ") // a missing argument has only a name
	if named && !strings.Contains(text, " but got ") {
		return text
	}
	return "cannot read the command line: see fn --help"
}

func commands(c *kong.Context) []string {
	leaves := c.Model.Leaves(true)
	names := make([]string, 0, len(leaves))
	for _, node := range leaves {
		names = append(names, node.Name)
	}
	return names
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
	case v.Target.CanInt():
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
