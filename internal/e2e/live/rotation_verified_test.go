package live_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/crossplane-contrib/function-export/internal/e2e/live"
)

// verifiedUser is the single-user recipe: the export setter has the password for the provider, and the export
// app has the one that the database accepts.
const verifiedUser = `
sources:
- {name: db, apiVersion: v1, kind: Secret, nameExpression: "composite.metadata.name + '-db-connection'"}
generators:
- name: admin
  password: {length: 24, symbols: 0, prefix: hush-}
  gracePeriod: 30s
  readyExpression: secrets.db.password == candidate.admin.password
  abandonAfter: 1m
secrets:
- name: setter
  data: [{key: password, value: candidate.admin.password}]
- name: app
  data:
  - {key: password, value: generated.admin.password}
  - {key: former-password, value: "previous.?admin.?password"}
`

// readTwice is the recipe with an export that also reads the provider's Secret by its labels: a provider that writes between the
// two readings races with Crossplane.
const readTwice = verifiedUser + `
- name: reported
  data:
  - {key: password, value: secrets.db.password}
  - {key: again, value: secrets.again.password}
`

// alternatingUsers is the recipe in which each generation is a user of its own.
const alternatingUsers = `
generators:
- name: admin
  gracePeriod: 2s
  abandonAfter: 1m
  resource:
    manifest: {apiVersion: live.example.org/v1, kind: Database, spec: {}}
    set: [{fieldPath: spec.writeConnectionSecretToRef.name, value: "composite.metadata.name + '-admin-' + generation.id"}]
secrets:
- name: app
  data: [{valueMap: "{'username': generated.admin.username, 'password': generated.admin.password}"}]
`

// withoutGate returns the recipe without the verification: each generation is in use as soon as it is stored.
func withoutGate(input string) string {
	return strings.NewReplacer("  readyExpression: secrets.db.password == candidate.admin.password\n", "", "  abandonAfter: 1m\n", "").Replace(input)
}

// A rotating describes composites whose provider has some manner.
type rotating struct {
	name, input string

	alternating bool // each generation is a user of its own
	ungated     bool // to show what is measured without the verification
	hasty       bool // a rotation that does not succeed is followed by the next one before it is abandoned

	// manner of the provider in the ith rotation, which is its usual one if it is not set.
	manner func(i int, delay time.Duration) manner
}

// twice returns the recipe with a second source for the same Secret.
func twice(input string) string {
	return strings.Replace(input, "generators:", "- {name: again, apiVersion: v1, kind: Secret, matchLabels: {"+appliedLabel+": \"true\"}}\ngenerators:", 1)
}

// rotatings are played at the same time. Every second rotation has the manner that gives the name.
var rotatings = []rotating{
	{name: "late", input: verifiedUser},
	{name: "read-twice", input: twice(readTwice)},
	{name: "never", input: verifiedUser, manner: secondly(manner{never: true})},
	{name: "superseded", input: verifiedUser, hasty: true, manner: secondly(manner{never: true})},
	{name: "too-late", input: verifiedUser, manner: secondly(manner{after: time.Minute + 3*time.Second, finishes: true})},
	{name: "flapping", input: verifiedUser, manner: flaps},
	{name: "without-gate", input: withoutGate(verifiedUser), ungated: true},
	{name: "users-late", input: alternatingUsers, alternating: true},
	{name: "users-never", input: alternatingUsers, alternating: true, manner: secondly(manner{never: true})},
	{name: "users-flapping", input: alternatingUsers, alternating: true, manner: flaps},
}

func secondly(m manner) func(int, time.Duration) manner {
	return func(i int, delay time.Duration) manner {
		if i%2 == 0 {
			return manner{after: delay}
		}

		return m
	}
}

// flaps forgets a password after the exports have it, or so early that they may not have it yet.
func flaps(i int, delay time.Duration) manner {
	return manner{after: delay, forgets: []time.Duration{delay / 2, 50 * time.Millisecond}[i%2]}
}

// A rotation plays the rotations of one composite, and watches it.
type rotation struct {
	rotating
	*provider

	t     *testing.T
	delay time.Duration
	times int
	now   atomic.Int64 // the number of the rotation

	mu        sync.Mutex
	began     string          // since when the composite is ready
	messages  map[string]bool // all that ExportsReady had
	said      []string        // the conditions, one after the other
	exports   []credential    // all that consumers had
	abandoned map[credential]bool
	rejected  map[int]rejection
}

// A rejection is for how long the exported credential was rejected.
type rejection struct {
	all       time.Duration
	forgotten time.Duration // the part in which the provider had lost a password that it had accepted
	both      time.Duration // the part in which also the former password was rejected
}

// TestVerifiedRotation rotates credentials of a database that accepts them late, never, or forgets them once. It prints
// for how long the exported credential was rejected.
//
// LIVE_ROTATIONS is the number of rotations of each composite, and LIVE_DELAY the seconds until the database accepts.
func TestVerifiedRotation(t *testing.T) {
	t.Parallel()

	times, delay := int(setting(t, "LIVE_ROTATIONS", 2)), time.Duration(setting(t, "LIVE_DELAY", 4))*time.Second

	if err := stage(); err != nil {
		t.Fatalf("%v\n%s", err, events(""))
	}

	var (
		running sync.WaitGroup
		all     []*rotation
	)

	for _, r := range rotatings {
		one := newRotation(t, r, times, delay)
		all = append(all, one)

		running.Go(func() {
			if err := one.play(t.Context()); err != nil {
				t.Errorf("%s: %v\n%s", r.name, err, events(one.ns))
			}
		})
	}

	running.Wait()

	t.Logf("LIVE_ROTATIONS=%d LIVE_DELAY=%d", times, int(delay.Seconds()))
	t.Logf("%-15s %9s %11s %12s %10s %12s %6s", "provider", "abandoned", "rejected, s", "at most, s", "forgot, s", "both keys, s", "fatal")

	for _, r := range all {
		r.report(t.Context())
	}
}

func newRotation(t *testing.T, r rotating, times int, delay time.Duration) *rotation {
	t.Helper()

	s := scenario{ControlPlane: plane, function: functionName, ns: "rotation-" + r.name}
	out := &rotation{
		rotating: r, t: t, delay: delay, times: times,
		messages: map[string]bool{}, abandoned: map[credential]bool{}, rejected: map[int]rejection{},
	}
	out.provider = &provider{
		scenario: s, accounts: newAccounts(), delay: delay, queue: make(chan string, 1000), made: map[string]created{},
		manner: out.mannerOf,
		failed: func(err error) { t.Errorf("%s: %v", r.name, err) },
	}

	return out
}

// mannerOf returns the manner of the provider with the nth generation. The first one is none of a rotation.
func (r *rotation) mannerOf(n int) manner {
	if r.rotating.manner == nil || n < 2 {
		return manner{after: r.delay}
	}

	return r.rotating.manner(n-2, r.delay)
}

// play creates the composite, rotates its credential, and then deletes it.
func (r *rotation) play(ctx context.Context) error {
	ctx, stop := context.WithCancel(ctx)

	var running sync.WaitGroup
	defer running.Wait()
	defer stop()

	if err := r.watch(ctx); err != nil {
		return err
	}

	running.Go(func() { r.setPasswords(ctx) })
	running.Go(func() { r.probe(ctx) })

	r.t.Cleanup(func() { r.clean(context.Background()) })

	if err := first(
		func() error { return r.open(ctx, "App", r.input) },
		func() error { return r.applyApp(ctx) },
		func() error { _, err := r.settles(ctx, 1, credential{}); return err },
		func() error { return r.force(ctx, r.app(), 3) }, // Crossplane may still see what was before
		func() error { return r.begin(ctx) },
	); err != nil {
		return err
	}

	for i := range r.times {
		if err := r.turn(ctx, i); err != nil {
			return fmt.Errorf("rotation %d of %d: %w", i+1, r.times, err)
		}
	}

	return r.ends(ctx)
}

// turn plays one rotation.
func (r *rotation) turn(ctx context.Context, i int) error {
	r.now.Store(int64(i))

	data, err := r.data(ctx, "Secret", "app-app")
	if err != nil {
		return err
	}

	before, m := credentialOf(data), r.mannerOf(i+2)

	if err := r.rotate(ctx, "admin", fmt.Sprint(i)); err != nil {
		return err
	}

	if err := eventually(ctx, soon, "the condition", func() error { return r.saysPending(i + 2) }); err != nil {
		return err
	}

	if r.hasty && m.never && i < r.times-1 {
		return nil // the next one is requested while this one is pending
	}

	after, err := r.settles(ctx, i+2, before)
	if err != nil {
		return err
	}

	switch changed := after != before; {
	case m.never && changed:
		return brokenf("a credential is exported that the database never accepted")
	case !m.never && m.after == r.delay && !changed:
		return brokenf("a credential is abandoned that the database accepted")
	}

	return nil
}

// saysPending returns an error if the condition did not say which generation waits for what.
func (r *rotation) saysPending(number int) error {
	if r.ungated {
		return nil
	}

	waits := "it waits for readyExpression to be true, which reads secrets.db.password"
	if r.alternating {
		waits = "it waits for its condition Ready"
	}

	r.mu.Lock()
	defer r.mu.Unlock()

	for text := range r.messages {
		if strings.Contains(text, fmt.Sprintf("generation %d is not ready", number)) && strings.Contains(text, waits) {
			return nil
		}
	}

	return fmt.Errorf("there is no message about generation %d and %s: %q", number, waits, slices.Collect(maps.Keys(r.messages)))
}

// settles waits until the rotation has succeeded or was abandoned, and the database, the setter and the consumers agree.
// It returns the exported credential.
func (r *rotation) settles(ctx context.Context, number int, before credential) (credential, error) {
	var after credential

	err := eventually(ctx, soon+3*r.delay+2*time.Minute, "an end of the rotation", func() error {
		o, err := r.Get(ctx, r.app())
		if err != nil {
			return err
		}

		app, err := r.data(ctx, "Secret", "app-app")
		if err != nil {
			return err
		}

		setter := app
		if !r.alternating {
			if setter, err = r.data(ctx, "Secret", "app-setter"); err != nil {
				return err
			}
		}

		after = credentialOf(app)
		is := live.ConditionOf(o, "ExportsReady")
		succeeded, abandoned := is.Reason == "Available", is.Reason == "Held" && strings.Contains(is.Message, fmt.Sprintf("generation %d was abandoned", number))

		switch {
		case !succeeded && !abandoned, succeeded && after == before, r.working.Load() > 0:
			return fmt.Errorf("the database is not done, or the composite: %+v", is)
		case abandoned && after != before:
			return brokenf("consumers do not have the former credential after an abandonment: %s", is.Message)
		case setter["password"] != after.password:
			return errors.New("setter and consumers differ")
		case !r.accepts(after):
			return errors.New("the database rejects the exported credential")
		}

		return nil
	})

	return after, err
}

// ends returns an error if a law is broken that can be judged at the end only.
func (r *rotation) ends(ctx context.Context) error {
	if err := eventually(ctx, soon, "the end of former users", func() error {
		return wantText(r.users() == 1, fmt.Sprintf("the database has %d users", r.users()))
	}); err != nil {
		return err
	}

	r.mu.Lock()
	defer r.mu.Unlock()

	for _, l := range r.exports {
		if r.abandoned[l] {
			return brokenf("an abandoned credential was exported")
		}
	}

	want := 0

	for i := range r.times {
		if r.mannerOf(i + 2).never {
			want++
		}
	}

	return wantText(len(r.abandoned) >= want, fmt.Sprintf("%d generations were abandoned, want %d", len(r.abandoned), want))
}

// watch watches the composite and its objects. The provider acts on them.
func (r *rotation) watch(ctx context.Context) error {
	of := func(do func(event string, o *unstructured.Unstructured)) func(string, *unstructured.Unstructured) {
		return func(event string, o *unstructured.Unstructured) {
			if o.GetNamespace() == r.ns && ctx.Err() == nil {
				do(event, o)
			}
		}
	}

	return errors.Join(
		r.Watch(ctx, "v1", "Secret", of(r.seesSecret)),
		r.Watch(ctx, group, "App", of(r.seesApp)),
		r.Watch(ctx, group, "Database", of(func(event string, o *unstructured.Unstructured) {
			r.sees(ctx, event, o)

			if abandoned(o) {
				r.provider.mu.Lock()
				defer r.provider.mu.Unlock()

				r.abandons(r.made[o.GetName()].credential)
			}
		})),
	)
}

func (r *rotation) abandons(l credential) {
	r.mu.Lock()
	defer r.mu.Unlock()

	r.abandoned[l] = true
}

// seesSecret checks that consumers have only what the database has accepted at some time.
func (r *rotation) seesSecret(event string, o *unstructured.Unstructured) {
	l := credentialOf(live.DataOf(o))

	switch name := o.GetName(); {
	case event == "DELETED" && (name == "app-app" || name == "app-setter"):
		r.t.Errorf("%s: %s is deleted", r.name, name)
	case name == "app-setter":
		r.queue <- l.password
	case name == "app-app":
		if !r.ungated && !r.accepted(l) {
			r.t.Errorf("%s: consumers have a credential that the database never accepted", r.name)
		}

		r.mu.Lock()
		defer r.mu.Unlock()

		r.exports = append(r.exports, l)
	case abandoned(o):
		r.abandons(l)
	}
}

// begin is called before the first rotation. From then on, the composite must be ready.
func (r *rotation) begin(ctx context.Context) error {
	o, err := r.Get(ctx, r.app())
	if err != nil {
		return err
	}

	r.mu.Lock()
	defer r.mu.Unlock()

	r.began = readySince(o)

	return wantText(r.began != "", "the composite has no condition Ready")
}

// readySince returns when the condition Ready became what it is.
func readySince(o *unstructured.Unstructured) string {
	list, _, _ := unstructured.NestedSlice(o.Object, "status", "conditions")
	for _, e := range list {
		if m, _ := e.(map[string]any); m["type"] == "Ready" {
			return textAt(m, "lastTransitionTime")
		}
	}

	return ""
}

// seesApp checks that the composite stays ready during rotations.
//
// Crossplane writes the conditions that it read when a reconcile began, and then the new ones. It reads from a cache, so
// that the conditions of an earlier reconcile can come back for a moment. Their time tells that they are old.
func (r *rotation) seesApp(event string, o *unstructured.Unstructured) {
	r.mu.Lock()
	defer r.mu.Unlock()

	ready, is := live.ConditionOf(o, "Ready"), live.ConditionOf(o, "ExportsReady")
	r.messages[is.Message] = true
	r.said = append(r.said, fmt.Sprintf("version %s, request %q: Ready is %s since %s, ExportsReady is %+v",
		o.GetResourceVersion(), textAt(o.Object, "status", "handled"), ready.Status, readySince(o), is))

	switch {
	case event == "DELETED":
		r.t.Errorf("%s: the composite is deleted", r.name)
	case r.began != "" && readySince(o) > r.began && ready.Status != "True":
		r.t.Errorf("%s: the composite is no longer ready:\n\t%s", r.name, strings.Join(r.said[max(0, len(r.said)-8):], "\n\t"))
	}
}

// probe logs in to the database with the exported credential again and again, as consumers do. The Secret is read
// again, because it may have changed in between.
func (r *rotation) probe(ctx context.Context) {
	for last := time.Now(); sleep(ctx, 50*time.Millisecond); {
		was, err := r.Get(ctx, r.core("Secret", "app-app"))
		forgotten := r.hasForgotten()
		elapsed := time.Since(last)
		last = last.Add(elapsed)

		if err != nil || r.accepts(credentialOf(live.DataOf(was))) {
			continue
		}

		data := live.DataOf(was)
		both := !r.accepts(credential{data["username"], data["former-password"]})

		if is, err := r.Get(ctx, live.RefOf(was)); err == nil && is.GetResourceVersion() == was.GetResourceVersion() {
			r.rejects(elapsed, forgotten, both)
		}
	}
}

func (r *rotation) rejects(d time.Duration, forgotten, both bool) {
	if r.alternating {
		r.t.Errorf("%s: consumers have a credential that the database rejects", r.name)
	}

	r.mu.Lock()
	defer r.mu.Unlock()

	at := int(r.now.Load())
	one := r.rejected[at]
	one.all += d

	if forgotten {
		one.forgotten += d
	}

	if both {
		one.both += d
	}

	r.rejected[at] = one
}

// fatals returns how many fatal results the composite had: a provider that writes while Crossplane reads stops no pipeline.
func (r *rotation) fatals(ctx context.Context) (n int64, err error) {
	list, err := r.List(ctx, "v1", "Event", r.ns, "")

	for _, e := range list {
		about, _, _ := unstructured.NestedString(e.Object, "involvedObject", "kind")
		if about == "App" && strings.Contains(textAt(e.Object, "message"), "fatal result") {
			count, _, _ := unstructured.NestedInt64(e.Object, "count")
			n += max(1, count)

			r.t.Errorf("%s: %s", r.name, textAt(e.Object, "message"))
		}
	}

	return n, err
}

// report prints for how long the exported credential was rejected in all, and in the worst rotation, which is the longest
// refusal. No result may be fatal.
func (r *rotation) report(ctx context.Context) {
	fatals, err := r.fatals(ctx)
	if err != nil {
		r.t.Error(err)
	}

	r.mu.Lock()
	defer r.mu.Unlock()

	var sum, most rejection

	for _, one := range r.rejected {
		sum = rejection{sum.all + one.all, sum.forgotten + one.forgotten, sum.both + one.both}
		most.all = max(most.all, one.all-one.forgotten)
	}

	r.t.Logf("%-15s %9d %11.2f %12.2f %10.2f %12.2f %6d", r.name, len(r.abandoned),
		(sum.all - sum.forgotten).Seconds(), most.all.Seconds(), sum.forgotten.Seconds(), sum.both.Seconds(), fatals)

	if r.ungated && sum.all == 0 {
		r.t.Errorf("%s: no credential was rejected: the others prove nothing", r.name)
	}
}

// clean deletes the composite, its Composition and its namespace.
func (r *rotation) clean(ctx context.Context) {
	err := first(
		func() error { return r.Delete(ctx, r.app()) },
		func() error {
			return eventually(ctx, soon, "the end of the composite", func() error {
				_, err := r.Get(ctx, r.app())
				return wantText(live.IsNotFound(err), "it is there")
			})
		},
		func() error {
			return r.Delete(ctx, live.Ref{APIVersion: "apiextensions.crossplane.io/v1", Kind: "Composition", Name: r.ns})
		},
		func() error { return r.Delete(ctx, live.Ref{APIVersion: "v1", Kind: "Namespace", Name: r.ns}) },
	)
	if err != nil {
		r.t.Error(err)
	}
}
