// Package plantest helps tests that compile inputs.
package plantest

import (
	"context"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/types/known/structpb"
	"sigs.k8s.io/yaml"

	"github.com/crossplane-contrib/function-export/internal/engine/advice"
	"github.com/crossplane-contrib/function-export/internal/engine/expression"
	"github.com/crossplane-contrib/function-export/internal/engine/plan"
	"github.com/crossplane-contrib/function-export/internal/engine/wire"
)

// Env compiles inputs. All tests share it, as requests do in the function.
var Env = func() *expression.Environment {
	e, err := advice.NewEnvironment()
	if err != nil {
		panic(err)
	}
	return e
}()

// Parse a document of YAML.
func Parse(t testing.TB, text string) *structpb.Struct {
	t.Helper()
	j, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	out := &structpb.Struct{}
	if err := protojson.Unmarshal(j, out); err != nil {
		t.Fatal(err)
	}
	return out
}

// Exports adds the first two lines to an input.
func Exports(body string) string {
	if fields, ok := strings.CutPrefix(body, "{"); ok {
		return "{apiVersion: export.fn.crossplane.io/v1beta1, kind: Exports, " + fields
	}
	return "apiVersion: export.fn.crossplane.io/v1beta1\nkind: Exports\n" + body
}

// Compile returns the plan of an input, and its diagnostics as fn prints them.
func Compile(t testing.TB, input string) (*plan.Plan, []string) {
	t.Helper()
	p, diagnostics := plan.Compile(context.Background(), Env, Parse(t, input))
	if (p == nil) != (len(diagnostics) > 0) {
		t.Errorf("Compile(...): plan %v, diagnostics %v: want exactly one of them", p, diagnostics)
	}
	var texts []string
	for _, d := range diagnostics {
		texts = append(texts, d.Error())
	}
	return p, texts
}

// Flow is the end of the diagnostics of secret flow.
const Flow = "but secret data may flow only into the data of Secrets"

// StructOf returns a map as a struct. For nil it returns the zero struct.
func StructOf(t testing.TB, m map[string]any) wire.Struct {
	t.Helper()
	if m == nil {
		return wire.Struct{}
	}
	s, err := structpb.NewStruct(m)
	if err != nil {
		t.Fatal(err)
	}
	return wire.Of(s)
}

// App is the kind of the composite resources in tests.
var App = plan.Kind{APIVersion: "example.org/v1", Kind: "App"}
