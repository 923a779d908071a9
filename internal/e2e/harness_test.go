package e2e

import (
	"bufio"
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health/grpc_health_v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"
)

const (
	root    = "../.."
	example = root + "/example"

	// resourceName is the annotation that ties an object to its name in the
	// pipeline.
	resourceName = "crossplane.io/composition-resource-name"

	// startTime bounds the start of our server, and stopTime its end.
	startTime = 20 * time.Second
	stopTime  = 10 * time.Second

	// minValueLength is the length from which on a Secret's value is looked for
	// in places where it must not be.
	minValueLength = 6
)

// output is what a program wrote.
type output struct {
	stdout, stderr string
}

// run runs a program with a home folder of its own, and returns what it wrote.
func run(t *testing.T, program string, args ...string) (output, error) {
	t.Helper()

	var stdout, stderr bytes.Buffer

	cmd := exec.CommandContext(t.Context(), program, args...)
	cmd.Env = slices.Concat(os.Environ(), []string{"HOME=" + t.TempDir(), "XDG_CACHE_HOME="})
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()

	return output{stdout: stdout.String(), stderr: stderr.String()}, err
}

// mustRun is run for a program that must end well.
func mustRun(t *testing.T, program string, args ...string) output {
	t.Helper()

	out, err := run(t, program, args...)
	if err != nil {
		t.Fatalf("cannot run %s %s: %v\n%s", filepath.Base(program), strings.Join(args, " "), err, out.stderr)
	}

	return out
}

// readSources opens the files that the function is built from: a go command that
// a test runs is outside of what the test cache looks at, which would take an old
// pass for this one.
func readSources(t *testing.T) {
	t.Helper()

	for _, dir := range []string{"fn", "input", "internal"} {
		err := filepath.WalkDir(filepath.Join(root, dir), func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || filepath.Ext(path) != ".go" {
				return err
			}

			_, err = os.ReadFile(path)

			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

// overlay is the flag that builds a variant of the function.
func overlay(t *testing.T, variant string) string {
	t.Helper()

	flag, err := Overlay(root, variant, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}

	return flag
}

// buildFunction builds the function for the tests, with more flags of go build or as it is
// published, and returns its path.
func buildFunction(t *testing.T, flags ...string) string {
	t.Helper()

	readSources(t)

	path := filepath.Join(t.TempDir(), "function-export")

	args := slices.Concat([]string{"build", "-o", path}, flags, []string{"./fn"})
	cmd := exec.CommandContext(t.Context(), "go", args...)
	cmd.Dir = root

	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("cannot build the function: %v\n%s", err, out)
	}

	return path
}

// A log is what a server writes while tests go on.
type log struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (l *log) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()

	return l.buf.Write(p)
}

func (l *log) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()

	return l.buf.String()
}

// serveFunction serves the built function until the test ends, with more in its environment. It returns its address and
// its log. The test fails if SIGTERM does not end the server well.
func serveFunction(t *testing.T, program string, env ...string) (string, *log) {
	t.Helper()

	address, logged := freeAddress(t), &log{}

	// Not ended by the test's context: SIGTERM is part of what is tested.
	cmd := exec.Command(program, "serve", "--insecure", "--debug", "--address", address, "--metrics-address", "")
	cmd.Env = append(os.Environ(), env...)
	cmd.Stdout, cmd.Stderr = logged, logged

	if err := cmd.Start(); err != nil {
		t.Fatalf("cannot start the function: %v", err)
	}

	// A wait for its health ends when the process ends.
	alive, end := context.WithCancel(t.Context())
	ended := make(chan error, 1)

	go func() {
		ended <- cmd.Wait()

		end()
	}()

	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM) // It fails if the process has ended, which is told below.

		select {
		case err := <-ended:
			if err != nil {
				t.Errorf("the function did not end well: %v\n%s", err, logged)
			}
		case <-time.After(stopTime):
			_ = cmd.Process.Kill()

			t.Errorf("the function did not end within %s of SIGTERM\n%s", stopTime, logged)
		}
	})

	if err := awaitHealth(alive, address); err != nil {
		t.Fatalf("the function is not healthy: %v\n%s", err, logged)
	}

	return address, logged
}

// freeAddress finds a free port.
func freeAddress(t *testing.T) string {
	t.Helper()

	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatalf("cannot find a free port: %v", err)
	}
	defer listener.Close()

	return listener.Addr().String()
}

// awaitHealth returns when the server says that it serves.
func awaitHealth(ctx context.Context, address string) error {
	ctx, cancel := context.WithTimeout(ctx, startTime)
	defer cancel()

	conn, err := grpc.NewClient("passthrough:///"+address, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return err
	}
	defer conn.Close()

	for {
		rsp, err := grpc_health_v1.NewHealthClient(conn).
			Check(ctx, &grpc_health_v1.HealthCheckRequest{}, grpc.WaitForReady(true))
		if err != nil {
			return err
		}

		if rsp.GetStatus() == grpc_health_v1.HealthCheckResponse_SERVING {
			return nil
		}

		time.Sleep(10 * time.Millisecond)
	}
}

// examples are the folders of the examples, by name, which has a slash in it for a
// folder of one.
func examples(t *testing.T) map[string]string {
	t.Helper()

	out := map[string]string{}

	err := filepath.WalkDir(example, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.Name() != "xr.yaml" {
			return err
		}

		dir := filepath.Dir(path)
		name, err := filepath.Rel(example, dir)
		out[filepath.ToSlash(name)] = dir

		return err
	})
	if err != nil {
		t.Fatal(err)
	}

	if len(out) == 0 {
		t.Fatalf("there is no example in %s", example)
	}

	return out
}

// readObjects reads the documents of a YAML file. A file that is not there has
// none.
func readObjects(t *testing.T, path string) []*unstructured.Unstructured {
	t.Helper()

	b, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}

	if err != nil {
		t.Fatal(err)
	}

	return parseObjects(t, string(b))
}

// parseObjects parses YAML documents. Each must have an apiVersion and a kind.
func parseObjects(t *testing.T, text string) []*unstructured.Unstructured {
	t.Helper()

	var out []*unstructured.Unstructured

	for docs := utilyaml.NewYAMLReader(bufio.NewReader(strings.NewReader(text))); ; {
		doc, err := docs.Read()
		if errors.Is(err, io.EOF) {
			return out
		}

		if err != nil {
			t.Fatalf("cannot read YAML: %v", err)
		}

		u := &unstructured.Unstructured{}
		if err := yaml.UnmarshalStrict(doc, &u.Object); err != nil {
			t.Fatalf("cannot parse YAML: %v", err)
		}

		if len(u.Object) == 0 {
			continue
		}

		if u.GetAPIVersion() == "" || u.GetKind() == "" {
			t.Fatalf("a document has no apiVersion or no kind:\n%s", doc)
		}

		out = append(out, u)
	}
}

// writeObjects writes objects as YAML documents.
func writeObjects(t *testing.T, path string, objects []*unstructured.Unstructured) {
	t.Helper()

	var text bytes.Buffer

	for _, o := range objects {
		b, err := yaml.Marshal(o.Object)
		if err != nil {
			t.Fatal(err)
		}

		fmt.Fprintf(&text, "---\n%s", b)
	}

	if err := os.WriteFile(path, text.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
}

// exportsInput is the input of the one step of an example's Composition that is
// ours.
func exportsInput(t *testing.T, dir string) *unstructured.Unstructured {
	t.Helper()

	for _, composition := range readObjects(t, filepath.Join(dir, "composition.yaml")) {
		steps, _, err := unstructured.NestedSlice(composition.Object, "spec", "pipeline")
		if err != nil {
			t.Fatal(err)
		}

		for _, step := range steps {
			s, _ := step.(map[string]any)
			input, _ := s["input"].(map[string]any)

			if u := (&unstructured.Unstructured{Object: input}); u.GetKind() == "Exports" {
				return u
			}
		}
	}

	t.Fatalf("%s has no step with an Exports input", dir)

	return nil
}

// secretValues returns the values of all Secrets in the objects, plain and in base64, each with its
// Secret and key. Short values are omitted, because a text such as a port can occur anywhere.
func secretValues(t *testing.T, objects []*unstructured.Unstructured) map[string]string {
	t.Helper()

	out := map[string]string{}

	for _, o := range objects {
		if o.GetKind() != "Secret" {
			continue
		}

		data, _, err := unstructured.NestedStringMap(o.Object, "data")
		if err != nil {
			t.Fatalf("Secret %q: %v", o.GetName(), err)
		}

		for key, encoded := range data {
			value, err := base64.StdEncoding.DecodeString(encoded)
			if err != nil {
				t.Fatalf("Secret %q, key %q: %v", o.GetName(), key, err)
			}

			if len(value) >= minValueLength {
				out[encoded], out[string(value)] = o.GetName()+"/"+key, o.GetName()+"/"+key
			}
		}
	}

	return out
}
