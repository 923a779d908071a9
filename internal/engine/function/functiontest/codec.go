package functiontest

import (
	"errors"
	"testing"

	"google.golang.org/protobuf/proto"
)

// Marshal marshals a message, each time with the same bytes.
func Marshal(t *testing.T, m proto.Message) []byte {
	t.Helper()
	b, err := proto.MarshalOptions{Deterministic: true}.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// RawCodec sends and receives bytes, so that the client costs almost nothing.
type RawCodec struct{}

// Name returns the name of protobuf.
func (RawCodec) Name() string { return "proto" }

// Marshal expects a *[]byte.
func (RawCodec) Marshal(v any) ([]byte, error) {
	if b, ok := v.(*[]byte); ok {
		return *b, nil
	}
	return nil, errors.New("not bytes")
}

// Unmarshal expects a *[]byte.
func (RawCodec) Unmarshal(b []byte, v any) error {
	*v.(*[]byte) = b
	return nil
}
