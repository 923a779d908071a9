package live_test

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/crossplane-contrib/function-export/internal/e2e"
	"github.com/crossplane-contrib/function-export/internal/e2e/live"
)

// diffFunction is the function of the fleets. A recorder is in front of it.
const diffFunction = "function-export-diff"

// TestDiff changes five Compositions of sixty composites, 20 changes in all. Before each change, the command diff
// predicts its effects, from the cluster and from a dump of it. After it, the effects are those that etcd recorded:
// none is missed, and none is invented.
func TestDiff(t *testing.T) {
	s := newScenario(t, "diff-a")
	installNeighbors(t)

	d := &diffRun{scenario: s, calls: record(t, diffFunction)}

	programs, err := e2e.BuildControlPlane(t.Context(), func(string) {})
	d.must(err)

	d.kubectl = programs.Kubectl

	d.create()
	d.provideAll()
	d.settle()

	for i := range len(fleets[0].stages) - 1 {
		d.change(i + 1)
	}

	why := d.run(state("function-export"), "why", "diff-b/carts-9", "--cluster")
	if want := "who must act: the provider of Database carts-9-db\n"; !strings.Contains(string(why), want) {
		t.Errorf("why has no %q\n%s", want, why)
	}
}

// A diffRun is the composites of all fleets, and the record of what is stored for them.
type diffRun struct {
	scenario

	calls   *recorder
	called  int // so many calls were made before the last reconciles
	kubectl string

	mu     sync.Mutex
	events []event // of Secrets and ConfigMaps
}

// create creates the composites in the first stage, and starts the record.
func (d *diffRun) create() {
	d.Cleanup(func() {
		eachApp(func(_ fleet, _ int, r live.Ref) { _ = d.Delete(context.WithoutCancel(d.Context()), r) })
	})

	add := func(kind string, o *unstructured.Unstructured) {
		if strings.HasPrefix(o.GetNamespace(), "diff-") {
			d.mu.Lock()
			defer d.mu.Unlock()

			d.events = append(d.events, event{kind, o, time.Now()})
		}
	}

	for _, ns := range []string{"diff-a", "diff-b"} {
		d.apply("{apiVersion: v1, kind: Namespace, metadata: {name: " + ns + "}}")

		status, err := d.EtcdStatus(d.Context())
		d.must(err)

		go func() {
			if err := d.RecordSecrets(d.Context(), ns, status.Revision+1, add); err != nil {
				d.Errorf("the record of etcd is not complete: %v", err)
			}
		}()
	}

	d.must(d.Watch(d.Context(), "v1", "ConfigMap", add))
	d.applyStage(0)
	eachApp(func(f fleet, i int, _ live.Ref) { d.apply(f.manifest(i)) })
}

// provideAll acts as the provider of all Databases.
func (d *diffRun) provideAll() {
	eachApp(func(f fleet, i int, r live.Ref) {
		s := d.scenario
		s.ns = max(r.Namespace, "diff-a")

		for _, db := range []string{"db", "cache"} {
			name := r.Name + "-" + db

			if db == "cache" && (f.name != "carts" || i%3 != 0) {
				continue
			}

			if i != unread {
				s.connect(name, name+"-details", login())
			}

			s.eventually(name, func() error {
				status := `{"status": ` + readyStatus(`"host": "`+name+`.example.org",`) + `}`
				return s.Patch(s.Context(), s.database(name), status, "status")
			})
		}
	})
}

// applyStage applies the Compositions of a stage.
func (d *diffRun) applyStage(stage int) {
	for _, f := range fleets {
		d.must(d.ApplyObject(d.Context(), d.composition(f, stage)))
	}
}

// files writes the Compositions of a stage, and returns the paths of the files.
func (d *diffRun) files(stage int) (files []string) {
	d.must(os.MkdirAll(state("diff"), 0o700))

	for _, f := range fleets {
		text, err := yaml.Marshal(d.composition(f, stage).Object)
		d.must(err)

		files = append(files, filepath.Join(state("diff"), f.name+".yaml"))
		d.must(os.WriteFile(files[len(files)-1], text, 0o600))
	}

	return files
}

// eachApp calls a function for each composite.
func eachApp(do func(f fleet, i int, r live.Ref)) {
	for _, f := range fleets {
		for i := range fleetSize {
			do(f, i, f.app(i))
		}
	}
}

// settle reconciles all composites until two rounds in a row have written nothing.
func (d *diffRun) settle() {
	for quiet, round := 0, 0; quiet < 2; round++ {
		if round == 20 {
			d.must(errors.New("objects still change after 20 reconciles"))
		}

		d.mu.Lock()
		written := len(d.events)
		d.mu.Unlock()

		d.calls.mu.Lock()
		d.called = len(d.calls.calls)
		d.calls.mu.Unlock()

		token := rand.Text()

		eachApp(func(_ fleet, _ int, r live.Ref) {
			d.patch(r, fmt.Sprintf(`{"metadata": {"annotations": {%q: %q}}}`, reconcileAt, token))
		})
		d.must(eventually(d.Context(), 2*time.Minute, "all composites to be reconciled", func() error {
			return d.reconciled(token)
		}))

		d.mu.Lock()
		if quiet++; len(d.events) > written {
			quiet = 0
		}
		d.mu.Unlock()
	}
}

// reconciled returns an error unless the function was called for all composites with a token.
func (d *diffRun) reconciled(token string) error {
	d.calls.mu.Lock()
	defer d.calls.mu.Unlock()

	names := map[string]bool{}

	for _, c := range d.calls.calls[d.called:] {
		o := c.req.GetObserved().GetComposite().GetResource().AsMap()
		if textAt(o, "metadata", "annotations", reconcileAt) == token {
			names[textAt(o, "metadata", "name")] = true
		}
	}

	want := len(fleets) * fleetSize

	return wantText(len(names) == want,
		fmt.Sprintf("the function was called for %d of %d composites", len(names), want))
}

// change predicts the effects of the next stage of all fleets, applies it, and compares what happened.
func (d *diffRun) change(stage int) {
	files := d.files(stage)
	predicted := d.predict(files, "--cluster")

	// A Secret that is not in a dump may be left out, so what depends on it cannot be known.
	ofUnread := func(effect string) bool {
		return slices.ContainsFunc(fleets,
			func(f fleet) bool { return strings.HasPrefix(effect, f.app(unread).Name+" ") })
	}
	fromDump := slices.DeleteFunc(d.predict(files, "--from", d.dump()), ofUnread)

	if fromCluster := slices.DeleteFunc(slices.Clone(predicted), ofUnread); !slices.Equal(fromCluster, fromDump) {
		d.Errorf("the effects from the cluster are %q, and those from a dump %q", fromCluster, fromDump)
	}

	before := d.look()
	d.applyStage(stage)
	d.settle()

	after := d.look()

	var happened []string
	for _, f := range fleets {
		happened = append(happened, effectsOf(f, before, after, d.events)...)
	}

	for _, e := range happened {
		if !slices.Contains(predicted, e) {
			d.Errorf("%s: missed: %s", changeOf(e, stage), e)
		}
	}

	for _, e := range predicted {
		if !slices.Contains(happened, e) {
			d.Errorf("%s: invented: %s", changeOf(e, stage), e)
		}
	}

	d.Logf("change %d: %d effects were predicted, and %d happened", stage, len(predicted), len(happened))
}

// changeOf returns the change of a stage that has an effect.
func changeOf(effect string, stage int) string {
	i := slices.IndexFunc(fleets, func(f fleet) bool { return strings.HasPrefix(effect, f.name+"-") })

	return fleets[i].stages[stage].change
}

// run runs a program that reads the cluster with kubectl. It may end with the exit code 1.
func (d *diffRun) run(program string, args ...string) []byte {
	d.Helper()

	var stdout, stderr bytes.Buffer

	cmd := exec.CommandContext(d.Context(), program, args...)
	cmd.Env = kubectlEnv(d.kubectl)
	cmd.Stdout, cmd.Stderr = &stdout, &stderr

	if err := cmd.Run(); err != nil && cmd.ProcessState.ExitCode() != 1 {
		d.Fatalf("cannot run %s %s: %v\n%s", filepath.Base(program), args[0], err, stderr.Bytes())
	}

	if all := stdout.String() + stderr.String(); program != d.kubectl && strings.Contains(all, marker) {
		d.Errorf("%s prints a value of a Secret", args[0])
	}

	return stdout.Bytes()
}

// dump returns the path of a file with what the cluster has.
func (d *diffRun) dump() string {
	text := d.run(d.kubectl, "get",
		"compositeresourcedefinitions,compositions,compositionrevisions,environmentconfigs,"+
			"apps.live.example.org,sites,databases,secrets,configmaps", "--all-namespaces", "--output", "yaml")
	file := filepath.Join(state("diff"), "dump.yaml")
	d.must(os.WriteFile(file, text, 0o600))

	return file
}

// predict returns the effects that the command diff names for Compositions.
func (d *diffRun) predict(files []string, from ...string) (all []string) {
	text := d.run(state("function-export"), slices.Concat([]string{"diff", "--output", "json"}, from, files)...)

	var out struct {
		Composites []struct {
			Namespace, Name string
			Effects         []struct {
				Effect, At string
				Object     *live.Ref
				Keys       []string
			}
		}
	}

	d.must(json.Unmarshal(text, &out))

	for _, c := range out.Composites {
		for _, e := range c.Effects {
			switch {
			case e.Effect == "rotates" && e.At != "", e.Effect == "notAffected": // nothing happens now
				continue
			case e.Effect == "objectRenamed": // its predecessor has the effect objectDeleted
				e.Effect = "objectCreated"
			case e.Effect == "conflict", e.Effect == "refused": // the record has only the message
				e.Object = nil
			}

			parts := []string{c.Name, e.Effect}
			if e.Object != nil {
				parts = append(parts, e.Object.String())
			}

			all = append(all, strings.Join(slices.Concat(parts, keysOfEffect(e.Effect, e.Keys)), " "))
		}
	}

	slices.Sort(all)

	return all
}

// keysOfEffect returns the keys of effects that are about keys.
func keysOfEffect(effect string, keys []string) []string {
	if strings.HasPrefix(effect, "keys") || strings.HasSuffix(effect, "Changed") {
		return keys
	}

	return nil
}

// A seen is what is stored at a moment, and what the function was last told and answered.
type seen struct {
	apps        map[string]*unstructured.Unstructured
	objects     map[string]*unstructured.Unstructured // that are composed, by their reference
	required    map[string]map[string]bool            // by composite
	environment map[string]map[string]string          // by composite
	events      int                                   // so many were recorded before
}

// look reads everything.
func (d *diffRun) look() seen {
	s := seen{
		apps: map[string]*unstructured.Unstructured{}, objects: map[string]*unstructured.Unstructured{},
		required: map[string]map[string]bool{}, environment: map[string]map[string]string{},
	}

	eachApp(func(_ fleet, _ int, r live.Ref) { s.apps[r.Name], s.required[r.Name] = d.get(r), map[string]bool{} })

	for _, kind := range []string{"Secret", "ConfigMap"} {
		list, err := d.List(d.Context(), "v1", kind, "", "crossplane.io/composite")
		d.must(err)

		for _, o := range list {
			s.objects[live.RefOf(&o).String()] = &o
		}
	}

	d.calls.mu.Lock()
	defer d.calls.mu.Unlock()

	for _, c := range d.calls.calls[d.called:] { // of the last reconciles
		o := c.req.GetObserved().GetComposite().GetResource().AsMap()
		name := textAt(o, "metadata", "name")

		s.environment[name] = map[string]string{}

		environment := c.rsp.GetContext().GetFields()["apiextensions.crossplane.io/environment"]
		for field, v := range environment.GetStructValue().GetFields() {
			if field != "apiVersion" && field != "kind" { // function-patch-and-transform adds them
				s.environment[name]["environment."+field] = v.String()
			}
		}

		for _, r := range c.rsp.GetRequirements().GetResources() {
			own := strings.HasPrefix(r.GetMatchName(), name+"-") && !strings.HasSuffix(r.GetMatchName(), "-details")
			if ref := (live.Ref{Kind: r.GetKind(), Namespace: r.GetNamespace(), Name: r.GetMatchName()}); !own {
				s.required[name][ref.String()] = true
			}
		}
	}

	d.mu.Lock()
	defer d.mu.Unlock()

	s.events = len(d.events)

	return s
}

// effectsOf returns the effects that a change had on a fleet.
func effectsOf(f fleet, before, after seen, events []event) (out []string) {
	for i := range fleetSize {
		name := f.app(i).Name

		add := func(effect string, about ...string) {
			out = append(out, strings.Join(slices.Concat([]string{name, effect}, about), " "))
		}

		versions := map[string][]*unstructured.Unstructured{}

		for _, e := range events[before.events:after.events] {
			r := live.RefOf(e.object).String()
			// A deleted one does not have the label anymore.
			for _, o := range []*unstructured.Unstructured{e.object, before.objects[r], after.objects[r]} {
				if o != nil && o.GetLabels()["crossplane.io/composite"] == name {
					versions[r] = append(versions[r], e.object)
					break
				}
			}
		}

		for r, all := range versions {
			objectEffects(before.objects[r], after.objects[r], all, func(effect string, about ...string) {
				add(effect, append([]string{r}, about...)...)
			})
		}

		compositeEffects(before.apps[name], after.apps[name], add)

		if keys := differing(before.environment[name], after.environment[name]); len(keys) > 0 {
			add("environmentChanged", keys...)
		}

		for r := range after.required[name] {
			refused := live.ConditionOf(after.apps[name], "ExportsReady").Reason == "InvalidInput"
			if !before.required[name][r] && !refused {
				add("reads", r)
			}
		}
	}

	return slices.Sorted(slices.Values(out))
}

var unfinished = regexp.MustCompile(`(?:(Secret|ConfigMap) "[^"]+" \(([^)]+)\)|status\.\S+|` +
	`generator "[^"]+": generation \d+) (is kept unchanged|is not created|is not written|is not ready)|` +
	`(Secret|ConfigMap) "[^"]+" keeps the name ([^,]+), because`)

// compositeEffects adds what changed in the status of a composite.
func compositeEffects(was, is *unstructured.Unstructured, add func(effect string, about ...string)) {
	stateOf := func(o *unstructured.Unstructured) map[string]string {
		out := map[string]string{}

		for _, m := range unfinished.FindAllStringSubmatch(live.ConditionOf(o, "ExportsReady").Message, -1) {
			state := "held"
			if strings.HasPrefix(m[3], "is not") {
				state = "waiting"
			}

			out[strings.TrimSpace(m[1]+m[4]+" "+m[2]+m[5])] = state
		}

		return out
	}

	before := stateOf(was)
	for r, state := range stateOf(is) {
		if before[r] != state {
			add(strings.TrimSpace(state + " " + r))
		}
	}

	reason := func(o *unstructured.Unstructured) string { return live.ConditionOf(o, "ExportsReady").Reason }
	for text, effect := range map[string]string{"InvalidInput": "refused", "Conflict": "conflict"} {
		if reason(is) == text && reason(was) != text {
			add(effect)
		}
	}

	if live.ConditionOf(was, "Ready").Status == "True" && live.ConditionOf(is, "Ready").Status != "True" {
		add("readinessLost")
	}

	status := func(o *unstructured.Unstructured) map[string]string {
		return map[string]string{
			"status.host": textAt(o.Object, "status", "host"), "status.handled": textAt(o.Object, "status", "handled"),
		}
	}
	if keys := differing(status(was), status(is)); len(keys) > 0 {
		add("statusChanged", keys...)
	}
}

// objectEffects adds what happened to an object. A key that changed, and changed back, has changed.
func objectEffects(was, is *unstructured.Unstructured, versions []*unstructured.Unstructured,
	add func(effect string, about ...string)) {
	generation := versions[0].GetLabels()["export.fn.crossplane.io/generation"]

	retired := func(o *unstructured.Unstructured) bool { return stageOf(o) == "retired" }
	if slices.ContainsFunc(versions, retired) && !retired(was) {
		add("retires")
	}

	switch {
	case was == nil && generation != "" && generation != "1":
		add("rotates")
		return
	case was == nil:
		add("objectCreated")
		return
	case is == nil:
		add("objectDeleted")
		return
	case was.GetUID() != is.GetUID():
		add("objectDeleted")
		add("objectCreated")

		return
	}

	if exportOf(was) != exportOf(is) {
		add("objectTakenOver")
	}

	before, changes := textsIn(was), map[string][]string{}

	for _, v := range versions {
		after := textsIn(v)
		for _, key := range differing(before, after) {
			effect := "keysChanged"
			if _, had := before[key]; !had {
				effect = "keysAdded"
			} else if _, has := after[key]; !has {
				effect = "keysRemoved"
			}

			if !slices.Contains(changes[effect], key) {
				changes[effect] = append(changes[effect], key)
			}
		}
	}

	for effect, keys := range changes {
		add(effect, slices.Sorted(slices.Values(keys))...)
	}
}

// stageOf returns the stage of a generation, or nothing.
func stageOf(o *unstructured.Unstructured) string {
	var s struct{ State struct{ Stage string } }
	if o != nil {
		_ = json.Unmarshal([]byte(o.GetAnnotations()[generationState]), &s) // other objects have none
	}

	return s.State.Stage
}

// exportOf returns the name of the export that has an object.
func exportOf(o *unstructured.Unstructured) string {
	var r struct{ Export string }
	_ = json.Unmarshal([]byte(o.GetAnnotations()[exportState]), &r) // most objects have none

	return cmp.Or(r.Export, o.GetAnnotations()["crossplane.io/composition-resource-name"])
}

// differing returns the sorted keys whose values differ.
func differing(a, b map[string]string) []string {
	all := map[string]string{}
	maps.Copy(all, a)
	maps.Copy(all, b)
	maps.DeleteFunc(all, func(key, _ string) bool {
		v, had := a[key]
		other, has := b[key]

		return had == has && v == other
	})

	return slices.Sorted(maps.Keys(all))
}

// textsIn returns the data of a Secret or a ConfigMap, and its labels and annotations that are not of Crossplane.
func textsIn(o *unstructured.Unstructured) map[string]string {
	out, _, _ := unstructured.NestedStringMap(o.Object, "data")
	if o.GetKind() == "Secret" {
		out = live.DataOf(o)
	}

	if out == nil {
		out = map[string]string{}
	}

	for field, texts := range map[string]map[string]string{"labels": o.GetLabels(), "annotations": o.GetAnnotations()} {
		for key, v := range texts {
			if domain, _, _ := strings.Cut(key, "/"); !strings.HasSuffix(domain, "crossplane.io") {
				out["metadata."+field+"."+key] = v
			}
		}
	}

	return out
}
