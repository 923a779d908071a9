package test_test

import (
	"strings"
	"syscall"
	"testing"
	"time"

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
			before := usage(b)
			for b.Loop() {
				stdout, stderr, code := run(b.Context(), b, c)
				if name == "100Tests" && (code != 0 || !strings.Contains(stdout, "100 passed")) {
					b.Fatalf("want 100 tests, got %d:\n%s%s", code, stdout, stderr)
				}
			}
			after := usage(b)
			used := time.Duration(after.Utime.Nano() + after.Stime.Nano() - before.Utime.Nano() - before.Stime.Nano())
			b.ReportMetric(float64(used.Milliseconds())/float64(b.N), "cpu-ms/op")
			b.ReportMetric(float64(after.Maxrss)/1024, "peak-MiB")
		})
	}
}

// usage returns what the process has used.
func usage(b *testing.B) (out syscall.Rusage) {
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &out); err != nil {
		b.Fatal(err)
	}
	return out
}
