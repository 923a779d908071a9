package wire

import (
	"bytes"
	"fmt"
	"testing"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
)

// decodesAs compares Decode with protobuf: the same error, and the same content.
func decodesAs(t *testing.T, sent []byte) {
	t.Helper()
	want := &fnv1.RunFunctionRequest{}
	wantErr := proto.Unmarshal(sent, want)
	r, err := unmarshal(sent)
	if fmt.Sprint(err) != fmt.Sprint(wantErr) {
		t.Fatalf("%x: want the error of protobuf: %v, got %v", sent, wantErr, err)
	}
	if err != nil {
		return
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
		"text":      sub(4, fieldOf("é", textOf("ä")), fieldOf("", textOf(""))),
		"long text": sub(5, fieldOf("a", textOf("seven, eight or nine"))),
		"scalars": sub(
			4,
			fieldOf("n", number),
			fieldOf("t", varint(4, 1)),
			fieldOf("f", varint(4, 0)),
			fieldOf("0", null()),
		),
		"lists":    sub(5, fieldOf("l", listOf(textOf("a"), null(), listOf(), objectOf(fieldOf("b", null()))))),
		"state":    sub(3, sub(1, object, varint(3, 1)), keyedBy(2, "r", varint(3, 2), object)),
		"details":  sub(2, sub(1, keyedBy(2, "k", []byte("v")), keyedBy(2, "", nil), varint(3, 0))),
		"required": message(keyedBy(8, "r", sub(1, object), sub(1)), keyedBy(8, "")),
		"schemas":  message(keyedBy(9, "s", object), keyedBy(9, "t", sub(1)), keyedBy(9, "")),
		"unread": message(
			keyedBy(7, "c"),
			keyedBy(6, "e", sub(1)),
			varint(15, 1),
			sub(4),
			varint(900, 1),
			sub(1, str(1, "t")),
		),
		"long length": message([]byte{4<<3 | 2, 0x86, 0, 1<<3 | 2, 4, 1<<3 | 2, 0, 2<<3 | 2, 0}, sub(5)),
		"all":         message(sub(1), sub(2), sub(3), sub(4), sub(5), keyedBy(8, ""), keyedBy(9, "")),
	}
}

// Each byte of a small request is replaced, removed and repeated, and the request is cut off after it.
func TestEachByteChanged(t *testing.T) {
	// The tags of all wire types and fields, and the bounds of lengths and of varints.
	values := []byte{
		0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 0x0a, 0x0b, 0x0c, 0x0d, 0x10, 0x11, 0x12, 0x18, 0x1a, 0x20, 0x22, 0x2a, 0x32, 0x3a,
		0x42, 0x48, 0x4a,
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

// A length that overflows points backwards, here to a field that would end where the request ends.
func TestLengthPointsBackwards(t *testing.T) {
	length := append(bytes.Repeat([]byte{0xff}, 9), 2)
	hidden := []byte{15<<3 | 2, 18, 0, 0, 0, 0, 0, 0, 0}
	decodesAs(t, message(sub(15, hidden), []byte{tagInput}, length))
}

// A tag of several bytes is a tag of the same field, which protobuf decodes.
func TestLongTags(t *testing.T) {
	for number := range uint64(20) {
		for kind := range uint64(8) {
			for more := 1; more < 11; more++ {
				tag := append([]byte{byte(min(number<<3|kind, 0x7f)) | 0x80}, bytes.Repeat([]byte{0x80}, more-1)...)
				decodesAs(t, message(sub(15), append(tag, 0, 0)))
			}
		}
	}
}
