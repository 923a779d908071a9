package live_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/restmapper"
	"k8s.io/client-go/tools/clientcmd"

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
