package functiontest

import (
	"errors"
	"testing"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"google.golang.org/protobuf/proto"
)

// A test of the tests: a difference is an error, and an answer that cannot be encoded is also an error.
func TestBothFormsTellDifferences(t *testing.T) {
	f := New(t)
	req := Request(t, ObservedDatabase+SecretInput+"    - {key: username, value: secret.username}")
	if _, err := f.RunFunction(t.Context(), req); err != nil {
		t.Fatal(err)
	}
	other := New(t)
	other.Lazy.Plans = nil
	func() {
		defer func() { _ = recover() }()
		if _, err := other.RunFunction(t.Context(), req); err == nil {
			t.Error("the request's bytes are not looked at")
		}
	}()
	a := &fnv1.RunFunctionResponse{Results: []*fnv1.Result{{Message: "a"}}}
	cases := map[string]struct {
		want, got *fnv1.RunFunctionResponse
		err       error
	}{
		"Answer":  {a, &fnv1.RunFunctionResponse{}, nil},
		"Error":   {a, nil, errors.New("refused")},
		"Encoded": {&fnv1.RunFunctionResponse{Results: []*fnv1.Result{{Message: "\xff"}}}, a, nil},
	}
	for name, tc := range cases {
		if SameAnswers(tc.want, nil, tc.got, tc.err) == nil {
			t.Errorf("%s: want a difference", name)
		}
	}
	if err := SameAnswers(a, nil, proto.CloneOf(a), nil); err != nil {
		t.Error(err)
	}
}
