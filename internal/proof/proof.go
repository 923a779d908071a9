// Package proof keeps the figures on the page about what is guaranteed. The programs that check the guarantees write
// these figures, so the page shows only what a program has counted.
package proof

import (
	"bytes"
	"fmt"
	"os"
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
	page, err = replace(page, checker, figures)
	if err != nil {
		return fmt.Errorf("cannot write the figures to %s: %w", path, err)
	}
	if err := os.WriteFile(path, page, 0o600); err != nil { //nolint:gosec // The tester chooses the page.
		return fmt.Errorf("cannot write the page of the proof: %w", err)
	}
	return nil
}

func replace(page []byte, checker, figures string) ([]byte, error) {
	start, end := fmt.Appendf(nil, "<!-- figures: %s -->\n", checker), []byte("<!-- end -->")
	before, after, ok := bytes.Cut(page, start)
	if !ok {
		return nil, fmt.Errorf("the page has no line %q", start)
	}
	_, after, ok = bytes.Cut(after, end)
	if !ok {
		return nil, fmt.Errorf("no line %q follows the figures of %q", end, checker)
	}
	return bytes.Join([][]byte{before, start, []byte("\n" + figures + "\n"), end, after}, nil), nil
}
