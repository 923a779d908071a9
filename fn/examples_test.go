package main

import (
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"testing"
)

// TestExamplesHavePages checks that each folder of an example has a page. example/README.md must link to the
// page, or to a page that links to it.
func TestExamplesHavePages(t *testing.T) {
	const index = "example/README.md"
	all := readPages(t, "..")
	targets := map[string][]string{}
	for _, p := range all {
		targets[p.Path] = append([]string{p.Path}, targetsOf(p)...)
	}
	var near []string
	for _, page := range targets[index] {
		near = append(near, targets[page]...)
	}
	folders, err := os.ReadDir("../example")
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for _, f := range folders {
		if !f.IsDir() || !hasFiles(t, filepath.Join("..", "example", f.Name())) {
			continue
		}
		found++
		page := path.Join("example", f.Name(), "README.md")
		switch {
		case targets[page] == nil:
			t.Errorf("want the page %s", page)
		case !slices.Contains(near, page):
			t.Errorf("neither %s nor a page that it links to links to %s", index, page)
		}
	}
	if found < 30 {
		t.Errorf("want at least 30 folders, got %d", found)
	}
}

func hasFiles(t *testing.T, folder string) bool {
	t.Helper()
	found := false
	err := filepath.WalkDir(folder, func(_ string, d fs.DirEntry, err error) error {
		found = found || d != nil && !d.IsDir()
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}
