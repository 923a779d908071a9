package live_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/restmapper"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/crossplane-contrib/function-export/internal/e2e"
	"github.com/crossplane-contrib/function-export/internal/e2e/live"
)

// A rehearsal applies objects without creating them. It refuses fields that the API server does not know, which the
// API server does not do by default.
type rehearsal struct {
	client *dynamic.DynamicClient
	groups []*restmapper.APIGroupResources
}

func rehearse(t *testing.T) rehearsal {
	t.Helper()

	config, err := clientcmd.BuildConfigFromFlags("", plane.Kubeconfig())
	if err != nil {
		t.Fatal(err)
	}

	disco, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		t.Fatal(err)
	}

	groups, err := restmapper.GetAPIGroupResources(disco)
	if err != nil {
		t.Fatal(err)
	}

	client, err := dynamic.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}

	return rehearsal{client, groups}
}

func (r rehearsal) apply(t *testing.T, o *unstructured.Unstructured) error {
	t.Helper()

	gvk := schema.FromAPIVersionAndKind(o.GetAPIVersion(), o.GetKind())

	m, err := restmapper.NewDiscoveryRESTMapper(r.groups).RESTMapping(gvk.GroupKind(), gvk.Version)
	if err != nil {
		return fmt.Errorf("cannot find kind: %w", err)
	}

	b, err := json.Marshal(o)
	if err != nil {
		return fmt.Errorf("cannot encode: %w", err)
	}

	force := true
	_, err = r.client.Resource(m.Resource).Namespace(o.GetNamespace()).Patch(t.Context(), o.GetName(), types.ApplyPatchType, b,
		metav1.PatchOptions{FieldManager: "rehearsal", Force: &force, DryRun: []string{metav1.DryRunAll}, FieldValidation: metav1.FieldValidationStrict})

	return err
}

// runtimeManifests are the manifests of example/runtime, by kind.
func runtimeManifests(t *testing.T) map[string]*unstructured.Unstructured {
	t.Helper()

	files, err := filepath.Glob(filepath.Join(root, "example", "runtime", "*.yaml"))
	if err != nil {
		t.Fatal(err)
	}

	out := map[string]*unstructured.Unstructured{}

	for _, file := range files {
		b, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}

		objects, err := live.Parse(string(b))
		if err != nil {
			t.Fatalf("%s: %v", file, err)
		}

		for _, o := range objects {
			out[o.GetKind()] = o
		}
	}

	return out
}

// TestRuntimeManifests checks the manifests that run the function with a real API server.
func TestRuntimeManifests(t *testing.T) {
	r, manifests := rehearse(t), runtimeManifests(t)

	for _, kind := range []string{"DeploymentRuntimeConfig", "Function", "PodDisruptionBudget", "NetworkPolicy", "Deployment", "HorizontalPodAutoscaler"} {
		t.Run(kind, func(t *testing.T) {
			o := manifests[kind]
			if o == nil {
				t.Fatal("there is none")
			}

			if err := r.apply(t, o); err != nil {
				t.Errorf("the API server refuses it: %v", err)
			}

			o = o.DeepCopy()
			if err := unstructured.SetNestedField(o.Object, "x", "spec", "mispelt"); err != nil {
				t.Fatal(err)
			}

			if err := r.apply(t, o); err == nil {
				t.Error("the API server does not refuse a field that does not exist, so it checks nothing")
			}
		})
	}
}

// TestRuntimePods checks that the API server admits the pods of the manifests to a namespace that enforces the
// restricted Pod Security Standard.
func TestRuntimePods(t *testing.T) {
	const enforcing = "runtime-restricted"

	r, manifests := rehearse(t), runtimeManifests(t)

	err := plane.Apply(t.Context(), `{apiVersion: v1, kind: Namespace, metadata: {name: `+enforcing+`, labels: {pod-security.kubernetes.io/enforce: restricted}}}
---
{apiVersion: v1, kind: ServiceAccount, metadata: {name: default, namespace: `+enforcing+`}}`)
	if err != nil {
		t.Fatal(err)
	}

	t.Cleanup(func() {
		if err := plane.Delete(context.WithoutCancel(t.Context()), live.Ref{APIVersion: "v1", Kind: "Namespace", Name: enforcing}); err != nil {
			t.Log(err)
		}
	})

	for name, tc := range map[string]struct {
		manifest string
		path     []string
	}{
		"OfCrossplane": {"DeploymentRuntimeConfig", []string{"spec", "deploymentTemplate", "spec", "template", "spec"}},
		"Autoscaled":   {"Deployment", []string{"spec", "template", "spec"}},
	} {
		t.Run(name, func(t *testing.T) {
			spec, found, err := unstructured.NestedMap(manifests[tc.manifest].Object, tc.path...)
			if err != nil || !found {
				t.Fatal("there is no spec of a pod:", err)
			}

			container := spec["containers"].([]any)[0].(map[string]any)
			// Crossplane adds these: see DeploymentRuntimeBuilder in its internal/controller/pkg/runtime.
			container["image"] = "example.org/function-export:v0.0.0"
			container["ports"] = []any{
				map[string]any{"name": "grpc", "containerPort": int64(9443)},
				map[string]any{"name": "metrics", "containerPort": int64(8080)},
			}

			pod := &unstructured.Unstructured{Object: map[string]any{
				"apiVersion": "v1", "kind": "Pod", "metadata": map[string]any{"name": "pod", "namespace": enforcing}, "spec": spec,
			}}
			if err := r.apply(t, pod); err != nil {
				t.Errorf("it is refused: %v", err)
			}

			delete(container, "securityContext")

			if err := r.apply(t, pod); err == nil || !strings.Contains(err.Error(), "violates PodSecurity") {
				t.Errorf("without its securityContext it should be refused, so nothing is checked: %v", err)
			}
		})
	}
}

// TestRuntimeAgrees checks that the two Deployments run the same pods, and that the other manifests select these pods.
func TestRuntimeAgrees(t *testing.T) {
	manifests := runtimeManifests(t)

	containerOf := func(kind string, path ...string) map[string]any {
		list, _, err := unstructured.NestedSlice(manifests[kind].Object, append(path, "spec", "template", "spec", "containers")...)
		if err != nil || len(list) == 0 {
			t.Fatalf("%s has no container: %v", kind, err)
		}

		return list[0].(map[string]any)
	}

	crossplanes, autoscaled := containerOf("DeploymentRuntimeConfig", "spec", "deploymentTemplate"), containerOf("Deployment")
	for _, field := range []string{"name", "resources", "securityContext", "readinessProbe", "livenessProbe"} {
		if a, b := fmt.Sprint(crossplanes[field]), fmt.Sprint(autoscaled[field]); a != b {
			t.Errorf("%s is %s in the DeploymentRuntimeConfig, and %s in the Deployment", field, a, b)
		}
	}

	text := func(kind string, path ...string) string {
		s, _, _ := unstructured.NestedString(manifests[kind].Object, path...)
		return s
	}

	for what, pair := range map[string][2]string{
		"package":                  {text("Function", "spec", "package"), fmt.Sprint(autoscaled["image"])},
		"runtimeConfigRef":         {text("Function", "spec", "runtimeConfigRef", "name"), manifests["DeploymentRuntimeConfig"].GetName()},
		"scaleTargetRef":           {text("HorizontalPodAutoscaler", "spec", "scaleTargetRef", "name"), manifests["Deployment"].GetName()},
		"PodDisruptionBudget":      {text("PodDisruptionBudget", "spec", "selector", "matchLabels", "pkg.crossplane.io/function"), manifests["Function"].GetName()},
		"labels of the Deployment": {text("Deployment", "spec", "template", "metadata", "labels", "pkg.crossplane.io/function"), manifests["Function"].GetName()},
	} {
		if pair[0] != pair[1] || pair[0] == "" {
			t.Errorf("%s: want %q, got %q", what, pair[1], pair[0])
		}
	}
}

// TestRuntimeOfCrossplane applies the manifests for a Crossplane that creates Deployments, on a
// control plane of its own. Their pods do not run here. Crossplane creates the objects that
// example/runtime describes, with the names and labels that the other manifests refer to, and
// reverts changes of the number of replicas.
func TestRuntimeOfCrossplane(t *testing.T) {
	c := deployingPlane(t)

	for _, kind := range []string{"DeploymentRuntimeConfig", "Function"} {
		if err := c.ApplyObject(t.Context(), c.manifests[kind]); err != nil {
			t.Fatal(err)
		}
	}

	var deployment *unstructured.Unstructured

	function, revision := c.manifests["Function"].GetName(), ""

	c.until(t, "the Deployment", func() error {
		o, err := c.Get(t.Context(), live.Ref{APIVersion: "pkg.crossplane.io/v1", Kind: "Function", Name: function})
		if err != nil {
			return err
		}

		revision, _, _ = unstructured.NestedString(o.Object, "status", "currentRevision")
		deployment, err = c.Get(t.Context(), live.Ref{APIVersion: "apps/v1", Kind: "Deployment", Namespace: "crossplane-system", Name: revision})

		return err
	})

	want := map[string]any{"pkg.crossplane.io/function": function, "pkg.crossplane.io/revision": revision}
	selector, _, _ := unstructured.NestedMap(deployment.Object, "spec", "selector", "matchLabels")

	if diff := cmp.Diff(want, selector); diff != "" {
		t.Errorf("what the Deployment selects: -want, +got:\n%s", diff)
	}

	c.checkService(t, function, want)
	c.checkPod(t, deployment)
	c.checkScaling(t, live.RefOf(deployment))
}

type deploying struct {
	*live.ControlPlane

	manifests map[string]*unstructured.Unstructured
}

// deployingPlane starts a control plane whose Crossplane has the default package runtime.
func deployingPlane(t *testing.T) deploying {
	t.Helper()

	dir, silent := t.TempDir(), func(string) {}

	programs, err := e2e.BuildControlPlane(t.Context(), silent)
	if err != nil {
		t.Fatal(err)
	}

	peers, err := e2e.BuildPeers(t.Context(), silent)
	if err != nil {
		t.Fatal(err)
	}

	// All RBAC managers on a machine use the same port. The other tests wait in the meantime.
	plane.RBACManager.Stop(10 * time.Second)
	t.Cleanup(func() {
		if err := plane.RBACManager.Start(); err != nil {
			t.Error(err)
		}
	})

	own, err := live.Start(t.Context(), dir, peers, programs, silent)
	if own != nil {
		t.Cleanup(own.Stop)
	}

	if err != nil {
		t.Fatal(err)
	}

	own.Crossplane.Stop(10 * time.Second)

	cmd := exec.CommandContext(t.Context(), peers.Core, "core", "start", "--namespace=crossplane-system", "--service-account=crossplane",
		"--enable-webhooks=false", "--metrics-port=0", "--health-probe-port=0",
		"--xpkg-cache-dir="+t.TempDir(), "--xfn-cache-dir="+t.TempDir(), "--tls-client-certs-dir="+filepath.Join(dir, "client"), "--tls-client-secret-name=crossplane-tls-client")
	cmd.Env = append(os.Environ(), "KUBECONFIG="+filepath.Join(dir, "crossplane.kubeconfig"))

	if err := live.StartChild(cmd); err != nil {
		t.Fatal(err)
	}

	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})

	reference, err := push(t.Context(), peers, own.RegistryAddress, dir)
	if err != nil {
		t.Fatal(err)
	}

	c := deploying{own, runtimeManifests(t)}
	if err := unstructured.SetNestedField(c.manifests["Function"].Object, reference, "spec", "package"); err != nil {
		t.Fatal(err)
	}

	return c
}

func (c deploying) until(t *testing.T, what string, done func() error) {
	t.Helper()

	const within = 90 * time.Second

	for start := time.Now(); ; time.Sleep(200 * time.Millisecond) {
		err := done()
		if err == nil {
			return
		}

		if time.Since(start) > within {
			t.Fatalf("waited %s for %s: %v", within, what, err)
		}
	}
}

// checkService checks that Crossplane reaches each pod that has the labels.
func (c deploying) checkService(t *testing.T, function string, labels map[string]any) {
	t.Helper()

	service, err := c.Get(t.Context(), live.Ref{APIVersion: "v1", Kind: "Service", Namespace: "crossplane-system", Name: function})
	if err != nil {
		t.Fatal(err)
	}

	if ip, _, _ := unstructured.NestedString(service.Object, "spec", "clusterIP"); ip != "None" {
		t.Errorf("want a headless Service, got one with %q", ip)
	}

	selector, _, _ := unstructured.NestedMap(service.Object, "spec", "selector")
	if diff := cmp.Diff(labels, selector); diff != "" {
		t.Errorf("what the Service selects: -want, +got:\n%s", diff)
	}

	volumes, _, _ := unstructured.NestedSlice(c.manifests["Deployment"].Object, "spec", "template", "spec", "volumes")
	secret, _, _ := unstructured.NestedString(volumes[0].(map[string]any), "secret", "secretName")

	c.until(t, "the certificates that autoscaled-deployment.yaml mounts", func() error {
		data, err := c.Data(t.Context(), "crossplane-system", secret)
		if err == nil && (data["tls.crt"] == "" || data["tls.key"] == "" || data["ca.crt"] == "") {
			err = errors.New("there is none in the Secret")
		}

		return err
	})
}

// checkPod checks that Crossplane keeps the fields of the DeploymentRuntimeConfig, and adds the ports that its probes
// name.
func (c deploying) checkPod(t *testing.T, deployment *unstructured.Unstructured) {
	t.Helper()

	containerIn := func(o *unstructured.Unstructured, path ...string) map[string]any {
		list, _, err := unstructured.NestedSlice(o.Object, append(path, "spec", "template", "spec", "containers")...)
		if err != nil || len(list) != 1 {
			t.Fatalf("want one container, got %d: %v", len(list), err)
		}

		return list[0].(map[string]any)
	}

	want, got := containerIn(c.manifests["DeploymentRuntimeConfig"], "spec", "deploymentTemplate"), containerIn(deployment)
	for _, field := range []string{"resources", "securityContext"} {
		if diff := cmp.Diff(want[field], got[field]); diff != "" {
			t.Errorf("%s: -want, +got:\n%s", field, diff)
		}
	}

	ports := map[string]any{}

	for _, p := range got["ports"].([]any) {
		port := p.(map[string]any)
		ports[fmt.Sprint(port["name"])] = port["containerPort"]
	}

	if diff := cmp.Diff(map[string]any{"grpc": int64(9443), "metrics": int64(8080)}, ports); diff != "" {
		t.Errorf("ports: -want, +got:\n%s", diff)
	}
}

// checkScaling checks that the number of replicas comes from the DeploymentRuntimeConfig, even if another client, such
// as a HorizontalPodAutoscaler, sets it.
func (c deploying) checkScaling(t *testing.T, deployment live.Ref) {
	t.Helper()

	before, err := c.Get(t.Context(), deployment)
	if err != nil {
		t.Fatal(err)
	}

	if err := c.Patch(t.Context(), deployment, `{"spec": {"replicas": 7}}`, "scale"); err != nil {
		t.Fatal(err)
	}

	c.until(t, "Crossplane to undo what scaled its Deployment", func() error {
		o, err := c.Get(t.Context(), deployment)
		if err != nil {
			return err
		}

		// Two changes are a change and its reversal.
		if n, _, _ := unstructured.NestedInt64(o.Object, "spec", "replicas"); n != 2 || o.GetGeneration() < before.GetGeneration()+2 {
			return fmt.Errorf("there are %d replicas, after %d changes", n, o.GetGeneration()-before.GetGeneration())
		}

		return nil
	})
}
