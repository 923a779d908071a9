package function_test

import (
	"context"
	"strings"
	"testing"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/testing/protocmp"

	"github.com/crossplane-contrib/function-export/internal/desk/cli/render"
	"github.com/crossplane-contrib/function-export/internal/engine/function/functiontest"
)

// TestSchemas receives schemas as Crossplane sends them, in the second call.
func TestSchemas(t *testing.T) {
	const message = "secrets[0].data[0].value:1:16: DB of example.org/v1 has no field status.hsot: did you mean host?"
	req := functiontest.Request(t, `
observed:
  composite: {resource: {apiVersion: example.org/v1, kind: App, metadata: {name: a, namespace: b, uid: u}}}
  resources: {db: {resource: {apiVersion: example.org/v1, kind: DB, metadata: {name: db}, status: {host: h}}}}
`)
	req.Meta = &fnv1.RequestMeta{Capabilities: render.Capabilities()}
	req.Input = functiontest.Parse(t, functiontest.Misspelt)
	first, err := functiontest.New(t).RunFunction(context.Background(), req)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]*fnv1.SchemaSelector{"export.fn.crossplane.io/example.org/v1/DB": {ApiVersion: "example.org/v1", Kind: "DB"}}
	if diff := cmp.Diff(want, first.GetRequirements().GetSchemas(), protocmp.Transform()); diff != "" {
		t.Errorf("schemas: -want, +got:\n%s", diff)
	}
	req.Context = first.GetContext()
	req.RequiredSchemas = map[string]*fnv1.Schema{
		"export.fn.crossplane.io/example.org/v1/DB": {OpenapiV3: functiontest.Parse(t, functiontest.DatabaseSchema)},
	}
	req.RequiredResources = map[string]*fnv1.Resources{}
	for key := range first.GetRequirements().GetResources() {
		req.RequiredResources[key] = &fnv1.Resources{}
	}
	second, err := functiontest.New(t).RunFunction(context.Background(), req)
	if err != nil {
		t.Fatal(err)
	}
	if n := len(second.GetResults()); n != 1 || second.GetResults()[0].GetMessage() != message {
		t.Errorf("want one result %q, got %v", message, second.GetResults())
	}
	if got := second.GetConditions()[0].GetMessage(); !strings.Contains(got, message) {
		t.Errorf("want the condition to say it also, got %q", got)
	}
}
