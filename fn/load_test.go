package main

import (
	"bufio"
	"fmt"
	"io"
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
	"github.com/crossplane-contrib/function-export/internal/engine/metrics"
)

// BenchmarkLoad compares the function with one that does nothing, over gRPC on loopback. One iteration is a
// round in which each server has its turn. Because the other load of the machine varies, each figure is the
// median of all rounds, and each ratio is the median of the ratios of all rounds.
func BenchmarkLoad(b *testing.B) {
	for _, r := range benchRequests(b) {
		for _, clients := range []int{1, 8} {
			b.Run(fmt.Sprintf("%s/clients=%d", r.name, clients), func(b *testing.B) {
				servers := startBench(b, benchEmpty, metrics.CodecProto, metrics.CodecLazy)
				measure(b, servers, turn{r.request, clients, 100, 300 * time.Millisecond})
				for _, s := range servers {
					b.ReportMetric(s.median(func(f figures) float64 { return f.cpu }), s.name+"-cpu-µs/op")
					b.ReportMetric(s.median(func(f figures) float64 { return f.p50 }), s.name+"-p50-µs")
					b.ReportMetric(s.median(func(f figures) float64 { return f.p99 }), s.name+"-p99-µs")
					b.ReportMetric(s.median(func(f figures) float64 { return f.allocs }), s.name+"-allocs/op")
					b.ReportMetric(s.peakMiB(b), s.name+"-peak-MiB")
				}
				reportRatios(b, servers)
			})
		}
	}
}

// BenchmarkUnread measures the cost of data in a request that no expression reads. One iteration is a round,
// as in BenchmarkLoad.
func BenchmarkUnread(b *testing.B) {
	for _, kib := range []int{1, 4, 16, 64, 100, 256, 1024, 4096} {
		b.Run(fmt.Sprintf("%dKiB", kib), func(b *testing.B) {
			r := benchRequestOf(b, benchState{observed: kib << 10})
			servers := startBench(b, benchEmpty, metrics.CodecLazy, benchTransport)
			measure(b, servers, turn{r, 1, 10, 150 * time.Millisecond})
			for _, s := range servers {
				b.ReportMetric(s.median(func(f figures) float64 { return f.cpu }), s.name+"-cpu-µs/op")
			}
			reportRatios(b, servers)
		})
	}
}

// reportRatios reports the ratio of each server to the first one.
func reportRatios(b *testing.B, servers []*benchProcess) {
	b.Helper()
	first := servers[0]
	for _, s := range servers[1:] {
		ratios := make([]float64, len(s.rounds))
		for i := range ratios {
			ratios[i] = s.rounds[i].cpu / first.rounds[i].cpu
		}
		b.ReportMetric(median(ratios), s.name+"/"+first.name+"-cpu")
	}
	b.ReportMetric(0, "ns/op") // the time of a round has no meaning
}

// A turn has a minimum number of requests and a minimum duration.
type turn struct {
	request  []byte
	clients  int
	requests int64
	time     time.Duration
}

// figures of one turn, in microseconds.
type figures struct{ cpu, p50, p99, allocs float64 }

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
	name   string
	pid    int
	conn   *grpc.ClientConn
	ask    io.Writer
	answer *bufio.Reader
	rounds []figures
}

func startBench(b *testing.B, names ...string) []*benchProcess {
	b.Helper()
	var servers []*benchProcess
	for _, name := range names {
		cmd := exec.CommandContext(b.Context(), os.Args[0])
		cmd.Env = append(os.Environ(), benchServer+"="+name)
		cmd.Stderr = os.Stderr
		ask, err := cmd.StdinPipe()
		if err != nil {
			b.Fatal(err)
		}
		out, err := cmd.StdoutPipe()
		if err != nil {
			b.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			b.Fatal(err)
		}
		b.Cleanup(func() {
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
		})
		s := &benchProcess{name: name, pid: cmd.Process.Pid, ask: ask, answer: bufio.NewReader(out)}
		s.connect(b)
		servers = append(servers, s)
	}
	return servers
}

// connect connects to the address that the server prints first.
func (s *benchProcess) connect(b *testing.B) {
	b.Helper()
	address, err := s.answer.ReadString('\n')
	if err != nil {
		b.Fatal(err)
	}
	s.conn, err = grpc.NewClient(strings.TrimSpace(address), grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithDefaultCallOptions(grpc.ForceCodec(functiontest.RawCodec{}), grpc.MaxCallRecvMsgSize(benchMost), grpc.MaxCallSendMsgSize(benchMost)))
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = s.conn.Close() })
}

// take runs one turn of the server.
func (s *benchProcess) take(b *testing.B, t turn) figures {
	b.Helper()
	var (
		done atomic.Int64
		wait sync.WaitGroup
	)
	each := make([][]float64, t.clients)
	allocs, cpu, begin := s.mallocs(b), s.cpu(b), time.Now()
	for i := range t.clients {
		wait.Go(func() {
			for done.Load() < t.requests || time.Since(begin) < t.time {
				start := time.Now()
				var rsp []byte
				if err := s.conn.Invoke(b.Context(), fnv1.FunctionRunnerService_RunFunction_FullMethodName, &t.request, &rsp); err != nil {
					b.Error(err)
					return
				}
				each[i] = append(each[i], float64(time.Since(start).Nanoseconds())/1e3)
				done.Add(1)
			}
		})
	}
	wait.Wait()
	cpu, allocs = s.cpu(b)-cpu, s.mallocs(b)-allocs
	if b.Failed() {
		b.FailNow()
	}
	all, n := slices.Sorted(slices.Values(slices.Concat(each...))), float64(done.Load())
	return figures{cpu / n, quantile(all, 50), quantile(all, 99), allocs / n}
}

// mallocs returns the number of allocations that the process reports.
func (s *benchProcess) mallocs(b *testing.B) float64 {
	b.Helper()
	if _, err := fmt.Fprintln(s.ask); err != nil {
		b.Fatal(err)
	}
	text, err := s.answer.ReadString('\n')
	if err != nil {
		b.Fatal(err)
	}
	n, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
	if err != nil {
		b.Fatal(err)
	}
	return n
}

// cpu returns the CPU time of the process in microseconds, as counted by Linux.
func (s *benchProcess) cpu(b *testing.B) float64 {
	b.Helper()
	var total float64
	tasks, err := os.ReadDir(fmt.Sprintf("/proc/%d/task", s.pid))
	if err != nil {
		b.Skip("needs Linux: ", err)
	}
	for _, task := range tasks {
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%s/schedstat", s.pid, task.Name()))
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
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", s.pid))
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

func median(all []float64) float64 { return quantile(slices.Sorted(slices.Values(all)), 50) }

// quantile returns the smallest value that the given percentage of the values does not exceed.
func quantile(sorted []float64, percent int) float64 {
	return sorted[(len(sorted)*percent+99)/100-1]
}

func TestQuantile(t *testing.T) {
	var hundred []float64
	for i := range 100 {
		hundred = append(hundred, float64(i+1))
	}
	cases := map[string]struct {
		reason  string
		sorted  []float64
		percent int
		want    float64
	}{
		"One":     {"all there is", []float64{7}, 99, 7},
		"Odd":     {"the middle", []float64{1, 2, 9}, 50, 2},
		"Even":    {"the lower of the two in the middle", []float64{1, 2, 3, 9}, 50, 2},
		"99":      {"one in a hundred is above", hundred, 99, 99},
		"99OfFew": {"none can be above", hundred[:60], 99, 60},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := quantile(tc.sorted, tc.percent); got != tc.want {
				t.Errorf("%s: want %v, got %v", tc.reason, tc.want, got)
			}
		})
	}
}
