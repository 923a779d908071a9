package live_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/crossplane-contrib/function-export/internal/e2e/live"
)

// TestRuntimePods checks that the API server admits the pods of example/runtime to a namespace that enforces the
// restricted Pod Security Standard. TestPages applies the manifests themselves.
func TestRuntimePods(t *testing.T) {
	s := newScenario(t, "runtime-restricted")
	s.apply(`{apiVersion: v1, kind: Namespace, metadata: {name: ` + s.ns +
		`, labels: {pod-security.kubernetes.io/enforce: restricted}}}
---
{apiVersion: v1, kind: ServiceAccount, metadata: {name: default, namespace: ` + s.ns + `}}`)

	config, err := clientcmd.BuildConfigFromFlags("", plane.Kubeconfig())
	s.must(err)

	client, err := dynamic.NewForConfig(config)
	s.must(err)

	pods := client.Resource(schema.GroupVersionResource{Version: "v1", Resource: "pods"}).Namespace(s.ns)
	admit := func(spec map[string]any) error {
		_, err := pods.Create(t.Context(), &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "v1", "kind": "Pod", "metadata": map[string]any{"name": "pod"}, "spec": spec,
		}}, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}, FieldValidation: metav1.FieldValidationStrict})

		return err
	}

	for file, path := range map[string][]string{
		"deployment-runtime-config.yaml": {"spec", "deploymentTemplate", "spec", "template", "spec"},
		"autoscaled-deployment.yaml":     {"spec", "template", "spec"},
	} {
		t.Run(file, func(t *testing.T) {
			b, err := os.ReadFile(filepath.Join(root, "example", "runtime", file))
			if err != nil {
				t.Fatal(err)
			}

			objects, err := live.Parse(string(b))
			if err != nil {
				t.Fatal(err)
			}

			spec, _, _ := unstructured.NestedMap(objects[0].Object, path...)
			container := spec["containers"].([]any)[0].(map[string]any)
			// Crossplane adds these: see DeploymentRuntimeBuilder in its internal/controller/pkg/runtime.
			container["image"] = "example.org/function-export:v0.0.0"
			container["ports"] = []any{
				map[string]any{"name": "grpc", "containerPort": int64(9443)},
				map[string]any{"name": "metrics", "containerPort": int64(8080)},
			}

			if err := admit(spec); err != nil {
				t.Errorf("it is refused: %v", err)
			}

			delete(container, "securityContext")

			if err := admit(spec); err == nil || !strings.Contains(err.Error(), "violates PodSecurity") {
				t.Errorf("without its securityContext it should be refused, so nothing is checked: %v", err)
			}
		})
	}
}
