package server

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/crossplane/function-sdk-go/logging"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health"

	"github.com/crossplane-contrib/function-export/internal/engine/metrics"
)

// crossplanes are the metrics of Crossplane that the page and the alerts use.
var crossplanes = []string{
	"function_run_function_seconds_bucket", "function_run_function_seconds", "function_run_function_response_total",
}

// A family is a metric of a server, with the values that each label has.
type family struct {
	kind   string
	labels map[string][]string
}

// served are the metrics of a server, by name.
func served(t *testing.T) map[string]family {
	t.Helper()
	s := &Server{
		Log: logging.NewNopLogger(), Credentials: insecure.NewCredentials(), MemoryLimit: MemoryLimit(),
		Registry: metrics.NewRegistry(),
	}
	s.Function = testFunction{m: metrics.New(s.Registry)}
	s.GRPC(health.NewServer())
	families, err := s.Registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]family{}
	for _, f := range families {
		labels := map[string][]string{}
		for _, m := range f.GetMetric() {
			for _, l := range m.GetLabel() {
				if !slices.Contains(labels[l.GetName()], l.GetValue()) {
					labels[l.GetName()] = append(labels[l.GetName()], l.GetValue())
				}
			}
		}
		out[f.GetName()] = family{strings.ToLower(f.GetType().String()), labels}
	}
	return out
}

func repositoryFile(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("..", "..", "..", filepath.FromSlash(path)))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// TestMetricsPage compares the table of metrics in package/README.md with what a server has.
func TestMetricsPage(t *testing.T) {
	page, all := repositoryFile(t, "package/README.md"), served(t)
	code := regexp.MustCompile("`([^`]+)`")
	onPage := map[string][]string{}
	row := regexp.MustCompile("(?m)^\\| `((?:function_export|grpc_server)_\\w+)` \\| (\\w+) \\| ([^|]*) \\|")
	for _, m := range row.FindAllStringSubmatch(page, -1) {
		onPage[m[1]] = []string{m[2]}
		for _, l := range code.FindAllStringSubmatch(m[3], -1) {
			onPage[m[1]] = append(onPage[m[1]], l[1])
		}
		slices.Sort(onPage[m[1]][1:])
	}
	want := map[string][]string{}
	for name, f := range all {
		own := strings.HasPrefix(name, "function_export_")
		if !own && !strings.HasPrefix(name, "grpc_server_") {
			continue
		}
		var words []string
		for l, values := range f.labels {
			words = append(words, l)
			if own {
				words = append(words, values...)
			}
		}
		slices.Sort(words)
		want[name] = append([]string{f.kind}, words...)
	}
	if diff := cmp.Diff(want, onPage); diff != "" {
		t.Errorf("type, labels and their values of each metric: -want, +page:\n%s", diff)
	}
	checkNames(t, page)
}

// checkNames fails for a metric in a text that neither a server nor Crossplane has.
func checkNames(t *testing.T, text string) {
	t.Helper()
	names := regexp.MustCompile(`\b(?:function_export|grpc_server|go|process|function_run_function)_\w+`)
	for _, name := range names.FindAllString(text, -1) {
		if served(t)[name].kind == "" && !slices.Contains(crossplanes, name) {
			t.Errorf("there is no metric %s", name)
		}
	}
}

// TestAlerts wants the metrics that the alerts use, and each alert on the page.
func TestAlerts(t *testing.T) {
	rules := repositoryFile(t, "example/runtime/prometheus-rule.yaml")
	checkNames(t, rules)
	find := func(pattern, text string) (out []string) {
		for _, m := range regexp.MustCompile(pattern).FindAllStringSubmatch(text, -1) {
			out = append(out, m[1])
		}
		slices.Sort(out)
		return out
	}
	alerts := find(`alert: (\w+)`, rules)
	onPage := find("(?m)^\\| `(FunctionExport\\w+)` \\|", repositoryFile(t, "package/README.md"))
	if diff := cmp.Diff(alerts, onPage); diff != "" || len(alerts) == 0 {
		t.Errorf("alerts: -want, +page:\n%s", diff)
	}
}
