package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// A platform is an operating system and an architecture, as Go names them.
type platform struct{ system, arch string }

// platforms are those of the program that users run on files. The packages contain the programs for Linux.
var platforms = []platform{
	{"linux", "amd64"}, {"linux", "arm64"}, {"darwin", "amd64"}, {"darwin", "arm64"}, {"windows", "amd64"}, {"windows",
		"arm64"},
}

// program returns the path of a platform's program in a folder.
func program(dir string, p platform) string {
	name := "function-export_" + p.system + "_" + p.arch
	if p.system == "windows" {
		name += ".exe"
	}
	return filepath.Join(dir, name)
}

// checksums is the file with the checksums of packages and programs.
const checksums = "checksums.txt"

// buildPrograms builds the program for each platform.
func buildPrograms(ctx context.Context, w *workspace, src source, dir string) error {
	for _, p := range platforms {
		fmt.Fprintf(w.stderr, "building %s for %s/%s\n", src.version, p.system, p.arch)
		if err := compile(ctx, src, p, program(dir, p)); err != nil {
			return err
		}
	}
	return nil
}

// products returns the paths of all packages and programs in a folder, sorted.
func products(dir string) []string {
	var out []string
	for _, arch := range architectures {
		out = append(out, packageFile(dir, arch))
	}
	for _, p := range platforms {
		out = append(out, program(dir, p))
	}
	slices.Sort(out)
	return out
}

// writeChecksums writes the SHA-256 of each product of a folder, as `sha256sum --check` reads it.
func writeChecksums(dir string) error {
	var text strings.Builder
	for _, path := range products(dir) {
		sum, err := fileSum(path)
		if err != nil {
			return err
		}
		fmt.Fprintf(&text, "%s  %s\n", sum, filepath.Base(path))
	}
	path := filepath.Join(dir, checksums)
	if err := os.WriteFile(path, []byte(text.String()), 0o644); err != nil { //nolint:gosec // Everyone may read it.
		return fmt.Errorf("cannot write checksums: %w", err)
	}
	return nil
}
