package environment

import (
	"testing"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/crossplane-contrib/function-export/internal/engine/wire"
)

// all of the EnvironmentConfigs that were found.
func readAll(t testing.TB, found [][]*structpb.Struct) [][]wire.Struct {
	t.Helper()
	var out [][]wire.Struct
	for _, list := range found {
		out = append(out, readList(t, list))
	}
	return out
}

func readList(t testing.TB, found []*structpb.Struct) []wire.Struct {
	t.Helper()
	var out []wire.Struct
	for _, s := range found {
		out = append(out, sent(t, s))
	}
	return out
}

func mustParse(path string) Path {
	p, err := ParsePath(path)
	if err != nil {
		panic(err)
	}
	return p
}

// sent returns an object as it is read from the bytes of a request.
func sent(t testing.TB, s *structpb.Struct) wire.Struct {
	t.Helper()
	req, err := wire.Encode(&fnv1.RunFunctionRequest{Input: s})
	if err != nil {
		t.Fatal(err)
	}
	return req.Input
}
