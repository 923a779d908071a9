package reconcile_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/types/known/structpb"
	"sigs.k8s.io/yaml"

	"github.com/crossplane-contrib/function-export/internal/observation"
	"github.com/crossplane-contrib/function-export/internal/plan"
	"github.com/crossplane-contrib/function-export/internal/plan/plantest"
	"github.com/crossplane-contrib/function-export/internal/reconcile"
	"github.com/crossplane-contrib/function-export/internal/wire"
)

// A round is one reconcile of a history. Its fields say what happens before it, and Want is what it composes and says.
type round struct {
	Input map[string]any `json:"input"` // the new input, or nothing for the former one

	Composite map[string]any   `json:"composite"` // another composite than App xr; only in the first round
	Cluster   []map[string]any `json:"cluster"`   // objects that the composite does not list; only in the first round
	Desired   map[string]any   `json:"desired"`   // the resources of earlier steps; only in the first round

	After string `json:"after"` // how long after the former round

	// Change has patches by composition resource name, and for the composite by "composite". The patch null deletes.
	Change map[string]any `json:"change"`

	Details   map[string]map[string]string `json:"details"`   // connection details by composition resource name
	Hide      []string                     `json:"hide"`      // the composed resources that Crossplane does not return
	Unlist    []string                     `json:"unlist"`    // the composed resources that the composite does not list
	Lose      []string                     `json:"lose"`      // the composed resources that Crossplane fails to write
	Swap      []string                     `json:"swap"`      // two names that another client exchanges
	FirstCall bool                         `json:"firstCall"` // compare the first call, which has not read anything

	Times int `json:"times"` // how many reconciles, of which only the last one is compared; 0 for 1

	// Want has a line for each export, message and generation, and the lines that are the same as in the former round at
	// the end.
	Want string `json:"want"`
}

// A history is a composite over several reconciles. A control plane stores what a reconcile desires, and lists it.
type history struct {
	xr      map[string]any
	objects map[string]map[string]any // composed resources
	refs    map[string]map[string]any // the references that the composite lists, by composition resource name
	others  []map[string]any          // objects that the composite does not list
	details map[string]map[string]string
	desired map[string]any // the resources of earlier steps
	plan    *plan.Plan
	now     time.Time
	created int // objects
	rounds  int
}

// The histories are in testdata. Each has its rounds as documents of YAML. To write what each round now composes and
// says, set UPDATE_HISTORIES, and read the difference line by line.
func runHistories(t *testing.T, folder string) {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join("testdata", "histories", folder, "*.yaml"))
	if err != nil || len(paths) == 0 {
		t.Fatalf("cannot find the histories: %v", err)
	}
	for _, path := range paths {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".yaml"), func(t *testing.T) {
			content, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			got := runHistory(t, string(content))
			if os.Getenv("UPDATE_HISTORIES") != "" {
				if err := os.WriteFile(path, []byte(got), 0o600); err != nil {
					t.Fatal(err)
				}
				return
			}
			if diff := cmp.Diff(strings.Split(string(content), "\n"), strings.Split(got, "\n")); diff != "" {
				t.Errorf("the reconciles compose or say something else: -want, +got:\n%s", diff)
			}
		})
	}
}

// This function computes the outputs of these generations.
func TestHistoriesOfComputed(t *testing.T) { runHistories(t, "computed") }

// Another controller creates the outputs of these generations.
func TestHistoriesOfResources(t *testing.T) { runHistories(t, "resources") }

// Crossplane does not return some objects, or another client changed them.
func TestHistoriesOfFound(t *testing.T) { runHistories(t, "found") }

// These generations are in use only once they are verified.
func TestHistoriesOfVerified(t *testing.T) { runHistories(t, "verified") }

// The composite or the input requests something that is refused.
func TestHistoriesOfRefused(t *testing.T) { runHistories(t, "refused") }

// plans compiles inputs as the function does. Their IDs are in the state for later steps.
var plans = plan.NewCache(plantest.Env)

// The documents of a history are separated by betweenRounds, and each ends with a text after beforeWant.
const (
	betweenRounds = "\n---\n"
	beforeWant    = "\nwant: |\n"
)

// runHistory runs a history, and returns it with what its rounds compose and say.
func runHistory(t *testing.T, content string) string {
	t.Helper()
	rounds := strings.Split(content, betweenRounds)
	var h *history
	var former []string
	for i, document := range rounds {
		var r round
		if err := yaml.UnmarshalStrict([]byte(document), &r); err != nil {
			t.Fatalf("round %d: %v", i+1, err)
		}
		if h == nil {
			h = newHistory(t, r)
		}
		h.begin(t, r)
		var lines []string
		for range max(1, r.Times) {
			lines = h.reconcile(t, r)
		}
		before, _, _ := strings.Cut("\n"+document, beforeWant)
		rounds[i] = (before + beforeWant)[1:]
		for _, line := range shorten(lines, former) {
			rounds[i] += "  " + line + "\n"
		}
		former = lines
	}
	return strings.Join(rounds, betweenRounds[1:])
}

func newHistory(t *testing.T, first round) *history {
	t.Helper()
	h := &history{
		xr: first.Composite, others: first.Cluster, desired: first.Desired, objects: map[string]map[string]any{},
		refs: map[string]map[string]any{}, details: map[string]map[string]string{},
		now: time.Date(2026, 1, 3, 0, 0, 0, 0, time.UTC),
	}
	if h.xr == nil {
		h.xr = map[string]any{
			"apiVersion": "example.org/v1", "kind": "App", "spec": map[string]any{"size": 3},
			"metadata": map[string]any{"name": "xr", "namespace": "team", "uid": "u1"},
		}
	}
	return h
}

// patch merges fields into an object. A field that is null is removed. A text that is JSON is patched as an object.
func patch(into, fields map[string]any) {
	for name, v := range fields {
		below, isObject := v.(map[string]any)
		was, _ := into[name].(map[string]any)
		text, isText := into[name].(string)
		switch {
		case isObject && isText && json.Unmarshal([]byte(text), &was) == nil:
			patch(was, below)
			b, _ := json.Marshal(was) //nolint:errchkjson // it was JSON
			into[name] = string(b)
		case v == nil:
			delete(into, name)
		case isObject && was != nil:
			patch(was, below)
		default:
			into[name] = v
		}
	}
}

func nameAnnotation(name string) map[string]any {
	annotations := map[string]any{"crossplane.io/composition-resource-name": name}
	return map[string]any{"metadata": map[string]any{"annotations": annotations}}
}

// begin applies what happens before a round.
func (h *history) begin(t *testing.T, r round) {
	t.Helper()
	if r.After != "" {
		after, err := time.ParseDuration(r.After)
		if err != nil {
			t.Fatal(err)
		}
		h.now = h.now.Add(after)
	}
	if r.Input != nil {
		input, err := yaml.Marshal(r.Input)
		if err != nil {
			t.Fatal(err)
		}
		p, diagnostics, _ := plans.Get(wire.Of(plantest.Parse(t, plantest.Exports(string(input)))))
		if p == nil {
			t.Fatalf("Get(...): %v", diagnostics)
		}
		h.plan = p
	}
	for name, v := range r.Change {
		fields, ok := v.(map[string]any)
		switch {
		case name == "composite":
			patch(h.xr, fields)
		case !ok:
			delete(h.objects, name)
		case h.objects[name] == nil && fields["kind"] == nil:
			t.Fatalf("there is no object %s to change", name)
		case h.objects[name] == nil:
			h.objects[name] = fields
		default:
			patch(h.objects[name], fields)
		}
	}
	if len(r.Swap) == 2 {
		a, b := r.Swap[0], r.Swap[1]
		h.objects[a], h.objects[b] = h.objects[b], h.objects[a]
		maps.DeleteFunc(h.objects, func(_ string, o map[string]any) bool { return o == nil })
		for _, name := range r.Swap {
			if o := h.objects[name]; o != nil {
				patch(o, nameAnnotation(name))
			}
		}
	}
	maps.Copy(h.details, r.Details)
	maps.DeleteFunc(h.details, func(name string, _ map[string]string) bool { return h.objects[name] == nil })
}

// reconcile runs one reconcile, and returns what it composes and says.
func (h *history) reconcile(t *testing.T, r round) []string {
	t.Helper()
	h.rounds++
	lines, result := h.scene(t, r).lines(t, r.FirstCall)
	if result != nil && !r.FirstCall {
		h.store(r, result)
	}
	return lines
}

// scene is the request of a round.
func (h *history) scene(t *testing.T, r round) *scene {
	t.Helper()
	for name, o := range h.objects {
		h.refs[name] = referenceTo(o)
	}
	refs := []any{}
	for _, name := range slices.Sorted(maps.Keys(h.refs)) {
		if !slices.Contains(r.Unlist, name) {
			refs = append(refs, h.refs[name])
		}
	}
	patch(h.xr, map[string]any{"spec": map[string]any{"crossplane": map[string]any{"resourceRefs": refs}}})
	overlay, err := yaml.Marshal(map[string]any{
		"composite": h.xr, "resources": map[string]any{}, "cluster": h.others, "desired": h.desired,
	})
	if err != nil {
		t.Fatal(err)
	}
	out := sceneOf(t, h.plan, string(overlay))
	for _, name := range slices.Sorted(maps.Keys(h.objects)) {
		o := h.objects[name]
		if secret := connectionSecret(o, h.details[name]); secret != nil {
			out.cluster = append(out.cluster, plantest.StructOf(t, secret))
		}
		out.cluster = append(out.cluster, plantest.StructOf(t, o))
		if !slices.Contains(r.Hide, name) && !slices.Contains(r.Unlist, name) {
			out.req.Observation.Resources[name] = observation.Resource{
				Object: plantest.StructOf(t, o), Details: detailsOf(h.details[name]),
			}
		}
	}
	random := bytes.Repeat(fmt.Appendf(nil, "made-up%09d", h.rounds), 1<<12)
	out.req.Now, out.req.Random = h.now, bytes.NewReader(random)
	return out
}

func referenceTo(o map[string]any) map[string]any {
	meta, _ := o["metadata"].(map[string]any)
	return map[string]any{"apiVersion": o["apiVersion"], "kind": o["kind"], "name": meta["name"]}
}

// connectionSecret is the Secret with the connection details of an object that names one, or nil.
func connectionSecret(o map[string]any, details map[string]string) map[string]any {
	spec, _ := o["spec"].(map[string]any)
	ref, _ := spec["writeConnectionSecretToRef"].(map[string]any)
	meta, _ := o["metadata"].(map[string]any)
	if ref == nil || len(details) == 0 {
		return nil
	}
	data := map[string]any{}
	for key, value := range details {
		data[key] = base64.StdEncoding.EncodeToString([]byte(value))
	}
	owner := map[string]any{"controller": true, "uid": meta["uid"], "kind": o["kind"], "name": meta["name"]}
	return map[string]any{"apiVersion": "v1", "kind": "Secret", "data": data, "metadata": map[string]any{
		"name": ref["name"], "namespace": meta["namespace"], "ownerReferences": []any{owner},
	}}
}

// store applies what a round desires, as Crossplane does: it lists everything first, and deletes everything else. Lost
// writes change nothing.
func (h *history) store(r round, result *reconcile.Result) {
	desired := map[string]*structpb.Struct{}
	for _, g := range result.Generations {
		desired[g.Name] = g.Desired
	}
	for _, o := range result.Objects {
		if o.Desired != nil {
			desired[o.Name] = o.Desired
		}
	}
	clear(h.refs)
	for name, o := range desired {
		h.refs[name] = referenceTo(o.AsMap())
	}
	maps.DeleteFunc(h.objects, func(name string, _ map[string]any) bool {
		return desired[name] == nil && h.desired[name] == nil && !slices.Contains(r.Unlist, name)
	})
	maps.DeleteFunc(desired, func(name string, _ *structpb.Struct) bool { return slices.Contains(r.Lose, name) })
	for _, name := range slices.Sorted(maps.Keys(desired)) {
		now := desired[name].AsMap()
		meta, _ := now["metadata"].(map[string]any)
		was := h.objects[name]
		if was == nil {
			h.created++
			was = h.create()
		}
		wasMeta, _ := was["metadata"].(map[string]any)
		for _, kept := range []string{"uid", "creationTimestamp", "ownerReferences"} {
			if wasMeta[kept] != nil {
				meta[kept] = wasMeta[kept]
			}
		}
		patch(now, nameAnnotation(name))
		if was["status"] != nil {
			now["status"] = was["status"]
		}
		if now["kind"] != "Secret" || now["data"] == nil { // others own fields that are not desired
			patch(was, now)
			now = was
		}
		h.objects[name] = now
	}
}

// create returns the metadata of a new object. An object of a file has none.
func (h *history) create() map[string]any {
	xr, _ := h.xr["metadata"].(map[string]any)
	if xr["uid"] == nil {
		return map[string]any{}
	}
	return map[string]any{"metadata": map[string]any{
		"uid": fmt.Sprintf("uid-%d", h.created), "creationTimestamp": h.now.Format(time.RFC3339),
		"ownerReferences": []any{map[string]any{"controller": true, "uid": xr["uid"]}},
	}}
}
