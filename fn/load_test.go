package main

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/crossplane-contrib/function-export/internal/engine/function/functiontest"
)

// BenchmarkLoad compares the function with one that does nothing, over gRPC on loopback, and prints the table of
// internal/README.md. One iteration is a round in which each server has its turn. Because the other load of the machine
// varies, each figure is the median of all rounds, and each ratio is the median of the ratios of all rounds.
func BenchmarkLoad(b *testing.B) {
	programs := benchPrograms(b)
	var rows, memory [][]string
	for _, r := range benchRequests(b) {
		for _, clients := range []int{1, 8} {
			b.Run(fmt.Sprintf("%s/clients=%d", r.name, clients), func(b *testing.B) {
				empty, export := programs[0].start(b), programs[1].start(b)
				measure(b, []*benchProcess{empty, export}, turn{r.request, clients, 20, 300 * time.Millisecond})
				key := fmt.Sprintf("%s, %d", r.name, clients)
				row := ratioRow(b, empty, export)
				rows = append(rows, append([]string{key}, row[:5]...))
				if clients == 8 {
					memory = append(memory, append([]string{r.name}, row[5:]...))
				}
			})
		}
	}
	printRow("Request, clients", "CPU, empty", "CPU", "ratio", "Allocations, empty", "Allocations")
	printTable(rows)
	printRow("Request, 8 clients", "Peak memory, empty", "Peak memory", "ratio")
	printTable(memory)
}

// ratioRow returns the CPU, the allocations and the memory of both servers, and reports the ratio of the CPU.
func ratioRow(b *testing.B, empty, export *benchProcess) []string {
	b.Helper()
	ratios := make([]float64, len(export.rounds))
	for i := range ratios {
		ratios[i] = export.rounds[i].cpu / empty.rounds[i].cpu
	}
	b.ReportMetric(median(ratios), "cpu/empty")
	b.ReportMetric(0, "ns/op") // the time of a round has no meaning
	cpu := func(f figures) float64 { return f.cpu }
	allocs := func(f figures) float64 { return f.allocs }
	peaks := [2]float64{empty.peakMiB(b), export.peakMiB(b)}
	return []string{
		micros(empty.median(cpu)), micros(export.median(cpu)), fmt.Sprintf("%.2f", median(ratios)),
		fmt.Sprintf("%.0f", empty.median(allocs)), fmt.Sprintf("%.0f", export.median(allocs)),
		fmt.Sprintf("%.0f MiB", peaks[0]), fmt.Sprintf("%.0f MiB", peaks[1]), fmt.Sprintf("%.2f", peaks[1]/peaks[0]),
	}
}

// micros formats a number of microseconds with three digits.
func micros(n float64) string {
	if n < 1000 {
		return fmt.Sprintf("%.3g µs", n)
	}
	return fmt.Sprintf("%.3g ms", n/1000)
}

func printTable(rows [][]string) {
	if len(rows) == 0 {
		return
	}
	printRow(slices.Repeat([]string{"---"}, len(rows[0]))...)
	for _, r := range rows {
		printRow(r...)
	}
	fmt.Println()
}

// printRow prints a row of a table of a page.
func printRow(cells ...string) { fmt.Println("| " + strings.Join(cells, " | ") + " |") }

// A turn has a minimum number of requests and a minimum duration.
type turn struct {
	request  []byte
	clients  int
	requests int64
	time     time.Duration
}

// figures of one request: the CPU in microseconds, and the allocations.
type figures struct{ cpu, allocs float64 }

// measure measures each server once in each round. Each round begins with another server.
func measure(b *testing.B, servers []*benchProcess, t turn) {
	b.Helper()
	if testing.Short() {
		t.requests, t.time = 2*int64(t.clients), 0
	}
	for _, s := range servers {
		s.take(b, t) // compile the input, and let buffers grow
	}
	for round := 0; b.Loop(); round++ {
		for i := range servers {
			s := servers[(round+i)%len(servers)]
			s.rounds = append(s.rounds, s.take(b, t))
		}
	}
}

// A benchProcess is a server in a process of its own, with one connection to it, as Crossplane has.
type benchProcess struct {
	cmd     *exec.Cmd
	conn    *grpc.ClientConn
	metrics string // the URL
	rounds  []figures
}

// start starts a program, and waits until it serves.
func (p benchProgram) start(b *testing.B) *benchProcess {
	b.Helper()
	address, metrics := freeAddress(b), freeAddress(b)
	s := &benchProcess{metrics: "http://" + metrics + "/metrics"}
	s.cmd = exec.CommandContext(b.Context(), p.path, "--insecure", "--address="+address, "--metrics-address="+metrics)
	if err := s.cmd.Start(); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(s.stop)
	for _, served := range []string{address, metrics} {
		waitFor(b, served)
	}
	var err error
	s.conn, err = grpc.NewClient(address, grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithDefaultCallOptions(grpc.ForceCodec(functiontest.RawCodec{})))
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = s.conn.Close() })
	return s
}

// waitFor waits until a server listens at an address.
func waitFor(b *testing.B, address string) {
	b.Helper()
	for begin := time.Now(); time.Since(begin) < time.Minute; time.Sleep(time.Millisecond) {
		if conn, err := net.Dial("tcp", address); err == nil {
			_ = conn.Close()
			return
		}
	}
	b.Fatalf("nothing listens at %s", address)
}

func (s *benchProcess) stop() {
	_ = s.cmd.Process.Kill()
	_ = s.cmd.Wait()
}

// freeAddress returns an address at which nothing listens.
func freeAddress(b *testing.B) string {
	b.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	return l.Addr().String()
}

// take runs one turn of the server.
func (s *benchProcess) take(b *testing.B, t turn) figures {
	b.Helper()
	var (
		done atomic.Int64
		wait sync.WaitGroup
	)
	earlier := s.mallocs(b)
	before := s.mallocs(b)
	cpu, begin := s.cpu(b), time.Now()
	for range t.clients {
		wait.Go(func() {
			for done.Load() < t.requests || time.Since(begin) < t.time {
				var rsp []byte
				if err := s.conn.Invoke(b.Context(), fnv1.FunctionRunnerService_RunFunction_FullMethodName, &t.request,
					&rsp); err != nil {
					b.Error(err)
					return
				}
				done.Add(1)
			}
		})
	}
	wait.Wait()
	cpu = s.cpu(b) - cpu
	allocs := s.mallocs(b) - before - (before - earlier) // without those of the metrics
	if b.Failed() {
		b.FailNow()
	}
	n := float64(done.Load())
	return figures{cpu / n, allocs / n}
}

// mallocs returns the number of allocations of the process, as its metrics count them.
func (s *benchProcess) mallocs(b *testing.B) float64 {
	b.Helper()
	rsp, err := http.Get(s.metrics)
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = rsp.Body.Close() }()
	text, err := io.ReadAll(rsp.Body)
	if err != nil {
		b.Fatal(err)
	}
	_, after, _ := strings.Cut(string(text), "\ngo_memstats_mallocs_total ")
	n, err := strconv.ParseFloat(after[:max(0, strings.IndexByte(after, '\n'))], 64)
	if err != nil {
		b.Fatal(err)
	}
	return n
}

// cpu returns the CPU time of the process in microseconds, as counted by Linux.
func (s *benchProcess) cpu(b *testing.B) float64 {
	b.Helper()
	var total float64
	tasks, err := os.ReadDir(fmt.Sprintf("/proc/%d/task", s.cmd.Process.Pid))
	if err != nil {
		b.Skip("needs Linux: ", err)
	}
	for _, task := range tasks {
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%s/schedstat", s.cmd.Process.Pid, task.Name()))
		if err != nil {
			continue // a thread that ended
		}
		ns, err := strconv.ParseInt(strings.Fields(string(stat))[0], 10, 64)
		if err != nil {
			b.Fatal(err)
		}
		total += float64(ns) / 1e3
	}
	return total
}

// peakMiB returns the peak of the memory of the process.
func (s *benchProcess) peakMiB(b *testing.B) float64 {
	b.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", s.cmd.Process.Pid))
	if err != nil {
		b.Skip("needs Linux: ", err)
	}
	_, after, _ := strings.Cut(string(status), "VmHWM:")
	var kib float64
	if _, err := fmt.Sscan(after, &kib); err != nil {
		b.Fatal(err)
	}
	return kib / 1024
}

func (s *benchProcess) median(of func(figures) float64) float64 {
	var all []float64
	for _, f := range s.rounds {
		all = append(all, of(f))
	}
	return median(all)
}

// median returns the middle value, or the lower one of two.
func median(all []float64) float64 { return slices.Sorted(slices.Values(all))[(len(all)-1)/2] }
