package observation_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/crossplane-contrib/function-export/internal/engine/expression"
	"github.com/crossplane-contrib/function-export/internal/engine/observation"
)

func asStruct(t testing.TB, m map[string]any) *structpb.Struct {
	t.Helper()
	s, err := structpb.NewStruct(m)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// generators are one with outputs and a generation before, one that gives no keys,
// and two that have nothing yet.
func generators(t testing.TB) *observation.Observation {
	t.Helper()
	return &observation.Observation{
		Composite: observation.Resource{
			Object:  sent(t, asStruct(t, map[string]any{"kind": "XR"})),
			Details: observation.Details{"key": []byte("of-the-composite")},
		},
		Generated: map[string]observation.Generated{
			"db":    {Outputs: observation.Details{"password": []byte("new"), "user": []byte("app")}},
			"empty": {Outputs: observation.Details{}},
			"slow":  {Waits: "its resource is not ready"},
			"mute":  {},
		},
		Previous: map[string]observation.Generated{"db": {Outputs: observation.Details{"password": []byte("old")}}},
	}
}

// made is what text gives to the expressions of a generation.
func made(t testing.TB, o *observation.Observation, m *observation.Generation, text string) string {
	t.Helper()
	x, faults := env.Compile(expression.Source{Text: text, Path: "here", Scope: expression.GenerationScope})
	if len(faults) > 0 {
		t.Fatal(faults)
	}
	return result(x, o.GenerationScope(m, nil))
}

func TestGenerated(t *testing.T) {
	const (
		slow = "*expression.Waiting: waiting for generated.slow (its resource is not ready)"
		mute = "*expression.Waiting: waiting for generated.mute"
	)
	cases := map[string]struct{ reason, text, want string }{
		"Output": {"an output", "generated.db.password", "types.String(new)"},
		"OutputMissing": {"a key that it does not give, as one of a " +
			"Secret", "generated.db.nope", "*expression.Waiting: waiting for generated.db.nope"},
		"OutputOptional": {"", "generated.db.?nope", "none"},
		"NoOutputs":      {"outputs without a key are there", "generated.empty.size()", "types.Int(0)"},
		"Waits":          {"what is not there yet, with what it waits for", "generated.slow.password", slow},
		"WaitsWhole":     {"", "generated.slow", slow},
		"WaitsComputed":  {"by a computed name, too", "generated[string('slow')].password", slow},
		"WaitsOptional": {"a default is no way around: what it gives changes in a " +
			"moment", "generated.?slow.?password.orValue('default')", slow},
		"WaitsHas":      {"nor is asking for it", "has(generated.slow) ? 'there' : 'default'", slow},
		"WaitsIn":       {"", "'slow' in generated", slow},
		"WaitsValues":   {"nor is walking them", "generated.transformList(name, outputs, outputs.size())", mute},
		"WaitsNoReason": {"a text without what for", "generated.mute.password", mute},
		"Unknown": {"a generator that there is none of", "generated.nope.password", "*expression.Waiting: " +
			"waiting for generated.nope"},
		"UnknownIn": {"", "'nope' in generated", "types.Bool(false)"},
		"Previous":  {"the generation before", "previous.db.password", "types.String(old)"},
		"PreviousAbsent": {"there is none before the first", "previous.empty.password", "*expression.Waiting: " +
			"waiting for previous.empty"},
		"PreviousOptional": {"which optional access goes on without", "previous.?empty.?password", "none"},
		"PreviousOrValue": {
			"as an export of both does",
			"previous.?slow.?password.orValue(generated.db.password)",
			"types.String(new)",
		},
		"PreviousHas": {"", "has(previous.empty)", "types.Bool(false)"},
		"PreviousKey": {"it may lack a key", "previous.db.?user", "none"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			x, faults := env.Compile(expression.Source{Text: tc.text, Path: "here"})
			if len(faults) > 0 {
				t.Fatal(faults)
			}
			o := generators(t)
			if diff := cmp.Diff(tc.want, result(x, o.Scope("", nil))); diff != "" {
				t.Errorf("%s\n%s: -want, +got:\n%s", tc.reason, tc.text, diff)
			}
			if diff := cmp.Diff(tc.want, made(t, o, &observation.Generation{}, tc.text)); diff != "" {
				t.Errorf("%s\n%s for a generation: -want, +got:\n%s", tc.reason, tc.text, diff)
			}
		})
	}
}

// A generation may be a v1 Secret: its data is only in secret.
func TestGenerationSecretIsHidden(t *testing.T) {
	secret := func() *structpb.Struct {
		return asStruct(t, map[string]any{
			"apiVersion": "v1", "kind": "Secret", "data": map[string]any{"k": "canary"}, "stringData": map[string]any{
				"k": "canary"},
			"metadata": map[string]any{
				"name":        "s",
				"annotations": map[string]any{"kubectl.kubernetes.io/last-applied-configuration": "canary"},
			},
		})
	}
	const shown = `types.String({"apiVersion":"v1","kind":"Secret","metadata":{"annotations":{},"name":"s"}})`
	cases := map[string]struct{ reason, text, want string }{
		"Data":       {"who reads it is told", "resource.data.k", "reads the data of a v1 Secret, which is hidden here"},
		"SelfData":   {"", "self.data.k", "reads the data of a v1 Secret, which is hidden here"},
		"StringData": {"", "resource.?stringData.?k", "reads the data of a v1 Secret, which is hidden here"},
		"Whole":      {"", "json.encode(resource)", shown},
		"SelfWhole":  {"", "json.encode(self)", shown},
		"Keys":       {"", "resource.map(k, k)", "list[types.String(apiVersion) types.String(kind) types.String(metadata)]"},
		"Secret":     {"what it gives", "secret.k", "types.String(given)"},
	}
	m := &observation.Generation{Resource: sent(t, secret()), Details: observation.Details{"k": []byte("given")}}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := made(t, generators(t), m, tc.text); !strings.Contains(got, tc.want) || strings.Contains(got, "canary") {
				t.Errorf("%s\n%s: want %s, got %s", tc.reason, tc.text, tc.want, got)
			}
		})
	}
	if !proto.Equal(m.Resource.Proto(), secret()) {
		t.Error("the Struct was written to")
	}
}
