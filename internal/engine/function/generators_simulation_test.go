package function_test

import (
	"bytes"
	"cmp"
	"context"
	"encoding/base64"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"os"
	"regexp"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/crossplane/function-sdk-go/logging"
	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/crossplane-contrib/function-export/internal/engine/advice"
	"github.com/crossplane-contrib/function-export/internal/engine/expression"
	"github.com/crossplane-contrib/function-export/internal/engine/function"
	"github.com/crossplane-contrib/function-export/internal/engine/function/functiontest"
	"github.com/crossplane-contrib/function-export/internal/engine/plan"
	"github.com/crossplane-contrib/function-export/internal/proof"
)

// The simulation: the function itself goes through many histories of one composite, on
// the small control plane. internal/engine/rotation's model does so with the stages alone;
// here is what is around it: look-ups, annotations, exports, several generators. Each
// history is made from its seed alone. The laws are at the end of this file.

// simulations of the test, unless SIM_HISTORIES is another number.
const (
	simulations      = 500
	shortSimulations = 30
	simulationShards = 4
	simulationEvents = 30
)

const simulationSkew = 3 * time.Second

// simulatedPolicies are those that generators have: what is in the input, and its grace
// period. A quiet one is the one that stops a periodic one.
var simulatedPolicies = []struct {
	text  string
	grace time.Duration
	once  bool
	quiet int
}{
	{"refreshPolicy: CreatedOnce", 0, true, 0},
	{"gracePeriod: 10m", 10 * time.Minute, true, 1},
	{"refreshPolicy: OnChange, gracePeriod: 1m", time.Minute, false, 2},
	{"refreshPolicy: OnChange", 0, false, 3},
	{"refreshPolicy: Periodic, refreshInterval: 5m, gracePeriod: 1m", time.Minute, false, 2},
	{"refreshPolicy: Periodic, refreshInterval: 5m, gracePeriod: 10m", 10 * time.Minute, false, 1},
	{"refreshPolicy: Periodic, refreshInterval: 1h", 0, false, 3},
}

const tokenGrace = time.Minute

// A simulatedInput is what can change of the input.
type simulatedInput struct {
	admin, token, widget bool // are in it
	adminKind            string
	adminLength          int
	adminPolicy          int
	widgetPolicy         int
	outputs              bool
	ttl                  string
	moved                movedInput
}

// grace period of a generator.
func (in simulatedInput) grace(generator string) time.Duration {
	switch generator {
	case "admin":
		return simulatedPolicies[in.adminPolicy].grace
	case "widget":
		return simulatedPolicies[in.widgetPolicy].grace
	}
	return tokenGrace
}

func (in simulatedInput) has(generator string) bool {
	return map[string]bool{"admin": in.admin, "token": in.token, "widget": in.widget}[generator]
}

var simulatedExports = map[string][]string{"one": {"admin"}, "two": {"admin", "token"}, "three": {"widget", "token"}, "moved": {"admin"}}

func (in simulatedInput) text() string {
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	line("apiVersion: export.fn.crossplane.io/v1beta1\nkind: Exports\nttl: %s", in.ttl)
	if in.token {
		line("sources:\n- {name: settings, apiVersion: v1, kind: ConfigMap, matchName: settings}")
	}
	if in.admin || in.token || in.widget {
		line("generators:")
	}
	if in.admin {
		made := "uuid: {}"
		if in.adminKind == "password" {
			made = fmt.Sprintf(`password: {length: %d, symbols: 2, symbolCharacters: "-_"}`, in.adminLength)
		}
		p, keepers := simulatedPolicies[in.adminPolicy], ", keepersExpression: composite.spec.passwordVersion"
		if p.once {
			keepers = ""
		}
		line("- {name: admin, %s, %s%s}", made, p.text, keepers)
	}
	if in.token {
		line("- {name: token, uuid: {}, refreshPolicy: OnChange, gracePeriod: %s, keepersExpression: sources.settings.data.version}", tokenGrace)
	}
	if in.widget {
		outputs := ""
		if in.outputs {
			outputs = ", outputs: {password: secret.password}"
		}
		line("- name: widget\n  %s", strings.ReplaceAll(simulatedPolicies[in.widgetPolicy].text, ", ", "\n  "))
		line("  resource: {manifest: {apiVersion: example.org/v1, kind: Widget, spec: {size: 1}}, set: [{fieldPath: spec.role, value: composite.spec.role}, {fieldPath: spec.writeConnectionSecretToRef.name, value: \"'widget-' + generation.id\"}]%s}", outputs)
	}
	line("secrets:")
	for _, name := range slices.Sorted(maps.Keys(simulatedExports)) {
		if name == "moved" && !in.moved.isExport() {
			continue
		}
		line("- name: %s%s\n  data:\n  - {key: static, value: \"'x'\"}\n  - {key: gate, value: composite.spec.%s}",
			in.moved.exportName(name), in.moved.fields(name), name)
		for _, g := range simulatedExports[name] {
			output := map[string]string{"admin": in.adminKind, "token": "uuid", "widget": "password"}[g]
			if in.has(g) {
				line("  - {key: %s, value: generated.%s.%s}", g, g, output)
				line("  - {key: %s-former, value: \"previous.?%s.?%s\", optional: true}", g, g, output)
			}
		}
	}
	line("configMaps:\n- name: public\n  data: [{key: role, value: composite.spec.role}]")
	return b.String()
}

// Inputs and plans of all histories.
var simulated = struct {
	sync.Mutex
	env    *expression.Environment
	caches []*plan.Cache
	inputs map[simulatedInput]*structpb.Struct
}{inputs: map[simulatedInput]*structpb.Struct{}}

func simulatedPlans(t testing.TB, in simulatedInput) (*structpb.Struct, *plan.Cache) {
	simulated.Lock()
	defer simulated.Unlock()
	if simulated.env == nil {
		env, err := advice.NewEnvironment()
		if err != nil {
			t.Fatal(err)
		}
		simulated.env = env
		for range len(simulatedPolicies) {
			simulated.caches = append(simulated.caches, plan.NewCache(env))
		}
	}
	if simulated.inputs[in] == nil {
		simulated.inputs[in] = functiontest.Parse(t, in.text())
	}
	return simulated.inputs[in], simulated.caches[in.adminPolicy]
}

// A simulatedVersion is a version of the composite.
type simulatedVersion struct {
	xr     *structpb.Struct
	listed []string
	at     time.Time
}

// A simulatedValue is what is true of a value that was made.
type simulatedValue struct {
	generator, value string
	order            int // of all values
	key              string

	adopted, ready, again, stripped, taken bool

	exported bool // ever
	forged   bool // by somebody who does not know any value
	bare     bool // it has lost all labels and annotations of the function at once
	renamed  bool // somebody changed its composition resource name
	aged     bool // somebody said that it was flagged long ago
	back     bool // it is put back, as another object with the same value
	accepted bool // by the owner of the composite
	unlisted bool // the composite has lost its list since: only the record of an export tells a resource from a forged one

	mark    string        // the flag that is stored
	flagged time.Time     // true time of that
	grace   time.Duration // that the input had then
	wanted  time.Duration // that the input had last
	unheld  time.Time     // true time when an export let go of it
}

type simulation struct {
	*functiontest.ControlPlane
	rng *rand.Rand
	pcg *rand.PCG
	log *[]string

	// What may happen in the history.
	lag        time.Duration
	skew       time.Duration
	crashes    int // of a hundred writes
	fumbled    bool
	hostile    bool
	finalizers int // 0 none, 1 on Widgets, 2 on all generations
	details    bool

	input    simulatedInput
	plans    *plan.Cache // of a restarted function, or nil
	began    time.Time
	clock    time.Time                // the function's
	last     *fnv1.RunFunctionRequest // to it
	calls    int                      // of it, by the last reconcile
	jumped   time.Duration
	versions []simulatedVersion
	seen     int
	names    int
	draws    uint64

	values  map[string]*simulatedValue
	valueAt map[string]string // by key of what is stored
	named   map[string]string // composition resource names by key
	newest  map[string]int    // order of the newest value, by export and generator
	lost    map[string]bool   // keys of generations that can no longer be known
	kinds   bool              // the kind of a generator changed

	changed bool // by the last reconcile
	broken  string
}

type simulatedEvent struct {
	name string
	seed uint64
}

var simulatedHappenings = []struct {
	name  string
	often int
	do    func(s *simulation)
}{
	{"reconcile", 42, (*simulation).once},
	{"calm", 0, (*simulation).calm},
	{"settle", 3, func(s *simulation) { s.calm(); s.calm(); s.calm() }},
	{"wait", 15, (*simulation).wait},
	{"ready", 8, (*simulation).readiness},
	{"rotate", 5, (*simulation).rotate},
	{"keepers", 3, func(s *simulation) { s.edit("spec", "passwordVersion", s.name("v")) }},
	{"role", 2, func(s *simulation) { s.edit("spec", "role", s.name("role")) }},
	{"settings", 2, (*simulation).settings},
	{"policy", 3, func(s *simulation) {
		s.configure(func(in *simulatedInput) { in.adminPolicy = s.rng.IntN(len(simulatedPolicies)) })
	}},
	{"widgetPolicy", 1, func(s *simulation) { s.configure(func(in *simulatedInput) { in.widgetPolicy = s.rng.IntN(4) }) }},
	{"kind", 2, func(s *simulation) {
		s.kinds = true
		s.configure(func(in *simulatedInput) {
			in.adminKind = map[string]string{"password": "uuid", "uuid": "password"}[in.adminKind]
		})
	}},
	{"length", 2, func(s *simulation) { s.configure(func(in *simulatedInput) { in.adminLength = 52 - in.adminLength }) }},
	{"goneAdmin", 3, func(s *simulation) { s.configure(func(in *simulatedInput) { in.admin = !in.admin }) }},
	{"goneToken", 2, func(s *simulation) { s.configure(func(in *simulatedInput) { in.token = !in.token }) }},
	{"goneWidget", 2, func(s *simulation) { s.configure(func(in *simulatedInput) { in.widget = !in.widget }) }},
	{"hold", 4, (*simulation).hold},
	{"jump", 2, func(s *simulation) { s.jumped += time.Duration(s.rng.IntN(3600)) * time.Second }},
	{"failover", 2, func(s *simulation) { s.seen = 0; s.Restart() }},
	{"late", 2, (*simulation).late},
	{"restart", 1, func(s *simulation) {
		if s.percent(10) { // it compiles all inputs anew
			s.plans = plan.NewCache(simulated.env)
		}
	}},
	{"unlisted", 1, func(s *simulation) { // a backup brings the composite back without its list
		if s.fumbled && s.input.widget {
			s.version(func(v *simulatedVersion) { v.listed = nil })
			for _, v := range s.values {
				v.unlisted = true
			}
		}
	}},
	{"move", 6, (*simulation).move},
	{"attack", 6, (*simulation).attack},
	{"fumble", 5, (*simulation).fumble},
	{"finalize", 3, func(s *simulation) { s.finalize(50) }},
}

// TestSimulation looks for a history that breaks a law.
func TestSimulation(t *testing.T) {
	t.Parallel()
	n := proof.Count("SIM_HISTORIES", shortSimulations, simulations)
	was := debug.SetGCPercent(400) // otherwise a third of the time
	t.Cleanup(func() { debug.SetGCPercent(was) })
	first, _ := strconv.ParseUint(os.Getenv("SIM_FIRST"), 10, 64)
	for shard := range uint64(simulationShards) {
		t.Run(fmt.Sprint(shard), func(t *testing.T) {
			t.Parallel()
			for seed := first + shard; seed < first+n; seed += simulationShards {
				if broken := simulate(t, seed, simulatedHistory(seed), nil); broken != "" {
					t.Fatalf("seed %d: %s\n%s", seed, broken, shortestSimulation(t, seed))
				}
			}
		})
	}
}

// simulatedHistory makes up what happens.
func simulatedHistory(seed uint64) []simulatedEvent {
	rng := rand.New(rand.NewPCG(seed, 1))
	total := 0
	for _, h := range simulatedHappenings {
		total += h.often
	}
	out := make([]simulatedEvent, simulationEvents)
	for i := range out {
		n := rng.IntN(total)
		for _, h := range simulatedHappenings {
			if n -= h.often; n < 0 {
				out[i] = simulatedEvent{h.name, rng.Uint64()}
				break
			}
		}
	}
	return out
}

// simulate a history, and give the law that it broke, or nothing.
func simulate(t testing.TB, seed uint64, events []simulatedEvent, log *[]string) string {
	s := newSimulation(t, seed, log)
	for _, e := range events {
		s.pcg.Seed(e.seed, 2)
		s.draws = e.seed
		for _, h := range simulatedHappenings {
			if h.name == e.name {
				s.logf("%s", e.name)
				h.do(s)
			}
		}
		if s.broken != "" {
			return s.broken
		}
		s.Now = s.Now.Add(time.Duration(s.rng.IntN(500)) * time.Millisecond)
	}
	s.quiet()
	return s.broken
}

// shortestSimulation tells a history that breaks a law, without what does not matter.
func shortestSimulation(t testing.TB, seed uint64) string {
	events := simulatedHistory(seed)
	law := func(text string) string { return strings.SplitN(text, ":", 2)[0] }
	want := law(simulate(t, seed, events, nil))
	breaks := func(es []simulatedEvent) bool { return law(simulate(t, seed, es, nil)) == want }
	for smaller := true; smaller; {
		smaller = false
		for i := len(events) - 1; i >= 0; i-- {
			if less := slices.Delete(slices.Clone(events), i, i+1); breaks(less) {
				events, smaller = less, true
				continue
			}
			calm := slices.Clone(events)
			if calm[i].name = "calm"; events[i].name == "reconcile" && breaks(calm) {
				events, smaller = calm, true
			}
		}
	}
	var log []string
	simulate(t, seed, events, &log)
	return strings.Join(log, "\n")
}

func newSimulation(t testing.TB, seed uint64, log *[]string) *simulation {
	pcg := rand.NewPCG(seed, 0)
	s := &simulation{
		ControlPlane: &functiontest.ControlPlane{T: t, XR: simulatedXR(t), Stored: map[string]*structpb.Struct{}, Details: map[string]map[string][]byte{}},
		rng:          rand.New(pcg), pcg: pcg, log: log,
		values: map[string]*simulatedValue{}, valueAt: map[string]string{}, named: map[string]string{},
		newest: map[string]int{}, lost: map[string]bool{},
	}
	s.Client, s.Rand, s.Foreground, s.Before, s.After = simulatedClient{s}, s.rng, true, s.before, s.after
	s.Now = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	s.began = s.Now
	s.lag = simPick(s, 0, 10*time.Second, 10*time.Minute)
	s.skew = simPick(s, 0, 0, simulationSkew)
	s.crashes = simPick(s, 0, 8, 20)
	s.fumbled = s.percent(35)
	s.hostile = s.percent(50)
	s.finalizers = s.rng.IntN(3)
	s.details = s.percent(50)
	s.input = simulatedInput{
		admin: true, token: s.percent(60), widget: s.percent(60), adminKind: simPick(s, "password", "password", "uuid"),
		adminLength: 20, adminPolicy: s.rng.IntN(len(simulatedPolicies)), widgetPolicy: s.rng.IntN(4),
	}
	s.input.ttl, s.input.outputs = []string{"0s", "60s", "24h"}[seed%3], seed%3 == 1
	simulatedPlans(t, s.input) // which creates the environment that all restarted functions use
	s.versions = []simulatedVersion{{at: s.Now, xr: proto.Clone(simulatedXR(t)).(*structpb.Struct)}}
	for name := range simulatedExports {
		functiontest.Set(s.versions[0].xr, "open", "spec", name)
	}
	s.setSettings("1")
	s.logf("lag %s, skew %s, crashes %d%%, fumbled %t, hostile %t, finalizers %d, %+v", s.lag, s.skew, s.crashes, s.fumbled, s.hostile, s.finalizers, s.input)
	return s
}

var simulatedXR = func() func(t testing.TB) *structpb.Struct {
	var once sync.Once
	var xr *structpb.Struct
	return func(t testing.TB) *structpb.Struct {
		once.Do(func() { xr = functiontest.Parse(t, functiontest.ControlPlaneXR) })
		return xr
	}
}()

func simPick[T any](s *simulation, of ...T) T { return of[s.rng.IntN(len(of))] }

func (s *simulation) percent(n int) bool { return s.rng.IntN(100) < n }

func (s *simulation) name(what string) string {
	s.names++
	return what + strconv.Itoa(s.names)
}

func (s *simulation) logf(format string, args ...any) {
	if s.log != nil {
		*s.log = append(*s.log, fmt.Sprintf("%9s ", s.Now.Sub(s.began).Truncate(time.Millisecond))+fmt.Sprintf(format, args...))
	}
}

// fail keeps the first law that was broken.
func (s *simulation) fail(law, format string, args ...any) {
	if s.broken == "" {
		s.broken = law + ": " + fmt.Sprintf(format, args...)
		s.logf("BROKEN: %s", s.broken)
	}
}

func (s *simulation) latest() *simulatedVersion { return &s.versions[len(s.versions)-1] }

// version makes another version of the composite.
func (s *simulation) version(change func(v *simulatedVersion)) {
	v := *s.latest()
	v.at = s.Now
	change(&v)
	v.xr = proto.Clone(v.xr).(*structpb.Struct)
	functiontest.List(v.xr, v.listed)
	s.versions = append(s.versions, v)
}

// edit a text of the composite.
func (s *simulation) edit(path ...string) {
	text, path := path[len(path)-1], path[:len(path)-1]
	s.logf("%s is %s", strings.Join(path, "."), text)
	s.version(func(v *simulatedVersion) {
		v.xr = proto.Clone(v.xr).(*structpb.Struct)
		functiontest.Set(v.xr, text, path...)
	})
}

func (s *simulation) configure(change func(in *simulatedInput)) {
	change(&s.input)
	s.logf("%+v", s.input)
}

// What happens.

func (s *simulation) wait() {
	d := time.Duration(s.rng.Int64N(int64(simPick(s, 10*time.Second, 2*time.Minute, 20*time.Minute, 3*time.Hour))))
	s.Now = s.Now.Add(d)
	s.logf("waited %s", d)
}

func (s *simulation) rotate() {
	tokens := map[string]string{}
	for pair := range strings.SplitSeq(functiontest.Meta(s.latest().xr, "annotations", functiontest.Prefix+"rotate"), ",") {
		if name, token, ok := strings.Cut(pair, "="); ok {
			tokens[name] = token
		}
	}
	g := simPick(s, "admin", "admin", "widget", "token")
	if tokens[g] = s.name("r"); s.percent(15) {
		delete(tokens, g)
	}
	s.setTokens(tokens)
}

func (s *simulation) setTokens(tokens map[string]string) {
	var pairs []string
	for _, name := range slices.Sorted(maps.Keys(tokens)) {
		pairs = append(pairs, name+"="+tokens[name])
	}
	s.edit("metadata", "annotations", functiontest.Prefix+"rotate", strings.Join(pairs, ","))
}

const settingsKey = "v1|ConfigMap|team-a|settings"

func (s *simulation) settings() {
	if s.percent(30) {
		s.logf("settings deleted")
		delete(s.Stored, settingsKey)
		return
	}
	s.setSettings(s.name("s"))
}

func (s *simulation) setSettings(version string) {
	s.logf("settings are %s", version)
	o := &structpb.Struct{Fields: map[string]*structpb.Value{"apiVersion": structpb.NewStringValue("v1"), "kind": structpb.NewStringValue("ConfigMap")}}
	functiontest.Set(o, "settings", "metadata", "name")
	functiontest.Set(o, "team-a", "metadata", "namespace")
	functiontest.Set(o, version, "data", "version")
	s.Stored[settingsKey] = o
}

// hold an export, or let it go on.
func (s *simulation) hold() {
	name := simPick(s, "one", "two", "three")
	s.version(func(v *simulatedVersion) {
		v.xr = proto.Clone(v.xr).(*structpb.Struct)
		spec := v.xr.GetFields()["spec"].GetStructValue().GetFields()
		if _, open := spec[name]; open {
			delete(spec, name)
			s.logf("%s is held", name)
			return
		}
		functiontest.Set(v.xr, "open", "spec", name)
		s.logf("%s goes on", name)
	})
}

// generations that are stored, sorted.
func (s *simulation) generations() []string {
	var out []string
	for _, key := range slices.Sorted(maps.Keys(s.Stored)) {
		if strings.HasPrefix(s.named[key], "generated/") {
			out = append(out, key)
		}
	}
	return out
}

func isWidget(key string) bool { return strings.Contains(key, "|Widget|") }

// readiness of a Widget changes, or its connection details come.
func (s *simulation) readiness() {
	widgets := slices.DeleteFunc(s.generations(), func(key string) bool { return !isWidget(key) })
	if len(widgets) == 0 {
		return
	}
	key := simPick(s, widgets...)
	if s.details && s.percent(40) {
		s.giveDetails(key)
		return
	}
	was := isReadyWidget(s.Stored[key])
	s.setReady(key, !was)
	if !s.details {
		s.giveDetails(key)
	}
}

func (s *simulation) giveDetails(key string) {
	s.logf("%s has connection details", key)
	s.ControlPlane.Details[key] = map[string][]byte{"password": []byte(s.valueAt[key])}
}

func isReadyWidget(o *structpb.Struct) bool {
	return o.GetFields()["status"].GetStructValue().GetFields()["conditions"].GetListValue().GetValues() != nil &&
		o.GetFields()["status"].GetStructValue().GetFields()["conditions"].GetListValue().GetValues()[0].GetStructValue().GetFields()["status"].GetStringValue() == "True"
}

func (s *simulation) setReady(key string, ready bool) {
	o := proto.Clone(s.Stored[key]).(*structpb.Struct)
	status := map[bool]string{true: "True", false: "False"}[ready]
	condition := &structpb.Struct{Fields: map[string]*structpb.Value{"type": structpb.NewStringValue("Ready"), "status": structpb.NewStringValue(status)}}
	o.Fields["status"] = structpb.NewStructValue(&structpb.Struct{Fields: map[string]*structpb.Value{
		"conditions": structpb.NewListValue(&structpb.ListValue{Values: []*structpb.Value{structpb.NewStructValue(condition)}}),
	}})
	s.Stored[key] = o
	if v := s.values[s.valueAt[key]]; v != nil && ready {
		v.ready = true
	}
	s.logf("%s is ready: %t", key, ready)
}

// fumble is what people should not do to a generation, or to what is exported.
func (s *simulation) fumble() {
	if !s.fumbled {
		return
	}
	keys := s.generations()
	if len(keys) == 0 {
		return
	}
	key := simPick(s, keys...)
	v := s.values[s.valueAt[key]]
	switch how := s.rng.IntN(12); {
	case how < 4:
		s.logf("people delete %s", key)
		v.taken = true
		s.remove(key)
	case how < 5:
		name := "v1|Secret|team-a|shop-" + simPick(s, "one", "two", "three")
		s.logf("people delete %s", name)
		if o := s.Stored[name]; o != nil {
			s.letGo(o)
			delete(s.Stored, name)
		}
	case how < 6:
		name := "v1|Secret|team-a|shop-" + simPick(s, "one", "two", "three")
		if o := s.Stored[name]; o != nil {
			s.logf("people strip %s", name)
			o = proto.Clone(o).(*structpb.Struct)
			delete(o.GetFields()["metadata"].GetStructValue().GetFields()["annotations"].GetStructValue().GetFields(), functiontest.Prefix+"export-state")
			s.change(name, o)
		}
	case how < 7:
		s.logf("people annotate %s", key)
		s.Edit(key, func(o *structpb.Struct) {
			functiontest.Set(o, "y", "metadata", "annotations", functiontest.Prefix+simPick(s, "x", "rotate", "generation"))
		})
	default:
		// 7 and 8 annotations, 9 labels, 10 both, 11 also what belongs to Crossplane
		v.stripped = true
		o := proto.Clone(s.Stored[key]).(*structpb.Struct)
		m := o.GetFields()["metadata"].GetStructValue().GetFields()
		strip := func(what string, all bool) {
			maps.DeleteFunc(m[what].GetStructValue().GetFields(), func(k string, _ *structpb.Value) bool { return all || strings.HasPrefix(k, functiontest.Prefix) })
		}
		if how != 9 {
			strip("annotations", how == 11)
		}
		if how == 9 || how == 10 || how == 11 && s.percent(50) {
			strip("labels", false)
		}
		v.bare = v.bare || how >= 10
		s.logf("people strip %s: %d", key, how)
		s.change(key, o)
	}
}

// attack is what somebody does who may create and delete Secrets in the namespace and edit
// the annotations of composed resources, but may not edit the composite, and does not use
// what the Secrets hold.
func (s *simulation) attack() {
	if !s.hostile {
		return
	}
	secrets := slices.DeleteFunc(s.generations(), isWidget)
	how := s.rng.IntN(8)
	if how < 2 || len(secrets) == 0 {
		s.forgeNext(simPick(s, "admin", "admin", "token"))
		return
	}
	key := simPick(s, secrets...)
	switch {
	case how < 3 && s.finalizers != 2:
		s.logf("%s is another object now, with another value", key)
		s.values[s.valueAt[key]].taken = true
		s.forge(key, strings.Split(s.named[key], "/")[1], s.Stored[key])
	case how < 4 && s.finalizers != 2:
		s.logf("%s is put back", key)
		v := s.values[s.valueAt[key]]
		v.stripped, v.back = true, true
		o := proto.Clone(s.Stored[key]).(*structpb.Struct)
		s.UIDs++
		functiontest.Set(o, fmt.Sprintf("uid-%d", s.UIDs), "metadata", "uid")
		functiontest.Set(o, s.Now.UTC().Format(time.RFC3339), "metadata", "creationTimestamp")
		s.Stored[key] = o
	case how < 5:
		name := "v1|Secret|team-a|shop-" + simPick(s, "one", "two", "three")
		if o := s.Stored[name]; o != nil && s.percent(50) {
			composed := simPick(s, "generated/admin/7", "generated/other/1", "generated/token/1")
			s.logf("%s has the composition resource name %s", name, composed)
			o = proto.Clone(o).(*structpb.Struct)
			functiontest.Set(o, composed, "metadata", "annotations", functiontest.ResourceNameAnnotation)
			s.change(name, o)
		} else if o != nil {
			s.logf("the record of %s is forged", name)
			o = proto.Clone(o).(*structpb.Struct)
			functiontest.Set(o, `{"generators":{"admin":{"holds":"forged","known":[{"uid":"forged","generation":9}]},"token":{"holds":"forged","known":[{"uid":"forged","generation":400000000}]}}}`, "metadata", "annotations", functiontest.Prefix+"export-state")
			s.change(name, o)
		}
	default:
		s.forgeState(key)
	}
}

// forgeState edits the annotations of a generation.
func (s *simulation) forgeState(key string) {
	v := s.values[s.valueAt[key]]
	v.stripped = true
	o := proto.Clone(s.Stored[key]).(*structpb.Struct)
	number, _ := strconv.Atoi(s.named[key][strings.LastIndex(s.named[key], "/")+1:])
	state := func(stage string) {
		text := fmt.Sprintf(`{"generator":%q,"generation":%d,"state":{"stage":%q,"kind":"password","since":%q}}`,
			v.generator, number, stage, s.Now.Add(-1000*time.Hour).UTC().Format(time.RFC3339))
		functiontest.Set(o, text, "metadata", "annotations", functiontest.Prefix+"generator-state")
	}
	switch how := s.rng.IntN(5); how {
	case 0, 1:
		v.aged = true
		state(simPick(s, "previous", "abandoned", "retired"))
	case 2, 3:
		state(simPick(s, "pending", "current"))
	default: // one of another kind makes Crossplane create an object, whatever is desired
		name := simPick(s, "one", "cache", "generated/admin/7", "generated/token/1", "generated/other/1", "generated/admin/999999999")
		v.renamed = true
		functiontest.Set(o, name, "metadata", "annotations", functiontest.ResourceNameAnnotation)
		s.logf("%s has the composition resource name %s", key, name)
	}
	s.logf("the state of %s is forged: %s", key, o.GetFields()["metadata"].GetStructValue().GetFields()["annotations"])
	s.change(key, o)
}

// change stores an object that another field manager has edited.
func (s *simulation) change(key string, o *structpb.Struct) {
	s.Edit(key, func(is *structpb.Struct) { is.Fields = o.GetFields() })
}

// forgeNext creates what looks like the next generation.
func (s *simulation) forgeNext(g string) {
	number := 1
	var like *structpb.Struct
	for _, key := range s.generations() {
		if of := strings.Split(s.named[key], "/"); of[1] == g && !isWidget(key) {
			n, _ := strconv.Atoi(of[2])
			number, like = max(number, n+1), s.Stored[key]
		}
	}
	if s.percent(20) {
		number++
	}
	key := fmt.Sprintf("v1|Secret|team-a|shop-%s-%d", g, number)
	if s.Stored[key] != nil {
		return
	}
	s.forge(key, g, like)
	o := s.Stored[key]
	functiontest.Set(o, fmt.Sprintf("generated/%s/%d", g, number), "metadata", "annotations", functiontest.ResourceNameAnnotation)
	functiontest.Set(o, strconv.Itoa(number), "metadata", "annotations", functiontest.Prefix+"generation")
}

// forge a Secret in the place of a generation, with all that can be copied from another one.
func (s *simulation) forge(key, g string, like *structpb.Struct) {
	v := &simulatedValue{generator: g, value: s.name("forged-value-"), order: len(s.values) + 1, key: key, ready: true, stripped: true, forged: true}
	s.values[v.value], s.valueAt[key] = v, v.value
	output := map[string]string{"admin": s.input.adminKind, "token": "uuid"}[g]
	o := &structpb.Struct{Fields: map[string]*structpb.Value{}}
	if like != nil {
		o = proto.Clone(like).(*structpb.Struct)
		for of := range like.GetFields()["data"].GetStructValue().GetFields() {
			output = of
		}
	}
	delete(o.GetFields()["metadata"].GetStructValue().GetFields(), "deletionTimestamp")
	functiontest.Set(o, "v1", "apiVersion")
	functiontest.Set(o, "Secret", "kind")
	functiontest.Set(o, key[strings.LastIndex(key, "|")+1:], "metadata", "name")
	functiontest.Set(o, "team-a", "metadata", "namespace")
	if s.UIDs++; s.percent(50) {
		functiontest.Set(o, g, "metadata", "labels", functiontest.Prefix+"generator")
	} else {
		delete(o.GetFields()["metadata"].GetStructValue().GetFields(), "labels")
	}
	functiontest.Set(o, fmt.Sprintf("uid-%d", s.UIDs), "metadata", "uid")
	functiontest.Set(o, s.Now.Add(-time.Duration(s.rng.IntN(2))*time.Hour).UTC().Format(time.RFC3339), "metadata", "creationTimestamp")
	o.Fields["metadata"].GetStructValue().Fields["ownerReferences"] = functiontest.OwnedBy(s.ControlPlane.XR)
	delete(o.GetFields(), "data")
	functiontest.Set(o, base64.StdEncoding.EncodeToString([]byte(v.value)), "data", output)
	o.Fields["immutable"] = structpb.NewBoolValue(s.percent(90))
	s.Stored[key] = o
	s.logf("%s is forged with value %d", key, v.order)
}

var (
	askedToAccept   = regexp.MustCompile(`accept-generation: (\S+) on the composite`)
	askedForList    = regexp.MustCompile(`generator "(\S+)": Secret team-a/(\S+) has values of a generation, and the composite lists neither`)
	askedToRecreate = regexp.MustCompile(`delete Secret team-a/(\S+) so that it is created again`)
)

// own is what the owner of the composite does who is told of a conflict. It reports
// whether that was anything.
func (s *simulation) own() bool {
	did := false
	for _, m := range askedToAccept.FindAllStringSubmatch(s.Condition(), -1) {
		for _, key := range slices.Sorted(maps.Keys(s.Stored)) {
			if v := s.values[s.valueAt[key]]; functiontest.Meta(s.Stored[key], "uid") == m[1] && v != nil {
				did = s.judge(key, v) || did
			}
		}
	}
	for _, m := range askedForList.FindAllStringSubmatch(s.Condition(), -1) {
		export := "v1|Secret|team-a|shop-" + strings.TrimPrefix(m[2], "shop-")
		found := false
		for _, key := range s.generations() {
			if v := s.values[s.valueAt[key]]; v.value == exportedValue(s.Stored[export], m[1]) && v.generator == m[1] {
				found, did = true, s.judge(key, v) || did
			}
		}
		if !found && s.Stored[export] != nil {
			s.logf("the owner deletes %s", export)
			delete(s.Stored, export)
			did = true
		}
	}
	for _, m := range askedToRecreate.FindAllStringSubmatch(s.Condition(), -1) {
		if key := "v1|Secret|team-a|" + m[1]; slices.Contains(s.generations(), key) { // it was given the name of an export
			s.logf("the owner deletes %s", key)
			s.forget(key)
			did = true
		}
	}
	return did
}

// judge an object that may be accepted: forged objects are deleted.
func (s *simulation) judge(key string, v *simulatedValue) bool {
	uid, was := functiontest.Meta(s.Stored[key], "uid"), functiontest.Meta(s.latest().xr, "annotations", functiontest.Prefix+"accept-generation")
	switch {
	case v.forged && !v.again:
		s.logf("the owner deletes %s", key)
		s.forget(key)
		return true
	case !strings.Contains(was+",", uid+","):
		v.accepted, v.stripped = true, true
		s.edit("metadata", "annotations", functiontest.Prefix+"accept-generation", strings.TrimPrefix(was+","+uid, ","))
		return true
	}
	return false
}

// mend makes the corrections that Crossplane requests.
func (s *simulation) mend() {
	for _, key := range slices.Sorted(maps.Keys(s.Stored)) {
		if o := s.Stored[key]; s.named[key] != "" && functiontest.Meta(o, "annotations", functiontest.ResourceNameAnnotation) == "" {
			s.logf("people mend %s", key)
			o = proto.Clone(o).(*structpb.Struct)
			functiontest.Set(o, s.named[key], "metadata", "annotations", functiontest.ResourceNameAnnotation)
			s.Stored[key] = o
		}
	}
}

// remove an object, which may have a finalizer.
func (s *simulation) remove(key string) {
	if strings.HasPrefix(s.named[key], "generated/") && (s.finalizers == 2 || s.finalizers == 1 && isWidget(key)) {
		o := proto.Clone(s.Stored[key]).(*structpb.Struct)
		functiontest.Set(o, "2026-11-21T12:00:00Z", "metadata", "deletionTimestamp")
		s.Stored[key] = o
		return
	}
	s.forget(key)
}

func (s *simulation) forget(key string) {
	for _, in := range []map[string]string{s.valueAt, s.named} {
		delete(in, key)
	}
	delete(s.Stored, key)
	delete(s.lost, key)
	delete(s.ControlPlane.Details, key)
}

func (s *simulation) finalize(percent int) {
	for _, key := range slices.Sorted(maps.Keys(s.Stored)) {
		if isDeleting(s.Stored[key]) && s.percent(percent) {
			s.logf("%s is gone", key)
			s.forget(key)
		}
	}
}

func isDeleting(o *structpb.Struct) bool { return functiontest.Meta(o, "deletionTimestamp") != "" }

func (s *simulation) calm() {
	s.CatchUp("ConfigMap")
	s.CatchUp("Widget")
	lag, skew, crashes, fumbled, hostile := s.lag, s.skew, s.crashes, s.fumbled, s.hostile
	s.lag, s.skew, s.crashes, s.fumbled, s.hostile = 0, 0, 0, false, false
	s.once()
	s.lag, s.skew, s.crashes, s.fumbled, s.hostile = lag, skew, crashes, fumbled, hostile
}

// once is a reconcile of Crossplane, which may read an old composite.
func (s *simulation) once() {
	s.changed = false
	v := s.read()
	input, _ := simulatedPlans(s.T, s.input)
	s.composeEarlier()
	req, key := s.Observe(input, v.xr, v.listed)
	if req == nil {
		s.logf("Crossplane cannot tell what %s is", key)
		s.mend()
		s.changed = true
		return
	}
	s.clock = s.Now.Add(-s.jumped)
	if s.skew > 0 {
		s.clock = s.clock.Add(time.Duration(s.rng.Int64N(int64(2*s.skew))) - s.skew)
	}
	s.calls = 0
	rsp := s.Run(req)
	if s.broken != "" {
		return
	}
	s.Response = rsp
	if text := functiontest.FatalOf(rsp); text != "" { // nothing is applied
		s.logf("%s", text)
		return
	}
	s.checkResponse(rsp, s.last)
	if s.broken != "" {
		return
	}
	err := s.Compose(rsp, req.GetObserved().GetResources())
	if err != nil {
		s.logf("the reconcile is lost: %v", err)
		if s.percent(50) {
			s.Restart()
		}
	}
	if s.finalizers == 0 && s.percent(50) {
		s.finalize(100)
	}
	if stale := s.seen < len(s.versions)-1; err == nil && !s.changed && !stale && s.broken == "" {
		s.checkDue(rsp, s.last)
	}
}

// late makes the informer of a kind late, or ends that.
func (s *simulation) late() {
	for _, kind := range []string{"ConfigMap", "Widget"} {
		if s.CatchUp(kind); s.lag > 0 && s.percent(60) {
			s.logf("the informer of %ss is late", kind)
			s.BeLate(kind)
		}
	}
}

// read the composite from the cache, in which nothing grows older.
func (s *simulation) read() simulatedVersion {
	newest := len(s.versions) - 1
	oldest := newest
	for s.lag > 0 && oldest > s.seen && s.versions[oldest].at.After(s.Now.Add(-s.lag)) {
		oldest--
	}
	s.seen = oldest + s.rng.IntN(newest-oldest+1)
	if late := newest - s.seen; late > 0 {
		s.logf("sees the composite as it was %d versions ago", late)
	}
	return s.versions[s.seen]
}

// function is a replica. Every eighth one answers in both forms, which takes longer.
func (s *simulation) function(clock time.Time) *functiontest.Function {
	_, plans := simulatedPlans(s.T, s.input)
	if s.plans != nil {
		plans = s.plans
	}
	s.draws++
	var seed [32]byte
	copy(seed[:], strconv.FormatUint(s.draws, 16))
	f := &function.Function{
		Plans: plans, Log: logging.NewNopLogger(),
		Now:     func() time.Time { return clock },
		Entropy: func() io.Reader { return rand.NewChaCha8(seed) },
	}
	return &functiontest.Function{Function: f}
}

func (s *simulation) run(req *fnv1.RunFunctionRequest, clock time.Time) *fnv1.RunFunctionResponse {
	rsp, err := s.function(clock).RunFunction(context.Background(), req)
	if err != nil {
		s.fail("fatal", "%v", err)
	}
	for _, r := range rsp.GetResults() {
		if r.GetSeverity() == fnv1.Severity_SEVERITY_FATAL && !strings.Contains(r.GetMessage(), "and the composite does not list it. If it was just created") {
			s.fail("fatal", "%s", r.GetMessage())
		}
	}
	return rsp
}

// A simulatedClient calls a replica of the function.
type simulatedClient struct{ *simulation }

func (s simulatedClient) RunFunction(_ context.Context, req *fnv1.RunFunctionRequest, _ ...grpc.CallOption) (*fnv1.RunFunctionResponse, error) {
	if s.calls++; s.calls > 3 {
		s.fail("requirements", "differ in more than one round")
	} else if s.calls > 2 {
		s.logf("another round")
	}
	s.last = req
	rsp := s.run(req, s.clock)
	if s.broken != "" {
		rsp = &fnv1.RunFunctionResponse{Results: []*fnv1.Result{{Severity: fnv1.Severity_SEVERITY_FATAL, Message: s.broken}}}
	}
	return rsp, nil
}

// before checks a write of Crossplane, and reports whether it crashes or fails there.
func (s *simulation) before(w functiontest.Write) error {
	if s.broken != "" || s.crashes > 0 && s.percent(s.crashes) {
		return errStopped
	}
	switch w.Verb {
	case functiontest.Deletes:
		if isDeleting(s.Stored[w.Key]) {
			return nil
		}
		s.logf("deletes %s", w.Key)
		if w.Key == movedKey {
			s.checkMovedDrop(w.Name)
		} else {
			s.checkDrop(w.Key, w.Name)
		}
		s.changed = true
	case functiontest.Lists:
		s.checkForgotten(w.Listed)
		s.checkMovedListed(w.Listed)
		if !slices.Equal(s.latest().listed, w.Listed) {
			s.changed = true
			s.version(func(v *simulatedVersion) { v.listed = w.Listed })
		}
	case functiontest.Applies:
		if s.lag > 0 || s.crashes > 0 {
			s.Now = s.Now.Add(time.Duration(s.rng.IntN(300)) * time.Millisecond) // time goes on
			if s.percent(1) {
				s.changed = true // Crossplane watches what it composes
				s.fumble()
				s.attack()
			}
		}
	}
	return nil
}

// after keeps what is true of an object that was applied.
func (s *simulation) after(w functiontest.Write, was *structpb.Struct, err error) {
	key, name := w.Key, w.Name
	s.checkMoved(key, was, w.Object)
	if err != nil {
		s.logf("rejected: %v", err)
		return
	}
	o := s.Stored[key]
	if o == was {
		return
	}
	s.changed = true
	if of := generationOf(key); s.valueAt[key] != "" || of != "" {
		if v := s.values[s.valueAt[key]]; was != nil && !v.stripped && !s.isHidden(key) && !proto.Equal(was.GetFields()["spec"], o.GetFields()["spec"]) {
			s.fail("as made", "the spec of %s changes", key)
		}
		if s.named[key] == "" { // whatever people make of it
			s.named[key] = cmp.Or(of, name)
		}
		// A forged object that can be changed gets the data that are desired.
		created := was == nil || !isWidget(key) && !proto.Equal(was.GetFields()["data"], o.GetFields()["data"])
		s.writeGeneration(key, s.named[key], created)
		return
	}
	if export, ok := strings.CutPrefix(key, "v1|Secret|team-a|shop-"); ok && simulatedExports[export] != nil {
		s.checkExport(export, was, o)
		s.noteRecords(o)
		name = export
	}
	s.named[key] = name
}

// noteRecords keeps what an export records of generations: which ones were in use, and when grace periods began.
func (s *simulation) noteRecords(o *structpb.Struct) {
	for _, record := range functiontest.RecordOf(o) {
		for _, known := range record.GetStructValue().GetFields()["known"].GetListValue().GetValues() {
			f := known.GetStructValue().GetFields()
			state := f["state"].GetStructValue().GetFields()
			for key, of := range s.valueAt {
				if v := s.values[of]; functiontest.Meta(s.Stored[key], "uid") == f["uid"].GetStringValue() {
					stage := state["stage"].GetStringValue()
					v.adopted = v.adopted || stage == "current" || stage == "previous"
					s.noteFlag(v, functiontest.FlagOf(state))
				}
			}
		}
	}
}

func (s *simulation) noteFlag(v *simulatedValue, at string) {
	if at == "" || v.mark != "" {
		return
	}
	if s.input.has(v.generator) {
		v.wanted = s.input.grace(v.generator)
	}
	v.mark, v.flagged, v.grace = at, s.Now, v.wanted
}

var generationKey = regexp.MustCompile(`\|shop-(admin|token|widget)-(\d+)(-\w+)?$`)

// generationOf returns the composition resource name of the generation that has a key, or an empty text. An attacker can
// give the object another name.
func generationOf(key string) string {
	if m := generationKey.FindStringSubmatch(key); m != nil {
		return "generated/" + m[1] + "/" + m[2]
	}
	return ""
}

// isHidden reports whether Crossplane could not see an object: the composite that it read does not list it, and the
// informer of its kind is late. Then, a resource that was just created is made again from the composite. This cannot
// happen to a Secret.
func (s *simulation) isHidden(key string) bool {
	return isWidget(key) && s.IsLate("Widget") && !slices.Contains(s.versions[s.seen].listed, key)
}

// writeGeneration keeps what is true of it.
func (s *simulation) writeGeneration(key, name string, created bool) {
	o := s.Stored[key]
	g := strings.Split(name, "/")[1]
	if created {
		value := cmp.Or(generatedValue(o), fmt.Sprintf("of-widget-%d-%s", s.UIDs, s.name("secret")))
		if s.values[value] == nil {
			again := wasInUse(o)
			s.values[value] = &simulatedValue{generator: g, value: value, order: len(s.values) + 1, again: again, ready: !isWidget(key)}
		}
		s.valueAt[key] = value
		s.values[value].key = key
		s.logf("stored %s with value %d", key, s.values[value].order)
	}
	v := s.values[s.valueAt[key]]
	v.adopted = v.adopted || wasInUse(o)
	if s.input.has(g) {
		v.wanted = s.input.grace(g)
	}
	if flag := functiontest.FlaggedOf(o); flag != v.mark && annotation(o, "generator-state") != "" {
		v.mark, v.flagged, v.grace = flag, time.Time{}, v.wanted
		if flag != "" {
			v.flagged = s.Now
		}
	}
	s.logf("keeps %s: flagged %q, %s", key, v.mark, annotation(o, "generator-state"))
}

func annotation(o *structpb.Struct, name string) string {
	return functiontest.Meta(o, "annotations", functiontest.Prefix+name)
}

func exportedValue(o *structpb.Struct, key string) string {
	b, _ := base64.StdEncoding.DecodeString(o.GetFields()["data"].GetStructValue().GetFields()[key].GetStringValue())
	return string(b)
}

// generatedValue returns the value of a generation. A forged one that can be changed may have the data of an export.
func generatedValue(o *structpb.Struct) string {
	return cmp.Or(exportedValue(o, "password"), exportedValue(o, "uuid"))
}

// isExported reports whether a value is that of something exported.
func (s *simulation) isExported(value string) bool {
	for name, generators := range simulatedExports {
		for _, g := range generators {
			o := s.Stored["v1|Secret|team-a|shop-"+name]
			if value == "" || o == nil || exportedValue(o, g) != value || name == "moved" && !s.input.moved.isExport() {
				continue
			}
			if said := annotation(o, "export-state"); (said == "" || strings.Contains(said, "forged")) && (!s.input.has(g) || g == "widget" && s.values[value].unlisted) {
				// If people removed the annotation of a kept export, its values of a generator that left the input are
				// unknown, and those of a resource that the composite does not list.
				continue
			}
			return true
		}
	}
	return false
}

func (s *simulation) letGo(o *structpb.Struct) {
	for _, g := range []string{"admin", "token", "widget"} {
		if v := s.values[exportedValue(o, g)]; v != nil {
			v.unheld = s.Now
		}
	}
}

// quiet lets all settle, with Crossplane well, and looks at what is left.
func (s *simulation) quiet() {
	s.logf("quiet from now on")
	s.mend()
	s.Restart()
	s.lag, s.skew, s.crashes, s.fumbled, s.hostile = 0, 0, 0, false, false
	s.configure(func(in *simulatedInput) { in.adminPolicy = simulatedPolicies[in.adminPolicy].quiet })
	for name := range simulatedExports {
		s.edit("spec", name, "open")
	}
	s.edit("spec", "movedName", "shop-moved")
	if s.Stored[settingsKey] == nil {
		s.setSettings("1")
	}
	for range 3 {
		for i := 0; ; i++ {
			for _, key := range s.generations() {
				if isWidget(key) && (!isReadyWidget(s.Stored[key]) || s.ControlPlane.Details[key] == nil) {
					s.setReady(key, true)
					s.giveDetails(key)
				}
			}
			if s.calm(); s.broken != "" {
				return
			}
			s.finalize(100)
			if owned := s.own(); !s.changed && !owned {
				break
			}
			if i == 20 {
				s.fail("settles", "something changes in each reconcile")
				return
			}
		}
		s.Now = s.Now.Add(25 * time.Hour) // also the grace period of what lost its state
		s.logf("waited")
	}
	s.checkEnd()
}

// The laws.

// checkResponse: what is exported newly is stored, and adopted. No value is anywhere but
// in the data of Secrets. The same request gives the same response.
func (s *simulation) checkResponse(rsp *fnv1.RunFunctionResponse, req *fnv1.RunFunctionRequest) {
	made, fresh := false, false
	values := map[string]bool{}
	for v := range s.values {
		values[v] = true
	}
	for _, name := range slices.Sorted(maps.Keys(rsp.GetDesired().GetResources())) {
		o := rsp.GetDesired().GetResources()[name].GetResource()
		if generationOf(functiontest.KeyOf(o)) != "" {
			if s.Stored[functiontest.KeyOf(o)] == nil {
				secret := !isWidget(functiontest.KeyOf(o)) // a manifest is the same each time
				made = made || secret
				fresh = fresh || secret && !slices.Contains(s.versions[s.seen].listed, functiontest.KeyOf(o)) // otherwise it was refused
				s.logf("makes %s", name)
			}
			if value := generatedValue(o); value != "" {
				values[value] = true
			}
		}
		s.checkDesired(name, o)
	}
	s.checkLeaks(rsp, values)
	ttl := rsp.GetMeta().GetTtl()
	if ttl != nil && ttl.AsDuration() < time.Second {
		s.fail("ttl", "is %s", ttl.AsDuration())
	}
	if fresh && ttl != nil {
		s.fail("ttl", "a response with what was just made has one")
	}
	if !made && s.percent(40) {
		if again := s.run(req, s.clock); !proto.Equal(rsp, again) {
			s.fail("repeat", "the same request gave another response: %s and %s", rsp, again)
		}
	}
	s.logf("%s %s, TTL %s", rsp.GetConditions()[0].GetReason(), rsp.GetConditions()[0].GetMessage(), ttl.AsDuration())
}

func (s *simulation) checkDesired(name string, o *structpb.Struct) {
	was := s.Stored[functiontest.KeyOf(o)]
	for _, g := range simulatedExports[strings.TrimPrefix(functiontest.KeyOf(o), "v1|Secret|team-a|shop-")] {
		value, former := exportedValue(o, g), s.values[exportedValue(o, g+"-former")]
		switch {
		case former == nil || !former.forged || former.accepted || former.again:
		case s.isFirst(g, former):
			s.logf("%s exports the forged value %d of %s, which was the first one, as a former one", name, former.order, g)
			former.again = true
		default:
			s.fail("forged", "%s exports the forged value %d of %s as a former one", name, former.order, g)
		}
		if value == "" || was != nil && exportedValue(was, g) == value {
			continue
		}
		v := s.values[value]
		switch {
		case v != nil && v.forged && !v.accepted && s.isFirst(g, v):
			s.logf("%s exports the forged value %d of %s, which was the first one", name, v.order, g)
			v.again = true
		case v != nil && v.forged && !v.accepted && !v.again:
			s.fail("forged", "%s exports the forged value %d of %s", name, v.order, g)
		case v == nil:
			s.fail("stored first", "%s exports a value of %s that was never stored", name, g)
		case s.valueAt[v.key] != value || s.Stored[v.key] == nil:
			s.fail("stored first", "%s exports value %d of %s, which is not stored", name, v.order, g)
		case isDeleting(s.Stored[v.key]):
			s.fail("stored first", "%s exports value %d of %s, which is being deleted", name, v.order, g)
		case !v.adopted && !v.stripped:
			s.fail("stored first", "%s exports value %d of %s, which was not adopted", name, v.order, g)
		case !v.ready && !v.again:
			s.fail("stored first", "%s exports value %d of %s, which was never ready", name, v.order, g)
		case v.generator != g:
			s.fail("stored first", "%s exports value %d of %s, which is of %s", name, v.order, g, v.generator)
		}
	}
}

// isFirst reports whether a forged value may be exported: the composite listed the name of
// the object, and no export had an intact record of any generation of the generator. Then
// nothing tells it from the first generation. That is the window that the threat model
// states.
func (s *simulation) isFirst(g string, v *simulatedValue) bool {
	for name := range simulatedExports {
		o := s.Stored["v1|Secret|team-a|shop-"+name]
		if said := annotation(o, "export-state"); strings.Contains(said, `"`+g+`":`) && !strings.Contains(said, "forged") {
			return false
		}
	}
	return slices.ContainsFunc(s.versions, func(of simulatedVersion) bool { return slices.Contains(of.listed, v.key) })
}

func (s *simulation) checkLeaks(rsp *fnv1.RunFunctionResponse, values map[string]bool) {
	var b []byte
	add := func(m proto.Message) { b, _ = proto.MarshalOptions{}.MarshalAppend(b, m) }
	for _, c := range rsp.GetConditions() {
		add(c)
	}
	for _, r := range rsp.GetResults() {
		add(r)
	}
	add(rsp.GetContext())
	add(rsp.GetRequirements())
	if xr := rsp.GetDesired().GetComposite(); xr != nil {
		add(xr)
	}
	for _, r := range rsp.GetDesired().GetResources() {
		if o := r.GetResource(); o.GetFields()["kind"].GetStringValue() == "Secret" {
			add(o.GetFields()["metadata"])
		} else {
			add(o)
		}
	}
	for v := range values {
		if bytes.Contains(b, []byte(v)) || bytes.Contains(b, []byte(base64.StdEncoding.EncodeToString([]byte(v)))) {
			s.fail("leak", "a value is in a condition, a result, the context, an annotation or an object that is no Secret")
		}
	}
}

// checkDrop: a generation is not deleted while it is exported, nor before its grace
// period is over.
func (s *simulation) checkDrop(key, name string) {
	if s.valueAt[key] == "" {
		s.fail("drop", "%s is deleted", name)
		return
	}
	v := s.values[s.valueAt[key]]
	early := func(since time.Time) bool { return s.Now.Before(since.Add(v.grace - 2*simulationSkew)) }
	switch {
	case s.isExported(v.value) && !v.back: // what was put back is another object than what the export recorded
		s.fail("drop", "value %d of %s is dropped, and still exported", v.order, name)
	case !s.input.has(v.generator) && (v.bare || v.renamed && v.aged): // nothing true says what it is
	case (v.stripped || v.unlisted) && isWidget(key), (v.stripped || isWidget(key)) && !v.exported, v.again, v.forged, !v.adopted:
	case v.flagged.IsZero():
		s.fail("grace", "value %d of %s is dropped, and was not flagged", v.order, name)
	case early(v.flagged), early(v.unheld):
		s.fail("grace", "value %d of %s is dropped %s after it was flagged, and %s after it was exported, before its grace period of %s is over",
			v.order, name, s.Now.Sub(v.flagged), s.Now.Sub(v.unheld), v.grace)
	}
}

// checkForgotten: no generation is taken off the list while its value is exported. (One
// that was put back is another object than what exports recorded. It is only desired while
// the composite that was read lists it. The same is true after a backup brought the composite
// back without its list.) What was taken off without being exported is left alone, and people
// are told.
func (s *simulation) checkForgotten(listed []string) {
	for _, key := range s.generations() {
		if slices.Contains(listed, key) || isDeleting(s.Stored[key]) {
			delete(s.lost, key)
			continue
		}
		v := s.values[s.valueAt[key]]
		restored := v.unlisted && !slices.Contains(s.versions[s.seen].listed, key)
		if slices.Contains(s.latest().listed, key) && s.isExported(v.value) && !v.back && !restored {
			s.fail("forgotten", "%s is exported, and neither desired nor deleted", key)
		}
		s.logf("%s is lost", key)
		s.lost[key] = true
	}
}

// checkExport: a value changes to that of a newer generation, and never back.
func (s *simulation) checkExport(name string, was, o *structpb.Struct) {
	for _, g := range simulatedExports[name] {
		before, after := exportedValue(was, g), exportedValue(o, g)
		if former := exportedValue(o, g+"-former"); former != "" {
			f, v := s.values[former], s.values[after]
			if f == nil || v == nil || f.generator != g || f.order >= v.order && !v.stripped && !f.stripped && !f.again && !v.taken {
				s.fail("former", "%s has a former value of %s that is none", name, g)
			}
		}
		if before == after {
			continue
		}
		if v := s.values[before]; v != nil {
			v.unheld = s.Now
		}
		if after == "" {
			if s.input.has(g) && (name != "moved" || s.input.moved.isExport()) {
				s.fail("stable", "%s has no value of %s any more", name, g)
			}
			continue
		}
		v, at := s.values[after], name+"/"+g
		v.exported = true
		var newest *simulatedValue
		for _, other := range s.values {
			if other.order == s.newest[at] {
				newest = other
			}
		}
		s.logf("%s exports value %d of %s", name, v.order, g)
		if newest != nil && v.order < newest.order && !newest.taken && !newest.stripped && !v.again {
			s.fail("stable", "%s exports value %d of %s, after %d", name, v.order, g, newest.order)
		}
		s.newest[at] = max(s.newest[at], v.order)
	}
}

// checkDue: when nothing but time is to come, Crossplane calls again before it brings
// something.
func (s *simulation) checkDue(rsp *fnv1.RunFunctionResponse, req *fnv1.RunFunctionRequest) {
	left := 10 * 365 * 24 * time.Hour
	if ttl := rsp.GetMeta().GetTtl(); ttl != nil {
		if left = ttl.AsDuration() / 10 * 11; ttl.AsDuration() == time.Second {
			return
		}
		left -= time.Millisecond
	}
	later := s.run(req, s.clock.Add(left))
	before, after := rsp.GetDesired(), later.GetDesired()
	if !proto.Equal(before, after) {
		s.fail("due", "nothing is due in %s, and then something else is desired: %v", left, slices.Sorted(maps.Keys(after.GetResources())))
	}
}

// checkEnd: in the end there is one generation of each generator, which all exports have
// the value of, and none of a generator that is gone.
func (s *simulation) checkEnd() {
	left := map[string][]string{}
	for _, key := range s.generations() {
		if !s.lost[key] {
			g := strings.Split(s.named[key], "/")[1]
			left[g] = append(left[g], key)
		}
	}
	for _, g := range []string{"admin", "token", "widget"} {
		want := 0
		if s.input.has(g) {
			want = 1
		}
		if len(left[g]) != want {
			s.fail("end", "%s has generations %v", g, left[g])
			return
		}
		for name, generators := range simulatedExports {
			if name == "moved" && !s.input.moved.isExport() {
				continue
			}
			o, value := s.Stored["v1|Secret|team-a|shop-"+name], ""
			if want == 1 {
				value = s.valueAt[left[g][0]]
			}
			if slices.Contains(generators, g) && exportedValue(o, g) != value && !s.keepsMoved(name, g, g) {
				s.fail("end", "%s does not export what %s has", name, g)
			}
			if exportedValue(o, g+"-former") != "" && !s.keepsMoved(name, g, g+"-former") {
				s.fail("end", "%s has a former value of %s", name, g)
			}
		}
	}
	s.checkMovedEnd()
	if reason := s.Response.GetConditions()[0].GetReason(); reason != "Available" {
		s.fail("end", "%s", s.Condition())
	}
}

// wasInUse reports whether a generation says that it is in use or was in use.
func wasInUse(o *structpb.Struct) bool {
	text := annotation(o, "generator-state")
	return strings.Contains(text, `"stage":"current"`) || strings.Contains(text, `"stage":"previous"`)
}
