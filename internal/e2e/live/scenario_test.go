package live_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/crossplane-contrib/function-export/internal/e2e/live"
)

// scenarios are played on a real control plane. Each has the promise that it proves. internal/README.md
// lists them in a table.
var scenarios = []struct {
	name, promise string
	play          func(ctx context.Context, s scenario) error
}{
	{"create", "The Secret is created with all of its keys when all of its inputs exist. The composite is ready then, and not before", creates},
	{"update", "When a source changes, all keys of its Secret change together", updates},
	{"conflict", "An existing Secret of another owner with the same name stays the same byte for byte. When it is deleted, the export is created", conflicts},
	{"refused-input", "If an input is invalid, nothing is applied, and existing objects stay the same byte for byte", refuses},
	{"author-exports", "A composite author asks for a Secret and a ConfigMap and gets them. If the author makes a mistake, they are kept. When the author no longer asks for them, they are deleted", exportsForAuthors},
	{"connection-of-another", "A Secret of another composite that has the name of a connection Secret is not exported. The Secret that the provider writes is exported, and the export follows it even if nothing else changes", exportsOwnConnections},
	{"one-version", "A provider changes its Secret 200 times, each time in one step. An export that reads the Secret as connection details and by its labels never has values of two versions", exportsOneVersion},
	{"key-by-key", "A provider changes its Secret key by key. An export that waits until its keys match never has values of two credentials", exportsMatchingKeys},
	{"legacy-claim", "A claim gets its exported Secret and its connection Secret. Both follow the source, and both stay when the source is deleted", exportsToClaims},
	{"cluster-scoped", "A cluster scoped composite exports to the namespace that the input names", exportsFromClusterScope},
	{"for-each", "Each item of a list has its own Secret. Adding an item, or changing the order, changes no other Secret. When an item leaves the list, only its Secret is deleted. If a key is missing or there twice, or if the list is missing, no Secret is deleted, and the condition names the key or the list", exportsItems},
	{"parameters", "A certificate has the names of its composite. While a name is invalid or missing, the certificate is kept, and the condition names the item. When the names change, another certificate with them is exported", followsNames},
	{"config-map", "A ConfigMap and a status field follow the composite and a source, and stay when the source is deleted", exportsConfigMaps},
	{"environment", "When an EnvironmentConfig changes, the exports that read it change", exportsEnvironments},
	{"generate-once", "During 50 reconciles and 5 changes of the composite, a generator makes one generation, and its value never changes", generatesOnce},
	{"rotate", "A generation is created, adopted, and exported. Then the former one is flagged, and deleted after its grace period. Until then, both values are available", rotatesByPassword},
	{"annotated", "A person annotates, edits and replays the state of generations and exports with kubectl. The value in use stays, rotations go on, and a former value stays for its grace period", toleratesAnnotations},
	{"resource-generator", "The resource of the next generation is adopted when it is ready. Only then is the former one deleted", generatesByResource},
	{"forged-generation", "Secrets that someone else made to look like a generation are never exported, whatever their names are. The value in use stays, and rotates once they are deleted", refusesForgedGenerations},
	{"deleted-generation", "When the generation in use is deleted, objects of a later step that refer to it stay, and then follow the next generation", keepsReferences},
}

// TestScenarios runs each scenario with the published form of the function.
func TestScenarios(t *testing.T) {
	if err := stage(); err != nil {
		t.Fatalf("%v\n%s", err, events(""))
	}

	for _, sc := range scenarios {
		t.Run(sc.name, func(t *testing.T) {
			t.Parallel()

			ns := "live-" + sc.name
			if err := sc.play(t.Context(), scenario{ControlPlane: plane, function: functionName, ns: ns}); err != nil {
				t.Errorf("%v\n%s", err, events(ns))
			}
		})
	}
}

// TestNothingLeaks runs after the scenarios. It checks that no object of the API server and no log contains a value
// of a Secret. Only the data of Secrets may contain it.
func TestNothingLeaks(t *testing.T) {
	values := secretValues("")
	if len(values) == 0 {
		t.Skip("no scenario was played")
	}

	objects, found := 0, 0

	err := eachObject(t.Context(), "", func(o *unstructured.Unstructured) {
		objects++

		if o.GetKind() == "Secret" && o.GetAPIVersion() == "v1" {
			found += leaks(textOf(t, o.Object["data"]), values)
			delete(o.Object, "data")
		}

		if n := leaks(textOf(t, o.Object), values); n > 0 {
			t.Errorf("%s of %s has %d secret values", o.GetAPIVersion(), live.RefOf(o), n)
		}
	})
	if err != nil {
		t.Fatal(err)
	}

	if found == 0 {
		t.Error("none is even in the data of a Secret: the search finds nothing")
	}

	logs := []*live.Process{plane.Crossplane, plane.RBACManager}

	installed.Lock()
	defer installed.Unlock()

	for _, f := range append(installed.functions, function) {
		logs = append(logs, f.Replicas...)
	}

	size := 0

	for _, p := range logs {
		log := p.Log()
		size += len(log)

		if n := leaks([]byte(log), values); n > 0 {
			t.Errorf("the log of %s has %d secret values", p.Name, n)
		}
	}

	t.Logf("%d texts, found %d times in data of Secrets, and in nothing else of %d objects and %d KiB of logs", len(values), found, objects, size>>10)
}

func textOf(t *testing.T, v any) []byte {
	t.Helper()

	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}

	return b
}

// Words of at least 12 characters after the marker, and outputs of other generators.
var (
	marked = regexp.MustCompile(marker + `([A-Za-z0-9]{12,})`)
	uuids  = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}`)
	keys   = regexp.MustCompile(`PRIVATE KEY-----\n([A-Za-z0-9+/]{40,})`)
)

// secretValues returns all values that any Secret of a namespace, or of all of them, ever had, plain and in base64.
func secretValues(namespace string) [][]byte {
	seen := map[string]bool{}

	for _, e := range film.of(namespace) {
		for _, text := range live.DataOf(e.object) {
			for _, m := range marked.FindAllStringSubmatch(text, -1) {
				seen[m[1][:12]] = true // also find a shortened value
				seen[base64Of(text)] = true
			}

			for _, m := range keys.FindAllStringSubmatch(text, -1) {
				seen[m[1]] = true
				seen[base64Of(text)] = true
			}

			if uuids.MatchString(text) && e.object.GetLabels()[generatorLabel] != "" {
				seen[text] = true
				seen[base64Of(text)] = true
			}
		}
	}

	out := make([][]byte, 0, len(seen))
	for v := range seen {
		out = append(out, []byte(v))
	}

	return out
}

// leaks counts the values that a text contains.
func leaks(text []byte, values [][]byte) int {
	n := 0

	for _, v := range values {
		if bytes.Contains(text, v) {
			n++
		}
	}

	return n
}

// events returns the events of a namespace, or of all namespaces, as text.
func events(ns string) string {
	list, err := plane.List(context.Background(), "v1", "Event", ns, "")
	if err != nil {
		return err.Error()
	}

	var out strings.Builder

	for _, e := range list {
		about, _, _ := unstructured.NestedString(e.Object, "involvedObject", "name")
		fmt.Fprintf(&out, "%s: %v %v: %v\n", about, e.Object["type"], e.Object["reason"], e.Object["message"])
	}

	return out.String()
}

// internal/README.md names each scenario.
func TestPageHasScenarios(t *testing.T) {
	b, err := os.ReadFile(root + "/internal/README.md")
	if err != nil {
		t.Fatal(err)
	}

	for _, sc := range scenarios {
		if name := "`TestScenarios/" + sc.name + "`"; !strings.Contains(string(b), name) {
			t.Errorf("internal/README.md does not name %s", name)
		}
	}
}
