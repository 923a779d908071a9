package e2e

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// Clocks is the variant of the function whose clock is wrong by the offset in the file that FUNCTION_EXPORT_CLOCK
// names.
const Clocks = "clocks"

// Overlay returns the flag of go build that builds a variant of the function: each file in the
// variant's folder of testdata replaces the file of the same path below root. So the published
// function never contains parts that only tests need.
func Overlay(root, variant, dir string) (flag string, err error) {
	if root, err = filepath.Abs(root); err != nil {
		return "", err
	}
	files := map[string]string{}
	from := filepath.Join(root, "internal/e2e/testdata", variant)
	err = filepath.WalkDir(from, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		target := filepath.Join(root, path[len(from):])
		files[target] = path
		if _, err := os.Stat(target); err != nil {
			return fmt.Errorf("variant %q replaces a file that does not exist: %w", variant, err)
		}
		return nil
	})
	if err != nil {
		return "", err
	}
	text, err := json.Marshal(map[string]any{"Replace": files})
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, "overlay.json")
	return "-overlay=" + path, os.WriteFile(path, text, 0o600)
}
