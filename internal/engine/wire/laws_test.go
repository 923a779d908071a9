package wire

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"testing"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"
)

// obeys is all that is true of any bytes: Decode takes them if protobuf does, and what
// can be read of them, in any way and in any form, and what a response carries on, is
// what protobuf makes of them. They are never written to.
func obeys(t *testing.T, sent []byte) {
	t.Helper()
	before := bytes.Clone(sent)
	want := &fnv1.RunFunctionRequest{}
	wantErr := proto.Unmarshal(bytes.Clone(sent), want)
	if _, err := unmarshal(sent); fmt.Sprint(err) != fmt.Sprint(wantErr) {
		t.Fatalf("Decode: got the error %v, protobuf has %v", err, wantErr)
	}
	if wantErr != nil {
		return
	}
	decoded := func() *Request {
		r, err := unmarshal(sent)
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	readsAs(t, decoded, plainRequest(want))
	respondsAs(t, decoded, want)
	if !bytes.Equal(sent, before) {
		t.Error("the bytes of the request were written to")
	}
}

// readings are the ways to read a Struct, here always the whole of it.
var readings = map[string]func(t *testing.T, s Struct) *structpb.Struct{
	"All":   readAll,
	"Get":   readGet,
	"At":    readAt,
	"Twice": func(t *testing.T, s Struct) *structpb.Struct { readAbsent(t, s); readGet(t, s); return readAll(t, s) },
	"Proto": func(_ *testing.T, s Struct) *structpb.Struct { return plainStruct(s.Proto()) },
	"Proto of each": func(_ *testing.T, s Struct) *structpb.Struct {
		if !s.Exists() {
			return nil
		}
		out := &structpb.Struct{Fields: map[string]*structpb.Value{}}
		for k, v := range s.All() {
			out.Fields[k] = plainValue(v.Proto())
		}
		return out
	},
	"Composed": func(t *testing.T, s Struct) *structpb.Struct {
		if !s.Exists() {
			return nil
		}
		composed := Compose(maps.Collect(s.All()))
		return readGet(t, OfStruct(composed).Struct())
	},
}

func readAll(t *testing.T, s Struct) *structpb.Struct {
	if !s.Exists() {
		return nil
	}
	out := &structpb.Struct{Fields: map[string]*structpb.Value{}}
	last := ""
	for k, v := range s.All() {
		if _, twice := out.GetFields()[k]; twice || k < last {
			t.Fatalf("All: %q after %q", k, last)
		}
		out.Fields[k], last = readValue(t, v, readAll, true), k
	}
	if s.Len() != len(out.GetFields()) {
		t.Fatalf("Len: got %d, All has %d", s.Len(), len(out.GetFields()))
	}
	return out
}

// readGet gets each field, once before the others and once after them, by its key.
func readGet(t *testing.T, s Struct) *structpb.Struct {
	if !s.Exists() {
		return nil
	}
	keys := s.Keys()
	if !slices.IsSorted(keys) || len(keys) != s.Len() {
		t.Fatalf("Keys: got %q, want %d sorted ones", keys, s.Len())
	}
	out := &structpb.Struct{Fields: map[string]*structpb.Value{}}
	for _, k := range keys {
		out.Fields[k] = readValue(t, s.Get(k), readGet, false)
	}
	for i := len(keys) - 1; i >= 0; i-- {
		first, again := out.GetFields()[keys[i]], s.Get(keys[i])
		if again.Kind() != kindOf(first) || again.Text() != first.GetStringValue() {
			t.Fatalf("Get %q: another one when it is read again", keys[i])
		}
	}
	readAbsent(t, s)
	return out
}

func readAt(t *testing.T, s Struct) *structpb.Struct {
	if !s.Exists() {
		return nil
	}
	out := &structpb.Struct{Fields: map[string]*structpb.Value{}}
	for _, k := range s.Keys() {
		out.Fields[k] = readValue(t, s.At(k), readAt, false)
		for _, inner := range s.At(k).Struct().Keys() {
			if at, got := s.At(k, inner), s.Get(k).Struct().Get(inner); at.Kind() != got.Kind() || !at.Exists() {
				t.Fatalf("At(%q, %q): got kind %d, Get has %d", k, inner, at.Kind(), got.Kind())
			}
			if s.At(k, inner+"\x00-", "a").Exists() {
				t.Fatalf("At: %q has what is not there", k)
			}
		}
	}
	return out
}

// readAbsent gets names that are not there.
func readAbsent(t *testing.T, s Struct) {
	have := map[string]bool{}
	for _, k := range s.Keys() {
		have[k] = true
	}
	for _, name := range append(s.Keys(), "", "a", "\U0010ffff") {
		for _, name := range []string{name, name + "\x00", name + "-", name[:len(name)/2]} {
			if got := s.Get(name).Exists(); got != have[name] {
				t.Fatalf("Get %q: got %t, want %t", name, got, have[name])
			}
		}
	}
}

// readValue reads a Value in every way that there is, all but one of which find nothing.
func readValue(t *testing.T, v Value, object func(*testing.T, Struct) *structpb.Struct, all bool) *structpb.Value {
	text, number, yes := v.Text(), v.Number(), v.Bool()
	if !v.Exists() || v.IsNull() != (v.Kind() == Null) || text != "" && v.Kind() != Text || number != 0 &&
		v.Kind() != Number || yes && v.Kind() != Bool || v.Struct().Exists() != (v.Kind() == Object) ||
		v.List().Len() > 0 && v.Kind() != Array {
		t.Fatalf("a Value of kind %d reads as another kind", v.Kind())
	}
	if v.Is(text) != (v.Kind() == Text) || v.Is(text+"x") || v.Is("x"+text) {
		t.Fatalf("Is: not the text of a Value of kind %d", v.Kind())
	}
	switch v.Kind() {
	case Number:
		return structpb.NewNumberValue(number)
	case Bool:
		return structpb.NewBoolValue(yes)
	case Text:
		return structpb.NewStringValue(text)
	case Object:
		return structpb.NewStructValue(object(t, v.Struct()))
	case Array:
		return structpb.NewListValue(readList(t, v.List(), object, all))
	default:
		return structpb.NewNullValue()
	}
}

func readList(t *testing.T, l List, object func(*testing.T, Struct) *structpb.Struct, all bool) *structpb.ListValue {
	out := &structpb.ListValue{}
	if all {
		for i, v := range l.All() {
			if i != len(out.GetValues()) {
				t.Fatalf("List.All: got index %d, want %d", i, len(out.GetValues()))
			}
			out.Values = append(out.Values, readValue(t, v, object, all))
		}
		if l.Len() != len(out.GetValues()) {
			t.Fatalf("List.Len: got %d, All has %d", l.Len(), len(out.GetValues()))
		}
		return out
	}
	out.Values = make([]*structpb.Value, l.Len())
	for i := l.Len() - 1; i >= 0; i-- {
		out.Values[i] = readValue(t, l.At(i), object, all)
	}
	return out
}

func kindOf(v *structpb.Value) Kind {
	switch v.GetKind().(type) {
	case *structpb.Value_NumberValue:
		return Number
	case *structpb.Value_BoolValue:
		return Bool
	case *structpb.Value_StringValue:
		return Text
	case *structpb.Value_StructValue:
		return Object
	case *structpb.Value_ListValue:
		return Array
	}
	return Null
}

// readsAs reads a request anew in each way, so that nothing is read first for another.
func readsAs(t *testing.T, decoded func() *Request, want *fnv1.RunFunctionRequest) {
	t.Helper()
	for way, reading := range readings {
		r := decoded()
		for range 2 {
			if got := readRequest(t, r, reading); !proto.Equal(want, got) {
				t.Fatalf("read by %s: -want, +got:\n%s", way, diff(want, got))
			}
		}
	}
}

// diff of two messages as texts, if they are of a size to look at: cmp takes forever for
// deep ones.
func diff(want, got proto.Message) string {
	if proto.Size(want)+proto.Size(got) > 4<<10 {
		return "large messages differ"
	}
	return cmp.Diff(prototext.Format(want), prototext.Format(got))
}

func readRequest(t *testing.T, r *Request, reading func(*testing.T, Struct) *structpb.Struct) *fnv1.RunFunctionRequest {
	out := &fnv1.RunFunctionRequest{
		Meta: r.Meta, Input: reading(t, r.Input), Context: reading(t, r.Context),
		Observed: readState(t, r.Observed, reading), Desired: readState(t, r.Desired, reading),
		RequiredResources: map[string]*fnv1.Resources{}, RequiredSchemas: map[string]*fnv1.Schema{},
	}
	for name, found := range r.RequiredResources {
		out.RequiredResources[name] = &fnv1.Resources{}
		for _, s := range found {
			out.RequiredResources[name].Items = append(
				out.RequiredResources[name].Items,
				&fnv1.Resource{Resource: reading(t, s)},
			)
		}
	}
	for name, s := range r.RequiredSchemas {
		out.RequiredSchemas[name] = &fnv1.Schema{OpenapiV3: reading(t, s)}
	}
	return out
}

func readState(t *testing.T, s State, reading func(*testing.T, Struct) *structpb.Struct) *fnv1.State {
	resource := func(r Resource) *fnv1.Resource {
		if r.Proto() == nil {
			return nil
		}
		if got := plainResource(r.Proto()); !proto.Equal(got.GetResource(), reading(t, r.Object)) ||
			!equalDetails(got, r.ConnectionDetails) {
			t.Fatal("Resource.Proto is not what is read of it")
		}
		return &fnv1.Resource{
			Resource:          reading(t, r.Object),
			ConnectionDetails: r.ConnectionDetails,
			Ready:             r.Proto().GetReady(),
		}
	}
	out := &fnv1.State{Composite: resource(s.Composite), Resources: map[string]*fnv1.Resource{}}
	for name, r := range s.Resources {
		out.Resources[name] = resource(r)
	}
	return out
}

func equalDetails(r *fnv1.Resource, details map[string][]byte) bool {
	return maps.EqualFunc(r.GetConnectionDetails(), details, bytes.Equal)
}
