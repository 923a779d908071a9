package live_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"time"

	"github.com/crossplane-contrib/function-export/internal/e2e/live"
)

// The Database of the composite victim will write its connection details to a Secret. Before the Secret exists, the
// author of the composite evil exports a Secret with its name. The provider of the Database does not write to a Secret
// that another object controls, but still reports that the Database is ready. Crossplane reads the Secret as if it
// belonged to the Database.
func exportsOwnConnections(ctx context.Context, s scenario) error {
	given, later := login(), login()
	forged := map[string]string{"username": "attacker", "password": "forged"}
	victim := live.Ref{APIVersion: group, Kind: "App", Namespace: s.ns, Name: "victim"}
	apply := func(name, fields string) error {
		return s.Apply(ctx, fmt.Sprintf("{apiVersion: %s, kind: App, metadata: {name: %s, namespace: %s}, spec: {crossplane: {compositionRef: {name: %[3]s}}, %s}}", group, name, s.ns, fields))
	}
	notExported := func() error { return s.absent(ctx, s.core("Secret", "victim-connection")) }

	return first(
		func() error {
			return s.open(ctx, "App", `
secrets: [{name: connection, from: db, data: [{valueMap: "{'username': secret.username, 'password': secret.password}"}]}]
fromComposite: {fieldPath: spec.operatorSpec, allow: {secrets: []}}
`, database)
		},
		func() error {
			return apply("evil", `operatorSpec: {secretExpressions: [{name: victim-db-details, value: "{'username': 'attacker', 'password': 'forged'}"}]}`)
		},
		func() error { return s.becomes(ctx, "Secret", "victim-db-details", forged) },
		func() error { return apply("victim", "size: small") },
		func() error {
			return eventually(ctx, soon, "victim's Database", func() error {
				return s.Patch(ctx, s.database("victim-db"), `{"status": `+readyStatus(`"host": "db",`)+`}`, "status")
			})
		},
		func() error { return s.says(ctx, victim, "Held", "db", "victim-db-details", "App evil") },
		notExported,
		func() error { return s.force(ctx, victim, 3) },
		notExported,
		func() error { return apply("evil", "size: small") },
		func() error {
			return eventually(ctx, soon, "the end of what evil asked for", func() error {
				if _, err := s.Get(ctx, s.core("Secret", "victim-db-details")); !live.IsNotFound(err) {
					return fmt.Errorf("it is there: %w", err)
				}

				return nil
			})
		},
		func() error { return s.connect(ctx, "victim-db", "victim-db-details", given) },
		func() error { return s.becomes(ctx, "Secret", "victim-connection", given) },
		func() error { return s.says(ctx, victim, "Available") },
		func() error { return s.connect(ctx, "victim-db", "victim-db-details", later) },
		func() error { return s.becomes(ctx, "Secret", "victim-connection", later) },
		func() error { return s.versions("victim-connection", given, later) },
	)
}

// A provider changes its Secret many times, each time in one step. Crossplane reads the Secret three times in each
// reconcile: with the Database, by its name, and by its labels.
func exportsOneVersion(ctx context.Context, s scenario) error {
	const changes = 200

	var allowed []map[string]string

	change := func() (map[string]string, error) {
		given := login()
		want := maps.Clone(given)
		want["labeled"] = given["username"] + " " + given["password"]
		allowed = append(allowed, want)

		return want, s.connect(ctx, "app-db", "app-db-details", given)
	}

	if err := first(
		func() error {
			return s.open(ctx, "App", `
sources: [{name: labeled, apiVersion: v1, kind: Secret, matchLabels: {of: app}}]
secrets:
- name: connection
  from: db
  data:
  - valueMap: "{'username': secret.username, 'password': secret.password}"
  - {key: labeled, value: secrets.labeled.username + ' ' + secrets.labeled.password}
`, database)
		},
		func() error { return s.applyApp(ctx) },
		func() error { _, err := change(); return err },
		func() error {
			return s.Patch(ctx, s.core("Secret", "app-db-details"), `{"metadata": {"labels": {"of": "app"}}}`)
		},
		func() error { return s.Patch(ctx, s.database("app-db"), `{"status": `+readyStatus("")+`}`, "status") },
		func() error { return s.says(ctx, s.app(), "Available") },
	); err != nil {
		return err
	}

	for range changes {
		if _, err := change(); err != nil {
			return err
		}
	}

	last, err := change()
	if err != nil {
		return err
	}

	return first(
		func() error { return s.becomes(ctx, "Secret", "app-connection", last) },
		func() error { return s.says(ctx, s.app(), "Available") },
		func() error { return s.versions("app-connection", allowed...) },
	)
}

// A provider changes its Secret key by key. One export takes the keys as they are, and the other one waits until they
// match.
func exportsMatchingKeys(ctx context.Context, s scenario) error {
	const changes = 10

	given := login()
	now := connection(given)
	allowed := []map[string]string{now}

	steps := []func() error{
		func() error {
			return s.open(ctx, "App", `
secrets:
- {name: plain, from: db, data: [{valueMap: "secret"}]}
- name: connection
  from: db
  data:
  - {key: username, value: secret.username}
  - key: password
    value: "secret.url == 'app://%s:%s@db'.format([secret.username, secret.password]) ? secret.password : secret['password that matches url']"
  - {key: url, value: secret.url}
`, database)
		},
		func() error { return s.applyApp(ctx) },
		func() error { return s.provide(ctx, "app-db", "app-db-details", now, readyStatus("")) },
		func() error { return s.says(ctx, s.app(), "Available") },
	}

	for range changes {
		given := login()
		now = maps.Clone(now)

		for _, key := range []string{"username", "password", "url"} {
			now = maps.Clone(now)
			now[key] = connection(given)[key]
			data := now

			steps = append(steps, func() error {
				time.Sleep(200 * time.Millisecond) // otherwise Crossplane may see only the last of the three changes

				return s.connect(ctx, "app-db", "app-db-details", data)
			})
		}

		allowed = append(allowed, now)
	}

	return first(append(steps,
		func() error { return s.becomes(ctx, "Secret", "app-connection", now) },
		func() error { return s.says(ctx, s.app(), "Available") },
		func() error { return s.versions("app-connection", allowed...) },
		func() error {
			if s.versions("app-plain", allowed...) == nil {
				return errors.New("an export that does not wait never had values of two credentials: nothing is shown")
			}

			return nil
		},
	)...)
}
