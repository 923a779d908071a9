package main

import (
	"fmt"
	"strings"
	"testing"

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
