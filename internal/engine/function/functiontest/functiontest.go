// Package functiontest has helpers for tests of the function, and of the commands that serve or render
// it: functions that answer each request in both of its forms, a small control plane, and shared
// inputs. Only tests import it.
package functiontest

import (
	"flag"
	"os"
	"testing"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/crossplane-contrib/function-export/internal/engine/plan/plantest"
)

// Request parses a RunFunctionRequest from the YAML of its JSON.
func Request(t testing.TB, text string) *fnv1.RunFunctionRequest {
	t.Helper()
	b, err := Parse(t, text).MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	out := &fnv1.RunFunctionRequest{}
	if err := protojson.Unmarshal(b, out); err != nil {
		t.Fatal(err)
	}
	return out
}

// UpdateGolden is the flag -update.
var UpdateGolden = flag.Bool("update", false, "write golden files, and the messages of each broken input")

// CheckGolden compares a text with a golden file.
func CheckGolden(t *testing.T, path, got string) {
	t.Helper()
	if *UpdateGolden {
		if err := os.WriteFile(path, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s: -want +got, or -update:\n%s", path, diff)
	}
}

// Parse parses an object from YAML.
func Parse(t testing.TB, text string) *structpb.Struct {
	t.Helper()
	return plantest.Parse(t, text)
}
