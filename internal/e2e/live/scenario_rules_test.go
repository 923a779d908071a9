package live_test

import (
	"context"
	"fmt"
	"maps"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/crossplane-contrib/function-export/internal/e2e/live"
)

// The resources that most scenarios compose, and the values of their provider and of the scenarios.
const (
	database = `{apiVersion: live.example.org/v1, kind: Database, metadata: {name: $(name)-db}, spec: {writeConnectionSecretToRef: {name: $(name)-db-details}}}`

	loginSource = `
sources:
- {name: login, apiVersion: v1, kind: Secret}
`

	connectionOfLogin = loginSource + `
secrets:
- name: connection
  metadata: {labels: {team: payments}}
  data:
  - valueMap: "{'username': secrets.login.username, 'password': secrets.login.password}"
  - {key: url, value: "'app://%s:%s@db'.format([secrets.login.username, secrets.login.password])"}
`
)

// login is a credential of a source or of a provider.
func login() map[string]string { return map[string]string{"username": hush(), "password": hush()} }

// connection is the exported data of a login.
func connection(login map[string]string) map[string]string {
	out := maps.Clone(login)
	out["url"] = fmt.Sprintf("app://%s:%s@db", login["username"], login["password"])

	return out
}

// A Secret is exported from a composite, a composed resource and a source only after all of these exist.
func creates(ctx context.Context, s scenario) error {
	given, ca := login(), hush()
	want := connection(given)
	want["ca"] = ca

	none := func() error {
		if got, err := s.data(ctx, "Secret", "app-connection"); err != nil || got != nil {
			return brokenf("there is a Secret before all of it is there: %v, %v", got, err)
		}

		return nil
	}

	return first(
		func() error {
			return s.open(ctx, "App", `
sources: [{name: ca, apiVersion: v1, kind: Secret}]
secrets:
- name: connection
  from: db
  data:
  - valueMap: "{'username': secret.username, 'password': secret.password, 'ca': secrets.ca.crt}"
  - {key: url, value: "'app://%s:%s@%s'.format([secret.username, secret.password, resource.status.host])"}
`, database)
		},
		func() error { return s.applyApp(ctx) },
		func() error { return s.says(ctx, s.app(), "Waiting", "url", "username") },
		none,
		func() error {
			return s.provide(ctx, "app-db", "app-db-details", map[string]string{"username": given["username"]}, `{"host": "db"}`)
		},
		func() error { return s.force(ctx, s.app(), 2) },
		none,
		func() error { return s.provide(ctx, "app-db", "app-db-details", given, readyStatus(`"host": "db",`)) },
		func() error { return s.says(ctx, s.app(), "Waiting", "ca") },
		none,
		func() error { return s.write(ctx, "Secret", "ca", map[string]string{"crt": ca}) },
		func() error { return s.becomes(ctx, "Secret", "app-connection", want) },
		func() error { return s.says(ctx, s.app(), "Available") },
		func() error { return s.versions("app-connection", want) },
	)
}

// versions returns an error if a Secret ever had data that are not among these.
func (s scenario) versions(name string, allowed ...map[string]string) error {
	seen := false

	for _, e := range film.of(s.ns) {
		if e.object.GetName() != name {
			continue
		}

		seen = true
		got := live.DataOf(e.object)
		ok := false

		for _, a := range allowed {
			ok = ok || maps.Equal(a, got)
		}

		if !ok {
			return brokenf("%s has data that it must never have: %v", e, withoutValues(e.object)["data"])
		}
	}

	if !seen {
		return fmt.Errorf("the watch saw no Secret %s", name)
	}

	return nil
}

// If a source changes, all keys of its Secret change at once.
func updates(ctx context.Context, s scenario) error {
	allowed := []map[string]string{}

	steps := []func() error{
		func() error { return s.open(ctx, "App", connectionOfLogin) },
		func() error { return s.applyApp(ctx) },
	}

	for range 5 {
		given := login()
		allowed = append(allowed, connection(given))

		steps = append(steps,
			func() error { return s.write(ctx, "Secret", "login", given) },
			func() error { return s.becomes(ctx, "Secret", "app-connection", connection(given)) },
		)
	}

	return first(append(steps,
		func() error { return s.says(ctx, s.app(), "Available") },
		func() error { return s.versions("app-connection", allowed...) },
	)...)
}

// Another owner has an object with the name. It is not changed. The Secret is created after that object is deleted.
func conflicts(ctx context.Context, s scenario) error {
	given := login()

	if err := first(
		func() error { return s.open(ctx, "App", connectionOfLogin) },
		func() error { return s.write(ctx, "Secret", "login", given) },
		func() error {
			return s.write(ctx, "Secret", "app-connection", map[string]string{"password": hush()})
		},
	); err != nil {
		return err
	}

	foreign, err := s.Get(ctx, s.core("Secret", "app-connection"))
	if err != nil {
		return err
	}

	return first(
		func() error { return s.applyApp(ctx) },
		func() error { return s.saysOf(ctx, foreign, "Conflict", "app-connection") },
		func() error { return s.force(ctx, s.app(), 3) },
		func() error { return s.untouched(ctx, foreign) },
		func() error { return s.Delete(ctx, live.RefOf(foreign)) },
		func() error { return s.becomes(ctx, "Secret", "app-connection", connection(given)) },
		func() error { return s.says(ctx, s.app(), "Available") },
	)
}

// If an input has an error, no part of it is applied, and existing objects are kept.
func refuses(ctx context.Context, s scenario) error {
	given, later := login(), login()
	settings := func(value string) string {
		return connectionOfLogin + `- {name: more, data: [{key: password, value: secrets.login.password}]}
configMaps:
- {name: settings, data: [{key: name, value: ` + value + `}]}
`
	}

	if err := first(
		func() error { return s.open(ctx, "App", connectionOfLogin) },
		func() error { return s.write(ctx, "Secret", "login", given) },
		func() error { return s.applyApp(ctx) },
		func() error { return s.says(ctx, s.app(), "Available") },
	); err != nil {
		return err
	}

	before, err := s.Get(ctx, s.core("Secret", "app-connection"))
	if err != nil {
		return err
	}

	refused := func(value, place string) error {
		return first(
			func() error { return s.input(ctx, "App", settings(value)) },
			func() error { return s.saysOf(ctx, before, "InvalidInput", place) },
			func() error { return s.write(ctx, "Secret", "login", later) },
			func() error { return s.stays(ctx, before, 2*time.Second) },
			func() error { return s.absent(ctx, s.core("Secret", "app-more"), s.core("ConfigMap", "app-settings")) },
		)
	}

	return first(
		func() error { return refused("compsite.metadata.name", "configMaps[0].data[0].value:1:1") },
		func() error { return refused("secrets.login.password", "configMaps[0].data[0].value") },
		func() error { return s.input(ctx, "App", settings("composite.metadata.name")) },
		func() error { return s.becomes(ctx, "Secret", "app-connection", connection(later)) },
		func() error {
			return s.becomes(ctx, "Secret", "app-more", map[string]string{"password": later["password"]})
		},
		func() error { return s.becomes(ctx, "ConfigMap", "app-settings", map[string]string{"name": "app"}) },
		func() error { return s.says(ctx, s.app(), "Available") },
	)
}

// stays checks that an object is not changed for some time.
func (s scenario) stays(ctx context.Context, before *unstructured.Unstructured, long time.Duration) error {
	for end := time.Now().Add(long); time.Now().Before(end); time.Sleep(200 * time.Millisecond) {
		if err := s.untouched(ctx, before); err != nil {
			return err
		}
	}

	return nil
}

// absent returns an error if one of the objects exists.
func (s scenario) absent(ctx context.Context, refs ...live.Ref) error {
	for _, r := range refs {
		if _, err := s.Get(ctx, r); !live.IsNotFound(err) {
			return brokenf("%s is there: %v", r, err)
		}
	}

	return nil
}

// A composite author adds an export of a Secret, makes a mistake, corrects it, and removes the export.
func exportsForAuthors(ctx context.Context, s scenario) error {
	given := login()
	asks := func(value string) string {
		return fmt.Sprintf(`operatorSpec: {secretExpressions: [{name: mine, key: url, value: "%s"}], configMapExpressions: [{name: mine, key: host, value: resources.db.status.host}]}`, value)
	}

	want := map[string]string{"url": "app://" + given["username"] + "@app"}

	return first(
		func() error {
			return s.open(ctx, "App", `
fromComposite: {fieldPath: spec.operatorSpec, allow: {secrets: [db], resources: [db]}}
secrets: [{name: connection, from: db, data: [{key: password, value: secret.password}]}]
`, database)
		},
		func() error { return s.applyApp(ctx) },
		func() error { return s.provide(ctx, "app-db", "app-db-details", given, readyStatus(`"host": "db",`)) },
		func() error { return s.says(ctx, s.app(), "Available") },
		func() error { return s.absent(ctx, s.core("Secret", "mine"), s.core("ConfigMap", "mine")) },
		func() error {
			return s.applyApp(ctx, asks("'app://%s@%s'.format([secret.username, self.metadata.name])"))
		},
		func() error { return s.becomes(ctx, "Secret", "mine", want) },
		func() error { return s.becomes(ctx, "ConfigMap", "mine", map[string]string{"host": "db"}) },
		func() error { return s.says(ctx, s.app(), "Available") },
		func() error { return s.applyApp(ctx, asks("secrt.username")) },
		func() error {
			return s.says(ctx, s.app(), "Held", "spec.operatorSpec.secretExpressions[0].value:1:1")
		},
		func() error { return s.becomes(ctx, "Secret", "mine", want) },
		func() error { return s.applyApp(ctx) },
		func() error {
			return eventually(ctx, soon, "the end of what nobody wants", func() error {
				for _, kind := range []string{"Secret", "ConfigMap"} {
					if _, err := s.Get(ctx, s.core(kind, "mine")); !live.IsNotFound(err) {
						return fmt.Errorf("%s mine is there: %w", kind, err)
					}
				}

				return nil
			})
		},
		func() error { return s.says(ctx, s.app(), "Available") },
		func() error {
			return s.becomes(ctx, "Secret", "app-connection", map[string]string{"password": given["password"]})
		},
	)
}
