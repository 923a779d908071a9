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
)

// Never raise a limit: say it once, and link to it.
var pageLimits = map[string]int{}

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
