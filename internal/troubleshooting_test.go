package internal

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/crossplane-contrib/function-export/internal/desk/pages"
)

const troubleshooting = "../example/TROUBLESHOOTING.md"

// TestPagesNameTestsThatExist checks that every test that a page names exists, such as `TestScenarios/hold`.
func TestPagesNameTestsThatExist(t *testing.T) {
	tests := map[string]string{} // the tests of its package, as text
	isTest := regexp.MustCompile(`(?m)^func ((?:Test|Fuzz|Benchmark)\w+)\(`)

	eachGoFile(t, func(path, text string) {
		for _, m := range isTest.FindAllStringSubmatch(text, -1) {
			tests[m[1]] += packageText(t, filepath.Dir(path))
		}
	})

	all, err := pages.Read("..")
	if err != nil {
		t.Fatal(err)
	}

	named := regexp.MustCompile("`((?:Test|Fuzz|Benchmark)\\w+)(?:/([\\w-]+))?`")

	for _, page := range all {
		for _, m := range named.FindAllStringSubmatch(page.Prose, -1) {
			text, ok := tests[m[1]]
			if !ok || !strings.Contains(text, m[2]) {
				t.Errorf("%s names %s, which does not exist", page.Path, m[0])
			}
		}
	}
}

// TestCommonMessagesAreInTheCode checks that the code has all parts of each message, before and after each ….
func TestCommonMessagesAreInTheCode(t *testing.T) {
	var texts []string

	eachGoFile(t, func(path, text string) {
		if strings.HasSuffix(path, "_test.go") {
			return
		}

		f, err := parser.ParseFile(token.NewFileSet(), path, text, 0)
		if err != nil {
			t.Fatal(err)
		}

		ast.Inspect(f, func(n ast.Node) bool {
			e, ok := n.(ast.Expr)
			if !ok {
				return true
			}

			s := stringOf(e)
			texts = append(texts, s)

			return s == ""
		})
	})

	rows := tableAfter(t, "## Common messages")
	if len(rows) < 20 {
		t.Fatalf("the table has %d rows", len(rows))
	}

	for _, row := range rows {
		for part := range strings.SplitSeq(strings.Trim(row[0], "`"), "…") {
			has := func(s string) bool { return strings.Contains(s, strings.TrimSpace(part)) }
			if !slices.ContainsFunc(texts, has) {
				t.Errorf("no message has %q, of %s", part, row[0])
			}
		}
	}
}

// stringOf returns the string of a literal, or of several literals with plus signs. It is empty for other expressions.
func stringOf(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.BasicLit:
		if s, err := strconv.Unquote(e.Value); err == nil && e.Kind == token.STRING {
			return s
		}
	case *ast.BinaryExpr:
		if a, b := stringOf(e.X), stringOf(e.Y); e.Op == token.ADD && a != "" && b != "" {
			return a + b
		}
	}

	return ""
}

// tableAfter returns the cells of the first table after a heading of the page, without its head.
func tableAfter(t *testing.T, heading string) [][]string {
	t.Helper()

	b, err := os.ReadFile(troubleshooting)
	if err != nil {
		t.Fatal(err)
	}

	_, section, ok := strings.Cut(string(b), "\n"+heading+"\n")
	if !ok {
		t.Fatalf("the page has no %q", heading)
	}

	var rows [][]string

	for line := range strings.Lines(section) {
		if !strings.HasPrefix(line, "|") {
			if len(rows) > 0 {
				break
			}

			continue
		}

		cells := strings.Split(strings.Trim(line, "|\n"), "|")
		for i, c := range cells {
			cells[i] = strings.TrimSpace(c)
		}

		rows = append(rows, cells)
	}

	if len(rows) < 2 {
		t.Fatalf("there is no table after %q", heading)
	}

	return rows[2:]
}

// packageText returns the text of all test files in a folder.
func packageText(t *testing.T, dir string) string {
	t.Helper()

	files, err := filepath.Glob(filepath.Join(dir, "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}

	var out strings.Builder

	for _, file := range files {
		b, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}

		out.Write(b)
	}

	return out.String()
}

func eachGoFile(t *testing.T, do func(path, text string)) {
	t.Helper()

	err := filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || filepath.Ext(path) != ".go" {
			return err
		}

		b, err := os.ReadFile(path)
		if err == nil {
			do(path, string(b))
		}

		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}
