package render

import (
	"bytes"
	"context"
	"path/filepath"
	"strings"
	"testing"

	"github.com/crossplane/function-sdk-go/logging"
	"github.com/google/go-cmp/cmp"

	"github.com/crossplane-contrib/function-export/internal/desk/cli/terminal"
	"github.com/crossplane-contrib/function-export/internal/engine/function"
	"github.com/crossplane-contrib/function-export/internal/engine/function/functiontest"
)

// TestRenderSchemas renders with the XRD of the folder, and a CRD.
func TestRenderSchemas(t *testing.T) {
	const crd = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: databases.example.org}
spec:
  group: example.org
  names: {kind: Database, plural: databases, singular: database, listKind: DatabaseList}
  scope: Namespaced
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema: {type: object, properties: {status: {type: object, properties: {endpoint: {type: string}}}}}
`
	step := strings.Replace(functiontest.Composition, "kind: Exports", "kind: Exports, configMaps: [{name: c, data: "+
		"[{key: k, value: resources.db.status.endpiont}]}]", 1)
	dir := functiontest.Folder(t, functiontest.Files{"composition.yaml": step, "observed.yaml": functiontest.Database,
		"crds/database.yaml": crd})
	fn, err := function.New(logging.NewNopLogger(), nil)
	if err != nil {
		t.Fatal(err)
	}
	var stdout, stderr bytes.Buffer
	err = (&Command{Paths: []string{dir}, RequiredSchemas: []string{dir + "/crds"}}).RunWith(context.Background(),
		terminal.Disk(nil), engineOf(fn.RunFunction), &stdout, &stderr)
	const want = "warning: configMaps[0].data[0].value:1:20: Database of example.org/v1 has no field " +
		"status.endpiont: did you mean endpoint?\n"
	if err == nil || !strings.Contains(stderr.String(), want) {
		t.Errorf("want a warning %q, got %v:\n%s", want, err, stderr.String())
	}
}

// TestRenderXRD: the composite has the defaults of its XRD, in the request and in the output.
func TestRenderXRD(t *testing.T) {
	zones := strings.Replace(functiontest.XR, "size: 3", "size: 3, zones: [{}]", 1)
	want := map[string]any{"size": 3.0, "region": "eu", "nested": map[string]any{"enabled": true},
		"zones": []any{map[string]any{"weight": 1.0}}}
	cases := map[string]struct {
		reason string
		files  functiontest.Files
		flag   string
		want   map[string]any
	}{
		"Folder": {files: functiontest.Files{"xr.yaml": zones, "xrd.yaml": xrd}, want: want},
		"Flag":   {files: functiontest.Files{"xr.yaml": zones, "other.yaml": xrd}, flag: "other.yaml", want: want},
		"FlagWins": {
			reason: "An XRD on the command line replaces that of the folder.",
			files: functiontest.Files{"xr.yaml": zones, "xrd.yaml": strings.Replace(xrd, "default: eu", "default: us", 1),
				"other.yaml": xrd}, flag: "other.yaml", want: want,
		},
		"List": {reason: "A List can also hold other definitions.", files: functiontest.Files{"xr.yaml": listOf(zones),
			"xrd.yaml": listOf(strings.ReplaceAll(xrd, "App", "Apple"), xrd)}, want: want},
		"Without": {files: functiontest.Files{"xr.yaml": zones}, want: map[string]any{"size": 3.0,
			"zones": []any{map[string]any{}}}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			c := Command{Paths: []string{functiontest.Folder(t, tc.files)}, IncludeFullXR: true}
			if tc.flag != "" {
				c.XRD = filepath.Join(c.Paths[0], tc.flag)
			}
			fn := &fakeFunction{}
			stdout, _, failure := rendered(t, c, fn)
			if failure != "" {
				t.Fatal(failure)
			}
			sent := fn.requests[0].GetObserved().GetComposite().GetResource().AsMap()["spec"]
			printed := parseRendered(t, stdout)[0].(map[string]any)["spec"]
			if diff := cmp.Diff(map[string]any{"sent": tc.want, "printed": tc.want}, map[string]any{"sent": sent,
				"printed": printed}); diff != "" {
				t.Errorf("%s\n%s", tc.reason, diff)
			}
		})
	}
}
