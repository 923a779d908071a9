package environment

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/crossplane-contrib/function-export/input/v1beta1"
)

func TestAsked(t *testing.T) {
	got := compiled(t, fromYAML[*v1beta1.Environment](t, `
environmentConfigs:
- type: Reference
  ref: {name: base}
- type: Selector
  selector:
    matchLabels:
    - {key: stage, type: FromCompositeFieldPath, valueFromFieldPath: spec.stage}
    - {key: team, type: Value, value: blue}
- type: Selector
  selector:
    mode: Multiple
    matchLabels:
    - {key: region, type: FromEnvironmentFieldPath, valueFromFieldPath: region, fromFieldPathPolicy: Optional}
`)).Asked()
	want := []Asked{
		{Path: "environment.environmentConfigs[0]", Name: "base"},
		{Path: "environment.environmentConfigs[1]", Labels: []AskedLabel{{Key: "stage", Field: "spec.stage"}, {Key: "team", Text: "blue"}}},
		{Path: "environment.environmentConfigs[2]", Labels: []AskedLabel{{Key: "region", Field: "region", Environment: true, Optional: true}}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if got := (*Lookup)(nil).Asked(); got != nil {
		t.Errorf("no lookup asks for %v", got)
	}
}
