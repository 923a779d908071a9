package internal

import (
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/crossplane-contrib/function-export/internal/desk/pages"
)

// TestPagesNameTestsThatExist checks that every test that a page names exists, such as `TestScenarios/hold`.
func TestPagesNameTestsThatExist(t *testing.T) {
	tests := map[string]string{} // the folder of each test
	folders := map[string]string{}
	isTest := regexp.MustCompile(`(?m)^func ((?:Test|Fuzz|Benchmark)\w+)\(`)
	eachGoFile(t, func(path, text string) {
		if !strings.HasSuffix(path, "_test.go") {
			return
		}
		folders[filepath.Dir(path)] += text
		for _, m := range isTest.FindAllStringSubmatch(text, -1) {
			tests[m[1]] = filepath.Dir(path)
		}
	})
	all, err := pages.Read("..")
	if err != nil {
		t.Fatal(err)
	}
	named := regexp.MustCompile("`((?:Test|Fuzz|Benchmark)\\w+)(?:/([\\w-]+))?`")
	for _, page := range all {
		for _, m := range named.FindAllStringSubmatch(page.Prose, -1) {
			if folder, ok := tests[m[1]]; !ok || !strings.Contains(folders[folder], m[2]) {
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
		for _, m := range messages(f) {
			texts = append(texts, m.text)
		}
	})
	b, err := os.ReadFile("../example/TROUBLESHOOTING.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(b), "\n## Common messages\n")
	section, _, _ = strings.Cut(section, "\n## ")
	rows := regexp.MustCompile("(?m)^\\| `([^`]+)` \\|").FindAllStringSubmatch(section, -1)
	if len(rows) < 20 {
		t.Fatalf("the table has %d rows", len(rows))
	}
	for _, row := range rows {
		for part := range strings.SplitSeq(row[1], "…") {
			has := func(s string) bool { return strings.Contains(s, strings.TrimSpace(part)) }
			if !slices.ContainsFunc(texts, has) {
				t.Errorf("no message has %q, of %s", part, row[1])
			}
		}
	}
}

func eachGoFile(t *testing.T, do func(path, text string)) {
	t.Helper()
	err := filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || filepath.Ext(path) != ".go" {
			return err
		}
		b, err := os.ReadFile(path)
		do(path, string(b))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}
