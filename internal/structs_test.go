package internal

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"strings"
	"testing"
)

// The engine's core must fit into a head.
const (
	mostFields   = 12 // of a struct
	mostBooleans = 3  // among the parameters of a function
)

// TestStructsAreSmall checks the packages that decide about objects and generations.
func TestStructsAreSmall(t *testing.T) {
	for _, name := range []string{"lifecycle", "rotation", "credential", "generations", "reconcile"} {
		files, err := filepath.Glob(filepath.Join("engine", name, "*.go"))
		if err != nil || len(files) == 0 {
			t.Fatalf("no files in %s: %v", name, err)
		}
		for _, path := range files {
			if strings.HasSuffix(path, "_test.go") {
				continue
			}
			set := token.NewFileSet()
			file, err := parser.ParseFile(set, path, nil, parser.SkipObjectResolution)
			if err != nil {
				t.Fatal(err)
			}
			ast.Inspect(file, func(n ast.Node) bool {
				switch n := n.(type) {
				case *ast.StructType:
					if fields := count(n.Fields, func(ast.Expr) bool { return true }); fields > mostFields {
						t.Errorf("%s: a struct has %d fields, want at most %d", set.Position(n.Pos()), fields,
							mostFields)
					}
				case *ast.FuncType:
					if booleans := count(n.Params, isBool); booleans > mostBooleans {
						t.Errorf("%s: a function has %d boolean parameters, want at most %d", set.Position(n.Pos()),
							booleans, mostBooleans)
					}
				}
				return true
			})
		}
	}
}

// count counts the fields whose type fits. An embedded one has no name.
func count(list *ast.FieldList, fits func(ast.Expr) bool) (n int) {
	for _, f := range list.List {
		if fits(f.Type) {
			n += max(len(f.Names), 1)
		}
	}
	return n
}

func isBool(x ast.Expr) bool {
	name, ok := x.(*ast.Ident)
	return ok && name.Name == "bool"
}
