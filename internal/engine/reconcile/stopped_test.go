package reconcile

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/testing/protocmp"

	"github.com/crossplane-contrib/function-export/internal/engine/lifecycle"
	"github.com/crossplane-contrib/function-export/internal/engine/limits"
	"github.com/crossplane-contrib/function-export/internal/engine/object"
	"github.com/crossplane-contrib/function-export/internal/engine/observation"
	"github.com/crossplane-contrib/function-export/internal/engine/plan"
	"github.com/crossplane-contrib/function-export/internal/engine/plan/plantest"
	"github.com/crossplane-contrib/function-export/internal/engine/wire"
)

// A limited is a plan with an export named url of a Secret, and what its request observes.
type limited struct {
	plan    *plan.Plan
	sees    *observation.Observation
	desired map[string]wire.Struct
}

// newLimited compiles an input. Each resource has the connection details with these names. The source cm also has them.
func newLimited(t *testing.T, input string, resources map[string][]string) *limited {
	t.Helper()
	p, diagnostics := plantest.Compile(t, plantest.Exports(input))
	if diagnostics != nil {
		t.Fatal(diagnostics)
	}
	out := &limited{plan: p, desired: map[string]wire.Struct{}, sees: &observation.Observation{
		Resources: map[string]observation.Resource{}, Sources: map[string]observation.Source{},
	}}
	for name, keys := range resources {
		if name == "cm" {
			out.sees.Sources[name] = configMap(t, keys, nil)
			continue
		}
		out.sees.Resources[name] = observation.Resource{Details: detailsNamed(keys)}
	}
	return out
}

func detailsNamed(keys []string) observation.Details {
	out := observation.Details{}
	for _, k := range keys {
		out[k] = []byte("made-up")
	}
	return out
}

// configMap is a source with these keys, and with the binary key z.
func configMap(t *testing.T, texts, binary []string) observation.Source {
	t.Helper()
	o := structOf(t, fmt.Sprintf(
		"{apiVersion: v1, kind: ConfigMap, metadata: {name: cm}, data: {%s}, binaryData: {%s}}",
		strings.Join(texts, ": made-up, ")+": made-up",
		strings.Join(append(binary, "z"), ": bWFkZS11cA==, ")+": bWFkZS11cA==",
	))
	return observation.Source{Read: true, Objects: []wire.Struct{o}}
}

// decide makes the object of the export with this budget, and returns the fuel that is left.
func (l *limited) decide(t *testing.T, fuel int64) (out Object, left int64) {
	t.Helper()
	s := newSession(t.Context(), l.plan, newRequest(&Request{}), composite{name: "xr", namespace: "team"}, l.sees)
	s.budget.Take(s.budget.Left() - fuel)
	at := placement{target: target{object.Secret, "team", "xr-url"}, resource: "url"}
	at.slot = lifecycle.Slot{Name: "url", Want: lifecycle.Yes, Place: at.place(), Found: lifecycle.Lookup{Read: true}}
	out = exporter{session: s, desired: l.desired}.decide(l.plan.Exports[0], at)
	return out, s.budget.Left()
}

// cost is the fuel that the export needs.
func (l *limited) cost(t *testing.T) int64 {
	t.Helper()
	_, left := l.decide(t, limits.RequestFuel)
	return limits.RequestFuel - left
}

// numbered returns this many keys.
func numbered(n int) []string {
	keys := make([]string, n)
	for i := range keys {
		keys[i] = fmt.Sprintf("k%03d", i)
	}
	return keys
}

// An export that is stopped says so. It never has only a part of its keys.
func TestStoppedExport(t *testing.T) {
	const (
		stopped = "Held: secrets[0].dataFrom[0]: was stopped: it exceeds the limit of work for one request: export fewer " +
			"keys, or use fewer and simpler rules"
		find    = "secrets: [{name: url, dataFrom: [{find: {path: d}}]}]"
		extract = "{sources: [{name: cm, apiVersion: v1, kind: ConfigMap}], secrets: [{name: url, dataFrom: [{extract: " +
			"{key: cm}}]}]}"
	)
	long := strings.Repeat("a", 10_000)
	for name, tc := range map[string]struct {
		reason, input string
		resources     map[string][]string
		fuel          int64 // if it is negative, what is missing of the cost
		want          string
	}{
		"Inputs":    {"the names of the inputs are not compared", find, map[string][]string{"d": {"k"}}, 0, stopped},
		"Condition": {"the labels of an input are not read", find, map[string][]string{"d": {"k"}}, 1, stopped},
		"Keys":      {"the names of the keys are not compared", find, map[string][]string{"d": {"k"}}, 6, stopped},
		"Rules":     {"the keys are not renamed", find, map[string][]string{"d": {"k"}}, 7, stopped},
		"Copy": {
			"the keys are not copied", find, map[string][]string{"d": {"k"}}, 11,
			"Held: secrets[0]: was stopped: it exceeds the limit of work for one request: export fewer keys",
		},
		"Enough": {"nothing is stopped", find, map[string][]string{"d": {"k"}}, 12, "Waiting"},
		"NextInput": {
			"the keys of a later input, which has fewer, are not exported alone", find,
			map[string][]string{"d1": numbered(100), "d2": {"k"}}, 100, stopped,
		},
		"NextInputByName": {
			"nor those whose names match",
			"secrets: [{name: url, dataFrom: [{find: {path: d, name: {regexp: '^2/k$'}}}]}]",
			map[string][]string{"d1": numbered(10), "d2": {"k"}}, 24, stopped,
		},
		"NextKey": {
			"nor a later key of the same input, whose name is shorter",
			"secrets: [{name: url, dataFrom: [{find: {name: {regexp: '/b$'}}}]}]",
			map[string][]string{"d": {long, "b"}}, 100, stopped,
		},
		"Extract": {"the keys of a ConfigMap are not read", extract, map[string][]string{"cm": numbered(50)}, 60, stopped},
		"Waits": {
			"an export that waits is not copied in any case",
			`secrets: [{name: url, data: [{key: k, value: "'` + long[:3000] + `'"}, {key: l, value: secrets.later.l}]}]`,
			nil, -1, `Waiting: key "l" waits for secrets.later`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			l := newLimited(t, tc.input, tc.resources)
			if tc.fuel < 0 {
				tc.fuel += l.cost(t)
			}
			o, _ := l.decide(t, tc.fuel)
			_, why, _ := strings.Cut(o.Message, "is not created: ")
			why, _, _ = strings.Cut(why, " (")
			if got := strings.TrimSuffix(o.State.String()+": "+why, ": "); got != tc.want {
				t.Errorf("decide(...): %s: with fuel %d, want %s, got %s", tc.reason, tc.fuel, tc.want, got)
			}
		})
	}
}

// Work that grows with the request needs a budget that grows with the work.
func TestCostOfInputs(t *testing.T) {
	const (
		find    = "secrets: [{name: url, dataFrom: [{find: {path: db}}]}]"
		extract = "{sources: [{name: cm, apiVersion: v1, kind: ConfigMap}], secrets: [{name: url, dataFrom: [{extract: " +
			"{key: cm}}]}]}"
	)
	for name, tc := range map[string]struct {
		reason, input string
		more          func(l *limited)
		want          int64 // the further cost, without that of the size of the ConfigMap
	}{
		"FindKeys": {
			"ten keys are each compared (2), renamed (3), and checked and encoded (2)", find, func(l *limited) {
				l.sees.Resources["db"] = observation.Resource{Details: detailsNamed(numbered(20))}
			}, 10 * (2 + 3 + 2),
		},
		"FindInput": {
			"the name of an input is compared (1), and its labels and conditions are read (4)", find,
			func(l *limited) { l.sees.Resources["db2"] = observation.Resource{} }, 1 + 4,
		},
		"FindDesired": {
			"a resource that does not exist yet has the same cost", find,
			func(l *limited) { l.desired["db2"] = wire.Struct{} }, 1 + 4,
		},
		"FindOther": {
			"only the name is compared if the find cannot reach the resource", find,
			func(l *limited) { l.desired["other"] = wire.Struct{} }, 1,
		},
		"ExtractTexts": {
			"ten keys are each read (2), renamed (3), and checked and encoded (2)", extract,
			func(l *limited) { l.sees.Sources["cm"] = configMap(t, numbered(20), nil) }, 10 * (2 + 3 + 2),
		},
		"ExtractBinary": {
			"also the keys of binary data", extract,
			func(l *limited) { l.sees.Sources["cm"] = configMap(t, []string{"k"}, numbered(19)) }, 10 * (2 + 3 + 2),
		},
	} {
		t.Run(name, func(t *testing.T) {
			few := newLimited(t, tc.input, map[string][]string{"db": numbered(10), "cm": numbered(10)})
			more := newLimited(t, tc.input, map[string][]string{"db": numbered(10), "cm": numbered(10)})
			tc.more(more)
			size := func(l *limited) int64 { return int64(l.sees.Sources["cm"].Objects[0].Size()) / 64 }
			if got := more.cost(t) - few.cost(t) - size(more) + size(few); got != tc.want {
				t.Errorf("decide(...): %s: want %d units more, got %d", tc.reason, tc.want, got)
			}
		})
	}
}

// The environment is not merged without a budget: later steps do not get a part of it.
func TestStoppedEnvironment(t *testing.T) {
	l := newLimited(t, `
environment: {defaultData: {a: b}, set: [{fieldPath: size, value: "'made-up'"}]}
secrets: [{name: url, data: [{key: k, value: "'made-up'"}]}]`, nil)
	req := newRequest(&Request{})
	s := newSession(t.Context(), l.plan, req, composite{name: "xr", namespace: "team"}, l.sees)
	s.budget.Take(s.budget.Left())
	_, err := readEnvironment(s, l.plan, req)
	const why = "was stopped: it exceeds the limit of work for one request"
	if got, want := fmt.Sprint(err), "environment: "+why; got != want {
		t.Errorf("readEnvironment(...): want the error %q, got %q", want, got)
	}
	// No default is used for the field, and the other fields stay as they are.
	before := structOf(t, "{a: b, c: d, e: f, g: h, size: default}")
	s = s.next(nil, func(o *observation.Observation) { o.Environment = before })
	out := setEnvironment(s, l.plan, environmentRead{})
	message := "environment.size is not set: environment.set[0]: " + why
	want := []Outcome{{State: Held, Warn: true, Wrong: true, Message: message}}
	if diff := cmp.Diff(want, out.others); diff != "" {
		t.Errorf("setEnvironment(...): -want, +got:\n%s", diff)
	}
	after := structOf(t, "{a: b, c: d, e: f, g: h}").Proto()
	if diff := cmp.Diff(after, out.value, protocmp.Transform()); diff != "" {
		t.Errorf("setEnvironment(...): -want, +got:\n%s", diff)
	}
}

// Each session sees its own environment, also through variables, in whatever order they are evaluated.
func TestEnvironmentOfSession(t *testing.T) {
	l := newLimited(t, `
variables: [{name: region, value: environment.region}]
secrets: [{name: url, data: [{key: k, value: variables.region}]}]`, nil)
	first := newSession(t.Context(), l.plan, newRequest(&Request{}), composite{name: "xr", namespace: "team"}, l.sees)
	first = first.withEnvironment(structOf(t, "{region: first}").Proto(), nil)
	second := first.withEnvironment(structOf(t, "{region: second}").Proto(), nil)
	x := l.plan.Exports[0].Data[0].Value
	for i, s := range []*session{first, second, first, second} {
		got, err := s.name(x, "")
		if want := []string{"first", "second"}[i%2]; got != want || err != nil {
			t.Errorf("name(...): evaluation %d: want %q, got %q, %v", i, want, got, err)
		}
	}
}

// A strict type check that is stopped refuses the input, because it is unknown whether its types are right.
func TestStoppedTypeCheck(t *testing.T) {
	l := newLimited(t, `{typeChecking: Strict, secrets: [{name: url, data: [{key: k, value: composite.spec.name}]}]}`, nil)
	xr := structOf(t, "{apiVersion: example.org/v1, kind: App, metadata: {name: xr, namespace: team}}")
	kind := plan.Kind{APIVersion: "example.org/v1", Kind: "App"}
	schemas := map[plan.Kind]wire.Struct{kind: structOf(t, "{type: object, properties: {spec: {type: object}}}")}
	req := newRequest(&Request{HasSchemas: true, Schemas: schemas})
	s := newSession(t.Context(), l.plan, req, compositeOf(xr), l.sees)
	s.budget.Take(s.budget.Left())
	_, err := checkStrictly(s, l.plan, req)
	const want = "typeChecking: was stopped: it exceeds the limit of work for one request: " +
		"check the input with function-export check, and set it to Warn"
	if got := fmt.Sprint(err); got != want {
		t.Errorf("checkStrictly(...): want the error %q, got %q", want, got)
	}
}
