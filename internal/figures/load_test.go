package main

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// benchOutput is what the benchmarks print, where what is sent costs the empty function 40 µs
// a KiB and this one 1 µs, and both 100 µs and more.
func benchOutput() string {
	var b strings.Builder
	b.WriteString("goos: linux\npkg: example.org/fn\n")
	for i, l := range loads {
		for j, clients := range loadClients {
			fmt.Fprintf(&b, "Benchmark%s-2  \t       9\t       %d.5 empty-allocs/op\t     %d204.4 empty-cpu-µs/op\t   230.6 empty-p50-µs\t     99900 empty-p99-µs\t        41.66 empty-peak-MiB\t"+
				"   350.5 lazy-allocs/op\t     263.4 lazy-cpu-µs/op\t     2304 lazy-p50-µs\t    1234567 lazy-p99-µs\t     45.99 lazy-peak-MiB\t    0.0%d%d lazy/empty-cpu\t  1002 proto-allocs/op\t   368.3 proto-cpu-µs/op\t    1.885 proto/empty-cpu\n",
				loadName(l.name, clients), 700+i, i, i+1, j)
		}
	}
	for _, kib := range unread {
		empty, lazy := 100+40*kib, 200+kib
		fmt.Fprintf(&b, "Benchmark%s-2  \t       9\t       %d empty-cpu-µs/op\t       %d lazy-cpu-µs/op\t         %.4f lazy/empty-cpu\t        50.00 transport-cpu-µs/op\n", unreadName(kib), empty, lazy, float64(lazy)/float64(empty))
	}
	b.WriteString("PASS\n")
	return b.String()
}

func TestLoad(t *testing.T) {
	text, plot, err := loadOf(benchOutput(), 7)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"| 2 KiB | 1 | 204 µs | 368 µs | 263 µs | 0.01 | 700 | 350 |\n",
		"| 51 resources of 2 KiB, 50 of them desired | 8 | 3.20 ms | 368 µs | 263 µs | 0.04 | 704 | 350 |\n",
		"| 500 KiB, and 500 KiB desired | 1 | 231 µs | 2.30 ms | 99.9 ms | 1.23 s | 42 MiB | 46 MiB |\n",
		"takes 0.01 times the CPU that the empty function takes, one of 500 KiB 0.02 times, and one with 50 desired resources 0.04 times. It is cheaper than the empty function from 4 KiB on that no expression reads, and at 4 MiB takes 85.9 times",
		"(" + plotFile + ")\n",
		"\nMedians of 7 rounds ",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("want %s in\n%s", want, text)
		}
	}
	if n := strings.Count(text, "\n| "); n != 2+2*len(loads)*len(loadClients) {
		t.Errorf("want a row for each request and number of clients, in two tables, got %d lines in\n%s", n, text)
	}
	if n := strings.Count(plot, "<polyline"); n != 3 {
		t.Errorf("want three lines, got %d", n)
	}
	ends := map[string]float64{}
	for _, l := range unreadLines(&found{all: parse(benchOutput())}) {
		ends[l.name] = l.points[len(l.points)-1].y
	}
	if diff := cmp.Diff(map[string]float64{"empty function": 163940, "function-export": 4296, "receiving alone": 50}, ends); diff != "" {
		t.Errorf("-want, +got:\n%s", diff)
	}
	for _, row := range strings.Split(text, "\n") {
		if n := strings.Count(row, "|"); strings.HasPrefix(row, "|") && n != 9 {
			t.Errorf("want 8 columns, got %d in %s", n-1, row)
		}
	}
}

// What was not measured is named, and no figure is made up.
func TestLoadMissing(t *testing.T) {
	cases := map[string]struct {
		reason    string
		old, now  string
		benchmark string
	}{
		"Unit":      {"a figure of a table", " lazy-peak-MiB", " lazy-peak", "Load/51x2KiB/clients=8 lazy-peak-MiB"},
		"Benchmark": {"a row of a table", "BenchmarkLoad/500KiB/clients=8-2", "BenchmarkOther-2", "Load/500KiB/clients=8 empty-cpu-µs/op"},
		"Point":     {"a point of the plot", "BenchmarkUnread/64KiB-2", "BenchmarkOther-2", "Unread/64KiB transport-cpu-µs/op"},
		"Ratio":     {"what the summary alone says", " lazy/empty-cpu", "", "Unread/4096KiB lazy/empty-cpu"},
		"Number":    {"a figure that is none", "        50.00 transport", "  nothing transport", "Unread/1KiB transport-cpu-µs/op"},
		"Zero":      {"a clock that stood still", "        50.00 transport", "        0 transport", "Unread/1KiB transport-cpu-µs/op"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			text, plot, err := loadOf(strings.ReplaceAll(benchOutput(), tc.old, tc.now), 7)
			if err == nil || !strings.Contains(err.Error(), tc.benchmark) || text != "" || plot != "" {
				t.Errorf("%s: want an error with %q and nothing else, got %v and\n%s%s", tc.reason, tc.benchmark, err, text, plot)
			}
		})
	}
}

func TestCheaperFrom(t *testing.T) {
	cases := map[string]struct {
		reason string
		ratios []float64
		want   string
	}{
		"Never":   {"the largest one is dearer", []float64{0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 1}, "What no expression reads does not make it cheaper than the empty function, and at 4 MiB"},
		"Always":  {"all are cheaper", []float64{0.9, 0.9, 0.9, 0.9, 0.9, 0.9, 0.9, 0.9}, "It is cheaper than the empty function at every size of what no expression reads, and"},
		"From":    {"those below are dearer", []float64{1.2, 1.1, 1.01, 0.99, 0.5, 0.5, 0.5, 0.5}, "from 64 KiB on that"},
		"Between": {"one that is cheaper between two that are not does not count", []float64{1.2, 0.9, 1.1, 1.1, 1.1, 1.1, 0.5, 0.5}, "from 1 MiB on that"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			f := &found{all: parse(benchOutput())}
			for i, r := range tc.ratios {
				f.all[unreadName(unread[i])]["lazy/empty-cpu"] = r
			}
			var got strings.Builder
			summary(&got, f)
			if !strings.Contains(got.String(), tc.want) {
				t.Errorf("%s: want %s in\n%s", tc.reason, tc.want, got.String())
			}
		})
	}
}

func TestUnits(t *testing.T) {
	var got []string
	for _, µs := range []float64{4.4, 999, 1e3, 9876, 12345, 123456, 2e6} {
		got = append(got, duration(µs))
	}
	for _, kib := range []float64{1, 100, 1024, 4096} {
		got = append(got, size(kib))
	}
	for _, µs := range []float64{1, 100, 1e3, 1e5, 1e6, 1e7} {
		got = append(got, tick(µs))
	}
	want := []string{"4 µs", "999 µs", "1.00 ms", "9.88 ms", "12.3 ms", "123 ms", "2.00 s", "1 KiB", "100 KiB", "1 MiB", "4 MiB", "1 µs", "100 µs", "1 ms", "100 ms", "1 s", "10 s"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want, +got:\n%s", diff)
	}
}

// A benchmark's name ends before the number of cores, where there is one.
func TestParse(t *testing.T) {
	got := parse("BenchmarkA/clients=8-16 \t 9\t 1.5 x/op\t 2 y\nBenchmarkB/clients=8 \t 1\t 0.05 x/op\nPASS\nok  \tpkg\t1s\n")
	want := map[string]metric{"A/clients=8": {"x/op": 1.5, "y": 2}, "B/clients=8": {"x/op": 0.05}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want, +got:\n%s", diff)
	}
	if !slices.Contains(unread, 100) {
		t.Error("want 100 KiB among the sizes: from there on it is to be cheaper")
	}
}
