package live_test

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/crossplane-contrib/function-export/internal/e2e/live"
)

// forge creates a Secret that looks like a generation of app, as far as this is possible without the values. Any user
// who may create Secrets can do this.
func (s scenario) forge(ctx context.Context, name string, number int) error {
	app, err := s.Get(ctx, s.app())
	if err != nil {
		return err
	}

	return s.Apply(ctx, fmt.Sprintf(`
apiVersion: v1
kind: Secret
type: Opaque
immutable: true
metadata:
  name: %[1]s
  namespace: %[2]s
  labels: {export.fn.crossplane.io/generator: admin, export.fn.crossplane.io/generation: "%[3]d", export.fn.crossplane.io/composite: %[4]s}
  annotations:
    crossplane.io/composition-resource-name: generated/admin/%[3]d
    export.fn.crossplane.io/generator-state: '{"generator":"admin","generation":%[3]d,"state":{"stage":"current","kind":"password"}}'
  ownerReferences: [{apiVersion: %[5]s, kind: App, name: app, uid: %[4]s, controller: true}]
data: {password: %[6]s}
`, name, s.ns, number, app.GetUID(), group, base64Of("forged")))
}

// notForged returns an error if the exported Secret ever had a forged value.
func (s scenario) notForged() error {
	for _, e := range film.of(s.ns) {
		if e.object.GetName() == "app-connection" && strings.Contains(fmt.Sprint(live.DataOf(e.object)), "forged") {
			return brokenf("a forged value was exported: %s", e)
		}
	}

	return nil
}

// A user who may create Secrets forges a generation before a rotation. The rotation starts once the forged one is deleted.
func refusesForgedGenerations(ctx context.Context, s scenario) error {
	var made, next map[string]string

	read := func(into *map[string]string, name string) func() error {
		return func() error {
			return eventually(ctx, soon, name, func() error {
				data, err := s.data(ctx, "Secret", name)
				*into = data

				return first(func() error { return err }, func() error { return wantText(len(data) > 0, "it is not there") })
			})
		}
	}

	return first(
		func() error { return s.open(ctx, "App", strings.Replace(rotatingPassword, "5s", "1s", 1)) },
		func() error { return s.applyApp(ctx) },
		func() error { return s.says(ctx, s.app(), "Available") },
		read(&made, "app-connection"),
		func() error { return s.forge(ctx, "app-admin-2", 2) }, // before a rotation
		func() error { return s.force(ctx, s.app(), 5) },
		func() error { return s.becomes(ctx, "Secret", "app-connection", made) },
		func() error { return s.rotate(ctx, "admin", "1") },
		func() error {
			return eventually(ctx, soon, "the name of the forged generation", func() error {
				o, err := s.Get(ctx, s.app())
				if err != nil {
					return err
				}

				c := live.ConditionOf(o, "Synced")

				return wantText(c.Status == "False" && strings.Contains(c.Message, "app-admin-2"), fmt.Sprintf("Synced is %+v", c))
			})
		},
		func() error { return s.versions("app-connection", made) },
		func() error { return s.Delete(ctx, s.core("Secret", "app-admin-2")) },
		func() error {
			return eventually(ctx, soon, "another value", func() error {
				data, err := s.data(ctx, "Secret", "app-connection")
				next = data

				return first(func() error { return err }, func() error {
					return wantText(data["password"] != made["password"] && data["former-password"] == "", "it is the former one")
				})
			})
		},
		s.notForged,
		func() error { return s.says(ctx, s.app(), "Available") },
		func() error { return s.force(ctx, s.app(), 5) },
		func() error { return s.becomes(ctx, "Secret", "app-connection", next) },
		s.notForged,
	)
}

// rest waits until nothing has changed for three seconds.
func (s scenario) rest() error {
	for seen := -1; seen != len(film.of(s.ns)); time.Sleep(3 * time.Second) {
		seen = len(film.of(s.ns))
	}

	return nil
}

// A Database refers to the generation in use. A step after the function composes it, and leaves it out if there is no
// generation. A user deletes that generation.
func keepsReferences(ctx context.Context, s scenario) error {
	var uid string

	database := s.database("app-db")
	exists := func() error {
		return eventually(ctx, soon, "the Database", func() error {
			o, err := s.Get(ctx, database)
			if err == nil && uid == "" {
				uid = string(o.GetUID())
			}

			if err == nil && string(o.GetUID()) != uid {
				return brokenf("the Database was deleted and made again")
			}

			return err
		})
	}
	refersTo := func(name string) error {
		return eventually(ctx, soon, "the Database to refer to "+name, func() error {
			o, err := s.Get(ctx, database)
			if live.IsNotFound(err) && uid != "" {
				return brokenf("the Database was deleted")
			}

			if err != nil {
				return err
			}

			return wantText(strings.Contains(fmt.Sprint(o.Object["spec"]), name), fmt.Sprintf("it has %v", o.Object["spec"]))
		})
	}

	return first(
		func() error {
			return s.open(ctx, "App", strings.Replace(rotatingPassword, "5s", "1s", 1),
				`{apiVersion: live.example.org/v1, kind: Database, metadata: {name: $(name)-db}, spec: {passwordSecretRef: {name: $(latest.admin)}}}`)
		},
		func() error { return s.applyApp(ctx) },
		exists,
		func() error { return refersTo("app-admin-1") },
		s.rest, // otherwise a running reconcile, which has seen it, creates it again as another object
		func() error { return s.Delete(ctx, s.core("Secret", "app-admin-1")) },
		func() error { return refersTo("app-admin-2") },
		exists,
		func() error { return s.rotate(ctx, "admin", "1") },
		func() error { return refersTo("app-admin-3") },
		exists,
	)
}
