// Command figures measures the function beside one that does nothing, and writes
// the figures into the README, between its marks. With -live it measures the function on a
// real control plane, and under load of its own; with -check it measures fn check.
package main

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
)

func main() {
	live := flag.Bool("live", false, "measure on a real control plane, which takes a quarter of an hour, instead of beside a function that does nothing")
	check := flag.Bool("check", false, "measure what it costs to check many files")
	flag.Parse()

	measure := run
	switch {
	case *live:
		measure = runLive
	case *check:
		measure = runCheck
	}
	if err := measure(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run() error {
	cmd := exec.Command("go", "test", "./fn", "-run", "^$", "-bench", "^Benchmark(Server|RunFunction)$", "-benchtime", "3s")
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return fmt.Errorf("cannot measure: %w\n%s", err, out)
	}
	table, err := tableOf(string(out))
	if err != nil {
		return err
	}
	return write("go run ./internal/figures", table)
}

// write a table into the README, between the marks that name the command that makes it.
func write(command, table string) error {
	readme, err := os.ReadFile("README.md")
	if err != nil {
		return fmt.Errorf("cannot read README: %w", err)
	}
	begin, end := "<!-- figures: "+command+" -->\n", "<!-- /figures -->"
	before, rest, found := bytes.Cut(readme, []byte(begin))
	_, after, ends := bytes.Cut(rest, []byte(end))
	if !found || !ends {
		return fmt.Errorf("cannot find the marks of %q in the README", command)
	}
	readme = slices.Concat(before, []byte(begin), []byte(table), []byte(end), after)
	return os.WriteFile("README.md", readme, 0o644) //nolint:gosec // a README
}

// metric is one line of a benchmark: its values by their units.
type metric map[string]float64

var line = regexp.MustCompile(`(?m)^Benchmark(\S+?)(?:-\d+)?\s+\d+\s+(.*)$`)

func parse(out string) map[string]metric {
	all := map[string]metric{}
	for _, m := range line.FindAllStringSubmatch(out, -1) {
		fields := strings.Fields(m[2])
		values := metric{}
		for i := 0; i+1 < len(fields); i += 2 {
			if v, err := strconv.ParseFloat(fields[i], 64); err == nil {
				values[fields[i+1]] = v
			}
		}
		all[m[1]] = values
	}
	return all
}

func tableOf(out string) (string, error) {
	const cpu = "server-cpu-µs/op"
	all := parse(out)
	var b strings.Builder
	b.WriteString("\n| observed state | empty function, CPU | this one, CPU | ratio | mean, one client | allocations |\n|---|---|---|---|---|---|\n")
	for _, size := range []struct{ name, text string }{
		{"2KiB", "2 KiB"}, {"500KiB", "500 KiB"}, {"51x2KiB", "51 resources of 2 KiB, 50 of them desired"},
	} {
		empty, own, alone := all["Server/"+size.name+"/empty"], all["Server/"+size.name+"/export"], all["RunFunction/"+size.name]
		if empty == nil || own == nil || alone == nil {
			return "", fmt.Errorf("cannot find the figures of %s", size.name)
		}
		fmt.Fprintf(&b, "| %s | %.0f µs | %.0f µs | %.2f | %.2f ms | %.0f, %.0f KiB |\n",
			size.text, empty[cpu], own[cpu], own[cpu]/empty[cpu], own["ns/op"]/1e6, alone["allocs/op"], alone["B/op"]/1024)
	}
	fmt.Fprintf(&b, "\n%s, %d cores.\n\n", runtime.Version(), runtime.NumCPU())
	return b.String(), nil
}
