package main

import (
	"fmt"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/crossplane-contrib/function-export/internal/engine/function"
	"github.com/crossplane-contrib/function-export/internal/engine/function/functiontest"
	"github.com/crossplane-contrib/function-export/internal/engine/wire"
)

// lying returns a request in memory of its own. The counter is increased when the memory is collected. A
// reference to any part of the request keeps all of it in memory.
func lying(sent []byte, gone *atomic.Int32) []byte {
	own := make([]byte, len(sent), len(sent)+1<<10) // tiny objects share a block of memory, and this one must not
	copy(own, sent)
	runtime.AddCleanup(&own[:1][0], func(struct{}) { gone.Add(1) }, struct{}{})
	return own
}

// answerOnce answers a request, and keeps neither the request nor the response.
//
//go:noinline
func answerOnce(t *testing.T, f *function.Function, sent []byte, gone *atomic.Int32) {
	t.Helper()
	req, err := wire.Decode(lying(sent, gone))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.Run(t.Context(), req).Marshal(); err != nil {
		t.Fatal(err)
	}
}

// collected waits for the garbage collector, and returns how many requests were collected.
func collected(gone *atomic.Int32, want int) int {
	for range 200 {
		runtime.GC()
		if int(gone.Load()) >= want {
			break
		}
		time.Sleep(time.Millisecond)
	}
	return int(gone.Load())
}

// The law: The bytes of a request stay in memory as long as the call and its response. Compiled and cached
// data does not keep them.
func TestRequestIsNotKept(t *testing.T) {
	seeds := codecSeeds(t)
	f, gone := functiontest.Fixed(t), &atomic.Int32{}
	for range 2 { // the second call finds the compiled plan
		for _, sent := range seeds {
			answerOnce(t, f, sent, gone)
		}
	}
	n := 2 * len(seeds)
	if got := collected(gone, n); got != n {
		t.Errorf("%d of %d requests are still kept", n-got, n)
	}
	runtime.KeepAlive(f)
}

// There are many composite authors and inputs. Each is compiled, and kept in the cache.
func TestRequestsOfManyAuthorsAreNotKept(t *testing.T) {
	f, gone := functiontest.Fixed(t), &atomic.Int32{}
	const n = 50
	for i := range n {
		author := strings.Replace(functiontest.Asking(2), "value: nope", fmt.Sprintf("value: \"'%d'\"", i), 1)
		sent, err := proto.Marshal(functiontest.Request(t, author+strings.Replace(functiontest.AuthorInput, "later", fmt.Sprint("later", i%7), 2)))
		if err != nil {
			t.Fatal(err)
		}
		answerOnce(t, f, sent, gone)
	}
	if got := collected(gone, n); got != n {
		t.Errorf("%d of %d requests are still kept", n-got, n)
	}
	runtime.KeepAlive(f)
}

// allocated returns the number of bytes that a call of f allocates.
func allocated(t *testing.T, f func()) uint64 {
	t.Helper()
	const calls = 20
	var before, after runtime.MemStats
	f()
	runtime.ReadMemStats(&before)
	for range calls {
		f()
	}
	runtime.ReadMemStats(&after)
	return (after.TotalAlloc - before.TotalAlloc) / calls
}

// Repeated and unread parts of a request are not copied: the memory for an answer does not depend
// on the size of the request.
func TestCarryingOnCopiesNothing(t *testing.T) {
	const size, most = 500 << 10, 128 << 10 // this includes memory of the race detector
	large := structpb.NewStringValue(strings.Repeat("x", size))
	cases := map[string]struct {
		reason string
		add    func(req *fnv1.RunFunctionRequest)
	}{
		"Desired": {"of an earlier step", func(req *fnv1.RunFunctionRequest) {
			req.Desired.Resources["large"] = &fnv1.Resource{Resource: &structpb.Struct{Fields: map[string]*structpb.Value{"x": large}}}
		}},
		"Context": {"of an earlier step", func(req *fnv1.RunFunctionRequest) { req.Context.Fields["large"] = large }},
		"Observed": {"whose fields nobody uses", func(req *fnv1.RunFunctionRequest) {
			req.Observed.Resources["db"].Resource.Fields["large"] = large
		}},
		"Details": {"which nobody uses", func(req *fnv1.RunFunctionRequest) {
			req.Observed.Resources["db"].ConnectionDetails["large"] = []byte(large.GetStringValue())
		}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			req := &fnv1.RunFunctionRequest{}
			if err := proto.Unmarshal(functiontest.CodecRequest(t, "tag", 1), req); err != nil {
				t.Fatal(err)
			}
			tc.add(req)
			sent, err := proto.Marshal(req)
			if err != nil {
				t.Fatal(err)
			}
			f := functiontest.Fixed(t)
			got := allocated(t, func() {
				req, err := wire.Decode(sent)
				if err != nil {
					t.Fatal(err)
				}
				if _, err := f.Run(t.Context(), req).Marshal(); err != nil {
					t.Fatal(err)
				}
			})
			if got > most {
				t.Errorf("%s: want at most %d KiB beside the request, got %d", tc.reason, most>>10, got>>10)
			}
			t.Logf("%d KiB", got>>10)
		})
	}
}
