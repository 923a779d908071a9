package environment_test

import (
	"context"
	"fmt"

	"google.golang.org/protobuf/types/known/structpb"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/crossplane-contrib/function-export/input/v1beta1"
	"github.com/crossplane-contrib/function-export/internal/engine/budget"
	"github.com/crossplane-contrib/function-export/internal/engine/environment"
	"github.com/crossplane-contrib/function-export/internal/engine/wire"
)

func Example() {
	lookup, list := environment.Compile(field.NewPath("environment"), &v1beta1.Environment{
		EnvironmentConfigs: []v1beta1.EnvironmentSource{
			{Ref: &v1beta1.EnvironmentRef{Name: "network"}, ToFieldPath: "network"},
			{Ref: &v1beta1.EnvironmentRef{Name: "accounts"}},
		},
	})
	if len(list) > 0 {
		fmt.Println(list)
		return
	}
	var composite, before wire.Struct // of the request
	selectors, _ := lookup.Selectors(composite, before)
	fmt.Println(selectors[0].Name, selectors[1].Name)

	// Crossplane finds one of them.
	config, _ := structpb.NewStruct(map[string]any{"data": map[string]any{"cidr": "10.0.0.0/8"}})
	_, list = lookup.Merge(budget.New(context.Background()), before.Proto(), selectors, [][]wire.Struct{{wire.Of(config)}, nil})
	for _, d := range list {
		fmt.Println(d)
	}
	// Output:
	// network accounts
	// environment.environmentConfigs[1].ref.name: EnvironmentConfig "accounts" of apiextensions.crossplane.io/v1beta1 does not exist: create it, or set environment.policy.resolution to Optional
}
