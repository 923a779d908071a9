package live_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/crossplane-contrib/function-export/internal/e2e/laws"
	"github.com/crossplane-contrib/function-export/internal/e2e/live"
)

const (
	generatorLabel  = "export.fn.crossplane.io/generator"
	generationState = "export.fn.crossplane.io/generator-state"

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
func (s scenario) rotate(ctx context.Context, generator, token string) error {
	return s.Patch(ctx, s.app(), fmt.Sprintf(`{"metadata": {"annotations": {"export.fn.crossplane.io/rotate": "%s=%s"}}}`, generator, token))
}

// A password is generated once, however often the composite is reconciled.
func generatesOnce(ctx context.Context, s scenario) error {
	if err := first(
		func() error {
			return s.open(ctx, "App", `
generators:
- {name: admin, password: {length: 24, symbols: 0, prefix: hush-}}
- {name: id, uuid: {}}
secrets:
- name: connection
  data: [{valueMap: "{'password': generated.admin.password, 'id': generated.id.uuid, 'size': composite.spec.size}"}]
`)
		},
		func() error { return s.applyApp(ctx, "size: '0'") },
		func() error { return s.says(ctx, s.app(), "Available") },
	); err != nil {
		return err
	}

	made, err := s.data(ctx, "Secret", "app-connection")
	if err != nil {
		return err
	}

	allowed := []map[string]string{made}

	for i := 1; i <= 5; i++ {
		next := maps.Clone(made)
		next["size"] = fmt.Sprint(i)
		allowed = append(allowed, next)

		if err := first(
			func() error { return s.force(ctx, s.app(), 10) },
			func() error { return s.applyApp(ctx, "size: '"+next["size"]+"'") },
			func() error { return s.becomes(ctx, "Secret", "app-connection", next) },
		); err != nil {
			return err
		}
	}

	if err := s.versions("app-connection", allowed...); err != nil {
		return err
	}

	generations := map[string]bool{}

	for _, e := range film.of(s.ns) {
		if e.object.GetLabels()[generatorLabel] != "" {
			generations[e.object.GetName()] = true
		}
	}

	if got := slices.Sorted(maps.Keys(generations)); !slices.Equal(got, []string{"app-admin-1", "app-id-1"}) {
		return brokenf("want one generation of each generator, got %v", got)
	}

	return nil
}

// flaggedAt returns when the grace period of a generation began, or the zero time.
func flaggedAt(e event) time.Time { return laws.VersionOf(e.kind, e.object, e.at).Flagged }

// rotated contains the events of one rotation, as positions in the film. -1 means that an event did not happen.
type rotated struct{ created, adopted, exported, flagged, dropped int }

// rotation returns the events of the rotation from a generation to the next one.
func (s scenario) rotation(generator string, from int, password string) (rotated, []event) {
	former, next := fmt.Sprintf("app-%s-%d", generator, from), fmt.Sprintf("app-%s-%d", generator, from+1)
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
// dropped after its grace period. Its values are available until then.
func rotatesByPassword(ctx context.Context, s scenario) error {
	if err := first(
		func() error { return s.open(ctx, "App", rotatingPassword) },
		func() error { return s.applyApp(ctx) },
		func() error { return s.says(ctx, s.app(), "Available") },
	); err != nil {
		return err
	}

	for n := 1; n <= 3; n++ {
		if err := s.rotateOnce(ctx, n); err != nil {
			return err
		}
	}

	return s.says(ctx, s.app(), "Available")
}

func (s scenario) rotateOnce(ctx context.Context, n int) error {
	before, err := s.data(ctx, "Secret", "app-connection")
	if err != nil {
		return err
	}

	old, next := before["password"], ""

	err = first(
		func() error { return s.rotate(ctx, "admin", fmt.Sprint(n)) },
		func() error {
			return eventually(ctx, soon, "the next generation", func() error {
				made, err := s.data(ctx, "Secret", fmt.Sprintf("app-admin-%d", n+1))
				next = made["password"]

				return errors.Join(err, wantText(next != "", "it is not there"))
			})
		},
		func() error {
			return eventually(ctx, soon, "both values", func() error {
				got, err := s.data(ctx, "Secret", "app-connection")
				return errors.Join(err, wantText(maps.Equal(got, map[string]string{"password": next, "former-password": old}), "they are not there"))
			})
		},
		func() error {
			return eventually(ctx, soon, "the end of the former value", func() error {
				got, err := s.data(ctx, "Secret", "app-connection")
				return errors.Join(err, wantText(maps.Equal(got, map[string]string{"password": next}), "it is there"))
			})
		},
		func() error {
			return eventually(ctx, soon, "the end of the former generation", func() error {
				r, _ := s.rotation("admin", n, next)
				return wantText(r.dropped >= 0, "it is there")
			})
		},
	)
	if err != nil {
		return err
	}

	r, events := s.rotation("admin", n, next)
	inOrder := 0 <= r.created && r.created < r.adopted && r.created < r.exported && max(r.adopted, r.exported) < r.flagged && r.flagged < r.dropped

	if !inOrder {
		return brokenf("a rotation out of order: %+v of %v", r, events)
	}

	if kept := events[r.dropped].at.Sub(flaggedAt(events[r.flagged])); kept < rotationGrace {
		return brokenf("generation %d was dropped %s after it was flagged", n, kept)
	}

	for _, e := range events[r.exported:] {
		if e.object.GetName() == "app-connection" && live.DataOf(e.object)["password"] != next {
			return brokenf("%s has a value that had been replaced", e)
		}
	}

	return nil
}

// wantText returns an error with a text unless ok is true.
func wantText(ok bool, text string) error {
	if ok {
		return nil
	}

	return errors.New(text)
}

// A resource creates the credential. The next resource is adopted when it is ready, and only then is the previous one
// dropped.
func generatesByResource(ctx context.Context, s scenario) error {
	dbs := map[int]string{}
	made := func(n int) error {
		return eventually(ctx, soon, fmt.Sprintf("resource %d", n), func() error {
			list, err := s.List(ctx, group, "Database", s.ns, fmt.Sprintf("%s=token,export.fn.crossplane.io/generation=%d", generatorLabel, n))
			if err != nil || len(list) != 1 {
				return fmt.Errorf("there are %d, %w", len(list), err)
			}

			dbs[n] = list[0].GetName()

			return nil
		})
	}
	provide := func(n int, password, status string) error {
		o, err := s.Get(ctx, live.Ref{APIVersion: group, Kind: "Database", Namespace: s.ns, Name: dbs[n]})
		if err != nil {
			return err
		}

		details, _, _ := unstructured.NestedString(o.Object, "spec", "writeConnectionSecretToRef", "name")

		return s.provide(ctx, dbs[n], details, map[string]string{"password": password}, status)
	}

	one, two := map[string]string{"id": "one", "password": hush()}, map[string]string{"id": "two", "password": hush()}
	there := func() error {
		_, err := s.Get(ctx, live.Ref{APIVersion: group, Kind: "Database", Namespace: s.ns, Name: dbs[1]})
		return err
	}

	return first(
		func() error {
			return s.open(ctx, "App", `
generators:
- name: token
  gracePeriod: 2s
  resource:
    manifest: {apiVersion: live.example.org/v1, kind: Database, spec: {}}
    set: [{fieldPath: spec.writeConnectionSecretToRef.name, value: "composite.metadata.name + '-token-' + generation.id"}]
    outputs: {id: resource.status.id}
secrets:
- name: connection
  data: [{valueMap: "{'id': generated.token.id, 'password': generated.token.password}"}]
`)
		},
		func() error { return s.applyApp(ctx) },
		func() error { return made(1) },
		func() error { return s.says(ctx, s.app(), "Waiting") },
		func() error { return s.absent(ctx, s.core("Secret", "app-connection")) },
		func() error { return provide(1, one["password"], readyStatus(`"id": "one",`)) },
		func() error { return s.becomes(ctx, "Secret", "app-connection", one) },
		func() error { return s.says(ctx, s.app(), "Available") },
		func() error { return s.rotate(ctx, "token", "1") },
		func() error { return made(2) },
		func() error { return provide(2, two["password"], `{"id": "two"}`) },
		func() error { return s.force(ctx, s.app(), 3) },
		func() error { return s.versions("app-connection", one) }, // the next one is not ready
		there,
		func() error { return provide(2, two["password"], readyStatus(`"id": "two",`)) },
		func() error { return s.becomes(ctx, "Secret", "app-connection", two) },
		func() error {
			return eventually(ctx, soon, "the end of the former resource", func() error {
				if err := there(); !live.IsNotFound(err) {
					return fmt.Errorf("it is there: %w", err)
				}

				return nil
			})
		},
		func() error { return s.versions("app-connection", one, two) },
		func() error { return s.says(ctx, s.app(), "Available") },
	)
}
