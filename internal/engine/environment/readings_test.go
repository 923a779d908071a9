package environment

import (
	"testing"

	"google.golang.org/protobuf/types/known/structpb"

	"github.com/crossplane-contrib/function-export/internal/engine/wire"
	"github.com/crossplane-contrib/function-export/internal/engine/wire/wiretest"
)

// all of the EnvironmentConfigs that were found.
func readAll(t testing.TB, read wiretest.Reading, found [][]*structpb.Struct) [][]wire.Struct {
	t.Helper()
	var out [][]wire.Struct
	for _, list := range found {
		out = append(out, readList(t, read, list))
	}
	return out
}

func readList(t testing.TB, read wiretest.Reading, found []*structpb.Struct) []wire.Struct {
	t.Helper()
	var out []wire.Struct
	for _, s := range found {
		out = append(out, read(t, s))
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
