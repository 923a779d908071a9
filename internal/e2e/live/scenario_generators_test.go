package live_test

import (
	"errors"
	"fmt"
	"maps"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/crossplane-contrib/function-export/internal/e2e"
	"github.com/crossplane-contrib/function-export/internal/e2e/laws"
	"github.com/crossplane-contrib/function-export/internal/e2e/live"
)

const (
	generatorLabel  = "export.fn.crossplane.io/generator"
	generationState = "export.fn.crossplane.io/generator-state"
	exportState     = "export.fn.crossplane.io/export-state"

	rotationGrace = 5 * time.Second

	rotatingPassword = `
generators:
- name: admin
  password: {length: 24, symbols: 0, prefix: hush-}
  gracePeriod: 5s
secrets:
- name: connection
  data:
  - {key: password, value: generated.admin.password}
  - {key: former-password, value: "previous.?admin.?password", optional: true}
`
)

// rotate requests another generation.
func (s scenario) rotate(generator, token string) {
	s.Helper()
	s.patch(s.app(), fmt.Sprintf(`{"metadata": {"annotations": {"export.fn.crossplane.io/rotate": "%s=%s"}}}`,
		generator, token))
}

// exports waits until the password that is exported is another one, and the former one is beside it or not.
func (s scenario) exports(was string, former bool) (is map[string]string) {
	s.Helper()
	s.eventually("another value", func() (err error) {
		is, err = s.data("Secret", "app-connection")

		return errors.Join(err, wantText(is["password"] != was && (is["former-password"] == was) == former,
			"it is not there"))
	})

	return is
}

// flaggedAt returns when the grace period of a generation began, or the zero time.
func flaggedAt(e event) time.Time { return laws.VersionOf(e.kind, e.object, e.at).Flagged }

// rotated contains the events of one rotation, as positions in the film. -1 means that an event did not happen.
type rotated struct{ created, adopted, exported, flagged, dropped int }

// rotation returns the events of the rotation from a generation to the next one.
func (s scenario) rotation(from int, password string) (rotated, []event) {
	former, next := fmt.Sprintf("app-admin-%d", from), fmt.Sprintf("app-admin-%d", from+1)
	out, events := rotated{-1, -1, -1, -1, -1}, film.of(s.ns)

	for i, e := range events {
		name := e.object.GetName()
		mark := func(at *int, ok bool) {
			if ok && *at < 0 {
				*at = i
			}
		}

		mark(&out.created, name == next && e.kind == "ADDED")
		mark(&out.adopted, name == next && laws.VersionOf(e.kind, e.object, e.at).Adopted)
		mark(&out.exported, name == "app-connection" && live.DataOf(e.object)["password"] == password)
		mark(&out.flagged, name == former && !flaggedAt(e).IsZero())
		mark(&out.dropped, name == former && e.kind == "DELETED")
	}

	return out, events
}

// The steps of a rotation: The next generation is created, adopted and exported. The previous one is flagged, and
// dropped after its grace period. Its values are available until then. Without a request, nothing rotates.
func rotatesByPassword(s scenario) {
	s.open("App", rotatingPassword)
	s.applyApp()
	s.says(s.app(), "Available")
	s.rest()

	before := s.get(s.core("Secret", "app-connection"))

	s.force(s.app(), 10)
	s.untouched(before)

	for n := 1; n <= 3; n++ {
		s.rotateOnce(n)
	}

	s.says(s.app(), "Available")
}

func (s scenario) rotateOnce(n int) {
	s.Helper()

	old := s.stored("app-connection")["password"]
	s.rotate("admin", fmt.Sprint(n))
	next := s.exports(old, true)["password"]
	s.becomes("Secret", "app-connection", map[string]string{"password": next})
	s.gone(s.core("Secret", fmt.Sprintf("app-admin-%d", n)))
	s.eventually("the end of the former generation", func() error {
		r, _ := s.rotation(n, next)
		return wantText(r.dropped >= 0, "the watch has not seen it")
	})

	r, events := s.rotation(n, next)
	inOrder := 0 <= r.created && r.created < min(r.adopted, r.exported) &&
		max(r.adopted, r.exported) < r.flagged && r.flagged < r.dropped

	if !inOrder {
		s.Fatalf("a rotation out of order: %+v of %v", r, events)
	}

	if kept := events[r.dropped].at.Sub(flaggedAt(events[r.flagged])); kept < rotationGrace {
		s.Errorf("generation %d was dropped %s after it was flagged", n, kept)
	}

	for _, e := range events[r.exported:] {
		if e.object.GetName() == "app-connection" && live.DataOf(e.object)["password"] != next {
			s.Errorf("%s has a value that had been replaced", e)
		}
	}
}

// A resource creates the credential. The next resource is adopted when it is ready, and only then is the previous one
// dropped.
func generatesByResource(s scenario) {
	made := func(n int) (db *unstructured.Unstructured) {
		s.Helper()
		s.eventually(fmt.Sprintf("resource %d", n), func() error {
			list, err := s.List(s.Context(), group, "Database", s.ns,
				fmt.Sprintf("%s=token,export.fn.crossplane.io/generation=%d", generatorLabel, n))
			if err != nil || len(list) != 1 {
				return fmt.Errorf("there are %d, %w", len(list), err)
			}

			db = &list[0]

			return nil
		})

		return db
	}
	provide := func(db *unstructured.Unstructured, password, status string) {
		s.Helper()
		s.provide(db.GetName(), textAt(db.Object, "spec", "writeConnectionSecretToRef", "name"),
			map[string]string{"password": password}, status)
	}
	one, two := map[string]string{"id": "one", "password": hush()}, map[string]string{"id": "two", "password": hush()}

	s.open("App", `
generators:
- name: token
  gracePeriod: 2s
  resource:
    manifest: {apiVersion: live.example.org/v1, kind: Database, spec: {}}
    set:
    - fieldPath: spec.writeConnectionSecretToRef.name
      value: "composite.metadata.name + '-token-' + generation.id"
    outputs: {id: resource.status.id}
secrets:
- name: connection
  data: [{valueMap: "{'id': generated.token.id, 'password': generated.token.password}"}]
`)
	s.applyApp()
	first := made(1)
	s.says(s.app(), "Waiting")
	s.absent(s.core("Secret", "app-connection"))
	provide(first, one["password"], readyStatus(`"id": "one",`))
	s.becomes("Secret", "app-connection", one)
	s.says(s.app(), "Available")
	s.rotate("token", "1")
	next := made(2)
	provide(next, two["password"], `{"id": "two"}`) // it is not ready
	s.force(s.app(), 3)
	s.versions("app-connection", one)
	s.get(live.RefOf(first))
	provide(next, two["password"], readyStatus(`"id": "two",`))
	s.becomes("Secret", "app-connection", two)
	s.gone(live.RefOf(first))
	s.versions("app-connection", one, two)
	s.says(s.app(), "Available")
}

// annotate annotates a Secret as people do it. kubectl is another field manager than Crossplane, so its annotations
// stay.
func (s scenario) annotate(name string, annotations ...string) {
	s.Helper()

	programs, err := e2e.BuildControlPlane(s.Context(), func(string) {})
	s.must(err)

	args := []string{"--kubeconfig", plane.Kubeconfig(), "--namespace", s.ns, "annotate", "--overwrite", "secret", name}
	s.must(command(s.Context(), ".", programs.Kubectl, append(args, annotations...)...))
}

// A person annotates a generation and its export, edits their states, removes them, and writes an earlier one back.
func toleratesAnnotations(s scenario) {
	const foreign = "export.fn.crossplane.io/"

	s.open("App", rotatingPassword)
	s.applyApp()
	s.says(s.app(), "Available")

	made := s.stored("app-connection")

	for _, edits := range [][2]string{
		{foreign + "rotate=admin=1", foreign + "rotate=admin=1"},
		{generationState + "={}", exportState + "={}"},
		{generationState + "-", foreign + "x=y"},
	} {
		s.annotate("app-admin-1", edits[0])
		s.annotate("app-connection", edits[1])
		s.force(s.app(), 3)
		s.becomes("Secret", "app-connection", made)
		s.says(s.app(), "Available")
	}

	s.rotateOnce(1)
	s.annotate("app-connection", exportState+"-")
	s.force(s.app(), 3)
	s.rotateOnce(2)
	s.replayState("app-admin-3")
}

// replayState writes the first state of a generation back while the next one replaces it.
func (s scenario) replayState(name string) {
	s.Helper()

	earliest := ""

	for _, e := range film.of(s.ns) {
		if e.object.GetName() == name && earliest == "" {
			earliest = e.object.GetAnnotations()[generationState]
		}
	}

	before := s.stored("app-connection")["password"]
	s.rotate("admin", "replayed")
	s.exports(before, true)

	replaced := time.Now()

	s.annotate(name, generationState+"="+earliest)
	s.force(s.app(), 3)
	s.gone(s.core("Secret", name))

	// The grace period can have begun a moment before the poll saw the next value.
	if kept := time.Since(replaced); kept < rotationGrace-time.Second {
		s.Errorf("%s was deleted %s after the next value was exported", name, kept)
	}

	s.says(s.app(), "Available")
}

// forge creates a Secret that looks like the second generation of app, as far as this is possible without the values.
// Any user who may create Secrets can do this.
func (s scenario) forge() {
	s.Helper()
	s.apply(fmt.Sprintf(`
apiVersion: v1
kind: Secret
type: Opaque
immutable: true
metadata:
  name: app-admin-2
  namespace: %[1]s
  labels: {%[2]s: admin, export.fn.crossplane.io/generation: "2", export.fn.crossplane.io/composite: %[3]s}
  annotations:
    crossplane.io/composition-resource-name: generated/admin/2
    %[4]s: '{"generator":"admin","generation":2,"state":{"stage":"current","kind":"password"}}'
  ownerReferences: [{apiVersion: %[5]s, kind: App, name: app, uid: %[3]s, controller: true}]
data: {password: %[6]s}
`, s.ns, generatorLabel, s.get(s.app()).GetUID(), generationState, group, base64Of("forged")))
}

// A user who may create Secrets forges a generation before a rotation. The rotation starts once the forged one is
// deleted.
func refusesForgedGenerations(s scenario) {
	s.open("App", strings.Replace(rotatingPassword, "5s", "1s", 1))
	s.applyApp()
	s.says(s.app(), "Available")

	made := s.stored("app-connection")

	s.forge()
	s.force(s.app(), 5)
	s.becomes("Secret", "app-connection", made)
	s.rotate("admin", "1")
	s.eventually("the name of the forged generation", func() error {
		c := live.ConditionOf(s.get(s.app()), "Synced")
		return wantText(c.Status == "False" && strings.Contains(c.Message, "app-admin-2"),
			fmt.Sprintf("Synced is %+v", c))
	})
	s.versions("app-connection", made)
	s.remove(s.core("Secret", "app-admin-2"))

	next := s.exports(made["password"], false)

	s.says(s.app(), "Available")
	s.force(s.app(), 5)
	s.becomes("Secret", "app-connection", next)

	both := maps.Clone(next)
	both["former-password"] = made["password"]
	s.versions("app-connection", made, both, next) // never a forged one
}
