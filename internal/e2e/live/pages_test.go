package live_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/crossplane-contrib/function-export/internal/desk/pages"
	"github.com/crossplane-contrib/function-export/internal/e2e"
	"github.com/crossplane-contrib/function-export/internal/e2e/live"
)

// pagesManifests are the objects that the pages name: the composite my-app in the namespace team-a,
// and its Composition. The composed resource db has its connection details in the Secret my-app-db.
// No controller runs the Deployments.
const pagesManifests = `
apiVersion: apiextensions.crossplane.io/v2
kind: CompositeResourceDefinition
metadata: {name: apps.apps.example.org}
spec:
  scope: Namespaced
  group: apps.example.org
  names: {kind: App, plural: apps}
  versions: [{name: v1, served: true, referenceable: true, schema: {openAPIV3Schema: {type: object, properties: {
    spec: {type: object, x-kubernetes-preserve-unknown-fields: true},
    status: {type: object, x-kubernetes-preserve-unknown-fields: true}}}}}]
---
apiVersion: apiextensions.crossplane.io/v1
kind: Composition
metadata: {name: apps.apps.example.org}
spec:
  compositeTypeRef: {apiVersion: apps.example.org/v1, kind: App}
  mode: Pipeline
  pipeline:
  - step: compose
    functionRef: {name: function-compose}
    input: {apiVersion: live.example.org/v1, kind: Compose, resources: [
      {name: db, manifest: {apiVersion: live.example.org/v1, kind: Database, metadata: {name: $(name)-db}, spec: {
        writeConnectionSecretToRef: {name: $(name)-db}}}}]}
  - step: export
    functionRef: {name: function-export}
    input:
      apiVersion: export.fn.crossplane.io/v1beta1
      kind: Exports
      environment: {environmentConfigs: [{ref: {name: platform}}]}
      generators: [{name: admin, gracePeriod: 24h, password: {length: 24, symbols: 0, prefix: hush-}}]
      secrets:
      - name: connection
        from: db
        data:
        - {key: username, value: secret.username}
        - {key: password, value: secret.password}
      - {name: admin, data: [{key: password, value: generated.admin.password}]}
      configMaps: [{name: settings, data: [{key: region, value: environment.region}]}]
---
apiVersion: apiextensions.crossplane.io/v1beta1
kind: EnvironmentConfig
metadata: {name: platform}
data: {region: eu-west-1}
---
{apiVersion: v1, kind: Namespace, metadata: {name: team-a}}
---
{apiVersion: apps/v1, kind: Deployment, metadata: {name: crossplane, namespace: crossplane-system}, spec: {
  selector: {matchLabels: {app: crossplane}},
  template: {metadata: {labels: {app: crossplane}}, spec: {containers: [
    {name: crossplane, image: crossplane, args: [core, start]}]}}}}
---
{apiVersion: apps/v1, kind: Deployment, metadata: {name: function-export, namespace: crossplane-system}, spec: {
  selector: {matchLabels: {pkg.crossplane.io/function: function-export}},
  template: {metadata: {labels: {pkg.crossplane.io/function: function-export}}, spec: {containers: [
    {name: package-runtime, image: function-export}]}}}}
`

// myApp is the composite that the pages name.
var myApp = live.Ref{APIVersion: "apps.example.org/v1", Kind: "App", Namespace: "team-a", Name: "my-app"}

// substitutes are the commands that cannot run here unchanged. They run with another flag, so that their own flags are
// still checked.
var substitutes = []struct {
	pattern *regexp.Regexp
	flag    string // added to the command
	reason  string
}{
	{regexp.MustCompile(`^kubectl (logs|exec|top|port-forward|rollout)\b`), "--help",
		"the function is a process here, without a Pod"},
	{regexp.MustCompile(`^kubectl .*\b(pod-monitor|prometheus-rule|podmonitor|prometheusrule)`), "--help",
		"the Prometheus Operator is not installed"},
	{regexp.MustCompile(`^kubectl (apply|annotate|delete|patch|replace) .*\bfunctions?\b`), "--dry-run=server",
		"all tests share the Function"},
	{regexp.MustCompile(`^kubectl create secret .*--from-file\b`), "--help", "another command would make the file"},
}

// reads are commands that change nothing. They are repeated until they succeed, because Crossplane may need time.
var reads = regexp.MustCompile(
	`^(kubectl (api-resources|auth|describe|diff|events|explain|get|wait)|function-export)\b`)

// TestPages runs each command of the documentation that calls a cluster, page by page.
func TestPages(t *testing.T) {
	s := newScenario(t, "team-a")

	all, err := pages.Read(root)
	s.must(err)

	programs, err := e2e.BuildControlPlane(t.Context(), func(string) {})
	s.must(err)

	ran := 0

	for _, page := range all {
		commands := clusterCommands(page)
		if len(commands) == 0 {
			continue
		}

		t.Run(strings.ReplaceAll(page.Path, "/", "_"), func(t *testing.T) {
			s.T = t
			s.setUpPage(page.Path)

			k := kubectl{programs.Kubectl, linksTo(t, root)}

			for _, c := range commands {
				ran++

				if err := k.run(t.Context(), c); err != nil {
					t.Errorf("%s:%d: %s: %v", page.Path, c.Line, c.Text, err)
				}
			}
		})
	}

	t.Logf("%d commands ran", ran)
}

// linksTo returns a folder with links to the files of a folder. Commands write their own files beside the links.
func linksTo(t *testing.T, dir string) string {
	t.Helper()

	dir, err := filepath.Abs(dir)
	if err != nil {
		t.Fatal(err)
	}

	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}

	out := t.TempDir()

	for _, e := range entries {
		if err := os.Symlink(filepath.Join(dir, e.Name()), filepath.Join(out, e.Name())); err != nil {
			t.Fatal(err)
		}
	}

	return out
}

// setUpPage waits until the composite is ready. The troubleshooting page is about one whose password is missing.
func (s scenario) setUpPage(page string) {
	s.Helper()
	s.eventually("the API of App", func() error { // the previous page may have deleted it
		return s.Apply(s.Context(), pagesManifests+`
---
{apiVersion: apps.example.org/v1, kind: App, metadata: {name: my-app, namespace: team-a}, spec: {size: small}}`)
	})
	s.provide("my-app-db", "my-app-db", login(), readyStatus(""))
	s.says(myApp, "Available")

	if page == "example/TROUBLESHOOTING.md" {
		s.connect("my-app-db", "my-app-db", map[string]string{"username": hush()})
		s.says(myApp, "Held", "password")
	}
}

// A pageCommand is a command of a page.
type pageCommand struct {
	pages.Command

	shown *string // its output, if the page shows it
}

func clusterCommands(page pages.Page) []pageCommand {
	var out []pageCommand

	for i, b := range page.Blocks {
		if b.Lang != "shell" {
			continue
		}

		for _, c := range pages.Commands(b) {
			if c.Program == "kubectl" || strings.Contains(c.Text, " --cluster") {
				out = append(out, pageCommand{Command: c})
			}
		}

		if next := i + 1; len(out) > 0 && next < len(page.Blocks) && page.Blocks[next].Output &&
			len(pages.Commands(b)) == 1 {
			if last := &out[len(out)-1]; last.Line > b.Line {
				last.shown = &page.Blocks[next].Text
			}
		}
	}

	return out
}

// A kubectl runs commands in a folder, as an administrator.
type kubectl struct{ program, dir string }

// run runs a command of a page, and compares its exit code and its output.
func (k kubectl) run(ctx context.Context, c pageCommand) error {
	for _, s := range substitutes {
		if s.pattern.MatchString(c.Text) {
			_, err := k.output(ctx, c.Text+" "+s.flag, 0)
			return err
		}
	}

	try := func() error {
		got, err := k.output(ctx, c.Text, c.ExitCode)
		if err == nil && c.shown != nil && !pages.Matches(*c.shown, got) {
			return fmt.Errorf("prints\n%s\nand not\n%s", got, *c.shown)
		}

		return err
	}

	if reads.MatchString(c.Text) {
		return eventually(ctx, soon, "the command", try)
	}

	return try()
}

// output returns what a command line prints. The command must end with the exit code.
func (k kubectl) output(ctx context.Context, text string, want int) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()

	var stdout, stderr bytes.Buffer

	cmd := exec.CommandContext(ctx, "sh", "-c", text)
	cmd.Dir = k.dir
	cmd.Env = kubectlEnv(k.program)
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	cmd.WaitDelay = time.Second

	err := cmd.Run()

	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		return "", err
	}

	if got := cmd.ProcessState.ExitCode(); got != want {
		return "", fmt.Errorf("exit code %d, want %d: %s", got, want, stderr.Bytes())
	}

	return stdout.String(), nil
}

// kubectlEnv is the environment of an administrator, who has kubectl and this program on the path.
func kubectlEnv(kubectl string) []string {
	path := []string{filepath.Dir(kubectl), filepath.Dir(state("function-export")), os.Getenv("PATH")}

	return append(os.Environ(), "KUBECONFIG="+plane.Kubeconfig(), "KUBECACHEDIR="+state("kubectl-cache"),
		"PATH="+strings.Join(path, string(os.PathListSeparator)))
}
