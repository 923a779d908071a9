package lsp

import (
	"io"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/crossplane-contrib/function-export/internal/desk/files"
)

// A message that is not one of the protocol ends the session, and is not quoted.
func TestNoMessage(t *testing.T) {
	in := strings.NewReader("password: hunter2\r\n\r\n")
	if err := Serve(t.Context(), &files.System{FS: fstest.MapFS{}}, in, io.Discard); err == nil ||
		strings.Contains(err.Error(), "hunter2") {
		t.Errorf("got %v", err)
	}
}
