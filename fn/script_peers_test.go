//go:build peers

package main

import (
	"path/filepath"
	"testing"
)

// TestScriptsOfShells runs the scripts that need zsh and fish.
func TestScriptsOfShells(t *testing.T) { runScripts(t, filepath.Join("testdata", "script-peers")) }
