package wire

import (
	"bytes"
	"fmt"
	"testing"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// isPlainMessage is the form that the checks accept, derived from the descriptors of protobuf: every field is known,
// has a tag of one byte, and occurs once unless it is repeated. Protobuf must accept the bytes.
func isPlainMessage(d protoreflect.MessageDescriptor, b []byte, depth int) bool {
	isRequest := d.FullName() == "apiextensions.fn.proto.v1.RunFunctionRequest"
	seen := map[protowire.Number]bool{}
	for len(b) > 0 {
		number, kind, n := protowire.ConsumeTag(b)
		body := b[n:]
		size := protowire.ConsumeFieldValue(number, kind, body)
		b = body[size:]
		f := d.Fields().ByNumber(number)
		known := f != nil && kind == wireType(f)
		if isRequest && (!known || number == 6 || number == 7) {
			continue
		}
		if !known || n != 1 || !f.IsList() && !f.IsMap() && seen[number] {
			return false
		}
		seen[number] = true
		if !isPlainField(f, body[:size], depth) {
			return false
		}
	}
	return d.FullName() != "google.protobuf.Value" || len(seen) == 1
}

func isPlainField(f protoreflect.FieldDescriptor, b []byte, depth int) bool {
	switch f.Kind() {
	case protoreflect.EnumKind:
		return len(b) == 1 && (b[0] == 0 || f.Enum().FullName() != "google.protobuf.NullValue")
	case protoreflect.BoolKind:
		return len(b) == 1 && b[0] <= 1
	case protoreflect.MessageKind:
	default:
		return true
	}
	body, _ := protowire.ConsumeBytes(b)
	switch d := f.Message(); {
	case f.IsMap():
		return isPlainEntry(f, body, depth)
	case d.FullName() == "apiextensions.fn.proto.v1.RequestMeta":
		return true // protobuf decodes it
	case f.Parent().FullName() == "google.protobuf.Value":
		return depth < maxDepth && isPlainMessage(d, body, depth+1)
	default:
		return isPlainMessage(d, body, depth)
	}
}

// isPlainEntry reports whether an entry of a map is a key and then a value.
func isPlainEntry(f protoreflect.FieldDescriptor, b []byte, depth int) bool {
	for _, part := range []protoreflect.FieldDescriptor{f.MapKey(), f.MapValue()} {
		number, kind, n := protowire.ConsumeTag(b)
		if n != 1 || number != part.Number() || kind != protowire.BytesType {
			return false
		}
		size := protowire.ConsumeFieldValue(number, kind, b[n:])
		if !isPlainField(part, b[n:n+size], depth) {
			return false
		}
		b = b[n+size:]
	}
	return len(b) == 0
}

func wireType(f protoreflect.FieldDescriptor) protowire.Type {
	switch f.Kind() {
	case protoreflect.EnumKind, protoreflect.BoolKind:
		return protowire.VarintType
	case protoreflect.DoubleKind:
		return protowire.Fixed64Type
	default:
		return protowire.BytesType
	}
}

// decodesAs compares Decode with protobuf: the same error, the expected form, and the same content.
func decodesAs(t *testing.T, sent []byte) {
	t.Helper()
	want := &fnv1.RunFunctionRequest{}
	wantErr := proto.Unmarshal(sent, want)
	r, err := Decode(sent)
	if fmt.Sprint(err) != fmt.Sprint(wantErr) {
		t.Fatalf("%x: want the error of protobuf: %v, got %v", sent, wantErr, err)
	}
	if err != nil {
		return
	}
	if plain := isPlainMessage(want.ProtoReflect().Descriptor(), sent, 0); plain == r.Decoded() {
		t.Fatalf("%x: want protobuf to decode it: %t, got %t", sent, !plain, r.Decoded())
	}
	if got := readRequest(t, r, readAll); !proto.Equal(plainRequest(want), got) {
		t.Fatalf("%x: -want, +got:\n%s", sent, diff(plainRequest(want), got))
	}
}

// Small requests that together have each field.
func smallRequests() map[string][]byte {
	number := tagged(2, protowire.Fixed64Type, protowire.AppendFixed64(nil, 1<<62|1))
	object := sub(1, fieldOf("a", textOf("b")))
	return map[string][]byte{
		"text":        sub(4, fieldOf("é", textOf("ä")), fieldOf("", textOf(""))),
		"long text":   sub(5, fieldOf("a", textOf("seven, eight or nine"))),
		"scalars":     sub(4, fieldOf("n", number), fieldOf("t", varint(4, 1)), fieldOf("f", varint(4, 0)), fieldOf("0", null())),
		"lists":       sub(5, fieldOf("l", listOf(textOf("a"), null(), listOf(), objectOf(fieldOf("b", null()))))),
		"state":       sub(3, sub(1, object, varint(3, 1)), keyedBy(2, "r", varint(3, 2), object)),
		"details":     sub(2, sub(1, keyedBy(2, "k", []byte("v")), keyedBy(2, "", nil), varint(3, 0))),
		"required":    message(keyedBy(8, "r", sub(1, object), sub(1)), keyedBy(8, "")),
		"schemas":     message(keyedBy(9, "s", object), keyedBy(9, "t", sub(1)), keyedBy(9, "")),
		"unread":      message(keyedBy(7, "c"), keyedBy(6, "e", sub(1)), varint(15, 1), sub(4), varint(900, 1), sub(1, str(1, "t"))),
		"long length": message([]byte{4<<3 | 2, 0x86, 0, 1<<3 | 2, 4, 1<<3 | 2, 0, 2<<3 | 2, 0}, sub(5)),
		"all":         message(sub(1), sub(2), sub(3), sub(4), sub(5), keyedBy(8, ""), keyedBy(9, "")),
	}
}

// Each byte of a small request is replaced, removed and repeated, and the request is cut off after it.
func TestEachByteChanged(t *testing.T) {
	// The tags of all wire types and fields, and the bounds of lengths and of varints.
	values := []byte{
		0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 0x0a, 0x0b, 0x0c, 0x0d, 0x10, 0x11, 0x12, 0x18, 0x1a, 0x20, 0x22, 0x2a, 0x32, 0x3a, 0x42, 0x48, 0x4a,
		0x52, 0x7f, 0x80, 0x81, 0x8a, 0xff,
	}
	for name, sent := range smallRequests() {
		t.Run(name, func(t *testing.T) {
			decodesAs(t, sent)
			for i := range sent {
				for _, v := range values {
					changed := bytes.Clone(sent)
					changed[i] = v
					decodesAs(t, changed)
				}
				decodesAs(t, sent[:i])
				decodesAs(t, message(sent[:i], sent[i+1:]))
				decodesAs(t, message(sent[:i+1], sent[i:]))
			}
		})
	}
}

// Each quirk by itself.
func TestQuirksDecode(t *testing.T) {
	for _, q := range requestQuirks() {
		if len(q.sent) < 1<<10 {
			decodesAs(t, q.sent)
		}
	}
	for _, q := range structQuirks() {
		decodesAs(t, sub(4, q.sent))
		decodesAs(t, sub(2, sub(1, sub(1, q.sent))))
	}
}

// A length that overflows points backwards, here to a field that would end where the request ends.
func TestLengthPointsBackwards(t *testing.T) {
	length := append(bytes.Repeat([]byte{0xff}, 9), 2)
	hidden := []byte{15<<3 | 2, 18, 0, 0, 0, 0, 0, 0, 0}
	decodesAs(t, message(sub(15, hidden), []byte{tagInput}, length))
}

// Texts of each length have each byte that is not ASCII at each place.
func TestInvalidTextEverywhere(t *testing.T) {
	for size := range 24 {
		for i := range size {
			for _, c := range []byte{0x80, 0xff} {
				text := bytes.Repeat([]byte("a"), size)
				text[i] = c
				decodesAs(t, sub(4, fieldOf("a", sub(3, text))))
			}
		}
	}
}

// A tag of several bytes is a tag of the same field, which protobuf decodes.
func TestLongTags(t *testing.T) {
	for number := range uint64(20) {
		for kind := range uint64(8) {
			for more := 1; more < 11; more++ {
				decodesAs(t, message(sub(15), long(min(number<<3|kind, 0x7f), more, 0)))
			}
		}
	}
}
