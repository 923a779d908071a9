package live_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/crossplane-contrib/function-export/internal/e2e/live"
)

// scenarios on a real control plane, with what each of them holds us to. The README has
// them as a table.
var scenarios = []struct {
	name, promise string
	play          func(ctx context.Context, s scenario) error
}{
	{"create", "A Secret is created whole, once all that it needs is there; the composite is ready then, and not before", creates},
	{"update", "A source changes, and its Secret does, all keys at once", updates},
	{"hold", "A key of a source goes, then the source: the Secret stays byte for byte, the composite is not ready; it follows when the source is back", holds},
	{"conflict", "A Secret of somebody else with the wanted name stays byte for byte; ours is created when that one is gone", conflicts},
	{"refused-input", "Of an input with a fault nothing is applied, and what is there stays byte for byte", refuses},
	{"author-exports", "The author of a composite has a Secret and a ConfigMap by asking for them, keeps them over a mistake, and is rid of them by asking no more", exportsForAuthors},
	{"connection-of-another", "A Secret that another composite has under the name of a connection Secret is not exported; what the provider writes is, and follows it while nothing else changes", exportsOwnConnections},
	{"legacy-claim", "A claim has its exported Secret and its connection Secret; both follow the source, and stay when that goes", exportsToClaims},
	{"cluster-scoped", "A cluster scoped composite exports to the namespace that the input names", exportsFromClusterScope},
	{"config-map", "A ConfigMap and a status field follow the composite and a source, and stay when that goes", exportsConfigMaps},
	{"environment", "An EnvironmentConfig changes, and what is exported of it does", exportsEnvironments},
	{"generate-once", "Over 50 reconciles and 5 changes of the composite a generator makes one generation, and its value never changes", generatesOnce},
	{"rotate", "A generation is created, then adopted and exported, then the former one is flagged, and dropped after its grace period; both values are at hand until then", rotatesByPassword},
	{"write-ahead", "A generation that the API server refuses is not exported; the value in use stays byte for byte", storesFirst},
	{"resource-generator", "The resource of the next generation is adopted when it is ready, and only then the former one is dropped", generatesByResource},
	{"forged-generation", "Secrets that look like a generation, made by somebody else, are never exported, under whatever name; the value in use stays", refusesForgedGenerations},
	{"deleted-generation", "The generation in use is deleted: what refers to it in a later step stays, and follows the next one", keepsReferences},
	{"delete", "A composite that is deleted leaves nothing behind, and takes nothing else along", leavesNothing},
}

// TestScenarios plays each scenario with the function as it is published.
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

// TestRequestsAreRead has each request read by the codec that the function was given, when
// everything else was played: what Crossplane sends needs nothing that the lazy one leaves
// to protobuf.
func TestRequestsAreRead(t *testing.T) {
	want := os.Getenv(codec)
	if want == "" {
		want = "lazy"
	}

	read := map[string]int{}

	for _, url := range function.Metrics {
		for _, m := range regexp.MustCompile(`(?m)^function_export_requests_total\{codec="(\w+)"\} (\S+)$`).FindAllStringSubmatch(getText(t, url), -1) {
			n, err := strconv.ParseFloat(m[2], 64)
			if err != nil {
				t.Fatal(err)
			}

			read[m[1]] += int(n)
		}
	}

	t.Logf("requests by codec: %v", read)

	for by, n := range read {
		if by != want && n > 0 {
			t.Errorf("%d requests were read by %s, want all by %s", n, by, want)
		}
	}

	if read[want] == 0 && len(secretValues()) > 0 { // else no scenario was played
		t.Errorf("no request was read by %s", want)
	}
}

// TestNothingLeaks looks at all that the API server has, and at all logs, when everything
// else was played: no value of a Secret is anywhere but in the data of Secrets.
func TestNothingLeaks(t *testing.T) {
	values := secretValues()
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

// secretValues returns all values that any Secret ever had, plain and in base64.
func secretValues() [][]byte {
	seen := map[string]bool{}

	for _, e := range film.of("") {
		for _, text := range live.DataOf(e.object) {
			for _, m := range marked.FindAllStringSubmatch(text, -1) {
				seen[m[1][:12]] = true // even if it was cut
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

// leaks counts the values that a text has.
func leaks(text []byte, values [][]byte) int {
	n := 0

	for _, v := range values {
		if bytes.Contains(text, v) {
			n++
		}
	}

	return n
}

// events of a namespace, or of all of them, as text.
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

// internal/README.md has a row for each scenario.
func TestPageHasScenarios(t *testing.T) {
	b, err := os.ReadFile(root + "/internal/README.md")
	if err != nil {
		t.Fatal(err)
	}

	for _, sc := range scenarios {
		if row := fmt.Sprintf("| %s | %s | `TestScenarios/%s` |", strings.ReplaceAll(sc.name, "-", " "), sc.promise, sc.name); !strings.Contains(string(b), row+"\n") {
			t.Errorf("internal/README.md has no row\n%s", row)
		}
	}
}
