package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"github.com/crossplane/function-sdk-go/logging"
	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"github.com/crossplane/function-sdk-go/response"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"
)

// benchServer names the function that this test binary serves instead of
// testing, in a process of its own whose CPU time can be told apart.
const benchServer = "FUNCTION_EXPORT_BENCH_SERVER"

func TestMain(m *testing.M) {
	if which := os.Getenv(benchServer); which != "" {
		if err := serveBench(which); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// emptyFunction is what every function costs: decode, pass on, encode.
type emptyFunction struct {
	fnv1.UnimplementedFunctionRunnerServiceServer
}

func (emptyFunction) RunFunction(_ context.Context, req *fnv1.RunFunctionRequest) (*fnv1.RunFunctionResponse, error) {
	return response.To(req, response.DefaultTTL), nil
}

func serveBench(which string) error {
	var fn fnv1.FunctionRunnerServiceServer = emptyFunction{}
	if which == "export" {
		collectLess()
		f, err := NewFunction(logging.NewNopLogger(), newMetrics(newRegistry()))
		if err != nil {
			return err
		}
		fn = f
	}
	lis, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	fmt.Println(lis.Addr())
	s := grpc.NewServer(grpc.MaxRecvMsgSize(8 << 20))
	fnv1.RegisterFunctionRunnerServiceServer(s, fn)
	return s.Serve(lis)
}

// rawCodec sends and receives bytes, so that the client costs next to nothing.
type rawCodec struct{}

func (rawCodec) Name() string { return "proto" }

func (rawCodec) Marshal(v any) ([]byte, error) {
	if b, ok := v.(*[]byte); ok {
		return *b, nil
	}
	return nil, errors.New("not bytes")
}

func (rawCodec) Unmarshal(b []byte, v any) error {
	*v.(*[]byte) = b
	return nil
}

// BenchmarkServer compares the function with one that does nothing, over gRPC on
// loopback: wall time per request with one client, and the server's own CPU
// time.
func BenchmarkServer(b *testing.B) {
	for _, size := range benchRequests(b) {
		for _, which := range []string{"empty", "export"} {
			b.Run(size.name+"/"+which, func(b *testing.B) { benchmarkServer(b, which, size.request) })
		}
	}
}

func benchmarkServer(b *testing.B, which string, req []byte) {
	cmd := exec.CommandContext(b.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), benchServer+"="+which)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	defer func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}()
	address, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		b.Fatal(err)
	}
	conn, err := grpc.NewClient(strings.TrimSpace(address), grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithDefaultCallOptions(grpc.ForceCodec(rawCodec{}), grpc.MaxCallRecvMsgSize(8<<20), grpc.MaxCallSendMsgSize(8<<20)))
	if err != nil {
		b.Fatal(err)
	}
	defer conn.Close() //nolint:errcheck // a test
	call := func() {
		var rsp []byte
		if err := conn.Invoke(b.Context(), fnv1.FunctionRunnerService_RunFunction_FullMethodName, &req, &rsp); err != nil {
			b.Fatal(err)
		}
	}
	for range 50 { // compile the input, and grow what grows
		call()
	}
	before := cpuMicroseconds(b, cmd.Process.Pid)
	for b.Loop() {
		call()
	}
	b.ReportMetric(float64(cpuMicroseconds(b, cmd.Process.Pid)-before)/float64(b.N), "server-cpu-µs/op")
}

// cpuMicroseconds is the CPU time that a process has used, as Linux counts it.
func cpuMicroseconds(b *testing.B, pid int) int64 {
	b.Helper()
	var total int64
	tasks, err := os.ReadDir(fmt.Sprintf("/proc/%d/task", pid))
	if err != nil {
		b.Skip("needs Linux: ", err)
	}
	for _, task := range tasks {
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%s/schedstat", pid, task.Name()))
		if err != nil {
			continue // a thread that ended
		}
		ns, err := strconv.ParseInt(strings.Fields(string(stat))[0], 10, 64)
		if err != nil {
			b.Fatal(err)
		}
		total += ns / 1000
	}
	return total
}

// BenchmarkRunFunction is the function alone, without gRPC and protobuf.
func BenchmarkRunFunction(b *testing.B) {
	for _, size := range benchRequests(b) {
		b.Run(size.name, func(b *testing.B) {
			req := &fnv1.RunFunctionRequest{}
			if err := proto.Unmarshal(size.request, req); err != nil {
				b.Fatal(err)
			}
			f := newFunction(b)
			b.ReportAllocs()
			for b.Loop() {
				if _, err := f.RunFunction(b.Context(), req); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

type benchRequest struct {
	name    string
	request []byte
}

// benchRequests are five exports over an observed state of 2 KiB, of 500 KiB, and
// of 51 composed resources of 2 KiB each of which 50 are desired, too.
func benchRequests(b *testing.B) []benchRequest {
	b.Helper()
	make := func(name string, bytes, resources int) benchRequest {
		req := request(b, observedDatabase+benchInput)
		req.Observed.Resources["db"].Resource.Fields["filler"] = filler(bytes)
		for i := range resources {
			r := &fnv1.Resource{Resource: &structpb.Struct{Fields: map[string]*structpb.Value{"filler": filler(2 << 10)}}}
			req.Observed.Resources[fmt.Sprint("resource-", i)] = r
			if req.Desired == nil {
				req.Desired = &fnv1.State{Resources: map[string]*fnv1.Resource{}}
			}
			req.Desired.Resources[fmt.Sprint("resource-", i)] = r
		}
		// The second call of a reconcile and every one after the first reconcile:
		// all is created, and observed.
		rsp := reconcile(b, newFunction(b), req, nil)
		for name, r := range rsp.GetDesired().GetResources() {
			if _, ok := req.GetDesired().GetResources()[name]; !ok {
				req.Observed.Resources[name] = &fnv1.Resource{Resource: r.GetResource()}
			}
		}
		buf, err := proto.Marshal(req)
		if err != nil {
			b.Fatal(err)
		}
		if len(rsp.GetResults()) > 0 || rsp.GetConditions()[0].GetStatus() != fnv1.Status_STATUS_CONDITION_TRUE {
			b.Fatal(rsp.GetConditions())
		}
		return benchRequest{name, buf}
	}
	return []benchRequest{make("2KiB", 1<<10, 0), make("500KiB", 500<<10, 0), make("51x2KiB", 1<<10, 50)}
}

// filler is a value of about so many bytes, shaped like a status.
func filler(bytes int) *structpb.Value {
	list := &structpb.ListValue{}
	for i := 0; i*64 < bytes; i++ {
		list.Values = append(list.Values, structpb.NewStructValue(&structpb.Struct{Fields: map[string]*structpb.Value{
			"name":  structpb.NewStringValue(fmt.Sprintf("condition-%06d", i)),
			"ready": structpb.NewBoolValue(true),
			"port":  structpb.NewNumberValue(float64(8000 + i)),
		}}))
	}
	return structpb.NewListValue(list)
}

const benchInput = `
input:
  apiVersion: export.fn.crossplane.io/v1beta1
  kind: Exports
  variables:
  - {name: host, value: resources.db.status.endpoint}
  secrets:
  - name: connection
    from: db
    data:
    - {key: url, value: "'postgres://%s:%s@%s:%d/app'.format([secret.username, url.queryEscape(secret.password), variables.host, resource.status.port])"}
    - {key: username, value: secret.username}
    - {key: password, value: secret.password}
    - {key: host, value: variables.host}
    - {key: port, value: string(resource.status.port)}
`
