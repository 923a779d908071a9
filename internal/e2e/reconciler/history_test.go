package reconciler_test

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/crossplane-contrib/function-export/internal/e2e/laws"
	"github.com/crossplane-contrib/function-export/internal/e2e/live"
)

// start of the clock of each history.
var beginning = time.Date(2026, 1, 1, 9, 0, 0, 0, time.UTC)

// A play is one history: a composite, its users, its provider, and what fails.
type play struct {
	*crossplane
	*laws.History

	rng     *rand.Rand
	objects map[string]*unstructured.Unstructured // by kind and name
	sources map[string]int                        // the number of their last values
	gone    map[string]bool                       // sources that are deleted
	asks    map[string]int                        // the rotation tokens
	late    map[string]int                        // kinds, and for how many reconciles their informers are late
	points  int                                   // calls of the longest reconcile
	skips   map[string]bool                       // what users do not do in this history

	accepted   map[string]bool // passwords that the database had
	broken     []string        // rules of this test
	reconciles int
	faults     map[string]int
	actions    map[string]int
}

func (p *play) object(text string) map[string]any {
	var o map[string]any
	if err := yaml.Unmarshal([]byte(text), &o); err != nil {
		p.t.Fatal(err)
	}
	return o
}

// newPlay creates the composite and its sources in an empty API server.
func newPlay(c *crossplane, rng *rand.Rand) *play {
	p := &play{
		crossplane: c, History: newHistory(), rng: rng, objects: map[string]*unstructured.Unstructured{},
		sources: map[string]int{}, gone: map[string]bool{}, asks: map[string]int{}, late: map[string]int{}, points: 40,
		accepted: map[string]bool{}, faults: map[string]int{}, actions: map[string]int{},
	}
	c.mu.Lock()
	c.now, c.trace, c.runner = beginning, &trace{}, c.function
	if c.fault != nil {
		c.runner = c.fault(c.function)
	}
	c.mu.Unlock()
	c.do(command{Op: "reset"})
	p.user(command{Op: "compose", Object: p.object(compositionManifest)})
	p.write("account")
	p.write("settings")
	p.user(command{Op: "compose", Object: p.object(xrManifest)})
	return p
}

// user sends a command of a user. Changes of composed Secrets are marked as such.
func (p *play) user(c command) {
	p.t.Helper()
	a := p.do(c)
	if a.Refused != "" {
		p.t.Fatalf("cannot %s: %s", c.Op, a.Refused)
	}
	p.see(a.Events, c.Op != "collect")
}

func kindAndName(o *unstructured.Unstructured) string { return o.GetKind() + "/" + o.GetName() }

// see adds what changed to the history.
func (p *play) see(events []event, user bool) {
	for _, e := range events {
		o := &unstructured.Unstructured{Object: e.Object}
		if e.Type == "DELETED" {
			delete(p.objects, kindAndName(o))
		} else {
			p.objects[kindAndName(o)] = o
		}
		if o.GetKind() != "Secret" {
			continue
		}
		v := laws.VersionOf(e.Type, o, p.clock())
		v.User = user
		p.Add(v)
		if password := live.DataOf(o)["password"]; nameOf(o) == "login" && !user && e.Type != "DELETED" &&
			!p.accepted[password] {
			p.broken = append(p.broken, fmt.Sprintf("%s has a password that the database never had", o.GetName()))
		}
	}
}

// nameOf returns the composition resource name of an object.
func nameOf(o *unstructured.Unstructured) string {
	return o.GetAnnotations()["crossplane.io/composition-resource-name"]
}

// write writes the next values of a source.
func (p *play) write(source string) {
	p.sources[source]++
	p.gone[source] = false
	p.Ask(composite, source)
	n := p.sources[source]
	data := map[string]any{"user": fmt.Sprintf("user-%d", n), "password": fmt.Sprintf("password-%d", n)}
	kind := "ConfigMap"
	if source == "account" {
		kind = "Secret"
		for k, v := range data {
			data[k] = base64.StdEncoding.EncodeToString([]byte(v.(string)))
		}
	}
	p.user(command{Op: "put", Object: map[string]any{
		"apiVersion": "v1", "kind": kind, "data": data,
		"metadata": map[string]any{"name": composite + "-" + source + "-source", "namespace": namespace},
	}})
}

func (p *play) lose(source string) {
	if p.gone[source] {
		return
	}
	p.gone[source] = true
	kind := map[string]string{"account": "Secret", "settings": "ConfigMap"}[source]
	p.user(command{Op: "delete", Object: p.objects[kind+"/"+composite+"-"+source+"-source"].Object})
}

// patch merges fields into an object, as a user.
func (p *play) patch(o *unstructured.Unstructured, fields map[string]any) {
	text, err := json.Marshal(fields)
	if err != nil {
		p.t.Fatal(err)
	}
	p.user(command{Op: "patch", Object: o.Object, Patch: text})
}

func (p *play) annotate(name string, value any) {
	p.patch(p.xr(), map[string]any{"metadata": map[string]any{"annotations": map[string]any{name: value}}})
}

func (p *play) xr() *unstructured.Unstructured { return p.objects["Shop/"+composite] }

// rotate asks for new generations.
func (p *play) rotate() {
	generators := slices.Sorted(maps.Keys(p.Generators))
	for _, i := range p.rng.Perm(len(generators))[:1+p.rng.IntN(3)] {
		p.Ask(composite, generators[i])
		p.asks[generators[i]]++
	}
	var texts []string
	for _, g := range slices.Sorted(maps.Keys(p.asks)) {
		texts = append(texts, fmt.Sprintf("%s=%d", g, p.asks[g]))
	}
	p.annotate(laws.Annotations+"rotate", strings.Join(texts, ","))
}

// composed returns the composed Secrets that a condition chooses, in a fixed order.
func (p *play) composed(is func(o *unstructured.Unstructured) bool) []*unstructured.Unstructured {
	var out []*unstructured.Unstructured
	for _, k := range slices.Sorted(maps.Keys(p.objects)) {
		if o := p.objects[k]; o.GetKind() == "Secret" && nameOf(o) != "" && is(o) {
			out = append(out, o)
		}
	}
	return out
}

func generatorOf(o *unstructured.Unstructured) string {
	return o.GetLabels()[laws.Annotations+"generator"]
}

// edit changes a value of an export, as a user.
func (p *play) edit() {
	exports := p.composed(func(o *unstructured.Unstructured) bool { return generatorOf(o) == "" })
	if len(exports) == 0 {
		return
	}
	o := exports[p.rng.IntN(len(exports))]
	keys := slices.Sorted(maps.Keys(live.DataOf(o)))
	p.patch(o, map[string]any{"data": map[string]any{keys[p.rng.IntN(len(keys))]: "ZWRpdGVk"}})
}

// remove deletes a generation, as a user. The function must make another one.
func (p *play) remove() {
	generations := p.composed(func(o *unstructured.Unstructured) bool { return generatorOf(o) != "" })
	if len(generations) == 0 {
		return
	}
	o := generations[p.rng.IntN(len(generations))]
	p.Ask(composite, generatorOf(o))
	p.user(command{Op: "delete", Object: o.Object})
}

// provide sets the password of the database to the one that the export setter has.
func (p *play) provide() {
	for _, o := range p.composed(func(o *unstructured.Unstructured) bool { return nameOf(o) == "setter" }) {
		password := live.DataOf(o)["password"]
		p.accepted[password] = true
		p.user(command{Op: "put", Object: map[string]any{
			"apiVersion": "v1", "kind": "Secret", "metadata": map[string]any{"name": "db-connection",
				"namespace": namespace},
			"data": map[string]any{"password": base64.StdEncoding.EncodeToString([]byte(password))},
		}})
	}
}

// An action is what users, the provider, or the garbage collector do between reconciles.
type action struct {
	name   string
	weight int
	do     func(p *play)
}

var actions = []action{
	{"rotation requested", 10, (*play).rotate},
	{"source written", 6, func(p *play) { p.write([]string{"account", "settings"}[p.rng.IntN(2)]) }},
	{"source deleted", 2, func(p *play) { p.lose([]string{"account", "settings"}[p.rng.IntN(2)]) }},
	{"password set by the provider", 10, (*play).provide},
	{"deletions finished", 8, func(p *play) { p.user(command{Op: "collect"}) }},
	{"export edited", 2, (*play).edit},
	{"generation deleted", 1, (*play).remove},
	{"composite paused", 1, func(p *play) { p.annotate("crossplane.io/paused", "true") }},
	{"composite resumed", 4, func(p *play) { p.annotate("crossplane.io/paused", nil) }},
	{"clock moved by a second", 10, func(p *play) { p.wait(time.Second) }},
	{"clock moved by five seconds", 6, func(p *play) { p.wait(5 * time.Second) }},
	{"clock moved by a minute", 2, func(p *play) { p.wait(time.Minute) }},
	// Secrets have no late informer, because Crossplane never caches Secrets: the client of its reconciler reads them
	// from the API server (DisableFor in its cmd/crossplane/core/core.go).
	{"informer late", 5, func(p *play) {
		p.late[[]string{"ConfigMap", "Shop"}[p.rng.IntN(2)]] = 1 + p.rng.IntN(3)
	}},
	{"Crossplane restarted", 1, func(p *play) { p.do(command{Op: "crash"}); p.late = map[string]int{} }},
}

// act lets one of the actions happen.
func (p *play) act() {
	all := 0
	for _, a := range actions {
		all += a.weight
	}
	n := p.rng.IntN(all)
	for _, a := range actions {
		if n -= a.weight; n < 0 {
			if p.skips[a.name] {
				return
			}
			p.actions[a.name]++
			a.do(p)
			return
		}
	}
}

// faultKinds are the kinds of failures, as often as they are chosen.
var faultKinds = []string{
	"error", "error", "lost", "lost", "time-out", "conflict", "conflict", "crash", "crash", "crash", "late crash",
	"late crash", "late crash",
}

// reconcile reconciles once. At random calls something fails.
func (p *play) reconcile(failing bool) answer {
	p.t.Helper()
	c := command{Op: "reconcile", Late: map[string]bool{}}
	if failing {
		for range []int{0, 0, 1, 1, 1, 2}[p.rng.IntN(6)] {
			c.Faults = append(c.Faults, fault{At: p.rng.IntN(p.points), Kind: faultKinds[p.rng.IntN(len(faultKinds))]})
		}
		if p.rng.IntN(8) == 0 {
			p.mu.Lock()
			p.slow = time.Duration(p.rng.IntN(20)) * time.Second
			p.mu.Unlock()
			p.faults["slow function"]++
		}
		if p.rng.IntN(4) == 0 { // where the cache of responses is asked is not known before
			for i := range 12 {
				if !slices.ContainsFunc(c.Faults, func(f fault) bool { return f.At == p.points-i }) {
					c.Faults = append(c.Faults, fault{At: i + 4, Kind: "old"})
				}
			}
		}
		for kind, n := range p.late {
			if n > 0 {
				c.Late[kind], p.late[kind] = true, n-1
			}
		}
	}
	a := p.do(c)
	p.reconciles++
	for _, call := range a.Calls {
		if call.Fault != "" && (call.Fault != "old" || call.Verb == "repeat") {
			p.faults[call.Fault+" at "+call.Verb]++
		}
	}
	if len(c.Late) > 0 {
		p.faults["late informer"]++
	}
	if a.Crashed {
		p.late = map[string]int{}
	}
	p.points = max(p.points, len(a.Calls))
	p.see(a.Events, false)
	return a
}

// rest repairs everything, and reconciles until the system is stable.
func (p *play) rest() []string {
	p.late = map[string]int{}
	p.annotate("crossplane.io/paused", nil)
	for _, source := range []string{"account", "settings"} {
		if p.gone[source] {
			p.write(source)
		}
	}
	var open []string
	for range 60 {
		p.user(command{Op: "collect"})
		p.provide()
		p.reconcile(false)
		if open = p.unsettled(); len(open) == 0 {
			return nil
		}
		p.wait(2 * time.Second)
	}
	return open
}

// unsettled returns why the system is not stable.
func (p *play) unsettled() []string {
	p.Final = nil
	for _, k := range slices.Sorted(maps.Keys(p.objects)) {
		if o := p.objects[k]; o.GetKind() == "Secret" {
			v := laws.VersionOf("LISTED", o, p.clock())
			p.Add(v)
			p.Final = append(p.Final, v)
		}
	}
	var open []string
	for _, condition := range []string{"Synced", "Ready", "ExportsReady"} {
		if got := live.ConditionOf(p.xr(), condition); got.Status != "True" {
			open = append(open, fmt.Sprintf("%s is %+v", condition, got))
		}
	}
	return append(open, p.Settled()...)
}

// run plays a history, and returns the broken laws. If it is calm, nothing fails.
func (p *play) run(steps int, calm bool) map[string][]string {
	if open := p.rest(); len(open) > 0 {
		return map[string][]string{"at rest before anything fails": open}
	}
	for range steps {
		for range p.rng.IntN(3) {
			p.act()
		}
		p.reconcile(!calm)
		p.wait(time.Duration(p.rng.IntN(3)) * 500 * time.Millisecond)
	}
	open := p.rest()
	broken := p.Judge()
	if len(open) > 0 {
		broken["well after the last fault"] = open
	}
	if len(p.broken) > 0 {
		broken["what is exported is accepted"] = p.broken
	}
	return broken
}
