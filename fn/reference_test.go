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

// TestFlagTables compares the tables of arguments and flags in README.md with the parser. With -update, it
// writes the tables into the page.
func TestFlagTables(t *testing.T) {
	const page = "README.md"
	b, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	text := string(b)
	for _, node := range newParser().Model.Leaves(true) {
		if len(node.Flags)+len(node.Positional) == 0 {
			continue
		}
		table := regexp.MustCompile(`(?s)(<!-- flags of ` + node.Name + ` -->\n).*?(<!-- end -->)`)
		parts := table.FindStringSubmatch(text)
		if parts == nil {
			t.Errorf("%s has no table for fn %s: write <!-- flags of %s --> and <!-- end -->", page, node.Name, node.Name)
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

// flagTable returns a Markdown table of the arguments and flags of a command.
func flagTable(node *kong.Node) string {
	var b strings.Builder
	b.WriteString("| argument or flag | default | meaning |\n|---|---|---|\n")
	row := func(name, preset, help string) {
		help = strings.NewReplacer("|", `\|`, "<", "&lt;", "*", `\*`).Replace(help)
		fmt.Fprintf(&b, "| `%s` | %s | %s |\n", strings.ReplaceAll(name, "|", `\|`), preset, help)
	}
	for _, arg := range node.Positional {
		row(arg.Summary(), "", arg.Help)
	}
	for _, f := range node.Flags {
		if f.Hidden {
			continue
		}
		name := "--" + f.Name
		if !f.IsBool() {
			name += " " + strings.Trim(f.FormatPlaceHolder(), `"`)
			if f.HasDefault {
				name = "--" + f.Name
			}
		}
		if f.Short != 0 {
			name = fmt.Sprintf("-%c, %s", f.Short, name)
		}
		preset, help := "", f.Help
		if f.HasDefault {
			preset = "`" + f.Default + "`"
		}
		for _, env := range f.Envs {
			help = strings.TrimSuffix(help, ".") + ". The environment variable `" + env + "` also sets it."
		}
		row(name, preset, help)
	}
	return b.String()
}
