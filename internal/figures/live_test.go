package main

import (
	"os"
	"strings"
	"testing"
)

// What the tests print becomes the table, and what they do not print becomes no table.
func TestLiveTable(t *testing.T) {
	const out = `=== RUN   TestLoadAlone

figure alone requests=1000 clients=64 per-second=553 cpu-ms=1.73 p50-ms=48.8 p95-ms=467.2 p99-ms=649.4 peak-MiB=116

figure soak minutes=10.0 clients=64 requests=14310 per-second=716 begin-MiB=110 end-MiB=106 peak-MiB=124

figure create composites=500 exports-each=5 seconds=1.3 calls=60 cpu-ms=0.67 mean-ms=7.50 p50-ms=10 p95-ms=25 p99-ms=+Inf peak-MiB=52
`
	change := strings.Replace(out[strings.Index(out, "figure create"):], "create", "change", 1)
	if _, err := liveTableOf(out); err == nil || !strings.Contains(err.Error(), `"change"`) {
		t.Errorf("want an error about the figures that are missing, got %v", err)
	}
	table, err := liveTableOf(out + change)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"| 500 composites with 5 exports each are changed | 1 s | 60 | 0.7 ms | 7.5 ms | 10, 25, +Inf ms | 52 MiB |\n",
		"| 64 clients at once, 2 to 500 KiB | 1000 | 553 | 1.7 ms | 49, 467, 649 ms | 116 MiB at most |\n",
		"| the same for 10 minutes | 14310 | 716 | | | 110 MiB after a tenth, 106 at the end, 124 at most |\n",
	} {
		if !strings.Contains(table, want) {
			t.Errorf("want %s in\n%s", want, table)
		}
	}
}

// Each table of the README has its own marks.
func TestMarks(t *testing.T) {
	t.Chdir(t.TempDir())
	const text = "a\n<!-- figures: one -->\n1\n<!-- /figures -->\nb\n<!-- figures: two -->\n<!-- /figures -->\nc\n"
	if err := os.WriteFile("README.md", []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := write("two", "2\n"); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile("README.md")
	if want := strings.Replace(text, "two -->\n", "two -->\n2\n", 1); err != nil || string(got) != want {
		t.Errorf("want %q, got %q: %v", want, got, err)
	}
	if err := write("three", "3\n"); err == nil {
		t.Error("want an error about the marks that are missing")
	}
}
