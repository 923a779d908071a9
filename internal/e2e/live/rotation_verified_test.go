package live_test

import (
	"context"
	"errors"
	"fmt"
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

// unverifiedUser is the recipe without the verification: each generation is in use as soon as it is stored.
var unverifiedUser = strings.NewReplacer(
	"  readyExpression: secrets.db.password == candidate.admin.password\n", "", "  abandonAfter: 1m\n", "",
).Replace(verifiedUser)

// alternatingUsers is the recipe in which each generation is a user of its own.
const alternatingUsers = `
generators:
- name: admin
  gracePeriod: 2s
  abandonAfter: 1m
  resource:
    manifest: {apiVersion: live.example.org/v1, kind: Database, spec: {}}
    set:
    - fieldPath: spec.writeConnectionSecretToRef.name
      value: "composite.metadata.name + '-admin-' + generation.id"
secrets:
- name: app
  data: [{valueMap: "{'username': generated.admin.username, 'password': generated.admin.password}"}]
`

// A rotating describes composites whose provider has some manner.
type rotating struct {
	name, input string

	alternating bool // each generation is a user of its own
	ungated     bool // to show what is measured without the verification

	// manner of the provider in the ith rotation, which is its usual one if it is not set.
	manner func(i int, delay time.Duration) manner
}

// rotatings are played at the same time. Every second rotation has the manner that gives the name.
var rotatings = []rotating{
	{name: "late", input: verifiedUser},
	{name: "never", input: verifiedUser, manner: secondNever},
	{name: "without-gate", input: unverifiedUser, ungated: true},
	{name: "users-late", input: alternatingUsers, alternating: true},
	{name: "users-never", input: alternatingUsers, alternating: true, manner: secondNever},
}

func secondNever(i int, delay time.Duration) manner { return manner{after: delay, never: i%2 == 1} }

// A rotation plays the rotations of one composite, and watches it.
type rotation struct {
	rotating
	*provider

	times int
	now   atomic.Int64 // the number of the rotation

	mu        sync.Mutex
	began     string       // since when the composite is ready
	exports   []credential // all that consumers had
	abandoned map[credential]bool
	rejected  map[int]time.Duration // for how long the exported credential was rejected, by rotation
}

// TestVerifiedRotation rotates credentials of a database that accepts them late, or never. It prints for how long the
// exported credential was rejected.
//
// LIVE_ROTATIONS is the number of rotations of each composite, and LIVE_DELAY the seconds until the database accepts.
func TestVerifiedRotation(t *testing.T) {
	t.Parallel()

	times, delay := int(setting(t, "LIVE_ROTATIONS", 2)), time.Duration(setting(t, "LIVE_DELAY", 4))*time.Second

	for _, r := range rotatings {
		t.Run(r.name, func(t *testing.T) {
			t.Parallel()

			one := &rotation{
				rotating: r, times: times,
				abandoned: map[credential]bool{}, rejected: map[int]time.Duration{},
			}
			one.provider = &provider{
				scenario: newScenario(t, "rotation-"+r.name), accounts: newAccounts(), delay: delay,
				queue: make(chan string, 1000), made: map[string]created{}, manner: one.mannerOf,
			}
			one.play()
			one.report()
		})
	}
}

// mannerOf returns the manner of the provider with the nth generation. The first one is none of a rotation.
func (r *rotation) mannerOf(n int) manner {
	if r.rotating.manner == nil || n < 2 {
		return manner{after: r.delay}
	}

	return r.rotating.manner(n-2, r.delay)
}

// play creates the composite, rotates its credential, and then deletes it.
func (r *rotation) play() {
	ctx, stop := context.WithCancel(r.Context())

	var running sync.WaitGroup
	defer running.Wait()
	defer stop()

	r.watch(ctx)
	running.Go(func() { r.setPasswords(ctx) })
	running.Go(func() { r.probe(ctx) })

	r.open("App", r.input)
	r.applyApp()
	r.settles(1, credential{})
	r.force(r.app(), 3) // Crossplane may still see what was before

	// From now on, the composite must be ready.
	since := readySince(r.get(r.app()))

	r.mu.Lock()
	r.began = since
	r.mu.Unlock()

	for i := range r.times {
		r.turn(i)
	}

	r.ends()

	r.mu.Lock()
	r.began = ""
	r.mu.Unlock()

	stop()
	r.remove(r.app())
}

// turn plays one rotation.
func (r *rotation) turn(i int) {
	r.now.Store(int64(i))

	before, m := credentialOf(r.stored("app-app")), r.mannerOf(i+2)

	r.rotate("admin", fmt.Sprint(i))

	switch changed := r.settles(i+2, before) != before; {
	case m.never && changed:
		r.Errorf("rotation %d: a credential is exported that the database never accepted", i)
	case !m.never && m.after == r.delay && !changed:
		r.Errorf("rotation %d: a credential is abandoned that the database accepted", i)
	}
}

// settles waits until the rotation has succeeded or was abandoned, and the database, the setter and the consumers
// agree. It returns the exported credential.
func (r *rotation) settles(number int, before credential) (after credential) {
	r.Helper()
	r.must(eventually(r.Context(), soon+3*r.delay+2*time.Minute, "an end of the rotation", func() error {
		app, err := r.data("Secret", "app-app")
		setter := app

		if err == nil && !r.alternating {
			setter, err = r.data("Secret", "app-setter")
		}

		if err != nil {
			return err
		}

		after = credentialOf(app)
		is := live.ConditionOf(r.get(r.app()), "ExportsReady")
		succeeded := is.Reason == "Available"
		abandoned := is.Reason == "Held" && strings.Contains(is.Message, fmt.Sprintf("generation %d was abandoned", number))

		switch {
		case !succeeded && !abandoned, succeeded && after == before, r.working.Load() > 0:
			return fmt.Errorf("the database is not done, or the composite: %+v", is)
		case abandoned && after != before:
			return brokenf("consumers do not have the former credential after an abandonment: %s", is.Message)
		case setter["password"] != after.password:
			return errors.New("setter and consumers differ")
		}

		return wantText(r.accepts(after), "the database rejects the exported credential")
	}))

	return after
}

// ends checks the laws that can be judged at the end only.
func (r *rotation) ends() {
	r.eventually("the end of former users", func() error {
		return wantText(r.users() == 1, fmt.Sprintf("the database has %d users", r.users()))
	})

	r.mu.Lock()
	defer r.mu.Unlock()

	if slices.ContainsFunc(r.exports, func(c credential) bool { return r.abandoned[c] }) {
		r.Error("an abandoned credential was exported")
	}

	want := 0

	for i := range r.times {
		if r.mannerOf(i + 2).never {
			want++
		}
	}

	if len(r.abandoned) < want {
		r.Errorf("%d generations were abandoned, want %d", len(r.abandoned), want)
	}
}

// watch watches the composite and its objects. The provider acts on them.
func (r *rotation) watch(ctx context.Context) {
	for _, w := range []struct {
		version, kind string
		do            func(event string, o *unstructured.Unstructured)
	}{
		{"v1", "Secret", r.seesSecret},
		{group, "App", r.seesApp},
		{group, "Database", func(event string, o *unstructured.Unstructured) {
			r.sees(ctx, event, o)

			if stageOf(o) == "abandoned" {
				r.provider.mu.Lock()
				defer r.provider.mu.Unlock()

				r.abandons(r.made[o.GetName()].credential)
			}
		}},
	} {
		r.must(r.Watch(ctx, w.version, w.kind, func(event string, o *unstructured.Unstructured) {
			if o.GetNamespace() == r.ns && ctx.Err() == nil {
				w.do(event, o)
			}
		}))
	}
}

func (r *rotation) abandons(c credential) {
	r.mu.Lock()
	defer r.mu.Unlock()

	r.abandoned[c] = true
}

// seesSecret checks that consumers have only what the database has accepted at some time.
func (r *rotation) seesSecret(event string, o *unstructured.Unstructured) {
	c := credentialOf(live.DataOf(o))

	switch name := o.GetName(); {
	case event == "DELETED" && (name == "app-app" || name == "app-setter"):
		r.Errorf("%s is deleted", name)
	case name == "app-setter":
		r.queue <- c.password
	case name == "app-app":
		if !r.ungated && !r.accepted(c) {
			r.Error("consumers have a credential that the database never accepted")
		}

		r.mu.Lock()
		defer r.mu.Unlock()

		r.exports = append(r.exports, c)
	case stageOf(o) == "abandoned":
		r.abandons(c)
	}
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
// Crossplane writes the conditions that it read when a reconcile began, and then the new ones. It reads from a cache,
// so that the conditions of an earlier reconcile can come back for a moment. Their time tells that they are old.
func (r *rotation) seesApp(_ string, o *unstructured.Unstructured) {
	r.mu.Lock()
	defer r.mu.Unlock()

	ready, is := live.ConditionOf(o, "Ready"), live.ConditionOf(o, "ExportsReady")

	if r.began != "" && readySince(o) > r.began && ready.Status != "True" {
		r.Errorf("the composite is no longer ready: version %s, since %s, ExportsReady is %+v",
			o.GetResourceVersion(), readySince(o), is)
	}
}

// probe logs in to the database with the exported credential again and again, as consumers do. The Secret is read
// again, because it may have changed in between.
func (r *rotation) probe(ctx context.Context) {
	for last := time.Now(); sleep(ctx, 50*time.Millisecond); {
		was, err := r.Get(ctx, r.core("Secret", "app-app"))
		elapsed := time.Since(last)
		last = last.Add(elapsed)

		if err != nil || r.accepts(credentialOf(live.DataOf(was))) {
			continue
		}

		is, err := r.Get(ctx, live.RefOf(was))
		if err != nil || is.GetResourceVersion() != was.GetResourceVersion() {
			continue
		}

		if r.alternating {
			r.Error("consumers have a credential that the database rejects")
		}

		r.mu.Lock()
		r.rejected[int(r.now.Load())] += elapsed
		r.mu.Unlock()
	}
}

// report prints for how long the exported credential was rejected in all, and in the worst rotation, which is the
// longest refusal.
func (r *rotation) report() {
	r.mu.Lock()
	defer r.mu.Unlock()

	var sum, most time.Duration

	for _, one := range r.rejected {
		sum, most = sum+one, max(most, one)
	}

	r.Logf("%d rotations, %d abandoned, rejected for %.2f s, at most %.2f s in one",
		r.times, len(r.abandoned), sum.Seconds(), most.Seconds())

	if r.ungated && sum == 0 {
		r.Error("no credential was rejected: the others prove nothing")
	}
}
