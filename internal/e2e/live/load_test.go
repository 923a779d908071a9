package live_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/crossplane-contrib/function-export/internal/e2e/live"
)

// These environment variables set the load. The README names the values for its figures. CI uses a smaller load.
const (
	loadComposites = "LIVE_LOAD" // the number of composites
	loadSoak       = "LIVE_SOAK" // the time for which the memory of the function is watched
)

const (
	loadNamespace = "load"

	// exportsEach are the Secrets and ConfigMaps of a composite.
	exportsEach = 5

	// loadTime is the time limit of each stage. It detects a stage that hangs, and does not check the speed.
	loadTime = 10 * time.Minute
)

const loadDefinition = `
apiVersion: v1
kind: Namespace
metadata: {name: load}
---
apiVersion: v1
kind: Secret
metadata: {name: account, namespace: load}
stringData: {username: app, password: correct horse battery staple}
---
apiVersion: apiextensions.crossplane.io/v2
kind: CompositeResourceDefinition
metadata: {name: workloads.load.example.org}
spec:
  scope: Namespaced
  group: load.example.org
  names: {kind: Workload, plural: workloads}
  versions:
  - name: v1
    served: true
    referenceable: true
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec: {type: object, properties: {host: {type: string}, port: {type: integer}}}
`

const loadComposition = `
apiVersion: apiextensions.crossplane.io/v1
kind: Composition
metadata: {name: workloads}
spec:
  compositeTypeRef: {apiVersion: load.example.org/v1, kind: Workload}
  mode: Pipeline
  pipeline:
  - step: export
    functionRef: {name: function-export}
    input:
      apiVersion: export.fn.crossplane.io/v1beta1
      kind: Exports
      sources:
      - {name: account, apiVersion: v1, kind: Secret, namespace: load, matchName: account}
      variables:
      - {name: address, value: "'%s:%d'.format([composite.spec.host, composite.spec.port])"}
      secrets:
      - name: url
        data:
        - {key: url, value: "'postgres://%s:%s@%s/app'.format([secrets.account.username, url.queryEscape(secrets.account.password), variables.address])"}
        - {key: host, value: composite.spec.host}
      - name: parts
        data:
        - {key: host, value: composite.spec.host}
        - {key: port, value: string(composite.spec.port)}
        - {key: username, value: secrets.account.username}
        - {key: password, value: secrets.account.password}
      - name: renamed
        dataFrom:
        - extract: {key: account}
          rewrite: [{regexp: {source: '^(.*)$', target: 'DB_$1'}}]
        data: [{key: host, value: composite.spec.host}]
      - name: map
        dataFrom: [{valueMap: "{'address': variables.address, 'host': composite.spec.host}"}]
      configMaps:
      - name: settings
        data:
        - {key: host, value: composite.spec.host}
        - {key: address, value: variables.address}
`

func loadComposite(n int, host string) string {
	return fmt.Sprintf("{apiVersion: load.example.org/v1, kind: Workload, metadata: {name: w%04d, namespace: %s}, spec: {host: %s, port: 5432}}", n, loadNamespace, host)
}

// TestLoadOfComposites creates many composites at once, and then changes all of them. It measures the function as
// Crossplane sees it. It checks that all composites become ready within the memory limit of the runtime manifests.
func TestLoadOfComposites(t *testing.T) {
	count := loadNumber(t, loadComposites, 60)

	applyLoad(t, loadDefinition)

	definition := live.Ref{APIVersion: "apiextensions.crossplane.io/v2", Kind: "CompositeResourceDefinition", Name: "workloads.load.example.org"}
	if err := plane.WaitForCondition(t.Context(), loadTime, definition, "Established"); err != nil {
		t.Fatal(err)
	}

	applyLoad(t, loadComposition)
	t.Cleanup(func() { removeLoad(t, definition) })

	for _, stage := range []struct{ name, host string }{{"create", "one.example.org"}, {"change", "two.example.org"}} {
		before := observeLoad(t)

		applyAll(t, count, stage.host)
		waitForLoad(t, func() error { return allExported(t.Context(), count, stage.host) })
		before.report(t, stage.name, fmt.Sprintf("composites=%d exports-each=%d", count, exportsEach))
	}
}

func applyLoad(t *testing.T, text string) {
	t.Helper()

	if err := plane.Apply(t.Context(), text); err != nil {
		t.Fatal(err)
	}
}

func loadNumber(t *testing.T, name string, otherwise int) int {
	t.Helper()

	text := os.Getenv(name)
	if text == "" {
		return otherwise
	}

	n, err := strconv.Atoi(text)
	if err != nil || n < 1 {
		t.Fatalf("cannot use %s=%q: it is no number above zero", name, text)
	}

	return n
}

// applyAll applies all composites with eight concurrent users.
func applyAll(t *testing.T, count int, host string) {
	t.Helper()

	var wg sync.WaitGroup

	for user := range 8 {
		wg.Go(func() {
			for n := user; n < count; n += 8 {
				if err := plane.Apply(t.Context(), loadComposite(n, host)); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}

	wg.Wait()
}

// waitForLoad polls every half second, because a response lists thousands of objects, and the test runs on the
// machine that is measured.
func waitForLoad(t *testing.T, done func() error) {
	t.Helper()

	for start := time.Now(); ; time.Sleep(500 * time.Millisecond) {
		err := done()
		if err == nil || t.Failed() {
			return
		}

		if time.Since(start) > loadTime {
			t.Fatal(err)
		}
	}
}

// allExported checks that each composite is ready, and that each of its exports contains the host.
func allExported(ctx context.Context, count int, host string) error {
	list, err := plane.List(ctx, "load.example.org/v1", "Workload", loadNamespace, "")
	if err != nil {
		return err
	}

	ready, said := 0, ""

	for i := range list {
		exports := live.ConditionOf(&list[i], "ExportsReady")
		if exports.Status == "True" && live.ConditionOf(&list[i], "Ready").Status == "True" {
			ready++
		} else {
			said = exports.Message
		}
	}

	exports := 0

	for _, kind := range []string{"Secret", "ConfigMap"} {
		list, err := plane.List(ctx, "v1", kind, loadNamespace, "crossplane.io/composite")
		if err != nil {
			return err
		}

		for i := range list {
			got := live.DataOf(&list[i])["host"]
			if kind == "ConfigMap" {
				data, _ := list[i].Object["data"].(map[string]any)
				got, _ = data["host"].(string)
			}

			if got == host {
				exports++
			}
		}
	}

	if ready != count || exports != count*exportsEach {
		return fmt.Errorf("%d of %d composites are ready, %d of %d exports are there: %s", ready, count, exports, count*exportsEach, said)
	}

	return nil
}

// removeLoad removes the load, because the next test uses the same control plane.
func removeLoad(t *testing.T, definition live.Ref) {
	t.Helper()

	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), loadTime)
	defer cancel()

	for {
		list, err := plane.List(ctx, "load.example.org/v1", "Workload", loadNamespace, "")
		if err == nil && len(list) == 0 {
			break
		}

		for i := range list {
			if list[i].GetDeletionTimestamp() == nil {
				err = errors.Join(err, plane.Delete(ctx, live.RefOf(&list[i])))
			}
		}

		if ctx.Err() != nil {
			t.Fatalf("cannot remove the load: %d composites are left: %v", len(list), err)
		}

		time.Sleep(time.Second)
	}

	for _, r := range []live.Ref{
		{APIVersion: "apiextensions.crossplane.io/v1", Kind: "Composition", Name: "workloads"},
		definition,
		{APIVersion: "v1", Kind: "Namespace", Name: loadNamespace},
	} {
		if err := plane.Delete(ctx, r); err != nil {
			t.Error(err)
		}
	}
}

// A loadObserved is a snapshot of the resources that the function used, and of Crossplane's metrics of it.
type loadObserved struct {
	at    time.Time
	usage []usage
	calls histogram
}

func observeLoad(t *testing.T) loadObserved {
	t.Helper()

	o := loadObserved{calls: callsOf(t)}

	for _, p := range function.Replicas {
		resetPeak(t, p.PID())
		o.usage = append(o.usage, usageOf(t, p.PID()))
	}

	o.at = time.Now()

	return o
}

// report prints figures about the time since the snapshot.
func (o loadObserved) report(t *testing.T, name, more string) {
	t.Helper()

	took := time.Since(o.at)
	calls := callsOf(t).since(o.calls)

	var (
		cpu  time.Duration
		peak uint64
	)

	for i, p := range function.Replicas {
		now := usageOf(t, p.PID())
		cpu += now.cpu - o.usage[i].cpu
		peak = max(peak, now.peak)
	}

	if calls.count == 0 {
		t.Fatal("Crossplane has counted no call of the function")
	}

	inLimits(t, peak)
	figure(name, fmt.Sprintf("%s seconds=%.1f calls=%.0f cpu-ms=%.2f mean-ms=%.2f p50-ms=%g p95-ms=%g p99-ms=%g peak-MiB=%.0f", more,
		took.Seconds(), calls.count, milliseconds(cpu)/calls.count, 1e3*calls.sum/calls.count,
		1e3*calls.quantile(0.5), 1e3*calls.quantile(0.95), 1e3*calls.quantile(0.99), mebibytes(peak)))
}

// figure prints a line of figures for the README.
func figure(name, values string) { fmt.Printf("\nfigure %s %s\n", name, values) }

func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

func mebibytes(n uint64) float64 { return float64(n) / (1 << 20) }

// A histogram is a histogram of Prometheus: the number of calls that took at most the given number of seconds.
type histogram struct {
	buckets    map[float64]float64
	count, sum float64
}

var callsSample = regexp.MustCompile(`(?m)^function_run_function_seconds_(bucket|sum|count)\{([^}]*)\} (\S+)$`)

// callsOf returns the calls of the function that Crossplane counted.
func callsOf(t *testing.T) histogram {
	t.Helper()

	return histogramOf(getText(t, plane.CrossplaneMetrics()), functionName)
}

// histogramOf returns the histogram of the calls of a function from the text of Crossplane's metrics.
func histogramOf(text, function string) histogram {
	h := histogram{buckets: map[float64]float64{}}

	for _, m := range callsSample.FindAllStringSubmatch(text, -1) {
		if !strings.Contains(m[2], `function_name="`+function+`"`) {
			continue
		}

		value, err := strconv.ParseFloat(m[3], 64)
		if err != nil {
			continue
		}

		switch m[1] {
		case "sum":
			h.sum += value
		case "count":
			h.count += value
		default:
			_, after, _ := strings.Cut(m[2], `le="`)
			text, _, _ := strings.Cut(after, `"`)

			if le, err := strconv.ParseFloat(text, 64); err == nil {
				h.buckets[le] += value
			}
		}
	}

	return h
}

func (h histogram) since(before histogram) histogram {
	out := histogram{buckets: map[float64]float64{}, count: h.count - before.count, sum: h.sum - before.sum}
	for le, n := range h.buckets {
		out.buckets[le] = n - before.buckets[le]
	}

	return out
}

// quantile returns the upper bound of the first bucket that contains the given share of the calls, in seconds. It
// does not interpolate inside of the bucket.
func (h histogram) quantile(q float64) float64 {
	bounds := make([]float64, 0, len(h.buckets))
	for le := range h.buckets {
		bounds = append(bounds, le)
	}

	slices.Sort(bounds)

	for _, le := range bounds {
		if h.buckets[le] >= q*h.count {
			return le
		}
	}

	return math.Inf(1)
}

func TestQuantile(t *testing.T) {
	const text = `
function_run_function_seconds_bucket{function_name="other",le="0.005"} 1000
function_run_function_seconds_bucket{function_name="f",grpc_code="OK",le="0.005"} 90
function_run_function_seconds_bucket{function_name="f",grpc_code="OK",le="0.01"} 97
function_run_function_seconds_bucket{function_name="f",grpc_code="OK",le="+Inf"} 99
function_run_function_seconds_bucket{function_name="f",grpc_code="Unavailable",le="+Inf"} 1
function_run_function_seconds_sum{function_name="f",grpc_code="OK"} 0.5
function_run_function_seconds_count{function_name="f",grpc_code="OK"} 99
function_run_function_seconds_count{function_name="f",grpc_code="Unavailable"} 1
`

	h := histogramOf(text, "f")
	if h.count != 100 || h.sum != 0.5 {
		t.Errorf("want 100 calls in 0.5 s, got %v in %v s", h.count, h.sum)
	}

	for q, want := range map[float64]float64{0.5: 0.005, 0.9: 0.005, 0.95: 0.01, 0.99: math.Inf(1)} {
		if got := h.quantile(q); got != want {
			t.Errorf("quantile %v: want %v, got %v", q, want, got)
		}
	}

	if got := h.since(h); got.count != 0 || got.buckets[0.005] != 0 {
		t.Errorf("want nothing since then, got %v", got)
	}
}

func getText(t *testing.T, url string) string {
	t.Helper()

	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}

	rsp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer rsp.Body.Close()

	b, err := io.ReadAll(rsp.Body)
	if err != nil || rsp.StatusCode != http.StatusOK {
		t.Fatalf("cannot get %s: %s: %v", url, rsp.Status, err)
	}

	return string(b)
}

// usage is the CPU time of all threads of a process, its memory, and the peak of its memory.
type usage struct {
	cpu       time.Duration
	rss, peak uint64
}

// tick is the unit in which the kernel reports CPU time.
const tick = 10 * time.Millisecond

func usageOf(t *testing.T, pid int) usage {
	t.Helper()

	proc := func(name string) string {
		b, err := os.ReadFile(fmt.Sprintf("/proc/%d/%s", pid, name))
		if err != nil {
			t.Fatalf("cannot read what the function uses: %v", err)
		}

		return string(b)
	}

	number := func(text string) uint64 {
		n, err := strconv.ParseUint(text, 10, 64)
		if err != nil {
			t.Fatalf("cannot read what the function uses: %v", err)
		}

		return n
	}

	stat := proc("stat") // the name of the program is in parentheses, and may contain spaces
	fields := strings.Fields(stat[strings.LastIndex(stat, ")")+1:])
	u := usage{cpu: time.Duration(number(fields[11])+number(fields[12])) * tick}

	for line := range strings.Lines(proc("status")) {
		switch f := strings.Fields(line); f[0] {
		case "VmRSS:":
			u.rss = number(f[1]) << 10
		case "VmHWM:":
			u.peak = number(f[1]) << 10
		}
	}

	return u
}

// resetPeak sets the peak of the memory of a process to its present memory.
func resetPeak(t *testing.T, pid int) {
	t.Helper()

	if err := os.WriteFile(fmt.Sprintf("/proc/%d/clear_refs", pid), []byte("5"), 0o200); err != nil {
		t.Fatalf("cannot reset the peak of a process: %v", err)
	}
}

// inLimits checks that the memory is below the limit of the runtime manifests. Kubernetes kills a replica that
// exceeds it.
func inLimits(t *testing.T, peak uint64) {
	t.Helper()

	b, err := os.ReadFile(filepath.Join(root, "example", "runtime", "deployment-runtime-config.yaml"))
	if err != nil {
		t.Fatal(err)
	}

	m := regexp.MustCompile(`limits:\s*\{?\s*memory: (\d+)Mi`).FindSubmatch(b)
	if m == nil {
		t.Fatal("the DeploymentRuntimeConfig has no limit for memory, in Mi")
	}

	if limit, err := strconv.ParseFloat(string(m[1]), 64); err != nil || mebibytes(peak) > limit {
		t.Errorf("a replica had %.0f MiB, and the DeploymentRuntimeConfig allows %s", mebibytes(peak), m[1])
	}
}
