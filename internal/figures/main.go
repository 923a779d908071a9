// Command figures measures the function beside one that does nothing, and writes the figures
// into the README, between its marks, and a plot into this folder. With -live it measures the
// function on a real control plane, and under load of its own; with -check it measures fn
// check.
package main

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

func main() {
	live := flag.Bool("live", false, "measure on a real control plane, which takes a quarter of an hour, instead of beside a function that does nothing")
	check := flag.Bool("check", false, "measure what it costs to check many files")
	rounds := flag.Int("rounds", 9, "how often each server has its turn, beside a function that does nothing; 9 take about six minutes")
	flag.Parse()

	measure := func() error { return run(*rounds) }
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
