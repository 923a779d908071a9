package render

import (
	"bytes"
	"context"
	"strings"
	"testing"

	"github.com/crossplane/function-sdk-go/logging"

	"github.com/crossplane-contrib/function-export/internal/function"
	"github.com/crossplane-contrib/function-export/internal/function/functiontest"
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
	step := strings.Replace(functiontest.Composition, "kind: Exports", "kind: Exports, typeChecking: Strict, configMaps: [{name: c, data: [{key: k, value: resources.db.status.endpiont}]}]", 1)
	dir := functiontest.Folder(t, functiontest.Files{"composition.yaml": step, "observed.yaml": functiontest.Database, "crds/database.yaml": crd})
	fn, err := function.New(logging.NewNopLogger(), nil)
	if err != nil {
		t.Fatal(err)
	}
	var stdout, stderr bytes.Buffer
	err = (&Command{Paths: []string{dir}, Schema: []string{dir + "/crds"}}).RunWith(context.Background(), fn, &stdout, &stderr)
	const want = "Database of example.org/v1 has no field status.endpiont: did you mean endpoint?"
	if err == nil || !strings.Contains(stderr.String(), want) {
		t.Errorf("want a fatal result with %q, got %v:\n%s", want, err, stderr.String())
	}
}
