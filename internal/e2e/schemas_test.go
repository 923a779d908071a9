package e2e

import (
	"bytes"
	"encoding/json"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// The built-in kinds, by the document in which Kubernetes publishes them.
var builtIns = map[string][]string{
	"api__v1": {
		"core.v1.ConfigMap", "core.v1.Namespace", "core.v1.PersistentVolumeClaim", "core.v1.Pod", "core.v1.Secret",
		"core.v1.Service", "core.v1.ServiceAccount",
	},
	"apis__apps__v1":              {"apps.v1.DaemonSet", "apps.v1.Deployment", "apps.v1.StatefulSet"},
	"apis__batch__v1":             {"batch.v1.CronJob", "batch.v1.Job"},
	"apis__networking.k8s.io__v1": {"networking.v1.Ingress", "networking.v1.NetworkPolicy"},
	"apis__rbac.authorization.k8s.io__v1": {
		"rbac.v1.ClusterRole", "rbac.v1.ClusterRoleBinding", "rbac.v1.Role", "rbac.v1.RoleBinding",
	},
}

// The schemas of built-in kinds are those that the version of Kubernetes in tools/kubernetes publishes.
func TestBuiltInSchemas(t *testing.T) {
	cmd := exec.CommandContext(t.Context(), "go", "mod", "download", "-json", "k8s.io/kubernetes")
	cmd.Dir = "tools/kubernetes"
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	var module struct{ Dir string }
	if err := json.Unmarshal(out, &module); err != nil {
		t.Fatal(err)
	}
	schemas := map[string]any{}
	for document, names := range builtIns {
		raw, err := os.ReadFile(filepath.Join(module.Dir, "api", "openapi-spec", "v3", document+"_openapi.json"))
		if err != nil {
			t.Fatal(err)
		}
		var d struct {
			Components struct{ Schemas map[string]any }
		}
		if err := json.Unmarshal(raw, &d); err != nil {
			t.Fatal(err)
		}
		for _, name := range names {
			addSchema(schemas, d.Components.Schemas, "io.k8s.api."+name)
		}
	}
	secret := schemas["io.k8s.api.core.v1.Secret"].(map[string]any)["properties"].(map[string]any)
	delete(secret, "data")
	delete(secret, "stringData")

	const file = "../desk/catalog/kubernetes.json"
	want := lines(t, schemas)
	if *update {
		if err := os.WriteFile(file, want, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(want, got) {
		t.Errorf("%s is not what Kubernetes publishes: run this test with -update", file)
	}
}

// addSchema adds a schema of a document, and those that it refers to.
func addSchema(to, from map[string]any, name string) {
	if _, done := to[name]; done {
		return
	}
	s := bare(from[name])
	to[name] = s
	raw, _ := json.Marshal(s) //nolint:errchkjson // it was JSON
	for _, after := range strings.Split(string(raw), `"#/components/schemas/`)[1:] {
		other, _, _ := strings.Cut(after, `"`)
		addSchema(to, from, other)
	}
}

// bare returns a schema with nothing but the types of its values. A value with several types has none.
func bare(s any) map[string]any {
	out := map[string]any{}
	for field, v := range s.(map[string]any) {
		switch field {
		case "type", "$ref", "x-kubernetes-group-version-kind":
			out[field] = v
		case "items", "additionalProperties":
			out[field] = bare(v)
		case "allOf":
			maps.Copy(out, bare(v.([]any)[0]))
		case "properties":
			properties := map[string]any{}
			for name, p := range v.(map[string]any) {
				properties[name] = bare(p)
			}
			out[field] = properties
		}
	}
	return out
}

// lines returns an OpenAPI document with one schema per line.
func lines(t *testing.T, schemas map[string]any) []byte {
	t.Helper()
	all := make([]string, 0, len(schemas))
	for _, name := range slices.Sorted(maps.Keys(schemas)) {
		raw, err := json.Marshal(schemas[name])
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, `"`+name+`":`+string(raw))
	}
	return []byte(`{"openapi":"3.0.0","components":{"schemas":{` + "\n" + strings.Join(all, ",\n") + "\n}}}\n")
}
