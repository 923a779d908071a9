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
	parse, own := (*kong.ParseError)(nil), (*UsageError)(nil)
	switch {
	case !errors.As(err, &parse):
		return err
	case errors.As(err, &own):
		return own
	}
	return errors.New(usageText(err.Error(), parse.Context))
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
	if strings.HasPrefix(text, "unknown flag ") {
		if _, near, ok := strings.Cut(text, `, did you mean "--`); ok { // one flag that exists
			see = suggest.DidYouMean("--" + strings.TrimSuffix(near, `"?`))
		}
		return "unknown flag" + see
	}
	if typed, ok := strings.CutPrefix(text, "unexpected argument "); ok && command == nil {
		typed, _, _ = strings.Cut(typed, ", did you mean ")
		var commands []string
		for _, node := range c.Model.Leaves(true) {
			commands = append(commands, node.Name)
		}
		return "unknown command" + suggest.ThereAre(typed, commands, "")
	}
	named := strings.HasPrefix(text, "expected ") ||
		strings.HasPrefix(text, "missing ") // a missing argument has only a name
	if named && !strings.Contains(text, " but got ") {
		return text + see
	}
	return "cannot read the command line" + see
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
