package live_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"os/signal"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/crossplane-contrib/function-export/internal/e2e/laws"
	"github.com/crossplane-contrib/function-export/internal/e2e/live"
)

// faultsNamespace is the namespace of the composites of TestFaults.
const faultsNamespace = "faults"

const faultsDefinition = `
apiVersion: v1
kind: Namespace
metadata: {name: faults}
---
apiVersion: apiextensions.crossplane.io/v2
kind: CompositeResourceDefinition
metadata: {name: patients.faults.example.org}
spec:
  scope: Namespaced
  group: faults.example.org
  names: {kind: Patient, plural: patients}
  versions:
  - name: v1alpha1
    served: true
    referenceable: true
    schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object}}}}
`

const faultsComposition = `
apiVersion: apiextensions.crossplane.io/v1
kind: Composition
metadata: {name: patients.faults.example.org}
spec:
  compositeTypeRef: {apiVersion: faults.example.org/v1alpha1, kind: Patient}
  mode: Pipeline
  pipeline:
  - step: export
    functionRef: {name: function-export}
    input:
      apiVersion: export.fn.crossplane.io/v1beta1
      kind: Exports
      ttl: 10s
      sources:
      - {name: vault, apiVersion: v1, kind: Secret, nameExpression: "composite.metadata.name + '-account-source'"}
      - {name: config, apiVersion: v1, kind: ConfigMap, nameExpression: "composite.metadata.name + '-settings-source'"}
      generators:
      - {name: admin, gracePeriod: 3s, password: {length: 20, symbols: 2, symbolCharacters: "-_", secretKeys: [password, token]}}
      - {name: id, gracePeriod: 3s, uuid: {}}
      - {name: clock, gracePeriod: 3s, refreshPolicy: Periodic, refreshInterval: 60s, password: {length: 20}}
      - {name: ca, gracePeriod: 3s, certificate: {isCA: true, subject: {commonName: ca}, duration: 8760h}}
      - name: server
        gracePeriod: 3s
        refreshPolicy: OnChange
        certificate: {ca: ca, subject: {commonName: server.example.org}, dnsNames: [server.example.org], duration: 720h}
      secrets:
      - name: connection
        data:
        - {key: password, value: generated.admin.password}
        - {key: token, value: generated.admin.token}
        - {key: id, value: generated.id.uuid}
        - {key: clock, value: generated.clock.password}
        - {key: url, value: "'postgres://admin:%s@%s'.format([generated.admin.password, generated.id.uuid])"}
        - {key: former, value: "previous.?admin.?password"}
        - {key: former-clock, value: "previous.?clock.?password"}
      - name: app
        data:
        - {key: password, value: generated.admin.password}
        - {key: digest, value: sha256(generated.admin.password)}
        - {key: former, value: "previous.?admin.?password"}
      - name: tls
        type: kubernetes.io/tls
        data:
        - {key: tls.crt, value: "generated.server['tls.crt']"}
        - {key: tls.key, value: "generated.server['tls.key']"}
        - {key: ca.crt, value: "generated.server['ca.crt']"}
      - name: account
        data:
        - {key: user, value: secrets.vault.user}
        - {key: password, value: secrets.vault.password}
        - {key: both, value: "secrets.vault.user + ':' + secrets.vault.password"}
      - name: settings
        data:
        - {key: user, value: sources.config.data.user}
        - {key: password, value: sources.config.data.password}
        - {key: both, value: "'%s:%s'.format([sources.config.data.user, sources.config.data.password])"}
`

// faultsHistory describes the exports of the Composition above, and their rotation.
func faultsHistory(composites []string) *laws.History {
	admin, clock := laws.Output{Generator: "admin", Name: "password"}, laws.Output{Generator: "clock", Name: "password"}
	source := func(name string) laws.Shape {
		return laws.Shape{Keys: []string{"user", "password", "both"}, Whole: laws.WholeSource, Source: name, Moment: laws.Moment}
	}

	return &laws.History{
		Composites: composites, Grace: 3 * time.Second,
		Generators: map[string]laws.Rotates{"admin": {}, "id": {}, "clock": {Every: time.Minute}, "ca": {}, "server": {With: "ca"}},
		Exports: map[string]laws.Shape{
			"connection": {
				Generated: map[string]laws.Output{"password": admin, "token": {Generator: "admin", Name: "token"}, "id": {Generator: "id", Name: "uuid"}, "clock": clock},
				Former:    map[string]laws.Output{"former": admin, "former-clock": clock}, Keys: []string{"url"}, Whole: laws.WholeConnection,
			},
			"app": {Generated: map[string]laws.Output{"password": admin}, Former: map[string]laws.Output{"former": admin}, Keys: []string{"digest"}, Whole: laws.WholeDigest},
			// Generations of one CA have one ca.crt: whether it belongs there is for laws.WholeTLS.
			"tls": {Generated: map[string]laws.Output{"tls.crt": {Generator: "server", Name: "tls.crt"}, "tls.key": {Generator: "server", Name: "tls.key"}}, Keys: []string{"ca.crt"}, Whole: laws.WholeTLS},

			"account": source("account"), "settings": source("settings"),
		},
	}
}

// A ward contains the composites, and everything that changes and breaks them.
type ward struct {
	*laws.History
	t *testing.T

	sources   map[string]*source // keyed by composite and name
	rotations atomic.Int64
	writes    atomic.Int64
	hurried   atomic.Int64

	requesting sync.Mutex
	requests   map[string]map[string]int // by composite and generator

	effects
	variants
	network
	pausing sync.Mutex // one composite is paused at a time
	alpha   *alpha

	using         sync.Mutex // one generation is protected at a time
	withoutUsages func(ctx context.Context)

	mu    sync.Mutex
	away  map[*live.Process]int // the number of callers that keep it from running
	heals sync.WaitGroup        // repairs that are not yet done

	gate   *live.Gate // between Crossplane and the API server
	etcd   sync.Mutex // one operation on etcd runs at a time
	record *etcdRecord
	copy   string // the folder with the snapshot of etcd
	copied time.Time

	copySeen int // what a history numbers higher is not in the copy
}

func newWard(t *testing.T, composites []string) *ward {
	h := faultsHistory(composites)

	return &ward{
		History: h, t: t, sources: map[string]*source{}, away: map[*live.Process]int{}, requests: map[string]map[string]int{},
		record: &etcdRecord{t: t, history: h},
	}
}

// A source is an object that an export of a composite reads.
type source struct {
	composite, name, kind string

	mu   sync.Mutex
	n    int
	gone bool
}

// insist repeats a call that fails while the API server does not run.
func (w *ward) insist(ctx context.Context, what string, do func(ctx context.Context) error) {
	for start := time.Now(); ctx.Err() == nil; time.Sleep(100 * time.Millisecond) {
		err := func() error {
			ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
			defer cancel()

			return do(ctx)
		}()
		if err == nil {
			return
		}

		if time.Since(start) > 2*time.Minute {
			w.t.Errorf("cannot %s for two minutes: %v", what, err)
			return
		}
	}
}

func patient(name string) live.Ref {
	return live.Ref{APIVersion: "faults.example.org/v1alpha1", Kind: "Patient", Namespace: faultsNamespace, Name: name}
}

func (w *ward) create(ctx context.Context) error {
	if err := plane.Apply(ctx, faultsDefinition+"---"+faultsComposition); err != nil {
		return err
	}

	definition := live.Ref{APIVersion: "apiextensions.crossplane.io/v2", Kind: "CompositeResourceDefinition", Name: "patients.faults.example.org"}
	if err := plane.WaitForCondition(ctx, time.Minute, definition, "Established"); err != nil {
		return err
	}

	for _, c := range w.Composites {
		for name, kind := range map[string]string{"account": "Secret", "settings": "ConfigMap"} {
			s := &source{composite: c, name: name, kind: kind}
			w.sources[c+" "+name] = s
			w.write(ctx, s)
		}

		if err := plane.Apply(ctx, "{apiVersion: faults.example.org/v1alpha1, kind: Patient, metadata: {name: "+c+", namespace: faults}, spec: {}}"); err != nil {
			return err
		}
	}

	return nil
}

// write writes the next values of a source.
func (w *ward) write(ctx context.Context, s *source) {
	s.mu.Lock()
	defer s.mu.Unlock()

	if s.gone || ctx.Err() != nil {
		return
	}

	s.n++
	w.Ask(s.composite, s.name)
	w.writes.Add(1)

	data := "data"
	if s.kind == "Secret" {
		data = "stringData"
	}

	w.insist(context.WithoutCancel(ctx), "write a source", func(ctx context.Context) error {
		return plane.Apply(ctx, fmt.Sprintf("{apiVersion: v1, kind: %s, metadata: {name: %s-%s-source, namespace: faults}, %s: {user: user-%d, password: password-%d}}",
			s.kind, s.composite, s.name, data, s.n, s.n))
	})
}

// lose deletes a source, and writes its next values after some time.
func (w *ward) lose(ctx context.Context, s *source, d time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()

	if s.gone {
		return
	}

	s.gone = true

	w.insist(ctx, "delete a source", func(ctx context.Context) error {
		return plane.Delete(ctx, live.Ref{APIVersion: "v1", Kind: s.kind, Namespace: faultsNamespace, Name: s.composite + "-" + s.name + "-source"})
	})
	w.later(d, func() {
		s.mu.Lock()
		s.gone = false
		s.mu.Unlock()
		w.write(ctx, s)
	})
}

// later calls do, which repairs what the test broke, after the duration d.
func (w *ward) later(d time.Duration, do func()) {
	w.heals.Go(func() { time.Sleep(d); do() })
}

// rotate repeatedly requests new generations of a composite.
func (w *ward) rotate(ctx context.Context, rng *rand.Rand) {
	generators := slices.Sorted(maps.Keys(w.Generators))

	for ctx.Err() == nil {
		c := w.Composites[rng.IntN(len(w.Composites))]

		var some []string
		for _, i := range rng.Perm(len(generators))[:1+rng.IntN(3)] {
			some = append(some, generators[i])
		}

		w.request(ctx, c, some...)
		time.Sleep(time.Duration(200+rng.IntN(800)) * time.Millisecond)
	}
}

// request requests new generations of a composite with its annotation.
func (w *ward) request(ctx context.Context, composite string, generators ...string) {
	w.requesting.Lock()
	defer w.requesting.Unlock()

	if w.requests[composite] == nil {
		w.requests[composite] = map[string]int{}
	}

	for _, g := range generators {
		w.Ask(composite, g)
		w.rotations.Add(1)

		w.requests[composite][g]++
	}

	var asks []string
	for _, g := range slices.Sorted(maps.Keys(w.requests[composite])) {
		asks = append(asks, fmt.Sprintf("%s=%d", g, w.requests[composite][g]))
	}

	w.insist(ctx, "ask for a rotation", func(ctx context.Context) error {
		return plane.Patch(ctx, patient(composite), fmt.Sprintf(`{"metadata":{"annotations":{%q:%q}}}`, laws.Annotations+"rotate", strings.Join(asks, ",")))
	})
}

func (w *ward) rewrite(ctx context.Context, rng *rand.Rand) {
	sources := slices.Sorted(maps.Keys(w.sources))

	for ctx.Err() == nil {
		w.write(ctx, w.sources[sources[rng.IntN(len(sources))]])
		time.Sleep(time.Duration(200+rng.IntN(800)) * time.Millisecond)
	}
}

// keep keeps processes running, as kubelets do.
func (w *ward) keep(ctx context.Context) {
	for ctx.Err() == nil {
		for _, p := range append([]*live.Process{plane.Etcd, plane.APIServer, plane.ControllerManager, plane.Crossplane, plane.RBACManager}, function.Replicas...) {
			w.mu.Lock()
			if w.away[p] == 0 && ctx.Err() == nil {
				if err := p.Start(); err != nil {
					w.t.Error(err)
				}
			}
			w.mu.Unlock()
		}

		time.Sleep(200 * time.Millisecond)
	}
}

// hurry starts Crossplane again if it calls no function for some time. After several attempts to connect that failed,
// its gRPC client waits for up to two minutes. Without this, most of a run is waiting.
func (w *ward) hurry(ctx context.Context) {
	const enough = 15 * time.Second

	for calls, last, since := w.calls(), -1, time.Now(); ctx.Err() == nil; time.Sleep(time.Second) {
		if n := calls(); n != last {
			last, since = n, time.Now()
		}

		if time.Since(since) > enough {
			w.t.Logf("no call for %s: Crossplane is started again", enough)
			w.hurried.Add(1)
			plane.Crossplane.Kill()

			since = time.Now()
		}
	}
}

// hold kills processes, and prevents for some time that they are started again.
func (w *ward) hold(d time.Duration, p ...*live.Process) {
	hold := func(n int) {
		w.mu.Lock()
		defer w.mu.Unlock()

		for _, p := range p {
			w.away[p] += n
		}
	}

	hold(1)

	for _, p := range p {
		p.Kill()
	}

	w.later(d, func() { hold(-1) })
}

// A fault hurts for as long as it says.
type fault struct {
	name   string
	weight int
	do     func(ctx context.Context, rng *rand.Rand)
}

func (w *ward) faults() []fault {
	some := func(rng *rand.Rand, from, to int) time.Duration {
		return time.Duration(from+rng.IntN(to-from)) * time.Millisecond
	}
	replica := func(rng *rand.Rand) *live.Process { return function.Replicas[rng.IntN(len(function.Replicas))] }

	all := []fault{
		{"replica killed", 5, func(_ context.Context, rng *rand.Rand) { replica(rng).Kill() }},
		{"both replicas killed", 3, func(context.Context, *rand.Rand) {
			for _, p := range function.Replicas {
				p.Kill()
			}
		}},
		{"function gone", 2, func(_ context.Context, rng *rand.Rand) { w.hold(some(rng, 1000, 4000), function.Replicas...) }},
		{"function slow", 3, func(_ context.Context, rng *rand.Rand) {
			function.Delay(some(rng, 200, 2000))
			w.later(some(rng, 500, 2500), func() { function.Delay(0) })
		}},
		{"replica frozen", 3, func(_ context.Context, rng *rand.Rand) {
			p := replica(rng)
			p.Signal(syscall.SIGSTOP)
			w.later(some(rng, 300, 3000), func() { p.Signal(syscall.SIGCONT) })
		}},
		{"certificate rotated", 3, func(context.Context, *rand.Rand) {
			if err := function.RotateCertificate(); err != nil {
				w.t.Error(err)
			}
		}},
		{"Crossplane killed", 4, func(context.Context, *rand.Rand) { plane.Crossplane.Kill() }},
		{"API server restarted", 2, func(ctx context.Context, _ *rand.Rand) {
			plane.APIServer.Kill()

			if err := plane.WaitForAPIServer(ctx); err != nil {
				w.t.Error(err)
			}
		}},
		{"source lost", 3, func(ctx context.Context, rng *rand.Rand) {
			names := slices.Sorted(maps.Keys(w.sources))
			w.lose(ctx, w.sources[names[rng.IntN(len(names))]], some(rng, 500, 3000))
		}},
	}
	all = slices.Concat(all, w.disturbances(), w.etcds(), w.pauses(), w.clocks(), w.upgrades(), w.losses(), w.alphas(), w.usages())

	return w.played(all)
}

// hurt breaks something at random. The weight of a kind says how often it is chosen.
func (w *ward) hurt(ctx context.Context, rng *rand.Rand, n int) map[string]int {
	var turn []fault

	counts := map[string]int{}

	for i := range n {
		switch i {
		case n/2 - snapshotAge(w.t, n):
			w.done("copy the data of etcd", w.snapshot(ctx))
		case n / 2:
			w.done("restore etcd", w.restore(ctx))
		}

		if len(turn) == 0 {
			for _, f := range w.faults() {
				turn = append(turn, slices.Repeat([]fault{f}, f.weight)...)
			}

			rng.Shuffle(len(turn), func(i, j int) { turn[i], turn[j] = turn[j], turn[i] })
		}

		turn[0].do(ctx, rng)
		counts[turn[0].name]++
		turn = turn[1:]

		if (i+1)%50 == 0 {
			w.t.Logf("%d faults, %d rotations asked for", i+1, w.rotations.Load())
		}

		time.Sleep(time.Duration(200+rng.IntN(1600)) * time.Millisecond)
	}

	return counts
}

// rest waits until the system is stable: all composites are ready, and the law of the end holds.
func (w *ward) rest(ctx context.Context, within time.Duration) error {
	for deadline := time.Now().Add(within); ; time.Sleep(300 * time.Millisecond) {
		err := w.well(ctx)
		if err == nil || time.Now().After(deadline) {
			return err
		}
	}
}

func (w *ward) well(ctx context.Context) error {
	list, err := plane.List(ctx, "v1", "Secret", faultsNamespace, "")
	if err != nil {
		return err
	}

	w.Final = nil

	for i := range list {
		v := laws.VersionOf("LISTED", &list[i], time.Now())
		w.Add(v)
		w.Final = append(w.Final, v)
	}

	var errs []error

	for _, c := range w.Composites {
		o, err := plane.Get(ctx, patient(c))
		if err != nil {
			return err
		}

		for _, condition := range []string{"Synced", "Ready", "ExportsReady"} {
			if got := live.ConditionOf(o, condition); got.Status != "True" {
				errs = append(errs, fmt.Errorf("%s: %s is %+v", c, condition, got))
			}
		}
	}

	for _, broken := range w.Settled() {
		errs = append(errs, errors.New(broken))
	}

	return errors.Join(errs...)
}

// describe tells what the composites and their Secrets say, without any value.
func (w *ward) describe(ctx context.Context) string {
	var b strings.Builder

	object := func(o *unstructured.Unstructured) {
		fmt.Fprintf(&b, "%s %s: resourceVersion %s, created %s, deleted %s\n", o.GetKind(), o.GetName(),
			o.GetResourceVersion(), o.GetCreationTimestamp().Format(time.RFC3339), o.GetDeletionTimestamp())

		for _, k := range slices.Sorted(maps.Keys(o.GetAnnotations())) {
			if strings.HasPrefix(k, laws.Annotations) {
				fmt.Fprintf(&b, "    %s: %s\n", k, o.GetAnnotations()[k])
			}
		}
	}

	for _, c := range w.Composites {
		o, err := plane.Get(ctx, patient(c))
		if err != nil {
			fmt.Fprintf(&b, "%s: %v\n", c, err)
			continue
		}

		object(o)

		conditions, _, _ := unstructured.NestedSlice(o.Object, "status", "conditions")
		for _, condition := range conditions {
			fmt.Fprintf(&b, "    condition: %v\n", condition)
		}

		refs, _, _ := unstructured.NestedSlice(o.Object, "spec", "crossplane", "resourceRefs")
		for _, ref := range refs {
			fmt.Fprintf(&b, "    ref: %v\n", ref)
		}
	}

	secrets, err := plane.List(ctx, "v1", "Secret", faultsNamespace, "")
	if err != nil {
		fmt.Fprintln(&b, err)
	}

	for i := range secrets {
		object(&secrets[i])
	}

	return b.String()
}

// setting returns a number from an environment variable, or the default.
func setting(t *testing.T, name string, otherwise uint64) uint64 {
	t.Helper()

	text := os.Getenv(name)
	if text == "" {
		return otherwise
	}

	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}

	return n
}

// heal waits until the system is well after the last failure.
func (w *ward) heal(ctx context.Context) {
	healing := time.Now()
	if err := w.rest(ctx, 3*time.Minute); err != nil {
		w.t.Logf("not well three minutes after the last fault: %v\n%s", err, w.describe(ctx))

		// The function stores nothing between two calls. If a new process of Crossplane recovers, the memory
		// of the old process was wrong, for example because its watches were interrupted.
		plane.Crossplane.Kill()

		if err := w.rest(ctx, 2*time.Minute); err != nil {
			w.t.Errorf("not well after Crossplane was started again either: %v\n%s", err, w.describe(ctx))
		} else {
			w.t.Log("WELL ONLY AFTER CROSSPLANE WAS STARTED AGAIN: its memory was wrong, see above")
		}
	}

	w.t.Logf("well again after %s", time.Since(healing).Round(100*time.Millisecond))
}

// TestFaults breaks parts of the live system at random while credentials are rotated all the time.
// It checks each version of each Secret that etcd ever had.
//
// LIVE_FAULTS is the number of failures, and LIVE_SEED selects them. The result of a seed also
// depends on the machine. In the middle, etcd is restored from a copy of its data that is
// LIVE_SNAPSHOT failures old. With 0, it is not restored.
func TestFaults(t *testing.T) {
	seed := setting(t, "LIVE_SEED", uint64(time.Now().UnixNano()))
	n := int(setting(t, "LIVE_FAULTS", 120))
	t.Logf("LIVE_SEED=%d LIVE_FAULTS=%d", seed, n)

	ctx, stop := signal.NotifyContext(t.Context(), os.Interrupt, syscall.SIGTERM) // stopped processes stay stopped
	defer stop()

	var composites []string
	for i := range 6 {
		composites = append(composites, fmt.Sprintf("patient-%d", i))
	}

	w := newWard(t, composites)
	w.interpose(t)

	var running sync.WaitGroup

	watching, stopWatching := context.WithCancel(ctx)
	keeping, stopKeeping := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	rotating, stopRotating := context.WithCancel(ctx)

	t.Cleanup(func() { // other tests need the processes that this test stopped
		stopRotating()
		w.heals.Wait()
		running.Wait()
		function.Delay(0)
		w.withAlpha(false)

		if w.withoutUsages != nil {
			w.withoutUsages(keeping)
		}

		w.discharge(keeping)
		stopKeeping()
	})

	w.prepare(ctx)

	calls := w.calls()

	go w.keep(keeping)

	if err := w.record.start(watching); err != nil {
		t.Fatal(err)
	}

	if err := w.create(ctx); err != nil {
		t.Fatal(err)
	}

	if err := w.rest(ctx, time.Minute); err != nil {
		t.Fatalf("not well before anything was hurt: %v", err)
	}

	if err := w.plant(ctx); err != nil {
		t.Fatalf("a planted fault is not found: %v", err)
	}

	start := time.Now()

	running.Go(func() { w.rotate(rotating, rand.New(rand.NewPCG(seed, 1))) })
	running.Go(func() { w.rewrite(rotating, rand.New(rand.NewPCG(seed, 2))) })
	running.Go(func() { w.hurry(rotating) })

	counts := w.hurt(ctx, rand.New(rand.NewPCG(seed, 3)), n)

	stopRotating()
	running.Wait()
	t.Logf("%d faults played in %s", n, time.Since(start).Round(time.Second))
	w.heals.Wait()
	w.withAlpha(false)
	t.Logf("%d faults in %s", n, time.Since(start).Round(time.Second))

	w.heal(ctx)
	w.record.finish(ctx, latest(w.Final))
	stopWatching()
	w.observe()
	w.report(counts, calls())
	w.figures(counts, calls(), seed, time.Since(start))
	w.check(t, counts)

	for law, broken := range w.Judge() {
		t.Errorf("broken: %s: %d times\n\t%s", law, len(broken), strings.Join(broken[:min(len(broken), 10)], "\n\t"))
	}
}

// report prints the counts of a run.
func (w *ward) report(counts map[string]int, calls int) {
	for _, name := range slices.Sorted(maps.Keys(counts)) {
		w.t.Logf("%5d %s", counts[name], name)
	}

	c := w.Counts()
	w.t.Logf("%5d rotations asked for, %d generations made, %d of them seen deleted", w.rotations.Load(), c.Generations, c.Deleted)
	w.t.Logf("%5d times a source was written", w.writes.Load())
	w.t.Logf("%5d versions of Secrets seen, %d of them exported", c.Versions, c.Exported)
	w.t.Log(w.record.report())
	w.t.Logf("%5d calls of the function were answered", calls)
}

// discharge deletes the composites and their definition.
func (w *ward) discharge(ctx context.Context) {
	w.insist(ctx, "delete the composites", func(ctx context.Context) error {
		for _, c := range w.Composites {
			if err := plane.Delete(ctx, patient(c)); err != nil {
				return err
			}
		}

		left, err := plane.List(ctx, "faults.example.org/v1alpha1", "Patient", faultsNamespace, "")
		if err == nil && len(left) > 0 {
			err = fmt.Errorf("%d are left", len(left))
		}

		return err
	})
	w.insist(ctx, "delete the definition", func(ctx context.Context) error {
		return errors.Join(
			plane.Delete(ctx, live.Ref{APIVersion: "apiextensions.crossplane.io/v1", Kind: "Composition", Name: "patients.faults.example.org"}),
			plane.Delete(ctx, live.Ref{APIVersion: "apiextensions.crossplane.io/v2", Kind: "CompositeResourceDefinition", Name: "patients.faults.example.org"}),
			plane.Delete(ctx, live.Ref{APIVersion: "v1", Kind: "Namespace", Name: faultsNamespace}))
	})
}
