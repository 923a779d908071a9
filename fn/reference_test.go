package main

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/alecthomas/kong"
	"github.com/google/go-cmp/cmp"

	"github.com/crossplane-contrib/function-export/internal/engine/function/functiontest"
)

// TestFlagTables compares the tables of arguments and flags in README.md with the parser. A command whose flags another
// section has needs no table. With -update, it writes the tables into the page.
func TestFlagTables(t *testing.T) {
	const page = "README.md"
	b, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	text := string(b)
	for _, node := range newParser().Model.Leaves(true) {
		table := regexp.MustCompile(`(?s)(<!-- flags of ` + node.Name + ` -->\n).*?(<!-- end -->)`)
		parts := table.FindStringSubmatch(text)
		if parts == nil {
			continue
		}
		want := parts[1] + flagTable(node) + parts[2]
		if *functiontest.UpdateGolden {
			text = strings.Replace(text, parts[0], want, 1)
			continue
		}
		if diff := cmp.Diff(want, parts[0]); diff != "" {
			t.Errorf("flags of fn %s: -want, +page (write them with -update):\n%s", node.Name, diff)
		}
	}
	if *functiontest.UpdateGolden {
		if err := os.WriteFile(page, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// flagTable returns a Markdown table of the arguments and flags of a command. It has the first sentence of each help
// text: --help prints the others.
func flagTable(node *kong.Node) string {
	var b strings.Builder
	b.WriteString("| argument or flag | meaning |\n|---|---|\n")
	row := func(name, help string) {
		first, _, more := strings.Cut(help, ". ")
		if more {
			first += "."
		}
		first = strings.NewReplacer("|", `\|`, "<", "&lt;", "*", `\*`).Replace(first)
		fmt.Fprintf(&b, "| `%s` | %s |\n", strings.ReplaceAll(name, "|", `\|`), first)
	}
	for _, arg := range node.Positional {
		row(arg.Summary(), arg.Help)
	}
	for _, f := range node.Flags {
		if f.Hidden {
			continue
		}
		name := "--" + f.Name
		switch {
		case f.HasDefault:
			name += "=" + f.Default
		case !f.IsBool():
			name += " " + strings.Trim(f.FormatPlaceHolder(), `"`)
		}
		if f.Short != 0 {
			name = fmt.Sprintf("-%c, %s", f.Short, name)
		}
		row(name, f.Help)
	}
	return b.String()
}
