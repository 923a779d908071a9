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

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/testing/protocmp"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/crossplane-contrib/function-export/internal/engine/function"
	"github.com/crossplane-contrib/function-export/internal/engine/function/functiontest"
	"github.com/crossplane-contrib/function-export/internal/engine/wire"
)

// FuzzCodec answers any bytes as the server does. Its error is protobuf's, and the same request has the same response.
// If the bytes are a request, the script changes it, so that the result is still a meaningful request. Each request is
// answered twice, because the second call finds the plan of the first one.
func FuzzCodec(f *testing.F) {
	for i, sent := range codecSeeds(f) {
		f.Add(sent, []byte(nil))
		f.Add(sent, binaryScript(i))
	}
	fixed := functiontest.Fixed(f)
	f.Fuzz(func(t *testing.T, sent, script []byte) {
		if req := (&fnv1.RunFunctionRequest{}); len(script) > 0 && proto.Unmarshal(sent, req) == nil {
			s := &codecScript{rest: script}
			s.change(req)
			if changed, err := proto.Marshal(req); err == nil {
				sent = changed
			}
		}
		refused := proto.Unmarshal(sent, &fnv1.RunFunctionRequest{})
		var first *fnv1.RunFunctionResponse
		for range 2 {
			cryptotest.SetGlobalRandom(t, 1)
			rsp, err := runLazily(t.Context(), fixed, sent)
			if fmt.Sprint(err) != fmt.Sprint(refused) {
				t.Fatalf("want the error %v, got %v", refused, err)
			}
			if first == nil {
				first = rsp
			}
			if !proto.Equal(first, rsp) {
				t.Fatalf("the second answer differs: -first, +second:\n%s", cmp.Diff(first, rsp, protocmp.Transform()))
			}
		}
	})
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
	for steps := 0; len(s.rest) > 0 && steps < 8; steps++ {
		s.changeStruct(req)
	}
}

// structsIn returns all objects in a request, always in the same order.
func structsIn(m proto.Message) []*structpb.Struct {
	var out []*structpb.Struct
	var walk func(m protoreflect.Message)
	walk = func(m protoreflect.Message) {
		if s, ok := m.Interface().(*structpb.Struct); ok && m.IsValid() {
			out = append(out, s)
		}
		fields := m.Descriptor().Fields()
		for i := range fields.Len() {
			f := fields.Get(i)
			switch {
			case !m.Has(f) || f.IsMap() && f.MapValue().Message() == nil || !f.IsMap() && f.Message() == nil:
			case f.IsMap():
				entries := map[string]protoreflect.Message{}
				m.Get(f).Map().Range(func(k protoreflect.MapKey, v protoreflect.Value) bool {
					entries[k.String()] = v.Message()
					return true
				})
				for _, k := range slices.Sorted(maps.Keys(entries)) {
					walk(entries[k])
				}
			case f.IsList():
				for j := range m.Get(f).List().Len() {
					walk(m.Get(f).List().Get(j).Message())
				}
			default:
				walk(m.Get(f).Message())
			}
		}
	}
	walk(m.ProtoReflect())
	return out
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

// runLazily answers bytes as the server does, and overwrites them before the answer is read.
func runLazily(ctx context.Context, f *function.Function, sent []byte) (*fnv1.RunFunctionResponse, error) {
	own := bytes.Clone(sent)
	req, err := wire.Decode(own)
	if err != nil {
		return nil, err
	}
	parts, err := f.Run(ctx, req).Marshal()
	if err != nil {
		return nil, err
	}
	answer := bytes.Join(parts, nil)
	functiontest.Spoil(own)
	rsp := &fnv1.RunFunctionResponse{}
	return rsp, proto.Unmarshal(answer, rsp)
}
