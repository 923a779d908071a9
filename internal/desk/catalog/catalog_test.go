package catalog

import (
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/types/known/structpb"
	"sigs.k8s.io/yaml"

	"github.com/crossplane-contrib/function-export/internal/engine/schema"
	"github.com/crossplane-contrib/function-export/internal/engine/wire"
)

func file(t testing.TB, name string) string {
	t.Helper()
	raw, err := os.ReadFile("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

func decoded(t testing.TB, text string) map[string]any {
	t.Helper()
	var out map[string]any
	if err := yaml.Unmarshal([]byte(text), &out); err != nil {
		t.Fatal(err)
	}
	return out
}

// catalog of files of testdata.
func catalog(t testing.TB, names ...string) *Catalog {
	t.Helper()
	c := NewCatalog()
	for _, name := range names {
		if err := c.Add(decoded(t, file(t, name))); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
	}
	return c
}

// below is the schema of a field, by the names of the fields above it.
func below(s *structpb.Struct, path string) schema.Node {
	n := schema.Node{Struct: wire.Of(s)}
	for name := range strings.SplitSeq(path, ".") {
		n, _ = n.Property(name)
	}
	return n
}

func TestFind(t *testing.T) {
	c := catalog(t, "crd-rds-instance.yaml", "xrd-postgres.yaml", "xrd-database-v1.yaml")
	cases := map[string]struct {
		reason           string
		apiVersion, kind string
		field            string
		want             string // the names of the fields in it, or its type
	}{
		"Declared": {
			reason:     "the schema is as it was declared",
			apiVersion: "rds.aws.upbound.io/v1beta1", kind: "Instance", field: "status.atProvider",
			want: "address endpoint port",
		},
		"UnknownVersion": {
			reason:     "another version of a known kind is not known",
			apiVersion: "rds.aws.upbound.io/v1", kind: "Instance", field: "spec",
		},
		"Namespaced": {
			reason:     "a composite of v2 is namespaced, and has Crossplane's own fields below spec.crossplane",
			apiVersion: "example.org/v1alpha1", kind: "Postgres", field: "spec",
			want: "crossplane size",
		},
		"Legacy": {
			reason:     "a composite of v1 is of a cluster, and has Crossplane's fields in spec",
			apiVersion: "example.org/v1", kind: "XDatabase", field: "spec",
			want: "claimRef compositionRef compositionRevisionRef compositionRevisionSelector compositionSelector " +
				"compositionUpdatePolicy region resourceRefs writeConnectionSecretToRef",
		},
		"Claim": {
			reason:     "a claim is a kind, too",
			apiVersion: "example.org/v1", kind: "Database", field: "spec",
			want: "compositeDeletePolicy compositionRef compositionRevisionRef compositionRevisionSelector " +
				"compositionSelector compositionUpdatePolicy region resourceRef writeConnectionSecretToRef",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			n := below(c.Find(Kind{APIVersion: tc.apiVersion, Kind: tc.kind}), tc.field)
			got := strings.Join(n.Properties().Keys(), " ")
			if got == "" {
				got = n.Type()
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s: -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

func TestKinds(t *testing.T) {
	c := catalog(t, "crd-rds-instance.yaml", "xrd-postgres.yaml", "xrd-database-v1.yaml")
	want := []Kind{
		{APIVersion: "example.org/v1", Kind: "Database"}, {APIVersion: "example.org/v1", Kind: "XDatabase"},
		{APIVersion: "example.org/v1alpha1", Kind: "Postgres"},
		{APIVersion: "rds.aws.upbound.io/v1beta1", Kind: "Instance"}, {APIVersion: "rds.aws.upbound.io/v1beta3",
			Kind: "Instance"},
	}
	if diff := cmp.Diff(want, sorted(c.kinds)); diff != "" {
		t.Errorf("-want, +got:\n%s", diff)
	}
	keys := map[Kind][]string{}
	for _, k := range append(want, Kind{APIVersion: "v1", Kind: "ConfigMap"}) {
		keys[k] = c.ConnectionSecretKeys(k)
	}
	wantKeys := map[Kind][]string{
		want[0]: {"username", "password"}, want[1]: {"username", "password"}, want[2]: nil, want[3]: nil,
		want[4]: nil, {APIVersion: "v1", Kind: "ConfigMap"}: nil,
	}
	if diff := cmp.Diff(wantKeys, keys); diff != "" {
		t.Errorf("connection keys: -want, +got:\n%s", diff)
	}
	plurals := map[Kind]string{}
	for k := range keys {
		plurals[k] = c.Plural(k)
	}
	wantPlurals := map[Kind]string{
		want[0]: "databases", want[1]: "xdatabases", want[2]: "postgreses", want[3]: "instances",
		want[4]: "instances", {APIVersion: "v1", Kind: "ConfigMap"}: "",
	}
	if diff := cmp.Diff(wantPlurals, plurals); diff != "" {
		t.Errorf("plurals: -want, +got:\n%s", diff)
	}
	keys[want[0]][0] = "changed"
	if got := c.ConnectionSecretKeys(want[0]); got[0] != "username" {
		t.Error("what was handed out is the catalog's own")
	}
}

// The scope of the objects of a kind, by its definition.
func TestScopeOf(t *testing.T) {
	c := catalog(t, "crd-rds-instance.yaml", "xrd-postgres.yaml", "xrd-database-v1.yaml")
	legacy := Kind{APIVersion: "example.org/v1", Kind: "XDatabase"}
	for name, tc := range map[string]struct {
		reason string
		kind   Kind
		want   Scope
	}{
		"XRD": {"a composite of v2 has a namespace by default", Kind{APIVersion: "example.org/v1alpha1",
			Kind: "Postgres"}, Namespaced},
		"XRDv1":   {"one of v1 is legacy by default", legacy, LegacyCluster},
		"CRD":     {"a managed resource", Kind{APIVersion: "rds.aws.upbound.io/v1beta1", Kind: "Instance"}, Cluster},
		"BuiltIn": {"a kind of Kubernetes", Kind{APIVersion: "v1", Kind: "ConfigMap"}, Namespaced},
		"Unknown": {"no definition", Kind{APIVersion: "example.org/v1", Kind: "None"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			if got := c.ScopeOf(tc.kind); got != tc.want {
				t.Errorf("%s: want %q, got %q", tc.reason, tc.want, got)
			}
		})
	}
	generated := map[string]any{
		"apiVersion": crd.APIVersion, "kind": crd.Kind, "spec": map[string]any{
			"group": "example.org", "scope": "Cluster", "names": map[string]any{"kind": legacy.Kind}, "versions": []any{
				map[string]any{"name": "v1", "schema": map[string]any{"openAPIV3Schema": c.Find(legacy).AsMap()}},
			},
		},
	}
	if err := c.Add(generated); err != nil {
		t.Fatal(err)
	}
	if got := c.ScopeOf(legacy); got != LegacyCluster {
		t.Errorf("a definition that Crossplane generated knows less: want %q, got %q", LegacyCluster, got)
	}
}

func TestAddErrors(t *testing.T) {
	cases := map[string]struct {
		reason string
		file   string
		old    string // is replaced
		new    string
		want   string
	}{
		"Version": {"each has its index", "crd-rds-instance.yaml", "  - name: v1beta3\n", "  - hush\n  - name: " +
			"v1beta3\n", "cannot read spec.versions[1]: must be an object"},
		"Schema": {"a schema is an object", "crd-rds-instance.yaml", "openAPIV3Schema:\n        properties:",
			"openAPIV3Schema: hush\n      x:\n        properties:", "cannot read " +
				"spec.versions[1].schema.openAPIV3Schema: must be an object"},
		"NoSchema": {"Crossplane refuses a composite without one", "xrd-postgres.yaml", "openAPIV3Schema:",
			"openAPISchema:", "cannot read spec.versions[0].schema.openAPIV3Schema: must be an object"},
		"NoScope": {"the API server refuses it", "xrd-postgres.yaml", "group: example.org", "group: example.org\n  " +
			"scope: Hush", "cannot read spec.scope: must be Namespaced, Cluster or LegacyCluster"},
		"Keys": {"they are words", "xrd-database-v1.yaml", "[username, password]", "[username, 4711]", "cannot " +
			"read spec.connectionSecretKeys[1]: must be a string"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			text := file(t, tc.file)
			changed := strings.Replace(text, tc.old, tc.new, 1)
			if text == changed {
				t.Fatalf("%q is not in %s", tc.old, tc.file)
			}
			c := NewCatalog()
			err := c.Add(decoded(t, changed))
			got := ""
			if err != nil {
				got = err.Error()
			}
			if diff := cmp.Diff(tc.want, got); diff != "" || len(c.kinds) > 0 {
				t.Errorf("%s: kinds %v, -want, +got:\n%s", tc.reason, sorted(c.kinds), diff)
			}
		})
	}
}

// A kind can be declared again by what is the same, in whatever order.
func TestAddTwice(t *testing.T) {
	xrd := file(t, "xrd-database-v1.yaml")
	made := NewCatalog()
	if err := made.Add(decoded(t, xrd)); err != nil {
		t.Fatal(err)
	}
	crossplane := map[string]any{ // what Crossplane makes of it
		"apiVersion": crdText, "kind": "CustomResourceDefinition",
		"spec": map[string]any{
			"group": "example.org", "names": map[string]any{"kind": "XDatabase"},
			"versions": []any{map[string]any{
				"name": "v1", "schema": map[string]any{"openAPIV3Schema": made.Find(Kind{APIVersion: "example.org/v1",
					Kind: "XDatabase"}).AsMap()},
			}},
		},
	}
	other := decoded(t, strings.Replace(xrd, "region:", "place:", 1))
	cases := map[string]struct {
		reason string
		add    []map[string]any
		want   string
	}{
		"Made": {"Crossplane made one of the other, which has no keys", []map[string]any{decoded(t, xrd),
			crossplane}, ""},
		"MadeBefore": {"in the other order", []map[string]any{crossplane, decoded(t, xrd)}, ""},
		"OtherSchema": {"it is unknown which one holds", []map[string]any{decoded(t, xrd), other}, "cannot add " +
			"Database of example.org/v1: another definition of it differs: keep one of them"},
		"OtherToMade": {"another Crossplane made the other one: the XRD is what holds", []map[string]any{crossplane,
			other}, ""},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			c := NewCatalog()
			if err := c.Add(tc.add[0]); err != nil {
				t.Fatal(err)
			}
			before := sorted(c.kinds)
			err := c.Add(tc.add[1])
			got := ""
			if err != nil {
				got = err.Error()
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s: -want, +got:\n%s", tc.reason, diff)
			}
			if diff := cmp.Diff(before, sorted(c.kinds)); err != nil && diff != "" {
				t.Errorf("%s: something was added: -before, +after:\n%s", tc.reason, diff)
			}
			if err == nil && len(c.ConnectionSecretKeys(Kind{APIVersion: "example.org/v1", Kind: "XDatabase"})) == 0 {
				t.Errorf("%s: the keys are gone", tc.reason)
			}
			if err == nil && c.Plural(Kind{APIVersion: "example.org/v1", Kind: "XDatabase"}) != "xdatabases" {
				t.Errorf("%s: the plural is gone", tc.reason)
			}
		})
	}
}

const crdText = "apiextensions.k8s.io/v1"

// Kinds of Kubernetes have their fields, except for the data of Secrets, and each object has metadata.
func TestBuiltIn(t *testing.T) {
	for name, c := range map[string]struct {
		kind Kind
		path []any
		want string
	}{
		"Data":     {Kind{APIVersion: "v1", Kind: "ConfigMap"}, []any{"data", "key"}, "string"},
		"Secret":   {Kind{APIVersion: "v1", Kind: "Secret"}, []any{"data"}, ""},
		"Replicas": {Kind{APIVersion: "apps/v1", Kind: "Deployment"}, []any{"spec", "replicas"}, "integer"},
		"Item": {Kind{APIVersion: "v1", Kind: "Service"}, []any{"status", "loadBalancer", "ingress", 0, "ip"},
			"string"},
		"Metadata": {Kind{APIVersion: "apps/v1", Kind: "Deployment"}, []any{"metadata", "ownerReferences", 0,
			"name"}, "string"},
		"Kind":  {Kind{APIVersion: "v1", Kind: "Service"}, []any{"kind"}, "string"},
		"Other": {Kind{APIVersion: "v1", Kind: "Node"}, []any{"spec"}, ""},
	} {
		at, _ := At(OfKind(NewCatalog().Find(c.kind)), c.path...)
		if got := at.GetFields()["type"].GetStringValue(); got != c.want {
			t.Errorf("%s: want type %q, got %q", name, c.want, got)
		}
	}
	for k, s := range builtIns().documents {
		if len(propertiesOf(s())) < 4 {
			t.Errorf("%s has the fields %v", k, propertiesOf(s()))
		}
	}
}

// An empty list of connection secret keys filters nothing: Crossplane publishes all.
func TestConnectionSecretKeysEmpty(t *testing.T) {
	o := decoded(t, file(t, "xrd-database-v1.yaml"))
	spec := o["spec"].(map[string]any)
	kind := Kind{APIVersion: spec["group"].(string) + "/" + spec["versions"].([]any)[0].(map[string]any)["name"].(string),
		Kind: spec["names"].(map[string]any)["kind"].(string)}
	for want, keys := range map[bool][]any{false: {}, true: {"url"}} {
		spec["connectionSecretKeys"] = keys
		c := NewCatalog()
		if err := c.Add(o); err != nil {
			t.Fatal(err)
		}
		if got := c.ConnectionSecretKeys(kind); (got != nil) != want {
			t.Errorf("ConnectionSecretKeys(%s) of %v: got %v", kind, keys, got)
		}
	}
}
