package server

import (
	"maps"
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
	"sigs.k8s.io/yaml"

	"github.com/crossplane-contrib/function-export/internal/engine/metrics"
)

// crossplanes are the metrics of Crossplane that the page and the alerts use, with their labels.
var crossplanes = map[string][]string{
	"function_run_function_seconds_bucket": {"function_name", "le"},
	"function_run_function_seconds":        nil,
	"function_run_function_response_total": {"function_name", "result_severity"},
}

// A family is a metric of a server, with the values that each label has.
type family struct {
	kind   string
	labels map[string][]string
}

// served are the metrics of a server, by name.
func served(t *testing.T) map[string]family {
	t.Helper()
	s := &Server{Log: logging.NewNopLogger(), Credentials: insecure.NewCredentials(), MemoryLimit: MemoryLimit(), Registry: metrics.NewRegistry()}
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
	for _, m := range regexp.MustCompile("(?m)^\\| `((?:function_export|grpc_server)_\\w+)` \\| (\\w+) \\| ([^|]*) \\|").FindAllStringSubmatch(page, -1) {
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
	for _, name := range regexp.MustCompile(`\b(?:function_export|grpc_server|go|process|function_run_function)_\w+`).FindAllString(page, -1) {
		_, theirs := crossplanes[name]
		if all[name].kind == "" && !theirs {
			t.Errorf("the page has the metric %s, and the server does not", name)
		}
	}
}

type prometheusRule struct {
	Spec struct {
		Groups []struct {
			Rules []struct {
				Alert string `json:"alert"`
				Expr  string `json:"expr"`
			} `json:"rules"`
		} `json:"groups"`
	} `json:"spec"`
}

// TestAlerts wants the metrics, labels and values that the alerts use, and each alert on the page.
func TestAlerts(t *testing.T) {
	var rule prometheusRule
	if err := yaml.Unmarshal([]byte(repositoryFile(t, "example/runtime/prometheus-rule.yaml")), &rule); err != nil {
		t.Fatal(err)
	}
	all := served(t)
	alerts := map[string]bool{}
	for _, g := range rule.Spec.Groups {
		for _, r := range g.Rules {
			alerts[r.Alert] = true
			t.Run(r.Alert, func(t *testing.T) { checkPromQL(t, all, r.Expr) })
		}
	}
	onPage := map[string]bool{}
	for _, m := range regexp.MustCompile("(?m)^\\| `(FunctionExport\\w+)` \\|").FindAllStringSubmatch(repositoryFile(t, "package/README.md"), -1) {
		onPage[m[1]] = true
	}
	if diff := cmp.Diff(alerts, onPage); diff != "" || len(alerts) == 0 {
		t.Errorf("alerts: -want, +page:\n%s", diff)
	}
}

// checkPromQL looks up each selector of an expression. It refuses any other word that is neither
// a function nor a grouping, so that no selector is overlooked.
func checkPromQL(t *testing.T, all map[string]family, expr string) {
	t.Helper()
	selector := regexp.MustCompile(`\b([a-z]\w*_\w+)(?:\{([^}]*)\})?`)
	rest := regexp.MustCompile(`\b\w+ by \([^)]*\)`).ReplaceAllString(expr, "")
	rest = regexp.MustCompile(`\b[a-z_]+\(`).ReplaceAllString(rest, "(")
	found := selector.FindAllStringSubmatch(rest, -1)
	if len(found) == 0 {
		t.Errorf("no metric in %s", expr)
	}
	for _, m := range found {
		known, theirs := crossplanes[m[1]]
		f := all[m[1]]
		if f.kind == "" && !theirs {
			t.Errorf("no metric is named %s", m[1])
			continue
		}
		has := f.labels
		for _, l := range regexp.MustCompile(`(\w+)(=~|!~|!=|=)"([^"]*)"`).FindAllStringSubmatch(m[2], -1) {
			switch {
			case l[1] == "job": // Prometheus adds it
			case theirs && !slices.Contains(known, l[1]):
				t.Errorf("%s has no label %s", m[1], l[1])
			case theirs:
			case has[l[1]] == nil:
				t.Errorf("%s has no label %s, only %v", m[1], l[1], slices.Sorted(maps.Keys(has)))
			default:
				for value := range strings.SplitSeq(l[3], "|") {
					if !slices.Contains(has[l[1]], value) {
						t.Errorf("%s: %s is never %q", m[1], l[1], value)
					}
				}
			}
		}
	}
	if left := regexp.MustCompile(`[a-zA-Z_]\w*`).FindAllString(regexp.MustCompile(`\[\d+[smh]\]`).ReplaceAllString(selector.ReplaceAllString(rest, ""), ""), -1); len(left) > 0 {
		t.Errorf("cannot read %v in %s", left, expr)
	}
}
