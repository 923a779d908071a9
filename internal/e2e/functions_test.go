package e2e

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"google.golang.org/grpc"

	"github.com/crossplane-contrib/function-export/internal/e2e/standin"
)

// TestMain serves the stand-in if the program is called as a function, with --insecure and --address.
func TestMain(m *testing.M) {
	i := slices.Index(os.Args, "--address")
	if i < 0 {
		os.Exit(m.Run())
	}

	listener, err := net.Listen("tcp", os.Args[i+1])
	if err == nil {
		server := grpc.NewServer()
		fnv1.RegisterFunctionRunnerServiceServer(server, standin.PatchAndTransform{})
		err = server.Serve(listener)
	}

	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}

// TestFunctions runs the other steps of an example: as a program, and as a function that listens. The last step
// composes an object with a name from the status that this function sets.
func TestFunctions(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}

	program := buildFunction(t)
	const passes = "1 passed, 0 failed"

	at := "render.crossplane.io/runtime: Development, render.crossplane.io/runtime-development-target: "

	for name, tc := range map[string]struct{ annotations, bucket, want string }{
		"Program":     {"test.export.fn.crossplane.io/binary: " + self, "orders-connection", passes},
		"Development": {at + servePatchAndTransform(t), "orders-connection", passes},
		"Differs":     {"test.export.fn.crossplane.io/binary: " + self, "other", `- "other"`},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			mustRun(t, "cp", "-rL", filepath.Join(example, "push-secret")+"/.", dir)
			edit(t, filepath.Join(dir, "test.yaml"), "  steps: {deliver: {resources: {}}}\n", "",
				"composite: {status: {connectionSecretName: orders-connection}}, condition: {reason: Available}}",
				"objects: {push: {spec: {selector: {secret: {name: "+tc.bucket+"}}}}}}")

			file := filepath.Join(dir, "functions.yaml")
			if err := os.WriteFile(file, []byte(functionManifest(tc.annotations)), 0o600); err != nil {
				t.Fatal(err)
			}

			out, _ := run(t, program, "test", filepath.Join(dir, "test.yaml"), "--functions", file)
			if !strings.Contains(out.stdout+out.stderr, tc.want) {
				t.Errorf("want %q, got:\n%s%s", tc.want, out.stdout, out.stderr)
			}
		})
	}
}

// functionManifest returns the manifest of the stand-in.
func functionManifest(annotations string) string {
	return fmt.Sprintf("{apiVersion: pkg.crossplane.io/v1, kind: Function, "+
		"metadata: {name: function-patch-and-transform, annotations: {%s}}, "+
		"spec: {package: example.org/function-patch-and-transform:v1}}\n", annotations)
}

// edit replaces texts of a file in pairs.
func edit(t *testing.T, path string, replace ...string) {
	t.Helper()

	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}

	if err := os.WriteFile(path, []byte(strings.NewReplacer(replace...).Replace(string(b))), 0o600); err != nil {
		t.Fatal(err)
	}
}
