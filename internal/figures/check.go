package main

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
)

// runCheck measures what it costs to check many files.
func runCheck() error {
	cmd := exec.Command("go", "test", "./fn", "-run", "^$", "-bench", "^BenchmarkCheck$", "-benchtime", "10x")
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return fmt.Errorf("cannot measure: %w\n%s", err, out)
	}
	table, err := checkTableOf(string(out), runtime.NumCPU())
	if err != nil {
		return err
	}
	return write("go run ./internal/figures -check", table)
}

func checkTableOf(out string, cores int) (string, error) {
	all := parse(out)
	var b strings.Builder
	fmt.Fprintf(&b, "\n| 500 Compositions, each | CPU | time on 1 core | time on %d cores | allocations |\n|---|---|---|---|---|\n", cores)
	for _, row := range []struct{ name, text string }{
		{"ParseAlone", "its YAML read, nothing else"}, {"CompileAlone", "its input compiled, nothing else"},
		{"Check", "`fn check`"}, {"CheckTyped", "`fn check`, with the schemas of 100 CRDs"},
	} {
		one, many := all["Check/"+row.name+"/cores=1"], all[fmt.Sprintf("Check/%s/cores=%d", row.name, cores)]
		if one == nil || many == nil {
			return "", fmt.Errorf("cannot find the figures of %s", row.name)
		}
		fmt.Fprintf(&b, "| %s | %.1f ms | %.1f ms | %.1f ms | %.0f |\n", row.text, one["cpu-ns/file"]/1e6, one["ns/file"]/1e6, many["ns/file"]/1e6, one["allocs/file"])
	}
	fmt.Fprintf(&b, "\n%s, %d cores. A Composition here has six resources in patch-and-transform, and 16 expressions.\n\n", runtime.Version(), cores)
	return b.String(), nil
}
