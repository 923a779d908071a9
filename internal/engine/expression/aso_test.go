package expression_test

import (
	"context"
	"os"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/types/known/structpb"
	"sigs.k8s.io/yaml"

	"github.com/crossplane-contrib/function-export/internal/engine/budget"
	"github.com/crossplane-contrib/function-export/internal/engine/expression"
	"github.com/crossplane-contrib/function-export/internal/engine/observation"
	"github.com/crossplane-contrib/function-export/internal/engine/wire"
)

// asoCase is one case of the conformance data; see its header.
type asoCase struct {
	Name       string            `json:"name"`
	Expression string            `json:"expression"`
	Self       map[string]any    `json:"self"`
	Secrets    map[string]string `json:"secrets"`
	Expect     struct {
		Value           *string           `json:"value"`
		ValueMap        map[string]string `json:"valueMap"`
		Values          map[string]string `json:"values"`
		SecretsUsed     []string          `json:"secrets_used"`
		RecommendedUsed *[]string         `json:"recommended_secrets_used"`
		Error           string            `json:"error"`
		ErrorContains   string            `json:"error_contains"`
	} `json:"expect"`
}

// asoDifferent are the cases where this function is another than the operator on
// purpose, and why.
var asoDifferent = map[string]string{
	"derived: base64 extension not enabled": "the encoders are among our libraries: what they give is wanted in exports",
	"derived: format %d with a double":      "a later version of CEL's library prints a double that is whole",
}

// Expressions written for Azure Service Operator's exports give what they give
// there. That operator finds out by itself whether an export is one value or
// several; here the input says so.
func TestAzureServiceOperator(t *testing.T) {
	b, err := os.ReadFile("testdata/aso-cel.yaml")
	if err != nil {
		t.Fatal(err)
	}
	file := struct {
		Cases []asoCase `json:"cases"`
	}{}
	if err := yaml.UnmarshalStrict(b, &file); err != nil {
		if err := yaml.Unmarshal(b, &file); err != nil {
			t.Fatal(err)
		}
	}
	if len(file.Cases) == 0 {
		t.Fatal("no cases")
	}
	for _, tc := range file.Cases {
		t.Run(tc.Name, func(t *testing.T) { tc.run(t) })
	}
}

func (tc asoCase) run(t *testing.T) {
	want := tc.Expect.ValueMap
	if want == nil {
		want = tc.Expect.Values
	}
	refused := tc.Expect.Error != "" || tc.Expect.ErrorContains != ""
	if why, ok := asoDifferent[tc.Name]; ok {
		t.Log("different on purpose: " + why)
		refused = false
	}
	s := expression.Source{Text: tc.Expression, Path: "value", Want: expression.WantText}
	if want != nil || tc.Expect.RecommendedUsed != nil || (tc.Expect.SecretsUsed != nil && tc.Expression[0] == '{') {
		s.Want = expression.WantTextMap
		if _, faults := env.Compile(s); len(faults) > 0 {
			s.Want = expression.WantText
		}
	}
	x, faults := env.Compile(s)
	if len(faults) > 0 {
		if !refused {
			t.Fatalf("%s is refused: %v", tc.Expression, faults)
		}
		return
	}
	tc.checkUses(t, x)
	if tc.Expect.Value == nil && want == nil && !refused {
		return
	}
	got, gotMap, err := tc.evaluate(t, x)
	if refused {
		if err == nil {
			t.Fatalf("%s is not refused", tc.Expression)
		}
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	if tc.Expect.Value != nil && got != *tc.Expect.Value {
		t.Errorf("want %q, got %q", *tc.Expect.Value, got)
	}
	if diff := cmp.Diff(want, gotMap); want != nil && diff != "" {
		t.Errorf("-want, +got:\n%s", diff)
	}
}

func (tc asoCase) evaluate(t *testing.T, x *expression.Expression) (string, map[string]string, error) {
	self, err := structpb.NewStruct(tc.Self)
	if err != nil {
		t.Fatal(err)
	}
	details := observation.Details{}
	for k, v := range tc.Secrets {
		details[k] = []byte(v)
	}
	o := &observation.Observation{Composite: observation.Resource{Object: wire.Of(self), Details: details}}
	v, err := x.Evaluate(context.Background(), o.Scope("", nil), budget.New(context.Background()))
	if err != nil {
		return "", nil, err
	}
	if x.Source().Want == expression.WantText {
		b, _, err := x.Text(v, budget.New(context.Background()))
		return string(b.Reveal()), nil, err
	}
	m, _, err := x.TextMap(v, budget.New(context.Background()))
	out := map[string]string{}
	for k, b := range m {
		out[k] = string(b.Reveal())
	}
	return "", out, err
}

// checkUses compares the keys of secret that the analysis finds, * for any.
func (tc asoCase) checkUses(t *testing.T, x *expression.Expression) {
	want := tc.Expect.SecretsUsed
	if tc.Expect.RecommendedUsed != nil {
		want = *tc.Expect.RecommendedUsed
	}
	if tc.Expect.SecretsUsed == nil && tc.Expect.RecommendedUsed == nil {
		return
	}
	got := []string{}
	for _, r := range x.References() {
		if r.Variable != expression.Secret {
			continue
		}
		key := "*"
		if len(r.Path) > 0 && !r.Path[0].Any() {
			key = r.Path[0].Key.(string)
		}
		if !slices.Contains(got, key) {
			got = append(got, key)
		}
	}
	slices.Sort(got)
	slices.Sort(want)
	if diff := cmp.Diff(want, got); len(want)+len(got) > 0 && diff != "" {
		t.Errorf("%s: -want, +got uses:\n%s", tc.Expression, diff)
	}
}
