package main

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/alecthomas/kong"

	"github.com/crossplane-contrib/function-export/internal/desk/cli/terminal"
)

// TestUsageErrorsHaveNoValue checks that errors do not quote values. It sets every flag of every command in
// every way that a command line or the environment allows, and adds values that belong to no flag.
func TestUsageErrorsHaveNoValue(t *testing.T) {
	const value = "zunter2" // it does not begin with a short flag
	refused := 0
	try := func(args ...string) {
		t.Helper()
		_, err := newParser().Parse(args)
		if err == nil {
			return
		}
		refused++
		if text := terminal.Usage(err).Error(); strings.Contains(text, value) || text == "" {
			t.Errorf("fn %s: %s", strings.Join(args, " "), text)
		}
	}
	for _, node := range newParser().Model.Leaves(false) {
		try(node.Name, value, value, value, value)
		try(node.Name, "--"+value)
		try(node.Name, "--"+value+"="+value)
		try(node.Name, "-"+value)
		try(node.Name, "--", value, value)
		for _, flags := range node.AllFlags(false) {
			for _, f := range flags {
				if f.Name == "help" || f.Name == "version" {
					continue // these flags end the program
				}
				name := "--" + f.Name
				try(node.Name, name)
				try(node.Name, name, value)
				try(node.Name, name, "--"+value)
				try(node.Name, name, "-1"+value)
				try(node.Name, name+"="+value)
				try(node.Name, name, "a=b;"+value, name, value)
				try(node.Name, name+value)
				try(node.Name, name+value+"="+value)
				if f.Short != 0 {
					try(node.Name, fmt.Sprintf("-%c%s", f.Short, value))
					try(node.Name, fmt.Sprintf("-%c=%s", f.Short, value))
				}
				for _, env := range f.Envs {
					t.Setenv(env, value)
					try(node.Name)
				}
			}
		}
	}
	try(value)
	try("--" + value)
	if refused < 100 {
		t.Errorf("only %d command lines were refused", refused)
	}
}

func TestUsage(t *testing.T) {
	for args, want := range map[string]string{
		"render --context-values hunter2":           "--context-values: cannot read its value: write it as KEY=VALUE",
		"render --at hunter2":                       "--at: cannot read its value: write it as a time, for example 2026-11-21T12:00:00Z",
		"render . --at":                             "--at: cannot read its value: write it as a time, for example 2026-11-21T12:00:00Z",
		"render . --include-context=hunter2":        "--include-context: cannot read its value: write it as true or false",
		"serve --grace-period hunter2":              "--grace-period: cannot read its value: write it as a duration, for example 90s",
		"serve --grace-period=-1s":                  "--grace-period must not be negative",
		"serve --max-recv-message-size hunter2":     "--max-recv-message-size: cannot read its value: write it as a whole number",
		"serve --network":                           "--network: cannot read its value: write it as a text",
		"check . --context-values hunter2":          "unknown flag (argument 3): --context-values is a flag of render",
		"render . --contxt-values hunter2":          "unknown flag (argument 3): did you mean --context-values?",
		"render . --context-v hunter2":              "unknown flag (argument 3): did you mean --context-values?",
		"render --hunter2 .":                        "unknown flag (argument 2): see function-export render --help",
		"check --outptu json":                       "unknown flag (argument 2): did you mean --output?",
		"--hepl":                                    "unknown flag (argument 1): did you mean --help?",
		"migrate a --schema=hunter2":                "unknown flag (argument 3): --schema is a flag of check, explain",
		"--schema hunter2 check":                    "unknown flag (argument 1): --schema is a flag of check, explain: write it after the command",
		"--debug check .":                           "--debug is a flag of serve, not of check",
		"check . -o hunter2":                        "--output: cannot read its value: write it as one of text, json, sarif, github",
		"render . -i":                               "-i: write --include-context or --include-full-xr or --include-function-results",
		"migrate a -e hunter2":                      "-e is a flag of render",
		"migrate a -q hunter2":                      "unknown flag (argument 3): see function-export migrate --help",
		"render . -xs=a -rune":                      "unknown flag: see function-export render --help",
		"version hunter2":                           "unexpected argument (argument 2): see function-export version --help",
		"rendr .":                                   "unknown command (argument 1): did you mean render?",
		"--insecure rendr":                          "unknown command (argument 2): did you mean render?",
		"hunter2":                                   "unknown command (argument 1): there are serve, render, check, explain, migrate, completions, help, version",
		"help rendr":                                "unknown command: did you mean render?",
		"help hunter2":                              "unknown command: there are serve, render, check, explain, migrate, completions, help, version",
		"render":                                    `expected "<dir|files> ...": see function-export render --help`,
		"explain":                                   `expected "<file|folder> ...": see function-export explain --help`,
		"completions":                               `expected "<shell>": see function-export completions --help`,
		"completions hunter2":                       "<shell>: write one of bash, zsh, fish",
		"check a --output json --resource hunter2":  "--resource: cannot read its value: write it as KEY=VALUE",
		"render --context-values a=b;hunter2 . -rx": "--context-values: cannot read its value: write it as KEY=VALUE",
	} {
		_, err := newParser().Parse(strings.Fields(args))
		if err == nil {
			t.Errorf("fn %s is not refused", args)
			continue
		}
		if got := terminal.Usage(err); got.Error() != want {
			t.Errorf("fn %s:\nwant %s\ngot  %s", args, want, got)
		}
		var coded kong.ExitCoder
		if !errors.As(terminal.Usage(err), &coded) || coded.ExitCode() != terminal.ExitUsage {
			t.Errorf("fn %s: its exit code is lost", args)
		}
	}
}
