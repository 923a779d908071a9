package terminal

import (
	"errors"
	"fmt"
	"slices"
	"strings"

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
	command, see := c.Selected(), fmt.Sprintf(": see %s --help", Name())
	if command != nil && slices.Contains(c.Args, command.Name) {
		see = fmt.Sprintf(": see %s %s --help", Name(), command.Name)
	} else {
		command = nil // the default one
	}
	if f := flagOf(text, c); f != nil && f.Enum != "" {
		return fmt.Sprintf("--%s: cannot read its value: write one of %s", f.Name, strings.Join(f.EnumSlice(), ", "))
	} else if f != nil {
		return fmt.Sprintf("--%s: cannot read its value: write it as %s", f.Name, f.FormatPlaceHolder())
	}
	if typed, ok := strings.CutPrefix(text, "unknown flag "); ok {
		typed, _, _ = strings.Cut(typed, ", did you mean ")
		if near := suggest.Nearest(typed, flagsOf(c)); near != "" {
			see = suggest.DidYouMean(near)
		}
		return "unknown flag" + see
	}
	if typed, ok := strings.CutPrefix(text, "unexpected argument "); ok && command == nil {
		typed, _, _ = strings.Cut(typed, ", did you mean ")
		return "unknown command" + suggest.ThereAre(typed, names(c.Model), "")
	}
	named := strings.HasPrefix(text, "expected ") ||
		strings.HasPrefix(text, "missing ") // a missing argument has only a name
	if named && !strings.Contains(text, " but got ") {
		return text + see
	}
	return "cannot read the command line" + see
}

// CheckCommand returns an error if there is no command with a name.
func CheckCommand(name string, app *kong.Application) error {
	all := names(app)
	if slices.Contains(all, name) {
		return nil
	}
	return &UsageError{Text: "unknown command" + suggest.ThereAre(name, all, "")}
}

// names returns the names of the commands.
func names(app *kong.Application) (out []string) {
	for _, node := range app.Leaves(true) {
		out = append(out, node.Name)
	}
	return out
}

// flagsOf returns the flags that the command line may have: those of its command, or of the default command.
func flagsOf(c *kong.Context) (out []string) {
	node := c.Selected()
	if node == nil {
		node = c.Model.DefaultCmd
	}
	for _, f := range slices.Concat(node.AllFlags(true)...) {
		out = append(out, "--"+f.Name)
	}
	return out
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
