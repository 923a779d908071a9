package internal

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"
)

// A test that needs a program fails without it, or has a build tag: a test that is
// skipped says less than go test seems to say.
func TestNoTestIsSkippedWithoutAProgram(t *testing.T) {
	files := 0
	err := filepath.WalkDir("..", func(path string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		files++
		set := token.NewFileSet()
		file, err := parser.ParseFile(set, path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		for _, d := range file.Decls {
			if uses := selected(d); uses["LookPath"] && (uses["Skip"] || uses["Skipf"] || uses["SkipNow"]) {
				t.Errorf("%s: a test is skipped if a program is missing", set.Position(d.Pos()))
			}
		}
		return nil
	})
	if err != nil || files == 0 {
		t.Fatalf("want tests to look at, got %d: %v", files, err)
	}
}

// selected are the names of fields, methods and functions of packages that code uses.
func selected(code ast.Node) map[string]bool {
	out := map[string]bool{}
	ast.Inspect(code, func(n ast.Node) bool {
		if s, ok := n.(*ast.SelectorExpr); ok {
			out[s.Sel.Name] = true
		}
		return true
	})
	return out
}
