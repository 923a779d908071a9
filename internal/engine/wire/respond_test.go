package wire

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/structpb"
)

// An answer is what a function makes of its own.
type answer struct {
	own  *fnv1.RunFunctionResponse
	drop []string
}

// answers to a request: all that can be done with what came.
func answers(req *fnv1.RunFunctionRequest) map[string]answer {
	meta := &fnv1.ResponseMeta{Tag: req.GetMeta().GetTag(), Ttl: durationpb.New(time.Minute)}
	said := &fnv1.RunFunctionResponse{
		Meta:         meta,
		Results:      []*fnv1.Result{{Severity: fnv1.Severity_SEVERITY_WARNING, Message: "a"}},
		Conditions:   []*fnv1.Condition{{Type: "ExportsReady", Status: fnv1.Status_STATUS_CONDITION_TRUE}},
		Requirements: &fnv1.Requirements{Resources: map[string]*fnv1.ResourceSelector{"a": {Kind: "Secret"}}},
		Output:       &structpb.Struct{Fields: map[string]*structpb.Value{"a": structpb.NewBoolValue(true)}},
	}
	ours := func(text string) *fnv1.Resource {
		s := &structpb.Struct{Fields: map[string]*structpb.Value{"ours": structpb.NewStringValue(text)}}
		return &fnv1.Resource{Resource: s, Ready: fnv1.Ready_READY_TRUE}
	}
	names := slices.Sorted(maps.Keys(req.GetDesired().GetResources()))
	fields := slices.Sorted(maps.Keys(req.GetContext().GetFields()))
	all := &fnv1.State{Composite: ours("composite"), Resources: map[string]*fnv1.Resource{}}
	whole := &structpb.Struct{Fields: map[string]*structpb.Value{}}
	for _, name := range names {
		all.Resources[name] = ours(name)
	}
	for _, name := range fields {
		whole.Fields[name] = structpb.NewStringValue("ours")
	}
	with := func(desired *fnv1.State, context *structpb.Struct) *fnv1.RunFunctionResponse {
		return &fnv1.RunFunctionResponse{Meta: meta, Desired: desired, Context: context}
	}
	out := map[string]answer{
		"None":    {},
		"Nothing": {own: &fnv1.RunFunctionResponse{}},
		"Said":    {own: said},
		"Empty":   {own: with(&fnv1.State{}, &structpb.Struct{})},
		"Added": {
			own: with(&fnv1.State{Resources: map[string]*fnv1.Resource{"ours": ours("a"), "": {}}}, structOne("ours")),
		},
		"Composite":        {own: with(&fnv1.State{Composite: ours("composite")}, nil)},
		"Empty composite":  {own: with(&fnv1.State{Composite: &fnv1.Resource{}}, nil)},
		"All replaced":     {own: with(all, whole)},
		"All dropped":      {own: with(&fnv1.State{}, nil), drop: append(names, "not there")},
		"Context only":     {own: with(nil, structOne("ours"))},
		"Dropped and ours": {own: with(all, whole), drop: names},
	}
	if len(names) > 0 {
		middle := names[len(names)/2]
		out["One replaced"] = answer{
			own: with(&fnv1.State{Resources: map[string]*fnv1.Resource{middle: ours("a")}}, nil),
		}
		out["One dropped"] = answer{
			own:  with(&fnv1.State{Resources: map[string]*fnv1.Resource{"ours": ours("a")}}, nil),
			drop: []string{middle},
		}
	}
	if len(fields) > 0 {
		out["One field"] = answer{own: with(nil, structOne(fields[len(fields)/2]))}
	}
	return out
}

func structOne(name string) *structpb.Struct {
	return &structpb.Struct{Fields: map[string]*structpb.Value{name: structpb.NewStringValue("ours")}}
}

// expected is a response put together of nothing but what protobuf decoded.
func (a answer) expected(req *fnv1.RunFunctionRequest) *fnv1.RunFunctionResponse {
	out := &fnv1.RunFunctionResponse{}
	if a.own != nil {
		out = proto.CloneOf(a.own)
	}
	came := proto.CloneOf(req)
	if out.GetDesired() == nil {
		out.Desired = came.GetDesired()
	} else {
		if out.GetDesired().GetComposite() == nil {
			out.Desired.Composite = came.GetDesired().GetComposite()
		}
		for name, r := range came.GetDesired().GetResources() {
			if _, ours := out.GetDesired().GetResources()[name]; ours || slices.Contains(a.drop, name) {
				continue
			}
			if out.Desired.Resources == nil {
				out.Desired.Resources = map[string]*fnv1.Resource{}
			}
			out.Desired.Resources[name] = r
		}
	}
	if out.GetContext() == nil {
		out.Context = came.GetContext()
		return out
	}
	for name, v := range came.GetContext().GetFields() {
		if _, ours := out.GetContext().GetFields()[name]; ours {
			continue
		}
		if out.Context.Fields == nil {
			out.Context.Fields = map[string]*structpb.Value{}
		}
		out.Context.Fields[name] = v
	}
	return out
}

// respondsAs gives each answer to a request, and sees what becomes of it on the wire.
func respondsAs(t *testing.T, decoded func() *Request, req *fnv1.RunFunctionRequest) {
	t.Helper()
	for name, a := range answers(req) {
		want := withoutUnknown(a, a.expected(req))
		rsp := decoded().Respond(a.own)
		rsp.Drop = a.drop
		parts, err := rsp.Marshal()
		if err != nil {
			t.Fatalf("%s: Marshal: %v", name, err)
		}
		if got, want := rsp.Size(), len(bytes.Join(parts, nil)); got != want {
			t.Fatalf("%s: Size: want the %d bytes that were marshaled, got %d", name, want, got)
		}
		got := &fnv1.RunFunctionResponse{}
		if err := proto.Unmarshal(bytes.Join(parts, nil), got); err != nil {
			t.Fatalf("%s: protobuf refuses what was marshaled: %v", name, err)
		}
		if got := withoutUnknown(a, got); !proto.Equal(want, got) {
			t.Fatalf("%s: -want, +got:\n%s", name, diff(want, got))
		}
	}
}

// withoutUnknown forgets unknown fields of a State and of a context that have something
// added: they are carried on with nothing added only.
func withoutUnknown(a answer, rsp *fnv1.RunFunctionResponse) *fnv1.RunFunctionResponse {
	if a.own.GetDesired() != nil {
		rsp.GetDesired().ProtoReflect().SetUnknown(nil)
	}
	if a.own.GetContext() != nil {
		rsp.GetContext().ProtoReflect().SetUnknown(nil)
	}
	return rsp
}

func TestRespond(t *testing.T) {
	for name, text := range requests {
		t.Run(name, func(t *testing.T) {
			req := request(t, text)
			sent := marshal(t, req)
			respondsAs(t, func() *Request { return lazily(t, sent) }, req)
		})
	}
}

// The response repeats the same bytes of the request, and not other bytes with the same meaning.
func TestRespondCarriesBytesOn(t *testing.T) {
	resource := func(name string) []byte { return keyedBy(2, name, sub(1, fieldOf("a", textOf(name))), varint(3, 1)) }
	composite := sub(1, sub(1, fieldOf("status", objectOf())))
	desired := message(resource("b"), composite, resource("a"), resource("b"), resource("c"))
	field := func(name string) []byte { return fieldOf(name, textOf("came")) }
	context := message(field("y"), field("x"), field("y"), field("z"))
	added := &fnv1.Resource{Resource: structOne("a")}
	cases := map[string]struct {
		reason           string
		answer           answer
		desired, context []byte
	}{
		"Nothing": {
			reason:  "without anything of its own, both are carried on whole, as they came",
			desired: desired, context: context,
		},
		"Added": {
			reason: "additions are after the fields of the request",
			answer: answer{own: &fnv1.RunFunctionResponse{
				Desired: &fnv1.State{Resources: map[string]*fnv1.Resource{"d": added}}, Context: structOne("w"),
			}},
			desired: message(desired, keyedBy(2, "d", marshal(t, added))),
			context: message(context, marshal(t, structOne("w"))),
		},
		"Replaced": {
			reason: "of what is replaced nothing is left, not the first of two with a name either",
			answer: answer{own: &fnv1.RunFunctionResponse{
				Desired: &fnv1.State{Resources: map[string]*fnv1.Resource{"b": added}}, Context: structOne("y"),
			}},
			desired: message(composite, resource("a"), resource("c"), keyedBy(2, "b", marshal(t, added))),
			context: message(field("x"), field("z"), marshal(t, structOne("y"))),
		},
		"Dropped": {
			reason:  "of what is dropped nothing is left, and a name that did not come is nothing to drop",
			answer:  answer{own: &fnv1.RunFunctionResponse{Desired: &fnv1.State{}}, drop: []string{"b", "c", "e"}},
			desired: message(composite, resource("a")), context: context,
		},
		"Composite": {
			reason: "the composite is replaced whole: protobuf would merge two",
			answer: answer{own: &fnv1.RunFunctionResponse{Desired: &fnv1.State{Composite: added}}},
			desired: message(
				resource("b"),
				resource("a"),
				resource("b"),
				resource("c"),
				sub(1, marshal(t, added)),
			), context: context,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			rsp := lazily(t, message(sub(3, desired), sub(5, context))).Respond(tc.answer.own)
			rsp.Drop = tc.answer.drop
			parts, err := rsp.Marshal()
			if err != nil {
				t.Fatal(err)
			}
			want := message(sub(2, tc.desired), sub(4, tc.context))
			if diff := cmp.Diff(want, bytes.Join(parts, nil)); diff != "" {
				t.Errorf("%s\n-want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

// A message that protobuf refuses is not written.
func TestRespondRefused(t *testing.T) {
	const invalid = "\xff"
	cases := map[string]*fnv1.RunFunctionResponse{
		"Result":   {Results: []*fnv1.Result{{Message: invalid}}},
		"Resource": {Desired: &fnv1.State{Resources: map[string]*fnv1.Resource{invalid: {}}}},
		"Context":  {Context: structOne(invalid)},
	}
	for name, own := range cases {
		t.Run(name, func(t *testing.T) {
			rsp := lazily(t, marshal(t, request(t, requests["Later"]))).Respond(own)
			if _, err := rsp.Marshal(); err == nil {
				t.Error("got no error")
			}
		})
	}
}

// The bytes of a response that is too large are counted, and not kept.
func TestRespondTooLarge(t *testing.T) {
	state := &fnv1.State{Resources: map[string]*fnv1.Resource{}}
	for i := range 6 {
		value := structpb.NewStringValue(strings.Repeat("x", 1<<20))
		s := &structpb.Struct{Fields: map[string]*structpb.Value{"a": value, "b": structpb.NewNumberValue(1)}}
		state.Resources[fmt.Sprint("r", i)] = &fnv1.Resource{Resource: s, Ready: fnv1.Ready_READY_TRUE}
	}
	own := &fnv1.RunFunctionResponse{Desired: state}
	rsp := lazily(t, nil).Respond(own)
	if got, want := rsp.Size(), proto.Size(own); got != want {
		t.Errorf("want %d bytes, got %d", want, got)
	}
	if _, err := rsp.Marshal(); err == nil {
		t.Error("want an error")
	}
}

// The messages that are written field by field have no other fields. A new field must be written.
func TestEncoderHasAllFields(t *testing.T) {
	for m, want := range map[proto.Message]int{&fnv1.State{}: 2, &fnv1.Resource{}: 3} {
		if d := m.ProtoReflect().Descriptor(); d.Fields().Len() != want {
			t.Errorf("%s: want %d fields, got %d: write the others", d.FullName(), want, d.Fields().Len())
		}
	}
}

// The encoder writes the same bytes as protobuf's own encoder.
func TestEncoderWritesAsProtobuf(t *testing.T) {
	for n := range 2000 {
		req := &fnv1.RunFunctionRequest{}
		if (proto.UnmarshalOptions{DiscardUnknown: true}).Unmarshal(
			newMaker(noise(100+n, byte(n))).request(),
			req,
		) != nil {
			continue
		}
		e := &encoder{}
		e.state(req.GetDesired())
		if want := marshal(t, req.GetDesired()); !bytes.Equal(want, e.b[e.at:e.end]) {
			t.Fatalf("want %x, got %x", want, e.b[e.at:e.end])
		}
	}
}

// lazily decodes a request that must be read in place.
func lazily(t testing.TB, sent []byte) *Request {
	t.Helper()
	if !(&Request{}).parse(sent, plainDepth) {
		t.Fatal("the request was left to protobuf, want it to be read in place")
	}
	r, err := unmarshal(sent)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// The response passes on a field of a newer Crossplane in what earlier steps desire.
func TestRespondKeepsNewerFields(t *testing.T) {
	newer := protowire.AppendString(protowire.AppendTag(nil, 15, protowire.BytesType), "newer")
	newer = protowire.AppendVarint(protowire.AppendTag(newer, 99, protowire.VarintType), 1)
	resource := &fnv1.Resource{Resource: structOne("a")}
	resource.ProtoReflect().SetUnknown(newer)
	for name, req := range map[string]*fnv1.RunFunctionRequest{
		"Plain":       {},
		"Credentials": {Credentials: map[string]*fnv1.Credentials{"cloud": {}}},
	} {
		t.Run(name, func(t *testing.T) {
			req.Desired = &fnv1.State{Composite: resource, Resources: map[string]*fnv1.Resource{"r": resource}}
			own := &fnv1.State{Resources: map[string]*fnv1.Resource{"own": {Resource: structOne("b")}}}
			want := &fnv1.RunFunctionResponse{Desired: &fnv1.State{
				Composite: resource, Resources: map[string]*fnv1.Resource{"r": resource, "own": own.GetResources()["own"]},
			}}
			came := &Request{}
			if err := came.Unmarshal(marshal(t, req)); err != nil {
				t.Fatal(err)
			}
			parts, err := came.Respond(&fnv1.RunFunctionResponse{Desired: own}).Marshal()
			got := &fnv1.RunFunctionResponse{}
			if err != nil || proto.Unmarshal(bytes.Join(parts, nil), got) != nil || !proto.Equal(want, got) {
				t.Errorf("%v: -want, +got:\n%s", err, diff(want, got))
			}
		})
	}
}
