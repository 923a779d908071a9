package live_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/crossplane-contrib/function-export/internal/e2e"
	"github.com/crossplane-contrib/function-export/internal/e2e/live"
)

// stageManifests are the APIs of the scenarios: composites of each scope, and a Database, whose
// provider is the test. They include the rights for the Database that a user must grant to
// Crossplane.
const stageManifests = `
apiVersion: apiextensions.crossplane.io/v2
kind: CompositeResourceDefinition
metadata: {name: apps.live.example.org}
spec:
  scope: Namespaced
  group: live.example.org
  names: {kind: App, plural: apps}
  versions: [{name: v1, served: true, referenceable: true, schema: {openAPIV3Schema: {type: object, properties: {
    spec: {type: object, x-kubernetes-preserve-unknown-fields: true},
    status: {type: object, properties: {host: {type: string}, handled: {type: string}}}}}}}]
---
apiVersion: apiextensions.crossplane.io/v2
kind: CompositeResourceDefinition
metadata: {name: sites.live.example.org}
spec:
  scope: Cluster
  group: live.example.org
  names: {kind: Site, plural: sites}
  versions: [{name: v1, served: true, referenceable: true, schema: {openAPIV3Schema: {type: object, properties: {
    spec: {type: object, x-kubernetes-preserve-unknown-fields: true},
    status: {type: object, properties: {handled: {type: string}}}}}}}]
---
apiVersion: apiextensions.crossplane.io/v1
kind: CompositeResourceDefinition
metadata: {name: xorders.live.example.org}
spec:
  group: live.example.org
  names: {kind: XOrder, plural: xorders}
  claimNames: {kind: Order, plural: orders}
  connectionSecretKeys: [username, password]
  versions: [{name: v1, served: true, referenceable: true, schema: {openAPIV3Schema: {type: object, properties: {
    spec: {type: object, properties: {size: {type: string}}},
    status: {type: object, properties: {handled: {type: string}}}}}}}]
---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: databases.live.example.org}
spec:
  scope: Namespaced
  group: live.example.org
  names: {kind: Database, listKind: DatabaseList, plural: databases, singular: database}
  versions: [{name: v1, served: true, storage: true, subresources: {status: {}}, schema: {openAPIV3Schema: {
    type: object, x-kubernetes-preserve-unknown-fields: true}}}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: live-databases, labels: {rbac.crossplane.io/aggregate-to-crossplane: "true"}}
rules: [{apiGroups: [live.example.org], resources: [databases, databases/status], verbs: ["*"]}]
`

// packageOf is the package of a test function that composes resources.
const packageOf = `{apiVersion: meta.pkg.crossplane.io/v1, kind: Function, metadata: {name: %s}, ` +
	`spec: {capabilities: [composition]}}`

// installed are all installed functions. Their logs are read at the end.
var installed struct {
	sync.Mutex

	functions []*live.Function
}

// stage installs, only once, everything that all scenarios need.
var stage = sync.OnceValue(func() error {
	ctx := context.Background()

	if err := plane.Watch(ctx, "v1", "Secret", film.add); err != nil {
		return err
	}

	if err := plane.Apply(ctx, stageManifests); err != nil {
		return err
	}

	program := state("function-compose")
	if err := command(ctx, ".", "go", "build", "-o", program, "./compose"); err != nil {
		return err
	}

	if err := installComposer(ctx, "function-compose", program); err != nil {
		return err
	}

	for kind, condition := range map[string]string{
		"CustomResourceDefinition databases": "Established", "CompositeResourceDefinition apps": "Established",
		"CompositeResourceDefinition sites": "Established", "CompositeResourceDefinition xorders": "Offered",
	} {
		kind, plural, _ := strings.Cut(kind, " ")
		r := live.Ref{APIVersion: "apiextensions.crossplane.io/v2", Kind: kind, Name: plural + ".live.example.org"}
		if plural == "databases" {
			r.APIVersion = "apiextensions.k8s.io/v1"
		}

		if err := plane.WaitForCondition(ctx, time.Minute, r, condition); err != nil {
			return err
		}
	}

	return nil
})

// installComposer installs a function that composes resources. The program compose acts as the function of the
// given name, or as the one that a flag names.
func installComposer(ctx context.Context, name, program string, flags ...string) error {
	dir := state(name + "-package")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}

	meta := fmt.Appendf(nil, packageOf, name)
	if err := os.WriteFile(filepath.Join(dir, "crossplane.yaml"), meta, 0o600); err != nil {
		return err
	}

	_, err := install(ctx, name, dir, program, append([]string{"--as=" + name}, flags...))

	return err
}

// installAs installs the function under another name, and stops it with the test.
func installAs(t *testing.T, name string) string {
	t.Helper()

	f, err := install(t.Context(), name, "package", state("function-export"), nil)
	if f != nil {
		t.Cleanup(f.Stop)
	}

	if err != nil {
		t.Fatal(err)
	}

	return name
}

func functionNamed(name string) live.Ref {
	return live.Ref{APIVersion: "pkg.crossplane.io/v1", Kind: "Function", Name: name}
}

// restartCrossplane starts Crossplane again with more flags, until the test ends.
func restartCrossplane(t *testing.T, flags ...string) {
	t.Helper()
	newScenario(t, "") // its functions are installed before

	restore, err := plane.RestartCrossplane(t.Context(), flags...)
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), 2*time.Minute)
		defer cancel()

		if err := restore(ctx); err != nil {
			t.Error(err)
		}
	})

	if err != nil {
		t.Fatal(err)
	}
}

// state returns a path in the folder of the control plane, which is deleted with it.
func state(name string) string { return filepath.Join(filepath.Dir(plane.Kubeconfig()), name) }

// install installs a function from the folder of its package.
func install(ctx context.Context, name, dir, program string, args []string) (*live.Function, error) {
	peers, err := e2e.BuildPeers(ctx, func(string) {})
	if err != nil {
		return nil, err
	}

	xpkg, reference := state(name+".xpkg"), plane.RegistryAddress+"/crossplane-contrib/"+name+":v0.0.0"
	if err := command(ctx, root, peers.CLI, "xpkg", "build", "-f", dir, "-o", xpkg); err != nil {
		return nil, err
	}

	if err := command(ctx, root, peers.CLI, "xpkg", "push", "-f", xpkg, reference); err != nil {
		return nil, err
	}

	f, err := plane.Install(ctx, name, reference, 1, program, args)
	if f != nil {
		installed.Lock()
		defer installed.Unlock()

		installed.functions = append(installed.functions, f)
	}

	return f, err
}

// A recording contains each event of each Secret, in the order in which the API server stored them.
type recording struct {
	mu     sync.Mutex
	events []event
}

// An event is an event of a watch: ADDED, MODIFIED or DELETED.
type event struct {
	kind   string
	object *unstructured.Unstructured
	at     time.Time
}

// String returns the type of the event, and the object with its version.
func (e event) String() string {
	return fmt.Sprintf("%s %s@%s", e.kind, e.object.GetName(), e.object.GetResourceVersion())
}

// film is the recording of all scenarios.
var film recording

func (r *recording) add(kind string, o *unstructured.Unstructured) {
	r.mu.Lock()
	defer r.mu.Unlock()

	r.events = append(r.events, event{kind, o, time.Now()})
}

// of returns the events of a namespace, or of all namespaces if it is empty.
func (r *recording) of(namespace string) []event {
	r.mu.Lock()
	defer r.mu.Unlock()

	all := slices.Clone(r.events)

	return slices.DeleteFunc(all, func(e event) bool { return namespace != "" && e.object.GetNamespace() != namespace })
}
