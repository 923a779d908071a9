package live_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/crossplane-contrib/function-export/internal/e2e/live"
)

// scenarios are played on a real control plane. Each function has the promise that it proves as its comment.
// internal/README.md lists their names.
var scenarios = map[string]func(s scenario){
	"create":                creates,
	"update":                updates,
	"conflict":              conflicts,
	"refused-input":         refuses,
	"misspelled":            namesMisspelledField,
	"author-exports":        exportsForAuthors,
	"connection-of-another": exportsOwnConnections,
	"key-by-key":            exportsMatchingKeys,
	"legacy-claim":          exportsToClaims,
	"for-each":              exportsItems,
	"parameters":            followsNames,
	"rotate":                rotatesByPassword,
	"annotated":             toleratesAnnotations,
	"resource-generator":    generatesByResource,
	"forged-generation":     refusesForgedGenerations,
}

// TestScenarios runs each scenario with the published form of the function.
func TestScenarios(t *testing.T) {
	for name, play := range scenarios {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			play(newScenario(t, "live-"+name))
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

	err := eachObject(t.Context(), func(o *unstructured.Unstructured) {
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

	for _, p := range logs {
		if n := leaks([]byte(p.Log()), values); n > 0 {
			t.Errorf("the log of %s has %d secret values", p.Name, n)
		}
	}

	t.Logf("%d texts, found %d times in data of Secrets, and in nothing else of %d objects and %d logs",
		len(values), found, objects, len(logs))
}

func textOf(t *testing.T, v any) []byte {
	t.Helper()

	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}

	return b
}

// The first 12 characters after the marker, which also find a shortened value, and outputs of other generators.
var (
	marked = regexp.MustCompile(marker + `([A-Za-z0-9]{12})`)
	keys   = regexp.MustCompile(`PRIVATE KEY-----\n([A-Za-z0-9+/]{40})`)
	uuids  = regexp.MustCompile(`([0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12})`)
)

// secretValues returns all values that any Secret of a namespace, or of all of them, ever had, plain and in base64.
func secretValues(namespace string) [][]byte {
	seen := map[string]bool{}

	for _, e := range film.of(namespace) {
		patterns := []*regexp.Regexp{marked, keys}
		if e.object.GetLabels()[generatorLabel] != "" {
			patterns = append(patterns, uuids)
		}

		for _, text := range live.DataOf(e.object) {
			for _, pattern := range patterns {
				for _, m := range pattern.FindAllStringSubmatch(text, -1) {
					seen[m[1]] = true
					seen[base64Of(text)] = true
				}
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
	return len(slices.DeleteFunc(slices.Clone(values), func(v []byte) bool { return !bytes.Contains(text, v) }))
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

// eachObject calls a function for each object of the API server.
func eachObject(ctx context.Context, do func(o *unstructured.Unstructured)) error {
	config, err := clientcmd.BuildConfigFromFlags("", plane.Kubeconfig())
	if err != nil {
		return err
	}

	config.QPS, config.Burst, config.WarningHandler = 1000, 1000, rest.NoWarnings{}

	disco, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return err
	}

	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return err
	}

	lists, err := disco.ServerPreferredResources()
	if err != nil {
		return err
	}

	for _, l := range lists {
		gv, err := schema.ParseGroupVersion(l.GroupVersion)
		if err != nil {
			return err
		}

		for _, r := range l.APIResources {
			if !slices.Contains(r.Verbs, "list") {
				continue
			}

			items, err := client.Resource(gv.WithResource(r.Name)).List(ctx, metav1.ListOptions{})
			if live.IsNotFound(err) {
				continue // its CRD was deleted in the meantime
			}

			if err != nil {
				return fmt.Errorf("cannot list %s: %w", r.Name, err)
			}

			for i := range items.Items {
				do(&items.Items[i])
			}
		}
	}

	return nil
}
