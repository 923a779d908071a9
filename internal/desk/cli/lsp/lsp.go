// Package lsp implements the command function-export lsp: it connects an editor with the language server of package
// desk/lsp by JSON-RPC messages on standard input and output.
//
// The messages are read by github.com/sourcegraph/jsonrpc2, which needs only the standard library. The other choice,
// go.lsp.dev/protocol, links four modules, and a type for each of the protocol's 200 methods, of which the server has
// 19.
package lsp

import (
	"context"
	"errors"
	"io"

	"github.com/alecthomas/kong"

	"github.com/crossplane-contrib/function-export/internal/desk/cli/terminal"
	"github.com/crossplane-contrib/function-export/internal/desk/files"
	"github.com/crossplane-contrib/function-export/internal/desk/lsp"
)

// Command is the command `function-export lsp`.
type Command struct {
	Stdio bool `help:"Use standard input and output, as without it. Some editors pass it to each server."`
}

// Help is what kong prints below the flags.
func (c *Command) Help() string {
	return `Editors start it. It speaks the Language Server Protocol on standard input and
output: diagnostics while you type, the same as those of check; fixes; completion and
hover in expressions and of fields; definitions, references and renaming of variables,
generators, sources and exports; types and colors in expressions; symbols; formatting.

It reads the Compositions, XRDs, CRDs and EnvironmentConfigs in the folder that is open
in the editor, and .function-export.yaml. Examples in hovers have made-up values. It
starts no process, connects to nothing, and changes no file.

Examples:

    function-export lsp

    function-export lsp --stdio`
}

// Run is called by kong, with the values that main binds.
func (c *Command) Run(k *kong.Context, system *files.System) error {
	if system.Stdin == nil {
		return errors.New("cannot read standard input")
	}
	return Serve(context.Background(), system, system.Stdin, k.Stdout)
}

// A connection ends with the process.
type connection struct {
	io.Reader
	io.Writer
}

// Close does nothing.
func (connection) Close() error { return nil }

// Serve answers the messages of one client until it exits or the connection ends. An exit without a shutdown before it
// is an error, as the protocol says.
func Serve(ctx context.Context, system *files.System, in io.Reader, out io.Writer) error {
	server, err := lsp.NewServer(system)
	if err != nil {
		return err //nolint:wrapcheck // it says what failed
	}
	s := &session{server: server, changed: make(chan struct{}, 1), end: make(chan error, 1)}
	if err := s.serve(ctx, connection{in, out}); err != nil {
		return &terminal.ExitError{Code: terminal.ExitErrors, Why: "the session has no regular end: " + err.Error()}
	}
	return nil
}
