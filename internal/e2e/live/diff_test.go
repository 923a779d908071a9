package live_test

import (
	"bytes"
	"cmp"
	"context"
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

// TestDiff changes five Compositions of sixty composites, 25 changes in all. Before each change, the command diff
// predicts its effects, from the cluster and from a dump of it. After it, the effects are those that etcd recorded:
// none is missed, and none is invented.
func TestDiff(t *testing.T) {
	if err := stage(); err != nil {
		t.Fatal(err)
	}

	ctx := t.Context()

	installNeighbors(ctx, t)

	d := &diffRun{t: t, calls: record(ctx, t, diffFunction)}

	programs, err := e2e.BuildControlPlane(ctx, func(string) {})
	if err != nil {
		t.Fatal(err)
	}

	d.kubectl = programs.Kubectl

	if err := first(d.create, d.provide, d.settle); err != nil {
		t.Fatalf("%v\n%s%s", err, events("diff-a"), events("diff-b"))
	}

	for i := range len(fleets[0].stages) - 1 {
		d.change(ctx, i+1)
	}

	why, err := d.run(ctx, state("function-export"), "why", "diff-b/carts-9", "--cluster")
	if want := "who must act: the provider of Database carts-9-db\n"; err != nil || !strings.Contains(string(why), want) {
		t.Errorf("why has no %q: %v\n%s", want, err, why)
	}
}

// A diffRun is the composites of all fleets, and the record of what is stored for them.
type diffRun struct {
	t       *testing.T
	calls   *recorder
	called  int // so many calls were made before the last reconciles
	kubectl string

	mu     sync.Mutex
	events []event // of Secrets and ConfigMaps
}

// create creates the composites in the first stage, and starts the record.
func (d *diffRun) create() error {
	ctx := d.t.Context()

	d.t.Cleanup(func() {
		for _, f := range fleets {
			for i := range fleetSize {
				_ = plane.Delete(context.WithoutCancel(ctx), f.app(i))
			}
		}
	})

	add := func(kind string, o *unstructured.Unstructured) {
		if strings.HasPrefix(o.GetNamespace(), "diff-") {
			d.mu.Lock()
			defer d.mu.Unlock()

			d.events = append(d.events, event{kind, o, time.Now()})
		}
	}

	for _, ns := range []string{"diff-a", "diff-b"} {
		if err := plane.Apply(ctx, "{apiVersion: v1, kind: Namespace, metadata: {name: "+ns+"}}"); err != nil {
			return err
		}

		status, err := plane.EtcdStatus(ctx)
		if err != nil {
			return err
		}

		go func() {
			if err := plane.RecordSecrets(ctx, ns, status.Revision+1, add); err != nil {
				d.t.Errorf("the record of etcd is not complete: %v", err)
			}
		}()
	}

	if err := plane.Watch(ctx, "v1", "ConfigMap", add); err != nil {
		return err
	}

	for _, f := range fleets {
		if _, err := d.apply(ctx, f, 0); err != nil {
			return err
		}

		for i := range fleetSize {
			if err := plane.Apply(ctx, f.manifest(i)); err != nil {
				return err
			}
		}
	}

	return nil
}

// provide acts as the provider of all Databases.
func (d *diffRun) provide() error {
	for _, f := range fleets {
		for i := range fleetSize {
			s := scenario{ControlPlane: plane, ns: max(f.app(i).Namespace, "diff-a")}
			data := login()

			for _, db := range []string{"db", "cache"} {
				name := f.app(i).Name + "-" + db

				if db == "cache" && (f.name != "carts" || i%3 != 0) {
					continue
				}

				err := s.connect(d.t.Context(), name, name+"-details", data)
				if i == unread {
					err = s.Delete(d.t.Context(), s.core("Secret", name+"-details"))
				}

				if err == nil {
					err = s.Patch(d.t.Context(), s.database(name), `{"status": `+readyStatus(`"host": "`+name+`.example.org",`)+`}`, "status")
				}

				if err != nil {
					return err
				}
			}
		}
	}

	return nil
}

// apply applies the Composition of a stage. It returns the path of its file.
func (d *diffRun) apply(ctx context.Context, f fleet, stage int) (string, error) {
	file, err := d.file(f, stage)
	if err != nil {
		return "", err
	}

	o, err := f.composition(stage)
	if err != nil {
		return "", err
	}

	return file, plane.ApplyObject(ctx, o)
}

// file writes the Composition of a stage.
func (d *diffRun) file(f fleet, stage int) (string, error) {
	o, err := f.composition(stage)
	if err != nil {
		return "", err
	}

	text, err := yaml.Marshal(o.Object)
	if err != nil {
		return "", err
	}

	file := filepath.Join(state("diff"), f.name+".yaml")
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return "", err
	}

	return file, os.WriteFile(file, text, 0o600)
}

// eachApp calls a function for each composite.
func eachApp(do func(f fleet, i int, r live.Ref) error) error {
	for _, f := range fleets {
		for i := range fleetSize {
			if err := do(f, i, f.app(i)); err != nil {
				return err
			}
		}
	}

	return nil
}

// settle reconciles all composites until two rounds in a row have written nothing.
func (d *diffRun) settle() error {
	ctx := d.t.Context()

	for quiet, round := 0, 0; quiet < 2; round++ {
		if round == 20 {
			return errors.New("objects still change after 20 reconciles")
		}

		d.mu.Lock()
		written := len(d.events)
		d.mu.Unlock()

		d.calls.mu.Lock()
		d.called = len(d.calls.calls)
		d.calls.mu.Unlock()

		token := fmt.Sprint(time.Now().UnixNano())

		err := eachApp(func(_ fleet, _ int, r live.Ref) error {
			return plane.Patch(ctx, r, fmt.Sprintf(`{"metadata": {"annotations": {%q: %q}}}`, reconcileAt, token))
		})
		if err != nil {
			return err
		}

		if err := eventually(ctx, 2*time.Minute, "all composites to be reconciled", func() error { return d.reconciled(token) }); err != nil {
			return err
		}

		d.mu.Lock()
		if quiet++; len(d.events) > written {
			quiet = 0
		}
		d.mu.Unlock()
	}

	return nil
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

	if want := len(fleets) * fleetSize; len(names) != want {
		return fmt.Errorf("the function was called for %d of %d composites", len(names), want)
	}

	return nil
}

// change predicts the effects of the next stage of all fleets, applies it, and compares what happened.
func (d *diffRun) change(ctx context.Context, stage int) {
	dump, err := d.dump(ctx)
	if err != nil {
		d.t.Fatal(err)
	}

	var files []string

	for _, f := range fleets {
		file, err := d.file(f, stage)
		if err != nil {
			d.t.Fatal(err)
		}

		files = append(files, file)
	}

	predicted := d.predict(ctx, files, "--cluster")

	// A Secret that is not in a dump may be left out, so what depends on it cannot be known.
	ofUnread := func(effect string) bool {
		return slices.ContainsFunc(fleets, func(f fleet) bool { return strings.HasPrefix(effect, f.app(unread).Name+" ") })
	}
	fromDump := slices.DeleteFunc(d.predict(ctx, files, "--from", dump), ofUnread)

	if fromCluster := slices.DeleteFunc(slices.Clone(predicted), ofUnread); !slices.Equal(fromCluster, fromDump) {
		d.t.Errorf("the effects from the cluster are %q, and those from a dump %q", fromCluster, fromDump)
	}

	before, err := d.look(ctx)
	if err != nil {
		d.t.Fatal(err)
	}

	for _, f := range fleets {
		if _, err := d.apply(ctx, f, stage); err != nil {
			d.t.Fatal(err)
		}
	}

	if err := d.settle(); err != nil {
		d.t.Fatalf("%v\n%s%s", err, events("diff-a"), events("diff-b"))
	}

	after, err := d.look(ctx)
	if err != nil {
		d.t.Fatal(err)
	}

	var happened []string
	for _, f := range fleets {
		happened = append(happened, effectsOf(f, before, after, d.events)...)
	}

	for _, e := range happened {
		if !slices.Contains(predicted, e) {
			d.t.Errorf("%s: missed: %s", changeOf(e, stage), e)
		}
	}

	for _, e := range predicted {
		if !slices.Contains(happened, e) {
			d.t.Errorf("%s: invented: %s", changeOf(e, stage), e)
		}
	}

	d.t.Logf("change %d: %d effects were predicted, and %d happened", stage, len(predicted), len(happened))
}

// changeOf returns the change of a stage that has an effect.
func changeOf(effect string, stage int) string {
	i := slices.IndexFunc(fleets, func(f fleet) bool { return strings.HasPrefix(effect, f.name+"-") })

	return fleets[i].stages[stage].change
}

// run runs a program that reads the cluster with kubectl. It may end with the exit code 1.
func (d *diffRun) run(ctx context.Context, program string, args ...string) ([]byte, error) {
	var stdout, stderr bytes.Buffer

	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Env = append(os.Environ(), "KUBECONFIG="+plane.Kubeconfig(), "KUBECACHEDIR="+state("kubectl-cache"),
		"PATH="+filepath.Dir(d.kubectl)+string(os.PathListSeparator)+os.Getenv("PATH"))
	cmd.Stdout, cmd.Stderr = &stdout, &stderr

	if err := cmd.Run(); err != nil && cmd.ProcessState.ExitCode() != 1 {
		return nil, fmt.Errorf("cannot run %s %s: %w\n%s", filepath.Base(program), args[0], err, stderr.Bytes())
	}

	if all := stdout.String() + stderr.String(); program != d.kubectl && strings.Contains(all, marker) {
		d.t.Errorf("%s prints a value of a Secret", args[0])
	}

	return stdout.Bytes(), nil
}

// dumped are the kinds that a dump has.
const dumped = "compositeresourcedefinitions,compositions,compositionrevisions,environmentconfigs,apps.live.example.org,sites,databases,secrets,configmaps"

// dump returns the path of a file with what the cluster has.
func (d *diffRun) dump(ctx context.Context) (string, error) {
	text, err := d.run(ctx, d.kubectl, "get", dumped, "--all-namespaces", "--output", "yaml")
	if err != nil {
		return "", err
	}

	file := filepath.Join(state("diff"), "dump.yaml")

	return file, os.WriteFile(file, text, 0o600)
}

// predict returns the effects that the command diff names for Compositions.
func (d *diffRun) predict(ctx context.Context, files []string, from ...string) []string {
	text, err := d.run(ctx, state("function-export"), slices.Concat([]string{"diff", "--output", "json"}, from, files)...)
	if err != nil {
		d.t.Error(err)
		return nil
	}

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

	if err := json.Unmarshal(text, &out); err != nil {
		d.t.Errorf("cannot read the output of diff: %v", err)
	}

	var all []string

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

	return slices.Sorted(slices.Values(all))
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
func (d *diffRun) look(ctx context.Context) (seen, error) {
	s := seen{
		apps: map[string]*unstructured.Unstructured{}, objects: map[string]*unstructured.Unstructured{},
		required: map[string]map[string]bool{}, environment: map[string]map[string]string{},
	}

	err := eachApp(func(_ fleet, _ int, r live.Ref) error {
		o, err := plane.Get(ctx, r)
		s.apps[r.Name], s.required[r.Name] = o, map[string]bool{}

		return err
	})

	for _, kind := range []string{"Secret", "ConfigMap"} {
		list, e := plane.List(ctx, "v1", kind, "", "crossplane.io/composite")
		err = errors.Join(err, e)

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
		for field, v := range c.rsp.GetContext().GetFields()["apiextensions.crossplane.io/environment"].GetStructValue().GetFields() {
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

	return s, err
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
			for _, o := range []*unstructured.Unstructured{e.object, before.objects[r], after.objects[r]} {
				if o != nil && o.GetLabels()["crossplane.io/composite"] == name { // a deleted one does not have it anymore
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

var unfinished = regexp.MustCompile(`(?:(Secret|ConfigMap) "[^"]+" \(([^)]+)\)|status\.\S+|generator "[^"]+": generation \d+) (is kept unchanged|is not created|is not written|is not ready)|` +
	`(Secret|ConfigMap) "[^"]+" keeps the name ([^,]+), because`)

// compositeEffects adds what changed in the status of a composite.
func compositeEffects(was, is *unstructured.Unstructured, add func(effect string, about ...string)) {
	stateOf := func(o *unstructured.Unstructured) map[string]string {
		out := map[string]string{}

		for _, m := range unfinished.FindAllStringSubmatch(live.ConditionOf(o, "ExportsReady").Message, -1) {
			state := map[string]string{"is not created": "waiting", "is not written": "waiting", "is not ready": "waiting"}[m[3]]
			out[strings.TrimSpace(m[1]+m[4]+" "+m[2]+m[5])] = cmp.Or(state, "held")
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
		return map[string]string{"status.host": textAt(o.Object, "status", "host"), "status.handled": textAt(o.Object, "status", "handled")}
	}
	if keys := differing(status(was), status(is)); len(keys) > 0 {
		add("statusChanged", keys...)
	}
}

// objectEffects adds what happened to an object. A key that changed, and changed back, has changed.
func objectEffects(was, is *unstructured.Unstructured, versions []*unstructured.Unstructured, add func(effect string, about ...string)) {
	generation := versions[0].GetLabels()["export.fn.crossplane.io/generation"]

	if slices.ContainsFunc(versions, func(o *unstructured.Unstructured) bool { return stageOf(o) == "retired" }) && stageOf(was) != "retired" {
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

	changes := map[string][]string{}

	for _, v := range versions {
		before, after := textsIn(was), textsIn(v)
		for _, key := range differing(before, after) {
			_, had := before[key]
			_, has := after[key]
			effect := map[[2]bool]string{{false, true}: "keysAdded", {true, false}: "keysRemoved", {true, true}: "keysChanged"}[[2]bool{had, has}]

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
		_ = json.Unmarshal([]byte(o.GetAnnotations()["export.fn.crossplane.io/generator-state"]), &s) // other objects have none
	}

	return s.State.Stage
}

// exportOf returns the name of the export that has an object.
func exportOf(o *unstructured.Unstructured) string {
	var r struct{ Export string }
	_ = json.Unmarshal([]byte(o.GetAnnotations()["export.fn.crossplane.io/export-state"]), &r) // most objects have none

	return cmp.Or(r.Export, o.GetAnnotations()["crossplane.io/composition-resource-name"])
}

// differing returns the sorted keys whose values differ.
func differing(a, b map[string]string) []string {
	all := map[string]bool{}

	for k, v := range a {
		if other, ok := b[k]; !ok || v != other {
			all[k] = true
		}
	}

	for k := range b {
		if _, ok := a[k]; !ok {
			all[k] = true
		}
	}

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
