package render

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/crossplane-contrib/function-export/internal/engine/function/functiontest"
)

// TestRenderConnectionDetails: whose they are, and from which Secret.
func TestRenderConnectionDetails(t *testing.T) {
	secret := func(namespace, data string) string {
		return "apiVersion: v1\nkind: Secret\nmetadata: {name: conn, namespace: " + namespace + "}\n" + data + "\n"
	}
	db := func(namespace, ref string) string {
		return "apiVersion: example.org/v1\nkind: Database\nmetadata: {name: db, " + namespace +
			" annotations: {crossplane.io/composition-resource-name: db}}\nspec: {writeConnectionSecretToRef: " + ref + "}\n"
	}
	cluster := strings.Replace(functiontest.XR, "namespace: default,", "", 1)
	legacy := strings.Replace(cluster, "size: 3", "writeConnectionSecretToRef: {name: conn, namespace: a}", 1)
	cases := map[string]struct {
		reason       string
		files        functiontest.Files
		want, wantXR map[string]string
	}{
		"OwnNamespace": {
			reason: "A reference needs no namespace.",
			files: functiontest.Files{"observed.yaml": db("namespace: default,", "{name: conn}"),
				"required.yaml": secret("default", "data: {k: djE=}") + "---\n" + secret("other", "data: {k: bm8=}")},
			want: map[string]string{"k": "v1"},
		},
		"OwnNamespaceWins": {
			reason: "Crossplane does not look into another namespace for a namespaced resource.",
			files: functiontest.Files{"observed.yaml": db("namespace: default,", "{name: conn, namespace: other}"),
				"required.yaml": secret("other", "data: {k: bm8=}")},
		},
		"ClusterScoped": {
			reason: "A cluster scoped resource names the namespace.",
			files: functiontest.Files{"xr.yaml": cluster, "observed.yaml": db("", "{name: conn, namespace: a}"),
				"required.yaml": secret("a", "data: {k: djE=}")},
			want: map[string]string{"k": "v1"},
		},
		"BesideItsResource": {
			reason: "A Secret that is not composed itself may be in the same file.",
			files: functiontest.Files{"observed.yaml": db("namespace: default,", "{name: conn}") + "---\n" +
				secret("default", "data: {k: djE=}")},
			want: map[string]string{"k": "v1"},
		},
		"ObservedWins": {
			reason: "Of two copies of the Secret, the observed one counts.",
			files: functiontest.Files{
				"required.yaml": secret("default", "data: {k: djI=}"),
				"observed.yaml": db("namespace: default,", "{name: conn}") + "---\n" +
					strings.Replace(secret("default", "data: {k: djE=}"), "name: conn,", "name: conn, annotations: "+
						"{crossplane.io/composition-resource-name: s},", 1),
			},
			want: map[string]string{"k": "v1"},
		},
		"StringData": {
			reason: "stringData becomes data, over a key that is there.",
			files: functiontest.Files{"observed.yaml": db("namespace: default,", "{name: conn}"),
				"required.yaml": secret("default", "data: {k: djE=, l: \"djE=\\n\", m: null}\nstringData: {k: grüße}")},
			want: map[string]string{"k": "grüße", "l": "v1", "m": ""},
		},
		"LegacyXR": {
			reason: "An XR of the v1 style has connection details.",
			files:  functiontest.Files{"xr.yaml": legacy, "required.yaml": secret("a", "data: {k: djE=}")},
			wantXR: map[string]string{"k": "v1"},
		},
		"NamespacedXR": {
			reason: "A namespaced XR has none, whatever its author calls a field.",
			files: functiontest.Files{"xr.yaml": strings.Replace(functiontest.XR, "size: 3", "writeConnectionSecretToRef: "+
				"{name: conn}", 1), "required.yaml": secret("default", "data: {k: djE=}")},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			fn := &fakeFunction{}
			c := Command{Paths: []string{functiontest.Folder(t, tc.files)}}
			if _, _, failure := rendered(t, c, fn); failure != "" {
				t.Fatal(failure)
			}
			observed := fn.requests[0].GetObserved()
			got := map[string]map[string]string{
				"db": stringMap(observed.GetResources()["db"].GetConnectionDetails()),
				"xr": stringMap(observed.GetComposite().GetConnectionDetails()),
			}
			if diff := cmp.Diff(map[string]map[string]string{"db": tc.want, "xr": tc.wantXR}, got); diff != "" {
				t.Errorf("%s\n%s", tc.reason, diff)
			}
		})
	}
}

func stringMap(m map[string][]byte) map[string]string {
	if len(m) == 0 {
		return nil
	}
	out := map[string]string{}
	for _, k := range slices.Sorted(maps.Keys(m)) {
		out[k] = string(m[k])
	}
	return out
}
