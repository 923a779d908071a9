package live_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"
	"sigs.k8s.io/yaml"

	"github.com/crossplane-contrib/function-export/internal/e2e/live"
	"github.com/crossplane-contrib/function-export/internal/engine/limits"
)

const (
	loadClients  = 64
	loadRequests = 1000
)

// TestLoadAlone calls one process of the function from many clients at once. It then continues for a configured
// time, and checks that the memory does not grow.
func TestLoadAlone(t *testing.T) {
	process, address := serveAlone(t)
	load := loadOn(t, address)

	for n := range limits.Plans { // fill the cache of plans first
		load.call(t, n%loadClients, load.mix[0], n)
	}

	resetPeak(t, process.Pid)

	before, start := usageOf(t, process.Pid), time.Now()
	took := load.run(t, func(n int) bool { return n < loadRequests })
	after, seconds := usageOf(t, process.Pid), time.Since(start).Seconds()

	inLimits(t, after.peak)
	slices.Sort(took)

	at := func(q float64) float64 { return milliseconds(took[int(q*float64(len(took)-1))]) }
	figure("alone", fmt.Sprintf("requests=%d clients=%d per-second=%.0f cpu-ms=%.2f p50-ms=%.1f p95-ms=%.1f p99-ms=%.1f peak-MiB=%.0f",
		len(took), loadClients, float64(len(took))/seconds, milliseconds(after.cpu-before.cpu)/float64(len(took)), at(0.5), at(0.95), at(0.99), mebibytes(after.peak)))

	load.soak(t, process.Pid)
}

// soak watches the memory of the function under load.
func (l *loader) soak(t *testing.T, pid int) {
	t.Helper()

	long := 20 * time.Second

	if text := os.Getenv(loadSoak); text != "" {
		var err error
		if long, err = time.ParseDuration(text); err != nil || long < time.Second {
			t.Fatalf("cannot use %s=%q: %v", loadSoak, text, err)
		}
	}

	resetPeak(t, pid)

	var samples []uint64

	ctx, stop := context.WithTimeout(t.Context(), long)
	defer stop()

	var wg sync.WaitGroup

	wg.Go(func() {
		for ctx.Err() == nil {
			samples = append(samples, usageOf(t, pid).rss)

			time.Sleep(100 * time.Millisecond)
		}
	})

	took := l.run(t, func(int) bool { return ctx.Err() == nil })

	wg.Wait()

	peak := usageOf(t, pid).peak
	inLimits(t, peak)

	begin, end, err := flat(samples)
	if err != nil {
		t.Error(err)
	}

	figure("soak", fmt.Sprintf("minutes=%.1f clients=%d requests=%d per-second=%.0f begin-MiB=%.0f end-MiB=%.0f peak-MiB=%.0f",
		long.Minutes(), loadClients, len(took), float64(len(took))/long.Seconds(), mebibytes(begin), mebibytes(end), mebibytes(peak)))
}

// growth is the growth that counts as noise. The load is random, and the garbage collector runs at any time.
const (
	growthFactor = 1.2
	growthSlack  = 24 << 20
)

// flat checks that the memory in the last tenth of the time is not larger than in the second tenth. The memory
// may grow in the first tenth. Both values are medians.
func flat(samples []uint64) (begin, end uint64, err error) {
	tenth := len(samples) / 10
	if tenth == 0 {
		return 0, 0, errors.New("there are too few samples")
	}

	median := func(s []uint64) uint64 {
		s = slices.Clone(s)
		slices.Sort(s)

		return s[len(s)/2]
	}

	begin, end = median(samples[tenth:2*tenth]), median(samples[len(samples)-tenth:])
	if float64(end) > growthFactor*float64(begin)+growthSlack {
		err = fmt.Errorf("memory grows: %.0f MiB after a tenth of the time, %.0f MiB at the end", mebibytes(begin), mebibytes(end))
	}

	return begin, end, err
}

// This checks that the check of the memory can fail.
func TestFlat(t *testing.T) {
	for name, tc := range map[string]struct {
		reason string
		rss    func(n int) uint64
		grows  bool
	}{
		"Flat":   {"the same all the time", func(int) uint64 { return 100 << 20 }, false},
		"WarmUp": {"what grows to its size is no leak", func(n int) uint64 { return uint64(min(n, 100)) << 20 }, false},
		"Peaks":  {"a large request now and then is none", func(n int) uint64 { return 100<<20 + uint64(n%10/9)<<30 }, false},
		"Leak":   {"100 KiB with each sample is one", func(n int) uint64 { return 50<<20 + uint64(n)*100<<10 }, true},
	} {
		t.Run(name, func(t *testing.T) {
			var samples []uint64
			for n := range 1000 {
				samples = append(samples, tc.rss(n))
			}

			if _, _, err := flat(samples); (err != nil) != tc.grows {
				t.Errorf("%s: got %v", tc.reason, err)
			}
		})
	}
}

// serveAlone starts the program of the function without TLS and without a control plane.
func serveAlone(t *testing.T) (*os.Process, string) {
	t.Helper()

	program, err := os.Readlink(fmt.Sprintf("/proc/%d/exe", function.Replicas[0].PID()))
	if err != nil {
		t.Fatal(err)
	}

	lis, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}

	address := lis.Addr().String()
	_ = lis.Close() // the function will listen there

	cmd := exec.CommandContext(t.Context(), program, "serve", "--insecure", "--address="+address, "--metrics-address=")

	stderr, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}

	if err := live.StartChild(cmd); err != nil {
		t.Fatal(err)
	}

	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})

	go func() { // its log must not fill the pipe
		for s := bufio.NewScanner(stderr); s.Scan(); {
			if !strings.Contains(s.Text(), "Serving") {
				fmt.Println("function:", s.Text())
			}
		}
	}()

	return cmd.Process, address
}

// A loader calls a function.
type loader struct {
	conns []*grpc.ClientConn
	mix   [][]byte // requests of several sizes
}

func loadOn(t *testing.T, address string) *loader {
	t.Helper()

	l := &loader{}

	for range loadClients {
		conn, err := grpc.NewClient(address, grpc.WithTransportCredentials(insecure.NewCredentials()),
			grpc.WithDefaultCallOptions(grpc.WaitForReady(true), grpc.MaxCallRecvMsgSize(8<<20), grpc.MaxCallSendMsgSize(8<<20)))
		if err != nil {
			t.Fatal(err)
		}

		t.Cleanup(func() { _ = conn.Close() })

		l.conns = append(l.conns, conn)
	}

	for _, kibibytes := range []int{2, 8, 32, 125, 500} {
		b, err := proto.Marshal(allCreated(t, l.conns[0], kibibytes<<10))
		if err != nil {
			t.Fatal(err)
		}

		l.mix = append(l.mix, b)
	}

	return l
}

// rawCodec sends and receives bytes. The clients run on the machine that is measured, and therefore must be
// cheap.
type rawCodec struct{}

func (rawCodec) Name() string { return "proto" }

func (rawCodec) Marshal(v any) ([]byte, error) {
	b, ok := v.([]byte)
	if !ok {
		return nil, fmt.Errorf("cannot send %T: it is not bytes", v)
	}

	return b, nil
}

func (rawCodec) Unmarshal(b []byte, v any) error {
	out, ok := v.(*int)
	if !ok {
		return fmt.Errorf("cannot receive %T", v)
	}

	*out = len(b)

	return nil
}

// call calls the function as one of the clients, with an input that no other client sends: that of
// number n, or the input of the request if n is negative.
func (l *loader) call(t *testing.T, client int, request []byte, n int) {
	t.Helper()

	if n >= 0 {
		more, err := proto.Marshal(&fnv1.RunFunctionRequest{Input: loadInput(t, fmt.Sprintf("{variables: [{name: host, value: resources.db.status.endpoint}, {name: n, value: '%d'}]}", n))})
		if err != nil {
			t.Error(err)
			return
		}

		request = slices.Concat(request, more) // concatenated protobuf messages are merged
	}

	var size int

	err := l.conns[client].Invoke(t.Context(), fnv1.FunctionRunnerService_RunFunction_FullMethodName, request, &size, grpc.ForceCodec(rawCodec{}))
	if err == nil && size == 0 {
		err = errors.New("the response is empty")
	}

	if err != nil {
		t.Errorf("cannot call the function: %v", err)
	}
}

// newInputs is the number of requests after which one request has a new input.
const newInputs = 50

// run sends requests while more returns true, and returns how long each took. more gets the number of the next
// request.
func (l *loader) run(t *testing.T, more func(n int) bool) []time.Duration {
	t.Helper()

	var (
		wg   sync.WaitGroup
		mu   sync.Mutex
		next atomic.Int64
		all  []time.Duration
	)

	for client := range loadClients {
		wg.Go(func() {
			var took []time.Duration

			for !t.Failed() {
				n := int(next.Add(1)) - 1
				if !more(n) {
					break
				}

				input := -1
				if n%newInputs == 0 {
					input = limits.Plans + n
				}

				start := time.Now()

				l.call(t, client, l.mix[n%len(l.mix)], input)

				took = append(took, time.Since(start))
			}

			mu.Lock()
			defer mu.Unlock()

			all = append(all, took...)
		})
	}

	wg.Wait()

	if t.Failed() {
		t.FailNow()
	}

	return all
}

const aloneRequest = `
observed:
  composite:
    resource: {apiVersion: example.org/v1, kind: App, metadata: {name: demo, namespace: default, uid: 1b2e5f6a-0000-4000-8000-000000000001}}
  resources:
    db:
      resource: {apiVersion: example.org/v1, kind: Database, metadata: {name: demo-db, namespace: default}, status: {endpoint: db.example.org, port: 5432}}
      connection_details: {username: YXBw, password: aHVudGVyMi9odW50ZXIy}
      ready: READY_TRUE
input:
  apiVersion: export.fn.crossplane.io/v1beta1
  kind: Exports
  variables:
  - {name: host, value: resources.db.status.endpoint}
  secrets:
  - name: url
    from: db
    data: [{key: url, value: "'postgres://%s:%s@%s:%d/app'.format([secret.username, url.queryEscape(secret.password), variables.host, resource.status.port])"}]
  - {name: all, from: db, dataFrom: [{valueMap: secret}]}
  - {name: renamed, dataFrom: [{extract: {key: db}, rewrite: [{regexp: {source: '^(.*)$', target: 'DB_$1'}}]}]}
  - {name: parts, from: db, data: [{key: host, value: variables.host}, {key: port, value: string(resource.status.port)}]}
  configMaps:
  - {name: settings, data: [{key: host, value: variables.host}]}
`

// allCreated returns a request whose exports are all created and observed, like most requests. It also has the
// given number of bytes of other state.
func allCreated(t *testing.T, conn *grpc.ClientConn, bytes int) *fnv1.RunFunctionRequest {
	t.Helper()

	req := &fnv1.RunFunctionRequest{}

	j, err := yaml.YAMLToJSON([]byte(aloneRequest))
	if err == nil {
		err = protojson.Unmarshal(j, req)
	}

	if err != nil {
		t.Fatal(err)
	}

	list := &structpb.ListValue{}
	for n := 0; n*32 < bytes; n++ {
		list.Values = append(list.Values, structpb.NewStringValue(fmt.Sprintf("condition-%019d", n)))
	}

	req.Observed.Resources["db"].Resource.Fields["filler"] = structpb.NewListValue(list)

	var rsp *fnv1.RunFunctionResponse

	for range 6 { // it looks up objects with the names, finds none, and creates the exports
		if rsp, err = fnv1.NewFunctionRunnerServiceClient(conn).RunFunction(t.Context(), req); err != nil {
			t.Fatal(err)
		}

		for name, r := range rsp.GetDesired().GetResources() {
			req.Observed.Resources[name] = &fnv1.Resource{Resource: r.GetResource()}
		}

		req.RequiredResources = map[string]*fnv1.Resources{}
		for name := range rsp.GetRequirements().GetResources() {
			req.RequiredResources[name] = &fnv1.Resources{}
		}
	}

	if len(rsp.GetDesired().GetResources()) != exportsEach || rsp.GetConditions()[0].GetStatus() != fnv1.Status_STATUS_CONDITION_TRUE {
		t.Fatalf("want %d exports, got %d: %v", exportsEach, len(rsp.GetDesired().GetResources()), rsp.GetConditions())
	}

	return req
}

func loadInput(t *testing.T, text string) *structpb.Struct {
	t.Helper()

	j, err := yaml.YAMLToJSON([]byte(text))
	s := &structpb.Struct{}

	if err == nil {
		err = protojson.Unmarshal(j, s)
	}

	if err != nil {
		t.Error(err)
	}

	return s
}
