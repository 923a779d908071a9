package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strings"
)

// plotFile is what the README shows.
const plotFile = "internal/figures/unread.svg"

// run shows what goes on, for it takes minutes. Each server has a turn in each round.
func run(rounds int) error {
	const least = 3 // of which there is a median
	if rounds < least {
		return fmt.Errorf("cannot measure: -rounds must be at least %d", least)
	}
	cmd := exec.Command("go", "test", "./fn", "-run", "^$", "-bench", "^Benchmark(Load|Unread)$", "-benchtime", fmt.Sprintf("%dx", rounds), "-timeout", "1h")
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = io.MultiWriter(&out, os.Stderr), os.Stderr
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("cannot measure: %w", err)
	}
	text, plot, err := loadOf(out.String(), rounds)
	if err != nil {
		return err
	}
	if err := os.WriteFile(plotFile, []byte(plot), 0o644); err != nil { //nolint:gosec // a picture of the README
		return fmt.Errorf("cannot write plot: %w", err)
	}
	return write("go run ./internal/figures", text)
}

// The requests of BenchmarkLoad, and what BenchmarkUnread sends, in KiB.
var (
	loads = []struct{ name, text string }{
		{"2KiB", "2 KiB"},
		{"500KiB", "500 KiB"},
		{"500KiB+500KiB", "500 KiB, and 500 KiB desired"},
		{"51x2KiB", "51 resources of 2 KiB, 50 of them desired"},
	}
	loadClients = []int{1, 8}
	unread      = []int{1, 4, 16, 64, 100, 256, 1024, 4096}
)

// loadOf is the text and the plot for what the benchmarks print after so many rounds.
func loadOf(out string, rounds int) (text, plot string, err error) {
	f := &found{all: parse(out)}
	var b strings.Builder
	loadTable(&b, f)
	latencyTable(&b, f)
	lines := unreadLines(f)
	fmt.Fprintf(&b, "\n![CPU per request from %s to %s that no expression reads: %s](%s)\n", size(float64(unread[0])), size(float64(unread[len(unread)-1])), alternative(lines), plotFile)
	summary(&b, f)
	fmt.Fprintf(&b, "\nMedians of %d rounds in which the servers take turns; a ratio is the median of the rounds' ratios. %s, %d cores, which the clients share.\n\n",
		rounds, runtime.Version(), runtime.NumCPU())
	if len(f.missing) > 0 {
		return "", "", fmt.Errorf("cannot find the figures of %s", strings.Join(f.missing, ", "))
	}
	return b.String(), plotOf("CPU of the server, per request", "observed state that no expression reads", lines), nil
}

// found figures, and those that were looked for in vain.
type found struct {
	all     map[string]metric
	missing []string
}

func (f *found) get(benchmark, unit string) float64 {
	v := f.all[benchmark][unit]
	if v <= 0 { // nothing is free: the clock stood still
		f.missing = append(f.missing, benchmark+" "+unit)
	}
	return v
}

func loadTable(b *strings.Builder, f *found) {
	b.WriteString("\n| observed state | clients | CPU, empty | CPU, proto | CPU, lazy | lazy to empty | allocations, empty | allocations, lazy |\n|---|---|---|---|---|---|---|---|\n")
	eachLoad(func(text string, clients int, name string) {
		fmt.Fprintf(b, "| %s | %d | %s | %s | %s | %.2f | %.0f | %.0f |\n", text, clients,
			duration(f.get(name, "empty-cpu-µs/op")), duration(f.get(name, "proto-cpu-µs/op")), duration(f.get(name, "lazy-cpu-µs/op")),
			f.get(name, "lazy/empty-cpu"), f.get(name, "empty-allocs/op"), f.get(name, "lazy-allocs/op"))
	})
}

func latencyTable(b *strings.Builder, f *found) {
	b.WriteString("\n| observed state | clients | p50, empty | p50, lazy | p99, empty | p99, lazy | peak memory, empty | peak memory, lazy |\n|---|---|---|---|---|---|---|---|\n")
	eachLoad(func(text string, clients int, name string) {
		fmt.Fprintf(b, "| %s | %d | %s | %s | %s | %s | %.0f MiB | %.0f MiB |\n", text, clients,
			duration(f.get(name, "empty-p50-µs")), duration(f.get(name, "lazy-p50-µs")), duration(f.get(name, "empty-p99-µs")), duration(f.get(name, "lazy-p99-µs")),
			f.get(name, "empty-peak-MiB"), f.get(name, "lazy-peak-MiB"))
	})
}

func eachLoad(row func(text string, clients int, name string)) {
	for _, l := range loads {
		for _, clients := range loadClients {
			row(l.text, clients, loadName(l.name, clients))
		}
	}
}

func loadName(load string, clients int) string {
	return fmt.Sprintf("Load/%s/clients=%d", load, clients)
}

func unreadName(kib int) string { return fmt.Sprintf("Unread/%dKiB", kib) }

// summary says the figures that matter most, of one client.
func summary(b *strings.Builder, f *found) {
	ratio := func(load string) float64 { return f.get(loadName(load, 1), "lazy/empty-cpu") }
	fmt.Fprintf(b, "\nWith one client a request of 2 KiB takes %.2f times the CPU that the empty function takes, one of 500 KiB %.2f times, and one with 50 desired resources %.2f times. ",
		ratio("2KiB"), ratio("500KiB"), ratio("51x2KiB"))
	switch from := cheaperFrom(f); from {
	case 0:
		b.WriteString("What no expression reads does not make it cheaper than the empty function")
	case unread[0]:
		b.WriteString("It is cheaper than the empty function at every size of what no expression reads")
	default:
		fmt.Fprintf(b, "It is cheaper than the empty function from %s on that no expression reads", size(float64(from)))
	}
	most := unread[len(unread)-1]
	name := unreadName(most)
	fmt.Fprintf(b, ", and at %s takes %.1f times what it costs to receive them.\n", size(float64(most)), f.get(name, "lazy-cpu-µs/op")/f.get(name, "transport-cpu-µs/op"))
}

// cheaperFrom is the least size from which on all take less than the empty function, 0 if
// there is none.
func cheaperFrom(f *found) int {
	from := 0
	for i := len(unread) - 1; i >= 0 && f.get(unreadName(unread[i]), "lazy/empty-cpu") < 1; i-- {
		from = unread[i]
	}
	return from
}

func unreadLines(f *found) []series {
	lines := []series{
		{name: "empty function", color: "#6b7280"},
		{name: "function-export", color: "#1d4ed8"},
		{name: "receiving alone", color: "#b45309", dash: true},
	}
	for i, server := range []string{"empty", "lazy", "transport"} {
		for _, kib := range unread {
			lines[i].points = append(lines[i].points, point{float64(kib), f.get(unreadName(kib), server+"-cpu-µs/op")})
		}
	}
	return lines
}

// alternative to seeing the lines: where each begins and ends.
func alternative(lines []series) string {
	var all []string
	for _, l := range lines {
		all = append(all, fmt.Sprintf("%s %s to %s", l.name, duration(l.points[0].y), duration(l.points[len(l.points)-1].y)))
	}
	return strings.Join(all, ", ")
}

// duration of so many microseconds, to three digits or whole ones.
func duration(µs float64) string {
	switch {
	case µs < 1e3:
		return fmt.Sprintf("%.0f µs", µs)
	case µs < 10e3:
		return fmt.Sprintf("%.2f ms", µs/1e3)
	case µs < 100e3:
		return fmt.Sprintf("%.1f ms", µs/1e3)
	case µs < 1e6:
		return fmt.Sprintf("%.0f ms", µs/1e3)
	}
	return fmt.Sprintf("%.2f s", µs/1e6)
}

// size of so many KiB.
func size(kib float64) string {
	if kib < 1<<10 {
		return fmt.Sprintf("%g KiB", kib)
	}
	return fmt.Sprintf("%g MiB", kib/(1<<10))
}
