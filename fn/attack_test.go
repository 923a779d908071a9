package main

import (
	"bytes"
	"context"
	"encoding/base64"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"sort"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"
	"google.golang.org/protobuf/types/known/structpb"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/crossplane-contrib/function-export/internal/desk/world"
	"github.com/crossplane-contrib/function-export/internal/engine/function/functiontest"
	"github.com/crossplane-contrib/function-export/internal/proof"
	"github.com/crossplane-contrib/function-export/internal/testdata/attack"
)

// The limits of the server's work for one reconcile of a hostile composite.
const (
	// attackCPU is the CPU time of all threads. It includes garbage collection, and the requests of the
	// neighbor during the attack. It is not elapsed time: on a busy machine, an attack takes longer, and up to
	// twice the CPU time. The most expensive attack needs 0.6 s on an idle machine. Without a limit, one of them
	// would run for minutes.
	attackCPU = 2 * time.Second

	// attackMemory is the peak of the resident memory, minus the memory after a few harmless requests.
	// The attacks share a server, so memory that one attack keeps also counts for the next one.
	attackMemory = 100 << 20

	// attackLatency is the longest wait of another request for its answer, on a machine that also
	// runs the tests of other packages. It is hundreds of times the wait on an idle machine.
	attackLatency = 5 * time.Second

	// attackServed is the number of answers that the neighbor must get, on average, during an attack that
	// takes longer than longAttack and is not a largeRequest. It gets about 30. If it had to wait for the
	// end of the attack, it would get one or two.
	longAttack, largeRequest, attackServed = 200 * time.Millisecond, 512 << 10, 8

	// attackText is the maximum size of the messages and of the context that a composite author can cause.
	attackText = 256 << 10

	// attackAnswer is the largest response that the test receives. Crossplane accepts less.
	attackAnswer = 64 << 20

	// attackObjects is the maximum size of all objects of one author together, in base64 and with all
	// other fields.
	attackObjects = 2 << 20

	// growths is the number of times that an author adds an object.
	growths = 5
)

// The values in Secrets that the composite author may read, and in Secrets that the author must not
// read.
const (
	allowedCanary = "canary-allowed-51a7c3"
	deniedCanary  = "canary-denied-93f2e8"
)

// attackInput exports a Secret. It allows the composite author to read db, and to use the labels and
// annotations of the attacks.
const attackInput = `
input:
  apiVersion: export.fn.crossplane.io/v1beta1
  kind: Exports
  secrets:
  - name: own
    from: db
    data: [{key: p, value: secret.password}]
  fromComposite:
    from: db
    fieldPath: spec.operatorSpec
    allow: {secrets: [db], resources: [db], labels: [ALLOWEDKEYS], annotations: [ALLOWEDKEYS]}
`

// attackState is a request without an input and without the spec of the composite. Values that the author
// must not read contain the canary. The Secret of another owner also contains the canary. The function
// finds it if the author exports a Secret with its name.
const attackState = `
observed:
  composite:
    resource:
      apiVersion: example.org/v1
      kind: App
      metadata: {name: xr, namespace: team, uid: u1}
    connectionDetails: {password: DENIED64}
  resources:
    db:
      resource: {apiVersion: example.org/v1, kind: Database, metadata: {name: db-1, namespace: team},
        status: {endpoint: db.example.org}}
      connectionDetails: {username: ALLOWED64, password: ALLOWED64}
    cache:
      resource: {apiVersion: example.org/v1, kind: Cache, metadata: {name: cache-1, namespace: team},
        status: {endpoint: DENIED, manifest: {apiVersion: v1, kind: Secret, data: {k: DENIED64}}}}
      connectionDetails: {password: DENIED64}
    DENIED: {resource: {apiVersion: example.org/v1, kind: Cache, metadata: {name: DENIED, namespace: team}},
      connectionDetails: {DENIED: DENIED64}}
    own: {resource: {apiVersion: v1, kind: Secret, metadata: {name: xr-own, namespace: team}, type: Opaque,
      data: {p: ALLOWED64}}}
desired:
  resources:
    earlier: {resource: {apiVersion: v1, kind: Secret, metadata: {name: xr-earlier}, stringData: {k: v}}}
    release: {resource: {apiVersion: helm.toolkit.fluxcd.io/v2, kind: HelmRelease,
      spec: {valuesFrom: [{kind: Secret, name: xr-values}], values: "auth: {existingSecret: xr-auth}"}}}
context:
  step: {apiVersion: v1, kind: Secret, data: {k: DENIED64}, text: DENIED}
  apiextensions.crossplane.io/environment: {region: DENIED}
requiredResources:
  theirs: {items: [{resource: {apiVersion: v1, kind: Secret, metadata: {name: theirs, namespace: team},
    data: {k: DENIED64}, text: DENIED}}]}
`

const somebodyElses = `
{apiVersion: v1, kind: KIND, metadata: {name: somebody-elses, namespace: team}, data: {k: DENIED64}}`

func canaries(text string) string {
	encode := func(s string) string { return base64.StdEncoding.EncodeToString([]byte(s)) }
	keys := []string{"a", "x"}
	for i := range 32 {
		keys = append(keys, fmt.Sprint("x", i))
	}
	for i := range 5 {
		keys = append(keys, fmt.Sprint("a", i))
	}
	return strings.NewReplacer("ALLOWEDKEYS", strings.Join(keys, ", "), "ALLOWED64", encode(allowedCanary), "DENIED64",
		encode(deniedCanary), "DENIED", deniedCanary).Replace(text)
}

// The law of composite authors: for any text that a composite author writes, the input's own
// exports do not change, nothing is read, written or reported that is not allowed, the server stays
// within these limits, and it serves other requests meanwhile.
func TestAttacks(t *testing.T) {
	s := serveAttacked(t)
	peaceful := attackRequest(t, attack.Case{})
	own := s.reconcile(t, peaceful).last().GetDesired().GetResources()["own"]
	if own.GetReady() != fnv1.Ready_READY_TRUE {
		t.Fatal("the input's own export is not ready")
	}
	neighbour := s.neighbour(t)
	s.rest(t)

	var all []attackCost
	cases := attack.Cases(deepest(t))
	for _, name := range proof.Part(slices.Sorted(maps.Keys(cases)), 16) {
		t.Run(name, func(t *testing.T) {
			a := cases[name]
			req := attackRequest(t, a)
			neighbour.during.Store(&name)
			served := neighbour.served.Load()
			out := s.reconcile(t, req)
			out.cost.name, out.cost.served = name, neighbour.served.Load()-served
			all = append(all, out.cost)
			t.Logf("%s\n%.300s", out.cost, out.last().GetConditions()[0].GetMessage())
			out.cost.judge(t, a.Reason)
			if diff := cmp.Diff(own, out.last().GetDesired().GetResources()["own"], protocmp.Transform()); diff != "" {
				t.Errorf("%s: the input's own export: -want, +got:\n%s", a.Reason, diff)
			}
			for _, name := range a.Composes {
				if out.last().GetDesired().GetResources()[name] == nil {
					t.Errorf("%s: want %q, which is as harmless as it looks: %s", a.Reason, name, out.last().GetConditions())
				}
			}
			for _, name := range a.Refuses {
				if out.last().GetDesired().GetResources()[name] != nil {
					t.Errorf("%s: %q takes what is somebody else's", a.Reason, name)
				}
			}
			for _, rsp := range out.answers {
				judge(t, a, req, rsp)
			}
		})
	}
	growth := attack.Growth()
	for _, name := range proof.Part(slices.Sorted(maps.Keys(growth)), 8) {
		t.Run("Growth/"+name, func(t *testing.T) { s.grow(t, growth[name]) })
	}
	neighbour.stop(t)
	s.peace(t)
	s.end(t)

	summarize(t, all)
}

// summarize logs the most expensive attacks. It checks that the neighbor was served during the longest
// ones.
func summarize(t *testing.T, all []attackCost) {
	t.Helper()
	var long, served int64
	for _, c := range all {
		if c.clock > longAttack && c.size < largeRequest {
			long, served = long+1, served+c.served
		}
	}
	t.Logf("the neighbour was served %d times during the %d attacks that took longer than %s with no large request",
		served, long, longAttack)
	if served < attackServed*long {
		t.Errorf("want the neighbour served %d times during each of them, on average", attackServed)
	}
	slices.SortFunc(all, func(a, b attackCost) int { return int(b.cpu - a.cpu) })
	for _, c := range all[:min(len(all), 10)] {
		t.Log("most CPU: ", c)
	}
	slices.SortFunc(all, func(a, b attackCost) int { return int(b.memory - a.memory) })
	for _, c := range all[:min(len(all), 10)] {
		t.Log("most memory: ", c)
	}
}

// judge checks the composed resources, the requirements and the messages of a response.
func judge(t *testing.T, a attack.Case, req *fnv1.RunFunctionRequest, rsp *fnv1.RunFunctionResponse) {
	t.Helper()
	spec := req.GetObserved().GetComposite().GetResource().GetFields()["spec"].GetStructValue()
	asked := askedFor(spec.GetFields()["operatorSpec"])
	for name, r := range rsp.GetDesired().GetResources() {
		kind, object, authors := asked.find(name)
		switch {
		case authors:
			judgeObject(t, kind, object, asked.keys[name], r.GetResource(), req.GetObserved().GetResources()[name].GetResource())
		case name != "own" && req.GetDesired().GetResources()[name] == nil:
			t.Errorf("%s: composed resource %q was not asked for", a.Reason, name)
		}
	}
	for name, was := range req.GetDesired().GetResources() {
		if diff := cmp.Diff(was, rsp.GetDesired().GetResources()[name], protocmp.Transform()); diff != "" {
			t.Errorf("%s: what an earlier step composes changed: %s", a.Reason, diff)
		}
	}
	for key, r := range rsp.GetRequirements().GetResources() {
		if r.GetApiVersion() != "v1" || r.GetNamespace() != "team" || asked.names[r.GetKind()+"/"+r.GetMatchName()] == "" {
			t.Errorf("%s: requirement %q was not asked for: %s", a.Reason, key, r)
		}
	}
	if len(rsp.GetResults()) > 1 || len(rsp.GetConditions()) != 1 {
		t.Errorf("%s: want one condition and at most one event, got %d and %d", a.Reason, len(rsp.GetConditions()),
			len(rsp.GetResults()))
	}
	for _, r := range rsp.GetResults() {
		if r.GetSeverity() != fnv1.Severity_SEVERITY_WARNING || r.GetTarget() != fnv1.Target_TARGET_COMPOSITE_AND_CLAIM {
			t.Errorf("%s: want a warning to the author, got %s", a.Reason, r)
		}
	}
	judgeWords(t, a, req, rsp)
}

// reservedKeys are the labels and annotations by which Crossplane finds composed resources.
var reservedKeys = map[string][]string{
	"labels":      {"crossplane.io/composite", "crossplane.io/claim-name", "crossplane.io/claim-namespace"},
	"annotations": {"crossplane.io/composition-resource-name"},
}

// judgeObject checks an object that the author exports. It must have this name, and these keys or the
// keys that an expression returns.
func judgeObject(t *testing.T, kind, name string, keys map[string]bool, o, observed *structpb.Struct) {
	t.Helper()
	f := o.GetFields()
	if f["apiVersion"].GetStringValue() != "v1" || f["kind"].GetStringValue() != kind {
		t.Errorf("want a %s, got %s %s", kind, f["apiVersion"], f["kind"])
	}
	if kind == "Secret" && f["type"].GetStringValue() != "Opaque" {
		t.Errorf("Secret %q is of type %s", name, f["type"])
	}
	meta := f["metadata"].GetStructValue().GetFields()
	if meta["namespace"].GetStringValue() != "team" || meta["name"].GetStringValue() != name ||
		len(validation.IsDNS1123Subdomain(name)) > 0 {
		t.Errorf("%s %q is %s in namespace %s", kind, name, meta["name"], meta["namespace"])
	}
	for field, v := range meta {
		switch field {
		case "name", "namespace":
		case "labels", "annotations":
			for k := range v.GetStructValue().GetFields() {
				reserved := strings.HasPrefix(k, "export.fn.crossplane.io/") && k != "export.fn.crossplane.io/revision" &&
					k != "export.fn.crossplane.io/export-state"
				if reserved || slices.Contains(reservedKeys[field], k) {
					t.Errorf("%s %q has %s %q, by which it would be taken for another", kind, name, field, k)
				}
			}
		default:
			t.Errorf("%s %q has metadata.%s", kind, name, field)
		}
	}
	for field := range f {
		if !slices.Contains([]string{"apiVersion", "kind", "metadata", "type", "data", "binaryData"}, field) {
			t.Errorf("%s %q has %s", kind, name, field)
		}
	}
	for _, field := range []string{"data", "binaryData"} {
		held := observed.GetFields()[field].GetStructValue().GetFields()
		for k := range f[field].GetStructValue().GetFields() {
			if held[k] == nil && !keys[k] && !keys[anyKey] || len(validation.IsConfigMapKey(k)) > 0 {
				t.Errorf("%s %q has key %q", kind, name, k)
			}
		}
	}
}

// judgeWords checks the texts of a response. They must not contain a secret or exceed the limit.
func judgeWords(t *testing.T, a attack.Case, req *fnv1.RunFunctionRequest, rsp *fnv1.RunFunctionResponse) {
	t.Helper()
	said := proto.Clone(rsp).(*fnv1.RunFunctionResponse)
	for key, v := range req.GetContext().GetFields() {
		if !proto.Equal(v, said.GetContext().GetFields()[key]) {
			t.Errorf("%s: the context changed at %q", a.Reason, key)
		}
		delete(said.GetContext().GetFields(), key)
	}
	for name, r := range said.GetDesired().GetResources() {
		f := r.GetResource().GetFields()
		if f["kind"].GetStringValue() != "Secret" {
			continue
		}
		for k, v := range f["data"].GetStructValue().GetFields() {
			value, err := base64.StdEncoding.DecodeString(v.GetStringValue())
			if err != nil || holds(value, deniedCanary) || holds([]byte(k), deniedCanary) {
				t.Errorf("%s: %s has a secret that is not allowed, or no base64: %v", a.Reason, name, err)
			}
		}
		delete(f, "data")
	}
	wire := functiontest.Marshal(t, said)
	for _, canary := range []string{deniedCanary, allowedCanary} {
		if holds(wire, canary) {
			t.Errorf("%s: the answer has %q outside of the data of a Secret", a.Reason, canary)
		}
	}
	said.Desired, said.Requirements = nil, nil
	if n := proto.Size(said); n > attackText {
		t.Errorf("%s: %d KiB of text are over %d", a.Reason, n>>10, attackText>>10)
	}
}

// holds reports whether a text contains the canary, also in base64 with any text before it.
func holds(text []byte, canary string) bool {
	if bytes.Contains(text, []byte(canary)) {
		return true
	}
	for before := range 3 {
		encoded := base64.StdEncoding.EncodeToString([]byte(strings.Repeat("x", before) + canary))
		if bytes.Contains(text, []byte(encoded[4*(before+2)/3:len(encoded)-4])) {
			return true
		}
	}
	return false
}

// asked describes the exports of an author. names maps each composition resource name to the kind and name
// of the object, and back. keys are the keys of each object.
type asked struct {
	names map[string]string
	keys  map[string]map[string]bool
}

// anyKey stands for the keys that an expression returns.
const anyKey = "\x00any"

// find returns the object of a composed resource, if the author exports it.
func (a asked) find(composed string) (kind, name string, ok bool) {
	for object, c := range a.names {
		if c == composed {
			kind, name, ok = strings.Cut(object, "/")
			return kind, name, ok
		}
	}
	return "", "", false
}

// askedFor reads the lists again, independently of the function.
func askedFor(asks *structpb.Value) asked {
	out := asked{names: map[string]string{}, keys: map[string]map[string]bool{}}
	for field, list := range asks.GetStructValue().GetFields() {
		kind := "Secret"
		if strings.Contains(field, "onfigMap") {
			kind = "ConfigMap"
		}
		for _, e := range list.GetListValue().GetValues() {
			f := e.GetStructValue().GetFields()
			object := kind + "/" + f["name"].GetStringValue()
			composed := "fromComposite/" + object
			out.names[object] = composed
			if out.keys[composed] == nil {
				out.keys[composed] = map[string]bool{}
			}
			key := f["key"].GetStringValue()
			if key == "" {
				key = anyKey
			}
			out.keys[composed][key] = true
		}
	}
	return out
}

// attackRequest returns a request with the composite of an attack.
func attackRequest(t testing.TB, a attack.Case) *fnv1.RunFunctionRequest {
	t.Helper()
	req := functiontest.Request(t, canaries(attackState+attackInput))
	xr := req.GetObserved().GetComposite().GetResource()
	if a.Composite != nil {
		maps.Copy(xr.GetFields(), a.Composite().GetStructValue().GetFields()) // everything below is shared
	}
	spec := &structpb.Struct{Fields: map[string]*structpb.Value{}}
	maps.Copy(spec.GetFields(), xr.GetFields()["spec"].GetStructValue().GetFields())
	if a.Exports != nil {
		spec.Fields["operatorSpec"] = a.Exports()
	}
	xr.Fields["spec"] = structpb.NewStructValue(spec)
	for _, name := range a.Exist {
		req.Observed.Resources["fromComposite/Secret/"+name] = &fnv1.Resource{Resource: functiontest.Parse(
			t, fmt.Sprintf("{apiVersion: v1, kind: Secret, metadata: {name: %s, namespace: team}, type: Opaque, data: {old: "+
				"b2xk}}", name))}
	}
	return req
}

// deepest is the maximum depth of a list in the spec of the composite that protobuf can read. The maximum
// depth of objects is two thirds of it.
func deepest(t *testing.T) int {
	t.Helper()
	reads := func(n int) bool {
		req := attackRequest(t, attack.Case{Composite: func() *structpb.Value {
			return structpb.NewStructValue(attack.Deep(n))
		}})
		b, err := proto.Marshal(req)
		return err == nil && proto.Unmarshal(b, &fnv1.RunFunctionRequest{}) == nil
	}
	return sort.Search(10_000, func(n int) bool { return !reads(n + 1) })
}

// An attackCost is the cost of a reconcile for the server.
type attackCost struct {
	name   string
	cpu    time.Duration
	memory int64 // peak, minus the memory at rest
	before int64 // before the attack, minus the memory at rest
	clock  time.Duration
	calls  int
	size   int   // of the request
	served int64 // answers that the neighbor got during the attack
}

func (c attackCost) String() string {
	return fmt.Sprintf("%6s CPU (%s), %3d MiB over rest, where %d were already, %d calls: %s",
		c.cpu, c.clock.Round(time.Millisecond), c.memory>>20, c.before>>20, c.calls, c.name)
}

func (c attackCost) judge(t *testing.T, reason string) {
	t.Helper()
	if c.cpu > attackCPU || c.memory > attackMemory {
		t.Errorf("%s: want at most %s and %d MiB, got %s", reason, attackCPU, attackMemory>>20, c)
	}
}

// An attacked is a running server of the built program.
type attacked struct {
	cmd     *exec.Cmd
	log     *attackedLog
	client  fnv1.FunctionRunnerServiceClient
	resting int64 // bytes of resident memory
}

type attackedLog struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (l *attackedLog) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.Write(p)
}

func (l *attackedLog) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.String()
}

// A builtProgram is a folder with the program under both of its names. It is built once for all tests. The version of
// the program is devel, also in a checkout from which Go would take another one.
type builtProgram struct {
	once sync.Once
	dir  string
	err  error
}

var builtFunction builtProgram

func (b *builtProgram) path() (string, error) {
	b.once.Do(func() {
		if b.dir, b.err = os.MkdirTemp("", "function-export-"); b.err != nil {
			return
		}
		program := filepath.Join(b.dir, "function-export")
		cmd := exec.CommandContext(context.Background(), "go", "build", "-buildvcs=false", "-o", program, ".")
		if out, err := cmd.CombinedOutput(); err != nil {
			b.err = fmt.Errorf("cannot build the program: %w\n%s", err, out)
		}
	})
	return filepath.Join(b.dir, "function-export"), b.err
}

// remove deletes the program, if it was built.
func (b *builtProgram) remove() {
	if b.dir != "" {
		_ = os.RemoveAll(b.dir)
	}
}

// serveAttacked builds the program and starts it with the flags that it has in a cluster, except for TLS,
// and with a debug log. env is added to its environment.
func serveAttacked(t *testing.T, env ...string) *attacked {
	t.Helper()
	if _, err := os.Stat("/proc/self/clear_refs"); err != nil {
		t.Skip("needs Linux: ", err)
	}
	bin, err := builtFunction.path()
	if err != nil {
		t.Fatal(err)
	}
	s := &attacked{log: &attackedLog{}}
	s.cmd = exec.CommandContext(context.Background(), bin, "serve", "--insecure", "--debug", "--address", "127.0.0.1:0",
		"--metrics-address", "")
	s.cmd.Stdout, s.cmd.Stderr, s.cmd.Env = s.log, s.log, append(os.Environ(), env...)
	if err := s.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.cmd.Process.Kill() })
	s.client = s.dial(t)
	return s
}

// dial connects to the server at the address in its log.
func (s *attacked) dial(t *testing.T) fnv1.FunctionRunnerServiceClient {
	t.Helper()
	return fnv1.NewFunctionRunnerServiceClient(s.connect(t))
}

// connect opens a new connection.
func (s *attacked) connect(t *testing.T) *grpc.ClientConn {
	t.Helper()
	var address string
	for limit := functiontest.Limited(t); address == ""; time.Sleep(time.Millisecond) {
		address = regexp.MustCompile(`127\.0\.0\.1:\d+`).FindString(s.log.String())
		if limit.Err() != nil {
			t.Fatalf("the server does not serve:\n%s", s.log)
		}
	}
	conn, err := grpc.NewClient("passthrough:"+address, grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(attackAnswer)))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return conn
}

// end stops the server as Kubernetes does. It checks that the log contains no secret.
func (s *attacked) end(t *testing.T) {
	t.Helper()
	if err := s.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Error(err)
	}
	if err := s.cmd.Wait(); err != nil {
		t.Errorf("the server does not end well: %v", err)
	}
	log := []byte(s.log.String())
	if holds(log, allowedCanary) || holds(log, deniedCanary) || bytes.Contains(log, []byte("panic")) {
		t.Errorf("a secret or a panic is in the log:\n%.10000s", log)
	}
}

// reconciled is the result of a request.
type reconciled struct {
	answers []*fnv1.RunFunctionResponse
	cost    attackCost
}

func (r reconciled) last() *fnv1.RunFunctionResponse { return r.answers[len(r.answers)-1] }

// reconcile calls the function as Crossplane does, until it requires nothing more.
func (s *attacked) reconcile(t *testing.T, req *fnv1.RunFunctionRequest) reconciled {
	t.Helper()
	before, cpu, start := s.resident(t), s.cpu(t), time.Now()
	if err := os.WriteFile(fmt.Sprintf("/proc/%d/clear_refs", s.cmd.Process.Pid), []byte("5"), 0); err != nil {
		t.Skip("needs a /proc that forgets the most memory that a process had: ", err)
	}
	out := reconciled{cost: attackCost{size: proto.Size(req)}}
	call := func(ctx context.Context, req *fnv1.RunFunctionRequest) (*fnv1.RunFunctionResponse, error) {
		rsp, err := s.client.RunFunction(ctx, req)
		if err != nil {
			t.Fatalf("no answer: %v", err)
		}
		if text := world.FatalOf(rsp); text != "" {
			t.Fatalf("fatal: %s", text)
		}
		if len(out.answers) > 0 && !proto.Equal(out.last().GetRequirements(), rsp.GetRequirements()) {
			t.Error("two calls of one reconcile require different things")
		}
		out.answers = append(out.answers, rsp)
		out.cost.calls++
		return rsp, nil
	}
	lookUp := func(required *fnv1.ResourceSelector) *fnv1.Resources {
		if required.GetMatchName() != "somebody-elses" {
			return &fnv1.Resources{}
		}
		return &fnv1.Resources{Items: []*fnv1.Resource{
			{Resource: functiontest.Parse(t, canaries(strings.Replace(somebodyElses, "KIND", required.GetKind(), 1)))}}}
	}
	if _, err := world.SettleRequirements(functiontest.Limited(t), req, call, lookUp, nil); err != nil {
		t.Fatal(err)
	}
	out.cost.cpu, out.cost.clock = s.cpu(t)-cpu, time.Since(start)
	out.cost.memory, out.cost.before = s.status(t, "VmHWM")-s.resting, before-s.resting
	return out
}

// rest sends a few harmless requests, and records the memory of the server afterwards.
func (s *attacked) rest(t *testing.T) {
	t.Helper()
	for range 50 {
		s.reconcile(t, attackRequest(t, attack.Case{}))
	}
	s.resting = s.resident(t)
	t.Logf("at rest the server has %d MiB", s.resting>>20)
}

// grow reconciles repeatedly, each time with the previous composed resources. The response must not grow
// each time.
func (s *attacked) grow(t *testing.T, nth func(n int) attack.Case) {
	t.Helper()
	observed := map[string]*fnv1.Resource{}
	for n := range growths {
		req := attackRequest(t, nth(n))
		maps.Copy(req.GetObserved().GetResources(), observed)
		size := 0
		for name, r := range s.reconcile(t, req).last().GetDesired().GetResources() {
			if strings.HasPrefix(name, "fromComposite/") {
				observed[name] = &fnv1.Resource{Resource: r.GetResource()}
				size += proto.Size(r)
			}
		}
		if n == 0 && size < 1<<20 {
			t.Fatalf("it does not grow: %d KiB", size>>10)
		}
		if size > attackObjects {
			t.Fatalf("reconcile %d composes %d KiB in all, more than %d", n, size>>10, attackObjects>>10)
		}
	}
}

// peace sends harmless requests, and logs the memory of the server afterwards. Each attack already checked
// that it is limited.
func (s *attacked) peace(t *testing.T) {
	t.Helper()
	before := s.resident(t) - s.resting
	for range 200 {
		s.reconcile(t, attackRequest(t, attack.Case{}))
	}
	t.Logf("after the attacks the server has %d MiB over rest, and %d after some peace", before>>20,
		(s.resident(t)-s.resting)>>20)
}

func (s *attacked) resident(t *testing.T) int64 { t.Helper(); return s.status(t, "VmRSS") }

// status reads a field of the process's status, in bytes.
func (s *attacked) status(t *testing.T, field string) int64 {
	t.Helper()
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", s.cmd.Process.Pid))
	if err != nil {
		t.Fatalf("the server is gone: %v\n%s", err, s.log)
	}
	m := regexp.MustCompile(`(?m)^` + field + `:\s*(\d+) kB$`).FindSubmatch(b)
	if m == nil {
		t.Fatalf("no %s in:\n%s", field, b)
	}
	kB, err := strconv.ParseInt(string(m[1]), 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return kB << 10
}

// cpu returns the user and system time of all threads of the process, including threads that ended. The
// kernel reports it in hundredths of a second.
func (s *attacked) cpu(t *testing.T) time.Duration {
	t.Helper()
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", s.cmd.Process.Pid))
	if err != nil {
		t.Fatalf("the server is gone: %v\n%s", err, s.log)
	}
	fields := strings.Fields(string(b[bytes.LastIndexByte(b, ')')+1:])) // the third field and all later ones
	var total time.Duration
	for _, f := range fields[11:13] {
		n, err := strconv.ParseInt(f, 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		total += time.Duration(n) * 10 * time.Millisecond
	}
	return total
}

// A neighbour is another composite of the same Composition. It sends its requests over a separate
// connection, one after another.
type neighbour struct {
	client fnv1.FunctionRunnerServiceClient
	req    *fnv1.RunFunctionRequest
	want   *fnv1.RunFunctionResponse

	during atomic.Pointer[string] // the present attack
	served atomic.Int64

	end  context.CancelFunc
	done chan struct{}

	// These are read after it has stopped.
	failed      []string
	worst       time.Duration
	worstDuring string
}

// neighbour starts to send requests.
func (s *attacked) neighbour(t *testing.T) *neighbour {
	t.Helper()
	n := &neighbour{client: s.dial(t), done: make(chan struct{})}
	n.during.Store(new(string))
	asks := structpb.NewStructValue(functiontest.Parse(t, "{secretExpressions: [{name: mine, key: k, value: "+
		"secret.password}]}"))
	n.req = attackRequest(t, attack.Case{Exports: func() *structpb.Value { return asks }, Exist: []string{"mine"}})
	meta := n.req.GetObserved().GetComposite().GetResource().GetFields()["metadata"].GetStructValue().GetFields()
	meta["name"], meta["uid"] = structpb.NewStringValue("neighbour"), structpb.NewStringValue("u2")
	ctx, cancel := context.WithCancel(context.Background())
	n.end = cancel
	t.Cleanup(n.end)
	var err error
	n.want, err = n.client.RunFunction(ctx, n.req)
	if err != nil || n.want.GetDesired().GetResources()["fromComposite/Secret/mine"] == nil {
		t.Fatalf("the neighbour gets nothing: %v, %v", err, n.want)
	}
	go n.run(ctx)
	return n
}

func (n *neighbour) run(ctx context.Context) {
	defer close(n.done)
	for {
		select {
		case <-ctx.Done():
			return
		case <-time.After(5 * time.Millisecond):
		}
		start := time.Now()
		got, err := n.client.RunFunction(ctx, n.req)
		if ctx.Err() != nil {
			return
		}
		if err != nil || !proto.Equal(n.want, got) {
			n.failed = append(n.failed, fmt.Sprintf("during %s: %v, %v", *n.during.Load(), err, got))
		}
		n.served.Add(1)
		if took := time.Since(start); took > n.worst {
			n.worst, n.worstDuring = took, *n.during.Load()
		}
	}
}

// stop stops the neighbor. It checks that all its requests were answered correctly.
func (n *neighbour) stop(t *testing.T) {
	t.Helper()
	n.end()
	<-n.done
	t.Logf("the neighbour was served %d times, after %s at worst, during %s", n.served.Load(),
		n.worst.Round(time.Millisecond), n.worstDuring)
	if len(n.failed) > 0 {
		t.Errorf("the neighbour had %d of %d answers that were none, or others: %s", len(n.failed), n.served.Load(),
			n.failed[0])
	}
	if n.worst > attackLatency {
		t.Errorf("the neighbour waited %s during %s", n.worst, n.worstDuring)
	}
}
