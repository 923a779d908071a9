package main

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/cryptotest"

	"github.com/crossplane/function-sdk-go/logging"
	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/crossplane-contrib/function-export/internal/engine/function"
	"github.com/crossplane-contrib/function-export/internal/engine/function/functiontest"
	"github.com/crossplane-contrib/function-export/internal/engine/server"
	"github.com/crossplane-contrib/function-export/internal/engine/wire"
	"github.com/crossplane-contrib/function-export/internal/proof"
)

// FuzzCodec answers any bytes as the server does, with each codec. The errors and the responses must be the
// same. If the bytes are a request, the script changes it, so that the result is still a meaningful
// request. Each request is answered twice, because the second call finds the plan of the first one.
func FuzzCodec(f *testing.F) {
	for i, sent := range codecSeeds(f) {
		f.Add(sent, []byte(nil))
		f.Add(sent, binaryScript(i))
	}
	decoded, lazy := functiontest.Fixed(f), functiontest.Fixed(f)
	f.Fuzz(func(t *testing.T, sent, script []byte) {
		if req := (&fnv1.RunFunctionRequest{}); len(script) > 0 && proto.Unmarshal(sent, req) == nil {
			s := &codecScript{rest: script}
			s.change(req)
			sent = s.encode(req)
		}
		for round := range 2 {
			cryptotest.SetGlobalRandom(t, 1)
			want, wantErr := functiontest.RunDecoded(t.Context(), decoded, bytes.Clone(sent))
			cryptotest.SetGlobalRandom(t, 1)
			got, gotErr := runLazily(t.Context(), lazy, sent)
			if err := functiontest.SameAnswers(want, wantErr, got, gotErr); err != nil {
				t.Fatalf("call %d: %v", round+1, err)
			}
			cryptotest.SetGlobalRandom(t, 1)
			got, gotErr = functiontest.RunInPlace(t.Context(), lazy, bytes.Clone(sent))
			if err := functiontest.SameAnswers(want, wantErr, got, gotErr); err != nil {
				t.Fatalf("call %d, with the bytes spoilt: %v", round+1, err)
			}
		}
	})
}

// TestCodecDecodesNoRequests checks that requests from protobuf's encoder are read in place.
// Otherwise the other tests here would test nothing.
func TestCodecDecodesNoRequests(t *testing.T) {
	for i, sent := range codecSeeds(t) {
		if !readWhereItLies(t, sent) {
			t.Errorf("seed %d is decoded", i)
		}
	}
}

// readWhereItLies reports whether no part of a request is decoded. In that case, each call decodes its
// protobuf messages again.
func readWhereItLies(t *testing.T, sent []byte) bool {
	t.Helper()
	req, err := wire.Decode(bytes.Clone(sent))
	if err != nil {
		return false
	}
	return !req.Input.Exists() || req.Input.Proto() != req.Input.Proto() //nolint:staticcheck // each call decodes anew, unless it is kept
}

// TestCodecOfChangedRequests checks FuzzCodec's law with each of its seeds, many times.
func TestCodecOfChangedRequests(t *testing.T) {
	lying, all := 0, 0
	decoded, lazy := functiontest.Fixed(t), functiontest.Fixed(t)
	rounds := 1
	if proof.Whole() {
		rounds = 6
	}
	for i, sent := range codecSeeds(t) {
		for round := range rounds {
			req := &fnv1.RunFunctionRequest{}
			if err := proto.Unmarshal(sent, req); err != nil {
				t.Fatal(err)
			}
			s := &codecScript{rest: binaryScript(i*rounds + round)}
			s.change(req)
			changed := s.encode(req)
			if all++; readWhereItLies(t, changed) {
				lying++
			}
			cryptotest.SetGlobalRandom(t, 1)
			want, wantErr := functiontest.RunDecoded(t.Context(), decoded, bytes.Clone(changed))
			cryptotest.SetGlobalRandom(t, 1)
			got, gotErr := runLazily(t.Context(), lazy, changed)
			if err := functiontest.SameAnswers(want, wantErr, got, gotErr); err != nil {
				t.Fatalf("seed %d, round %d: %v", i, round, err)
			}
		}
	}
	if t.Logf("%d of %d are read where they lie", lying, all); lying < all/3 {
		t.Error("most are decoded: too much is changed")
	}
}

func binaryScript(seed int) []byte {
	out := make([]byte, 64)
	_, _ = rand.NewChaCha8([32]byte{byte(seed), byte(seed >> 8), byte(seed >> 16)}).Read(out)
	return out
}

// A codecScript changes requests. Its bytes decide each change, and it stops when there are no more.
type codecScript struct {
	rest []byte
}

// pick returns a number below n. At the end of the script, it returns 0.
func (s *codecScript) pick(n int) int {
	if len(s.rest) == 0 || n == 0 {
		return 0
	}
	b := s.rest[0]
	s.rest = s.rest[1:]
	return int(b) % n
}

func (s *codecScript) change(req *fnv1.RunFunctionRequest) {
	for steps := 0; len(s.rest) > 24 && steps < 8; steps++ { // the other bytes are for the encoding
		switch s.pick(10) {
		case 0, 1, 2, 3:
			s.changeStruct(req)
		case 4:
			s.changeContext(req)
		case 5:
			s.changeState(s.state(&req.Observed), req)
		case 6:
			s.changeState(s.state(&req.Desired), req)
		case 7:
			s.changeFound(req)
		case 8:
			s.changeDetails(req)
		case 9:
			for _, key := range slices.Sorted(maps.Keys(req.GetRequiredSchemas()))[:min(1, len(req.GetRequiredSchemas()))] {
				req.RequiredSchemas[key] = []*fnv1.Schema{nil, {}, {OpenapiV3: &structpb.Struct{}}, {OpenapiV3: req.GetInput()}}[s.pick(4)]
			}
		}
	}
}

// changeStruct removes, renames, duplicates or replaces a field of any object.
func (s *codecScript) changeStruct(req *fnv1.RunFunctionRequest) {
	all := structsIn(req)
	if len(all) == 0 {
		return
	}
	in, from := all[s.pick(len(all))], all[s.pick(len(all))]
	names := slices.Sorted(maps.Keys(in.GetFields()))
	if in.Fields == nil {
		in.Fields = map[string]*structpb.Value{}
	}
	if len(names) == 0 {
		in.Fields["new"] = s.value(from)
		return
	}
	name := names[s.pick(len(names))]
	switch s.pick(6) {
	case 0:
		delete(in.GetFields(), name)
	case 1:
		in.Fields[name+"x"] = in.GetFields()[name]
		delete(in.GetFields(), name)
	case 2:
		in.Fields[names[s.pick(len(names))]] = in.GetFields()[name]
	case 3:
		in.Fields[name] = s.value(from)
	case 4:
		in.Fields[fmt.Sprint("new", s.pick(40))] = s.value(from)
	case 5:
		if l := in.GetFields()[name].GetListValue(); len(l.GetValues()) > 0 {
			l.Values = append(l.Values[s.pick(2):], s.value(from))
		}
	}
}

// value returns a value of any kind. Some values are copies of other values of the request.
func (s *codecScript) value(from *structpb.Struct) *structpb.Value {
	numbers := []float64{0, math.Copysign(0, -1), 1, -1, 0.1, 3e9, 1 << 53, 1e300, math.NaN(), math.Inf(-1), 5e-324}
	texts := []string{"", "x", "ready", "1", "\x00", "é\U0010ffff", "YQ==", "2026-11-21T12:00:00Z", strings.Repeat("long", 40)}
	switch s.pick(9) {
	case 0:
		return structpb.NewNullValue()
	case 1:
		return structpb.NewNumberValue(numbers[s.pick(len(numbers))])
	case 2:
		return structpb.NewBoolValue(s.pick(2) == 1)
	case 3:
		return structpb.NewStringValue(texts[s.pick(len(texts))])
	case 4:
		return structpb.NewStructValue(&structpb.Struct{})
	case 5:
		return structpb.NewListValue(&structpb.ListValue{Values: []*structpb.Value{structpb.NewNullValue(), structpb.NewStructValue(proto.CloneOf(from))}})
	case 6:
		return &structpb.Value{} // a value without a kind, which protobuf accepts
	}
	if names := slices.Sorted(maps.Keys(from.GetFields())); len(names) > 0 {
		return proto.CloneOf(from.GetFields()[names[s.pick(len(names))]])
	}
	return structpb.NewStructValue(proto.CloneOf(from))
}

// changeContext changes the data of this function and of others in the context.
func (s *codecScript) changeContext(req *fnv1.RunFunctionRequest) {
	if req.GetContext().GetFields() == nil {
		req.Context = &structpb.Struct{Fields: map[string]*structpb.Value{}}
	}
	key := []string{
		"export.fn.crossplane.io/exports", "export.fn.crossplane.io/generator-state", "export.fn.crossplane.io/environments",
		"apiextensions.crossplane.io/environment",
	}[s.pick(4)]
	was := req.GetContext().GetFields()[key].GetStructValue()
	switch s.pick(4) {
	case 0:
		delete(req.GetContext().GetFields(), key)
	case 1:
		req.Context.Fields[key] = s.value(was)
	case 2:
		for id, v := range was.GetFields() { // as if another step had left it
			was.Fields[id[:len(id)/2]] = proto.CloneOf(v)
			break
		}
	case 3:
		for id := range was.GetFields() {
			was.Fields[id] = s.value(req.GetContext())
			break
		}
	}
}

// state returns the desired or the observed state, and creates it if there is none.
func (s *codecScript) state(of **fnv1.State) *fnv1.State {
	if *of == nil {
		*of = &fnv1.State{}
	}
	if (*of).Resources == nil {
		(*of).Resources = map[string]*fnv1.Resource{}
	}
	return *of
}

func (s *codecScript) changeState(state *fnv1.State, req *fnv1.RunFunctionRequest) {
	others := s.state(&req.Observed).GetResources()
	if s.pick(2) == 1 {
		others = s.state(&req.Desired).GetResources()
	}
	from := slices.Sorted(maps.Keys(others))
	switch s.pick(6) {
	case 0:
		state.Composite = []*fnv1.Resource{nil, {}, {Ready: fnv1.Ready_READY_TRUE}, {Ready: 99}, req.GetObserved().GetComposite()}[s.pick(5)]
	case 1:
		for _, name := range from[:min(len(from), 1+s.pick(len(from)))] {
			delete(state.GetResources(), name)
		}
	case 2:
		for _, name := range from {
			state.Resources[name] = others[name]
		}
	case 3:
		if len(from) > 0 {
			state.Resources["db"] = others[from[s.pick(len(from))]]
		}
	case 4:
		state.Resources["empty"] = &fnv1.Resource{}
	case 5:
		state.Resources[""] = &fnv1.Resource{Resource: &structpb.Struct{}, Ready: fnv1.Ready(s.pick(4))}
	}
}

// changeFound changes the required objects that Crossplane found.
func (s *codecScript) changeFound(req *fnv1.RunFunctionRequest) {
	names := slices.Sorted(maps.Keys(req.GetRequiredResources()))
	if len(names) == 0 {
		req.RequiredResources = map[string]*fnv1.Resources{"theirs": {Items: []*fnv1.Resource{{}}}}
		return
	}
	name, all := names[s.pick(len(names))], structsIn(req)
	item := &fnv1.Resource{ConnectionDetails: map[string][]byte{"k": []byte("v")}}
	if len(all) > 0 {
		item.Resource = all[s.pick(len(all))]
	}
	switch s.pick(4) {
	case 0:
		delete(req.GetRequiredResources(), name)
	case 1:
		req.RequiredResources[name] = &fnv1.Resources{}
	case 2:
		req.RequiredResources[name] = &fnv1.Resources{Items: append(req.GetRequiredResources()[name].GetItems(), item)}
	case 3:
		req.RequiredResources[name] = &fnv1.Resources{Items: []*fnv1.Resource{{}, item}}
	}
}

func (s *codecScript) changeDetails(req *fnv1.RunFunctionRequest) {
	for _, name := range slices.Sorted(maps.Keys(req.GetObserved().GetResources())) {
		r := req.GetObserved().GetResources()[name]
		if r == nil || s.pick(2) == 0 {
			continue
		}
		if r.ConnectionDetails == nil {
			r.ConnectionDetails = map[string][]byte{}
		}
		key := []string{"password", "username", "", "tls.crt"}[s.pick(4)]
		r.ConnectionDetails[key] = [][]byte{nil, {}, []byte("x"), {0xff, 0}}[s.pick(4)]
	}
}

// runLazily answers bytes as the server does. The codec gets one or two buffers of gRPC, and returns them
// before the function runs.
func runLazily(ctx context.Context, f *function.Function, sent []byte) (*fnv1.RunFunctionResponse, error) {
	buffer, req := bytes.Clone(sent), &wire.Request{}
	buffers := mem.BufferSlice{mem.SliceBuffer(buffer)}
	if half := len(buffer) / 2; len(buffer)%2 == 1 {
		buffers = mem.BufferSlice{mem.SliceBuffer(buffer[:half]), mem.SliceBuffer(buffer[half:])}
	}
	err := server.NewLazyCodec(logging.NewNopLogger()).Unmarshal(buffers, req)
	functiontest.Spoil(buffer)
	if err != nil {
		return nil, err
	}
	out, err := server.NewLazyCodec(logging.NewNopLogger()).Marshal(f.Run(ctx, req))
	if err != nil {
		return nil, err
	}
	rsp := &fnv1.RunFunctionResponse{}
	return rsp, proto.Unmarshal(out.Materialize(), rsp)
}
