package internal

import (
	"strings"
	"testing"

	"github.com/crossplane-contrib/function-export/internal/desk/pages"
)

// A page is short enough to be read to its end. A page without a limit of its own has at most pageLimit words. Words
// are counted as wc counts them.
const (
	allPagesLimit = 45_000
	pageLimit     = 600
	columnLimit   = 6
)

// Never raise a limit: say it once, and link to it. After a rewrite, lower the limit.
var pageLimits = map[string]int{
	".github/COMPARISON.md":                        750,
	".github/CONTRIBUTING.md":                      750,
	"README.md":                                    1_150,
	"example/PROMISES.md":                          770,
	"example/README.md":                            750,
	"example/THREATS.md":                           1_300,
	"example/TROUBLESHOOTING.md":                   2_600,
	"example/access-keys/README.md":                440,
	"example/author-exports/README.md":             910,
	"example/ca-from-a-secret/README.md":           460,
	"example/dynamic-export/README.md":             380,
	"example/environment-configs/README.md":        680,
	"example/for-each-passwords/README.md":         380,
	"example/for-each/README.md":                   400,
	"example/generator-resource/README.md":         510,
	"example/push-secret/README.md":                350,
	"example/roll-out/README.md":                   380,
	"example/rotation-alternating-users/README.md": 420,
	"example/rotation-single-user/README.md":       740,
	"example/rotation/README.md":                   1_140,
	"fn/DIFF.md":                                   750,
	"fn/README.md":                                 3_100,
	"fn/RULES.md":                                  1_100,
	"fn/TEST.md":                                   1_100,
	"input/README.md":                              7_650,
	"internal/README.md":                           1_800,
	"internal/proof/README.md":                     1_340,
	"package/README.md":                            2_150,
}

// TestPagesAreShort prints the words of each page with -v.
func TestPagesAreShort(t *testing.T) {
	all, err := pages.Read("..")
	if err != nil {
		t.Fatal(err)
	}

	total := 0
	unused := map[string]bool{}

	for path := range pageLimits {
		unused[path] = true
	}

	for _, page := range all {
		limit, ok := pageLimits[page.Path]
		if !ok {
			limit = pageLimit
		}

		words := len(strings.Fields(page.Text))
		total += words

		t.Logf("%6d of %6d  %s", words, limit, page.Path)

		if words > limit {
			t.Errorf("%s has %d words, want at most %d", page.Path, words, limit)
		}

		delete(unused, page.Path)
	}

	t.Logf("%6d of %6d  all pages", total, allPagesLimit)

	if total > allPagesLimit {
		t.Errorf("all pages have %d words, want at most %d", total, allPagesLimit)
	}

	for path := range unused {
		t.Errorf("there is a limit for %s, which does not exist", path)
	}
}

// TestTablesAreNarrow checks that a table fits beside a text.
func TestTablesAreNarrow(t *testing.T) {
	all, err := pages.Read("..")
	if err != nil {
		t.Fatal(err)
	}

	for _, page := range all {
		for i, line := range strings.Split(page.Prose, "\n") {
			if columns := strings.Count(line, "|") - 1; strings.HasPrefix(line, "|--") && columns > columnLimit {
				t.Errorf("%s:%d: the table has %d columns, want at most %d", page.Path, i+1, columns, columnLimit)
			}
		}
	}
}
