// Package proof keeps the figures on the page about what is guaranteed. The programs that check the guarantees write
// these figures, so the page shows only what a program has counted.
package proof

import (
	"fmt"
	"os"
	"regexp"
	"slices"
)

// Update is the environment variable that makes a checker write its figures. It contains the absolute path of the page.
const Update = "UPDATE_PROOF"

// Write writes the figures of a checker to the page that Update names. If Update is not set, it does nothing. The
// figures are Markdown, and replace the text between the comments <!-- figures: checker --> and <!-- end -->.
func Write(checker, figures string) error {
	path := os.Getenv(Update)
	if path == "" {
		return nil
	}
	page, err := os.ReadFile(path) //nolint:gosec // The tester chooses the page.
	if err != nil {
		return fmt.Errorf("cannot read the page of the proof: %w", err)
	}
	place := regexp.MustCompile(`(?s)(<!-- figures: ` + regexp.QuoteMeta(checker) + ` -->\n).*?(<!-- end -->)`)
	at := place.FindSubmatchIndex(page)
	if at == nil {
		return fmt.Errorf("cannot write figures: %s has no place for those of %s", path, checker)
	}
	page = slices.Concat(page[:at[3]], []byte("\n"+figures+"\n"), page[at[4]:])
	if err := os.WriteFile(path, page, 0o600); err != nil { //nolint:gosec // The tester chooses the page.
		return fmt.Errorf("cannot write the page of the proof: %w", err)
	}
	return nil
}
