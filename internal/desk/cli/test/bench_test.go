package test_test

import (
	"strings"
	"testing"

	"github.com/crossplane-contrib/function-export/internal/desk/cli/test"
)

// BenchmarkTests plays one hundred tests with a rotation. The baseline reads and compiles the same tests, and plays
// none of them.
func BenchmarkTests(b *testing.B) {
	dir := copied(b, "rotation", "test.yaml")
	paths := make([]string, 0, 20)
	for range 20 { // five tests each
		paths = append(paths, copied(b, "rotation", "test.yaml")+"/test.yaml")
	}
	for name, c := range map[string]*test.Command{
		"100Tests": {Paths: paths, Only: "rotates with overlap|is asked for|restarts|paused|deleted generation"},
		"Baseline": {Paths: append([]string{dir}, paths...), Only: "an edited export of the first folder"},
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				stdout, stderr, code := run(b.Context(), b, c)
				if name == "100Tests" && (code != 0 || !strings.Contains(stdout, "100 passed")) {
					b.Fatalf("want 100 tests, got %d:\n%s%s", code, stdout, stderr)
				}
			}
		})
	}
}
