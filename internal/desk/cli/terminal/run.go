package terminal

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// ErrMissing is the error about a program that is not on the path.
var ErrMissing = exec.ErrNotFound

// Run runs a program on the path, such as the user's kubectl, and returns its output. The error is the last line of
// what the program says about it. The output is also returned with an error.
func Run(ctx context.Context, stdin []byte, program string, args ...string) ([]byte, error) {
	path, err := exec.LookPath(program)
	if err != nil {
		return nil, fmt.Errorf("%w: install it", err)
	}
	cmd := exec.CommandContext(ctx, path, args...) //nolint:gosec // a program of the user
	var out, wrong bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(stdin), &out, &wrong
	if err = cmd.Run(); err == nil {
		return out.Bytes(), nil
	}
	said := strings.TrimSpace(wrong.String())
	if said = OneLine(said[strings.LastIndexByte(said, '\n')+1:]); said == "" {
		said = err.Error()
	}
	return out.Bytes(), fmt.Errorf("%s: %s", program, said)
}

// InFolder writes files into a folder that only this user can read, and removes it after the call.
func InFolder(files map[string][]byte, call func(folder string) error) error {
	folder, err := os.MkdirTemp("", "function-export-")
	if err != nil {
		return fmt.Errorf("cannot create a folder: %w", err)
	}
	defer func() { _ = os.RemoveAll(folder) }()
	for name, content := range files {
		const owner = 0o600
		if err := os.WriteFile(filepath.Join(folder, name), content, owner); err != nil {
			return fmt.Errorf("cannot write a file: %w", err)
		}
	}
	return call(folder)
}
