package live_test

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"regexp"
	"strconv"
	"testing"
)

// figure prints a line of figures for the README.
func figure(name, values string) { fmt.Printf("\nfigure %s %s\n", name, values) }

func loadNumber(t *testing.T, name string, otherwise int) int {
	t.Helper()

	text := os.Getenv(name)
	if text == "" {
		return otherwise
	}

	n, err := strconv.Atoi(text)
	if err != nil || n < 1 {
		t.Fatalf("cannot use %s=%q: it is no number above zero", name, text)
	}

	return n
}

// callsOf returns how often Crossplane called a function, from the text of its metrics.
func callsOf(text, function string) float64 {
	n := 0.0

	for _, m := range regexp.MustCompile(`(?m)^function_run_function_seconds_count\{([^}]*)\} (\S+)$`).FindAllStringSubmatch(text, -1) {
		if value, err := strconv.ParseFloat(m[2], 64); err == nil && regexp.MustCompile(`\bfunction_name="`+function+`"`).MatchString(m[1]) {
			n += value
		}
	}

	return n
}

func getText(t *testing.T, url string) string {
	t.Helper()

	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}

	rsp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer rsp.Body.Close()

	b, err := io.ReadAll(rsp.Body)
	if err != nil || rsp.StatusCode != http.StatusOK {
		t.Fatalf("cannot get %s: %s: %v", url, rsp.Status, err)
	}

	return string(b)
}

// memoryOf returns the memory of a process in MiB.
func memoryOf(t *testing.T, pid int) float64 {
	t.Helper()

	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Fatal(err)
	}

	found := regexp.MustCompile(`(?m)^VmRSS:\s+(\d+) kB$`).FindSubmatch(b)
	if found == nil {
		t.Fatal("the kernel does not tell the memory of a process")
	}

	kib, err := strconv.ParseFloat(string(found[1]), 64)
	if err != nil {
		t.Fatal(err)
	}

	return kib / 1024
}
