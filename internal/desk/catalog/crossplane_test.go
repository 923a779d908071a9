package catalog

import (
	"encoding/json"
	"flag"
	"os"
	"testing"

	"github.com/crossplane/crossplane-runtime/v2/pkg/xcrd"
	v1 "github.com/crossplane/crossplane/apis/v2/apiextensions/v1"
	"github.com/google/go-cmp/cmp"
	extv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

var update = flag.Bool("update", false, "write crossplane.json")

// The fields that Crossplane adds to each definition are those of the version of crossplane-runtime in go.mod.
func TestCrossplane(t *testing.T) {
	all := map[string]*extv1.JSONSchemaProps{}
	for _, scope := range []Scope{Namespaced, Cluster, LegacyCluster} {
		crd, err := xcrd.ForCompositeResource(definitionOf(scope))
		if err != nil {
			t.Fatal(err)
		}
		all[string(scope)] = crd.Spec.Versions[0].Schema.OpenAPIV3Schema
	}
	crd, err := xcrd.ForCompositeResourceClaim(definitionOf(LegacyCluster))
	if err != nil {
		t.Fatal(err)
	}
	all[claimSchema] = crd.Spec.Versions[0].Schema.OpenAPIV3Schema
	want, err := json.MarshalIndent(all, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	want = append(want, '\n')
	if *update {
		if err := os.WriteFile("crossplane.json", want, 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(string(want), string(crossplane)); diff != "" {
		t.Errorf("run this test with -update: -want, +got:\n%s", diff)
	}
}

func definitionOf(scope Scope) *v1.CompositeResourceDefinition {
	return &v1.CompositeResourceDefinition{Spec: v1.CompositeResourceDefinitionSpec{
		Names:      extv1.CustomResourceDefinitionNames{Kind: "XDatabase", Plural: "xdatabases"},
		Scope:      new(v1.CompositeResourceScope(scope)),
		ClaimNames: &extv1.CustomResourceDefinitionNames{Kind: "Database", Plural: "databases"},
		Versions: []v1.CompositeResourceDefinitionVersion{
			{Schema: &v1.CompositeResourceValidation{OpenAPIV3Schema: runtime.RawExtension{Raw: []byte("{}")}}}},
	}}
}
