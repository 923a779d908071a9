package explain

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/crossplane-contrib/function-export/internal/desk/cli/terminal"
	"github.com/crossplane-contrib/function-export/internal/desk/vocabulary"
)

// Validate is called by kong when the command line is parsed.
func (c *Command) Validate() error {
	switch {
	case c.Functions && (c.Output != "text" || len(c.Schema) > 0):
		return &terminal.UsageError{Text: "--functions: leave out --output and --schema, because the list is a text " +
			"without schemas"}
	case !c.Functions && len(c.Paths) == 0:
		return &terminal.UsageError{Text: fmt.Sprintf("expected \"<file|folder> ...\": see %s explain --help",
			terminal.Name())}
	}
	return nil
}

// printFunctions prints the functions of expressions, in one write: all of them, or those with a name that contains one
// of the texts.
func printFunctions(w io.Writer, texts []string) error {
	var b bytes.Buffer
	p := &printer{w: &b}
	for _, g := range vocabulary.Groups() {
		p.functions(g, texts)
	}
	if b.Len() == 0 {
		return errors.New("cannot find a function with this text in its name: leave the text out to print all functions")
	}
	_, err := w.Write(bytes.TrimPrefix(b.Bytes(), []byte("\n")))
	return err
}

func (p *printer) functions(g vocabulary.Group, texts []string) {
	entries := slices.DeleteFunc(slices.Clone(g.Entries), func(e vocabulary.Entry) bool { return !named(e, texts) })
	if len(entries) > 0 {
		p.section("%s", g.Title)
	}
	for _, e := range entries {
		for _, s := range e.Signatures {
			p.line(1, "%s", s)
		}
		p.line(2, "%s", e.Does)
		p.line(2, "%s = %s", e.Example, e.Result)
	}
}

// named reports whether a name of an entry contains one of the texts, or whether there are none.
func named(e vocabulary.Entry, texts []string) bool {
	names := strings.ToLower(strings.Join(slices.Concat(e.Names, e.Macros), " "))
	for _, s := range e.Signatures {
		if !strings.Contains(s, "→") { // the form of an operator or a macro
			names += " " + s
		}
	}
	return len(texts) == 0 ||
		slices.ContainsFunc(texts, func(t string) bool { return strings.Contains(names, strings.ToLower(t)) })
}
