package main

import (
	"context"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"google.golang.org/protobuf/proto"

	"github.com/crossplane-contrib/function-export/internal/engine/function/functiontest"
	"github.com/crossplane-contrib/function-export/internal/proof"
	"github.com/crossplane-contrib/function-export/internal/testdata/attack"
)

// The limits of the server's work for one request of at most requestSize.
const (
	requestCPU = 2 * time.Second // the most expensive request needs 0.7 s on an idle machine
	// the largest needs 112 MiB on an idle machine, and 123 MiB on a busy one, where garbage stays longer
	requestMemory = 150 << 20
	requestSize   = 4 << 20

	// goneCPU is the CPU time that the server may use for a request after its caller is gone. It is many
	// times the time on an idle machine, and a quarter of the limit for the whole request.
	goneAfter, goneCPU = 20 * time.Millisecond, 250 * time.Millisecond
)

// The law of requests: With any Composition and any data in the cluster, a request stays within these
// limits and is answered. The server stops its work soon after the caller is gone.
func TestAttackRequests(t *testing.T) {
	all := attack.Requests()
	for _, name := range proof.Part(slices.Sorted(maps.Keys(all)), 12) {
		t.Run(name, func(t *testing.T) {
			req := all[name]()
			size := proto.Size(req)
			if size > requestSize {
				t.Fatalf("a request of %d KiB is refused: the attack is none", size>>10)
			}
			s := serveAttacked(t) // a separate server, so that the memory of other requests does not count
			s.rest(t)
			s.compile(t, req) // the memory of the plan counts
			cost, rsp := s.attackOnce(t, req)
			cost.name, cost.size = name, size
			condition := rsp.GetConditions()[0]
			t.Logf("%s, %d KiB, answered by %d\n%s: %.300s", cost, size>>10, proto.Size(rsp)>>10, condition.GetReason(),
				condition.GetMessage())
			if cost.cpu > requestCPU || cost.memory > requestMemory {
				t.Errorf("want at most %s and %d MiB, got %s", requestCPU, requestMemory>>20, cost)
			}
			if took := s.abandon(t, req); took > goneCPU {
				t.Errorf("the server works on for %s after the caller has gone away", took)
			}
			s.end(t)
		})
	}
}

// compile makes the server compile the input of a request. This happens once, and has its own limits.
func (s *attacked) compile(t *testing.T, req *fnv1.RunFunctionRequest) {
	t.Helper()
	bare := &fnv1.RunFunctionRequest{Meta: req.GetMeta(), Input: req.GetInput(),
		Observed: &fnv1.State{Composite: &fnv1.Resource{
			Resource: functiontest.Parse(t, "{apiVersion: example.org/v1, kind: App, metadata: {name: xr, namespace: team, "+
				"uid: xr-uid}}"),
		}}}
	rsp, err := s.client.RunFunction(functiontest.Limited(t), bare)
	if err != nil {
		t.Fatalf("no answer: %v", err)
	}
	if r := rsp.GetConditions()[0]; strings.HasPrefix(r.GetMessage(), "invalid input: secrets") {
		t.Fatalf("the attack is none: %.300s", r.GetMessage())
	}
}

// attackOnce sends a request, and returns its cost.
func (s *attacked) attackOnce(t *testing.T, req *fnv1.RunFunctionRequest) (attackCost, *fnv1.RunFunctionResponse) {
	t.Helper()
	if err := os.WriteFile(fmt.Sprintf("/proc/%d/clear_refs", s.cmd.Process.Pid), []byte("5"), 0); err != nil {
		t.Skip("needs a /proc that forgets the most memory that a process had: ", err)
	}
	cpu, start := s.cpu(t), time.Now()
	rsp, err := s.client.RunFunction(functiontest.Limited(t), req)
	if err != nil {
		t.Fatalf("no answer: %v", err)
	}
	return attackCost{cpu: s.cpu(t) - cpu, memory: s.status(t, "VmHWM") - s.resting, clock: time.Since(start), calls: 1},
		rsp
}

// abandon cancels a request, and returns the CPU time that the server uses afterwards.
func (s *attacked) abandon(t *testing.T, req *fnv1.RunFunctionRequest) time.Duration {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), goneAfter)
	defer cancel()
	if _, err := s.client.RunFunction(ctx, req); err == nil {
		return 0 // it was already answered
	}
	gone := s.cpu(t)
	for quiet := 0; quiet < 5; {
		before := s.cpu(t)
		time.Sleep(20 * time.Millisecond)
		if quiet++; s.cpu(t) != before {
			quiet = 0
		}
	}
	return s.cpu(t) - gone
}
