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

// TestSchemas asks for schemas as Crossplane hands them over, in the second call.
func TestSchemas(t *testing.T) {
	const fault = "secrets[0].data[0].value:1:16: DB of example.org/v1 has no field status.hsot: did you mean host?"
	strict := map[string]*fnv1.SchemaSelector{
		"export.fn.crossplane.io/example.org/v1/App": {ApiVersion: "example.org/v1", Kind: "App"},
		"export.fn.crossplane.io/example.org/v1/DB":  {ApiVersion: "example.org/v1", Kind: "DB"},
	}
	warn := map[string]*fnv1.SchemaSelector{"export.fn.crossplane.io/example.org/v1/DB": strict["export.fn.crossplane.io/example.org/v1/DB"]}
	for name, c := range map[string]struct {
		reason       string
		mode         string
		capabilities []fnv1.Capability
		want         map[string]*fnv1.SchemaSelector
		severity     fnv1.Severity
		text         string
	}{
		"Warn": {
			reason: "What waits for a misspelt field is told so, and nothing else changes.",
			mode:   "Warn", capabilities: render.Capabilities(), want: warn,
			severity: fnv1.Severity_SEVERITY_WARNING, text: fault,
		},
		"Strict": {
			reason: "Strictly the input is refused.",
			mode:   "Strict", capabilities: render.Capabilities(), want: strict,
			severity: fnv1.Severity_SEVERITY_FATAL, text: "invalid input: " + fault,
		},
		"OldCrossplane": {
			reason: "A Crossplane that reads no schemas is not asked for any, and whoever wants them is told.",
			mode:   "Strict", severity: fnv1.Severity_SEVERITY_WARNING,
			text: "typeChecking: is Strict, but this version of Crossplane passes no schemas (v2.2 and later do): nothing is checked; check the input with function-export check, and set it to Warn",
		},
	} {
		t.Run(name, func(t *testing.T) {
			req := &fnv1.RunFunctionRequest{
				Meta:  &fnv1.RequestMeta{Capabilities: c.capabilities},
				Input: functiontest.Parse(t, strings.Replace(functiontest.Misspelt, "TYPECHECKING", c.mode, 1)),
				Observed: &fnv1.State{
					Composite: &fnv1.Resource{Resource: functiontest.Parse(t, "{apiVersion: example.org/v1, kind: App, metadata: {name: a, namespace: b, uid: u}}")},
					Resources: map[string]*fnv1.Resource{"db": {Resource: functiontest.Parse(t, "{apiVersion: example.org/v1, kind: DB, metadata: {name: db}, status: {host: h}}")}},
				},
			}
			first, err := functiontest.New(t).RunFunction(context.Background(), req)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, first.GetRequirements().GetSchemas(), protocmp.Transform()); diff != "" {
				t.Errorf("%s\nschemas: -want, +got:\n%s", c.reason, diff)
			}
			req.Context = first.GetContext()
			req.RequiredSchemas = map[string]*fnv1.Schema{}
			for key := range first.GetRequirements().GetSchemas() {
				req.RequiredSchemas[key] = &fnv1.Schema{}
				if strings.HasSuffix(key, "/DB") {
					req.RequiredSchemas[key].OpenapiV3 = functiontest.Parse(t, functiontest.DatabaseSchema)
				}
			}
			req.RequiredResources = map[string]*fnv1.Resources{}
			for key := range first.GetRequirements().GetResources() {
				req.RequiredResources[key] = &fnv1.Resources{}
			}
			second, err := functiontest.New(t).RunFunction(context.Background(), req)
			if err != nil {
				t.Fatal(err)
			}
			if n := len(second.GetResults()); n != 1 || second.GetResults()[0].GetSeverity() != c.severity || second.GetResults()[0].GetMessage() != c.text {
				t.Errorf("%s\nwant one result %s %q, got %v", c.reason, c.severity, c.text, second.GetResults())
			}
			if c.severity == fnv1.Severity_SEVERITY_WARNING && c.want != nil && !strings.Contains(second.GetConditions()[0].GetMessage(), fault) {
				t.Errorf("want the condition to say it, too, got %q", second.GetConditions()[0].GetMessage())
			}
		})
	}
}
