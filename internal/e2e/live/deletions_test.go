package live_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/crossplane-contrib/function-export/internal/e2e/laws"
	"github.com/crossplane-contrib/function-export/internal/e2e/live"
)

// A deletionRow is a row of a table in the troubleshooting page.
type deletionRow struct {
	name, what, then string
	play             func(ctx context.Context, d deletion) error
}

// deletions are the rows of the tables "What happens when I delete …?" and "… edit …?" in the troubleshooting page.
var deletions = []deletionRow{
	{
		"composite", "the composite",
		"Kubernetes deletes everything that was composed for it: the Secrets, the ConfigMaps and all generations. The sources stay.",
		deletesComposite,
	},
	{
		"claim", "a claim",
		"Crossplane deletes its composite. Kubernetes deletes everything that was composed for it, also in the namespace of the claim.",
		deletesClaim,
	},
	{
		"secret", "the exported Secret",
		"If all of its inputs exist, it is created again with the same values.",
		deletesSecret,
	},
	{
		"held", "the exported Secret, while it is kept",
		"It is not created until its inputs exist again. The values that it kept are lost, except generated values.",
		deletesHeldSecret,
	},
	{
		"key", "one key of a source",
		"The Secret keeps all of its values. It follows the source again when the key exists again.",
		deletesKey,
	},
	{
		"source", "a source, or the connection Secret of a composed resource",
		"The Secret keeps all of its values. It follows the source again when the source exists again.",
		deletesSource,
	},
	{
		"resource", "a composed resource that the Secret reads",
		"The Secret keeps all of its values. Crossplane composes the resource again, and the Secret follows the new one once it has connection details.",
		deletesResource,
	},
	{
		"in-use", "the generation in use",
		"The exported Secret keeps the value until another generation takes its place. The new generation has another value.",
		deletesGenerationInUse,
	},
	{
		"former", "a former generation",
		"Its grace period ends immediately, and `previous.<name>` has no value. The generation in use stays.",
		deletesFormerGeneration,
	},
	{
		"export", "the export from the input",
		"Crossplane deletes its Secret.",
		deletesExport,
	},
	{
		"generator", "the generator and everything that uses it, from the input",
		"Its generations are deleted after their grace period. If you add the generator again before that, they are in use again.",
		deletesGenerator,
	},
	{
		"entry", "the last entry that a composite author has for a Secret",
		"Crossplane deletes that Secret.",
		deletesEntry,
	},
	{
		"environment", "an EnvironmentConfig that the input requires",
		"Nothing changes: every object stays as it is. The condition is `InvalidInput` until the EnvironmentConfig exists again.",
		deletesEnvironmentConfig,
	},
	{
		"optional-environment", "an EnvironmentConfig, with `resolution: Optional`",
		"Exports that read its fields keep all of their values.",
		deletesOptionalEnvironmentConfig,
	},
	{
		"composition", "the Composition",
		"Nothing changes: every object stays as it is. The composite is not `Synced` until the Composition exists again.",
		deletesComposition,
	},
	{
		"function", "the function",
		"Nothing changes: every object stays as it is. The composite is not `Synced` until the function exists again.",
		deletesFunction,
	},
	{
		"value", "a value of the exported Secret",
		"Crossplane restores it in the next reconcile. Until then, applications read your value.",
		editsValue,
	},
	{
		"other", "a key that you add to the exported Secret",
		"It stays. Labels and annotations that you add also stay.",
		addsKey,
	},
	{
		"immutable", "the data of a generation",
		"Kubernetes refuses it, because the Secret is immutable.",
		editsGeneration,
	},
	{
		"annotation", "the annotation `generator-state` of a generation",
		"The next reconcile restores it from what the exports recorded. The generation in use and the exported values stay.",
		editsAnnotations,
	},
}

// A deletion runs in its own namespace.
type deletion struct{ scenario }

// TestDeletions deletes or edits the object of each row, and checks what the row says.
func TestDeletions(t *testing.T) {
	if err := stage(); err != nil {
		t.Fatalf("%v\n%s", err, events(""))
	}

	for _, row := range deletions {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()

			ns := "deleted-" + row.name
			d := deletion{scenario{ControlPlane: plane, function: functionName, ns: ns}}

			if row.name == "function" { // other tests need the shared one
				d.function = "function-deleted"

				f, err := install(t.Context(), d.function, "package", state("function-export"), nil)
				if f != nil {
					t.Cleanup(f.Stop)
				}

				if err != nil {
					t.Fatal(err)
				}
			}

			if err := row.play(t.Context(), d); err != nil {
				t.Errorf("%v\n%s", err, events(ns))
			}
		})
	}
}

// TestPageHasDeletions checks that the page has each row.
func TestPageHasDeletions(t *testing.T) {
	b, err := os.ReadFile(root + "/example/TROUBLESHOOTING.md")
	if err != nil {
		t.Fatal(err)
	}

	for _, row := range deletions {
		if text := fmt.Sprintf("| %s | %s |\n", row.what, row.then); !strings.Contains(string(b), text) {
			t.Errorf("example/TROUBLESHOOTING.md has no row\n%s", text)
		}
	}
}

const (
	// reading is an input that reads a source.
	reading = loginSource + `
secrets: [{name: connection, data: [{valueMap: "{'username': secrets.login.username, 'password': secrets.login.password}"}]}]
`

	// generating is an input with a generator. Its grace period does not end during a test.
	generating = `
generators: [{name: admin, password: {length: 24, symbols: 0, prefix: hush-}, gracePeriod: 1h}]
secrets:
- name: connection
  data:
  - {key: password, value: generated.admin.password}
  - {key: former-password, value: "previous.?admin.?password", optional: true}
`
)

// exported is the Secret of the export connection.
func (d deletion) exported() live.Ref { return d.core("Secret", "app-connection") }

// begin applies an input, and waits until the composite is ready. It returns the data of the exported Secret.
func (d deletion) begin(ctx context.Context, input string, given map[string]string, composed ...string) (map[string]string, error) {
	err := first(
		func() error { return d.open(ctx, "App", input, composed...) },
		func() error { return d.write(ctx, "Secret", "login", given) },
		func() error { return d.applyApp(ctx) },
		func() error {
			if len(composed) == 0 {
				return nil
			}

			return d.provide(ctx, "app-db", "app-db-details", given, readyStatus(""))
		},
		func() error { return d.says(ctx, d.app(), "Available") },
		d.rest, // otherwise a running reconcile could create a deleted object again
	)
	if err != nil {
		return nil, err
	}

	return d.data(ctx, "Secret", "app-connection")
}

// gone waits until an object does not exist.
func (d deletion) gone(ctx context.Context, r live.Ref) error {
	return eventually(ctx, 2*soon, "the end of "+r.String(), func() error {
		if _, err := d.Get(ctx, r); !live.IsNotFound(err) {
			return fmt.Errorf("it is there: %w", err)
		}

		return nil
	})
}

// keeps calls do, and checks that the Secret does not change while the condition has a reason.
func (d deletion) keeps(ctx context.Context, do func() error, reason string, mentions ...string) error {
	before, err := d.Get(ctx, d.exported())
	if err != nil {
		return err
	}

	return first(
		do,
		func() error { return d.saysOf(ctx, before, reason, mentions...) },
		func() error { return d.stays(ctx, before, 2*time.Second) },
	)
}

// stops calls do, after which Crossplane cannot run the pipeline, and checks that the Secret does not change.
func (d deletion) stops(ctx context.Context, do func() error) error {
	before, err := d.Get(ctx, d.exported())
	if err != nil {
		return err
	}

	return first(
		do,
		func() error {
			return eventually(ctx, soon, "Synced to be False", func() error {
				if err := d.Patch(ctx, d.app(), fmt.Sprintf(`{"metadata": {"annotations": {%q: "%d"}}}`, reconcileAt, time.Now().UnixNano())); err != nil {
					return err
				}

				o, err := d.Get(ctx, d.app())
				if err != nil {
					return err
				}

				c := live.ConditionOf(o, "Synced")

				return errors.Join(wantText(c.Status == "False", fmt.Sprintf("Synced is %+v", c)), d.untouched(ctx, before))
			})
		},
		func() error { return d.stays(ctx, before, 2*time.Second) },
	)
}

func deletesComposite(ctx context.Context, d deletion) error {
	if _, err := d.begin(ctx, generating, login()); err != nil {
		return err
	}

	return first(
		func() error { return d.Delete(ctx, d.app()) },
		func() error { return d.gone(ctx, d.exported()) },
		func() error { return d.gone(ctx, d.core("Secret", "app-admin-1")) },
		func() error { _, err := d.Get(ctx, d.core("Secret", "login")); return err },
	)
}

func deletesClaim(ctx context.Context, d deletion) error {
	claim := live.Ref{APIVersion: group, Kind: "Order", Namespace: d.ns, Name: "order"}

	return first(
		func() error {
			return d.open(ctx, "XOrder", `
sources: [{name: login, apiVersion: v1, kind: Secret, namespace: `+d.ns+`}]
secrets: [{name: connection, metadata: {name: order-login}, data: [{key: password, value: secrets.login.password}]}]
`)
		},
		func() error { return d.write(ctx, "Secret", "login", login()) },
		func() error {
			return d.Apply(ctx, fmt.Sprintf(`{apiVersion: %s, kind: Order, metadata: {name: order, namespace: %s}, spec: {size: small, compositionRef: {name: %[2]s}}}`, group, d.ns))
		},
		func() error { return d.says(ctx, claim, "Available") },
		func() error { return d.Delete(ctx, claim) },
		func() error { return d.gone(ctx, d.core("Secret", "order-login")) },
		func() error { return d.gone(ctx, claim) },
	)
}

func deletesSecret(ctx context.Context, d deletion) error {
	want, err := d.begin(ctx, generating, login())
	if err != nil {
		return err
	}

	return first(
		func() error { return d.Delete(ctx, d.exported()) },
		func() error { return d.becomes(ctx, "Secret", "app-connection", want) },
		func() error { return d.says(ctx, d.app(), "Available") },
		func() error { return d.versions("app-connection", want) },
	)
}

func deletesHeldSecret(ctx context.Context, d deletion) error {
	want, err := d.begin(ctx, reading, login())
	if err != nil {
		return err
	}

	return first(
		func() error { return d.Delete(ctx, d.core("Secret", "login")) },
		func() error { return d.says(ctx, d.app(), "Held", "login") },
		d.rest,
		func() error { return d.Delete(ctx, d.exported()) },
		func() error { return d.says(ctx, d.app(), "Waiting", "login") },
		func() error { return d.force(ctx, d.app(), 2) },
		func() error { return d.absent(ctx, d.exported()) },
		func() error { return d.write(ctx, "Secret", "login", want) },
		func() error { return d.becomes(ctx, "Secret", "app-connection", want) },
	)
}

func deletesKey(ctx context.Context, d deletion) error {
	later := login()
	if _, err := d.begin(ctx, reading, login()); err != nil {
		return err
	}

	return first(
		func() error {
			return d.keeps(ctx, func() error {
				return d.write(ctx, "Secret", "login", map[string]string{"username": later["username"]})
			}, "Held", "password")
		},
		func() error { return d.write(ctx, "Secret", "login", later) },
		func() error { return d.becomes(ctx, "Secret", "app-connection", later) },
	)
}

func deletesSource(ctx context.Context, d deletion) error {
	later := login()
	if _, err := d.begin(ctx, reading, login()); err != nil {
		return err
	}

	return first(
		func() error {
			return d.keeps(ctx, func() error { return d.Delete(ctx, d.core("Secret", "login")) }, "Held", "login")
		},
		func() error { return d.write(ctx, "Secret", "login", later) },
		func() error { return d.becomes(ctx, "Secret", "app-connection", later) },
	)
}

func deletesResource(ctx context.Context, d deletion) error {
	later := login()

	_, err := d.begin(ctx, `
secrets: [{name: connection, from: db, data: [{valueMap: "{'username': secret.username, 'password': secret.password}"}]}]
`, login(), database)
	if err != nil {
		return err
	}

	before, err := d.Get(ctx, d.database("app-db"))
	if err != nil {
		return err
	}

	return first(
		func() error {
			return d.keeps(ctx, func() error { return d.Delete(ctx, live.RefOf(before)) }, "Held", "db")
		},
		func() error {
			return eventually(ctx, soon, "another Database", func() error {
				o, err := d.Get(ctx, live.RefOf(before))
				if err == nil && o.GetUID() == before.GetUID() {
					err = errors.New("it is the same")
				}

				return err
			})
		},
		func() error { return d.gone(ctx, d.core("Secret", "app-db-details")) }, // its owner was deleted
		func() error { return d.provide(ctx, "app-db", "app-db-details", later, readyStatus("")) },
		func() error { return d.becomes(ctx, "Secret", "app-connection", later) },
	)
}

func deletesGenerationInUse(ctx context.Context, d deletion) error {
	was, err := d.begin(ctx, generating, login())
	if err != nil {
		return err
	}

	return first(
		func() error { return d.Delete(ctx, d.core("Secret", "app-admin-1")) },
		func() error {
			return eventually(ctx, soon, "another value", func() error {
				made, err := d.data(ctx, "Secret", "app-admin-2")
				if err != nil || made == nil {
					return fmt.Errorf("there is no other generation: %w", err)
				}

				is, err := d.data(ctx, "Secret", "app-connection")
				if err != nil || is == nil {
					return brokenf("the Secret is gone: %v", err)
				}

				if maps.Equal(is, was) {
					return errors.New("it has the same value")
				}

				if is["password"] != made["password"] {
					return brokenf("the Secret has neither value")
				}

				return nil
			})
		},
	)
}

func deletesFormerGeneration(ctx context.Context, d deletion) error {
	was, err := d.begin(ctx, generating, login())
	if err != nil {
		return err
	}

	next := map[string]string{}

	return first(
		func() error { return d.rotate(ctx, "admin", "1") },
		func() error {
			return eventually(ctx, soon, "both values", func() error {
				is, err := d.data(ctx, "Secret", "app-connection")
				next["password"] = is["password"]

				return errors.Join(err, wantText(is["former-password"] == was["password"], "there is no former value"))
			})
		},
		func() error { return d.says(ctx, d.app(), "Available") },
		d.rest,
		func() error { return d.Delete(ctx, d.core("Secret", "app-admin-1")) },
		func() error { return d.becomes(ctx, "Secret", "app-connection", next) },
		func() error { _, err := d.Get(ctx, d.core("Secret", "app-admin-2")); return err },
	)
}

func deletesExport(ctx context.Context, d deletion) error {
	if _, err := d.begin(ctx, reading, login()); err != nil {
		return err
	}

	return first(
		func() error {
			return d.input(ctx, "App", "secrets: [{name: other, data: [{key: name, value: composite.metadata.name}]}]")
		},
		func() error { return d.gone(ctx, d.exported()) },
	)
}

func deletesGenerator(ctx context.Context, d deletion) error {
	const other = "secrets: [{name: other, data: [{key: name, value: composite.metadata.name}]}]"

	short := strings.Replace(generating, "1h", "3s", 1)

	was, err := d.begin(ctx, generating, login())
	if err != nil {
		return err
	}

	generation := d.core("Secret", "app-admin-1")

	return first(
		func() error { return d.input(ctx, "App", other) },
		func() error { return d.gone(ctx, d.exported()) },
		func() error { _, err := d.Get(ctx, generation); return err },
		func() error { return d.input(ctx, "App", short) },
		func() error { return d.becomes(ctx, "Secret", "app-connection", was) },
		func() error { return d.says(ctx, d.app(), "Available") },
		func() error { return d.input(ctx, "App", other) },
		func() error { return d.gone(ctx, generation) },
	)
}

func deletesEntry(ctx context.Context, d deletion) error {
	if _, err := d.begin(ctx, reading+"\nfromComposite: {fieldPath: spec.operatorSpec, allow: {secrets: []}}\n", login()); err != nil {
		return err
	}

	return first(
		func() error {
			return d.applyApp(ctx, "operatorSpec: {secretExpressions: [{name: mine, key: name, value: self.metadata.name}]}")
		},
		func() error { return d.becomes(ctx, "Secret", "mine", map[string]string{"name": "app"}) },
		func() error { return d.applyApp(ctx) },
		func() error { return d.gone(ctx, d.core("Secret", "mine")) },
	)
}

// environmentInput reads a field of an EnvironmentConfig.
func (d deletion) environmentInput(resolution string) string {
	return loginSource + `
environment: {policy: {resolution: ` + resolution + `}, environmentConfigs: [{ref: {name: ` + d.ns + `}}]}
secrets: [{name: connection, data: [{valueMap: "{'region': environment.region, 'password': secrets.login.password}"}]}]
`
}

// withoutEnvironmentConfig deletes the EnvironmentConfig, checks that the Secret is kept, and creates it again.
func (d deletion) withoutEnvironmentConfig(ctx context.Context, resolution, reason, mentions string) error {
	given := login()
	config := live.Ref{APIVersion: "apiextensions.crossplane.io/v1beta1", Kind: "EnvironmentConfig", Name: d.ns}
	apply := func(region string) error {
		return d.Apply(ctx, fmt.Sprintf("{apiVersion: %s, kind: EnvironmentConfig, metadata: {name: %s}, data: {region: %s}}", config.APIVersion, d.ns, region))
	}

	return first(
		func() error { return apply("north") },
		func() error { _, err := d.begin(ctx, d.environmentInput(resolution), given); return err },
		func() error {
			return d.keeps(ctx, func() error { return d.Delete(ctx, config) }, reason, mentions)
		},
		func() error { return apply("south") },
		func() error {
			return d.becomes(ctx, "Secret", "app-connection", map[string]string{"region": "south", "password": given["password"]})
		},
	)
}

func deletesEnvironmentConfig(ctx context.Context, d deletion) error {
	return d.withoutEnvironmentConfig(ctx, "Required", "InvalidInput", d.ns)
}

func deletesOptionalEnvironmentConfig(ctx context.Context, d deletion) error {
	return d.withoutEnvironmentConfig(ctx, "Optional", "Held", "region")
}

func deletesComposition(ctx context.Context, d deletion) error {
	later := login()
	if _, err := d.begin(ctx, reading, login()); err != nil {
		return err
	}

	return first(
		func() error {
			return d.stops(ctx, func() error {
				return d.Delete(ctx, live.Ref{APIVersion: "apiextensions.crossplane.io/v1", Kind: "Composition", Name: d.ns})
			})
		},
		func() error { return d.write(ctx, "Secret", "login", later) },
		func() error { return d.input(ctx, "App", reading) },
		func() error { return d.becomes(ctx, "Secret", "app-connection", later) },
	)
}

func deletesFunction(ctx context.Context, d deletion) error {
	if _, err := d.begin(ctx, reading, login()); err != nil {
		return err
	}

	return d.stops(ctx, func() error {
		return d.Delete(ctx, live.Ref{APIVersion: "pkg.crossplane.io/v1", Kind: "Function", Name: d.function})
	})
}

func editsValue(ctx context.Context, d deletion) error {
	want, err := d.begin(ctx, reading, login())
	if err != nil {
		return err
	}

	return first(
		func() error { return d.Patch(ctx, d.exported(), `{"data": {"password": "`+base64Of("edited")+`"}}`) },
		func() error { return d.becomes(ctx, "Secret", "app-connection", want) },
	)
}

func addsKey(ctx context.Context, d deletion) error {
	want, err := d.begin(ctx, reading, login())
	if err != nil {
		return err
	}

	want["mine"] = "added"

	return first(
		func() error {
			return d.Patch(ctx, d.exported(), `{"metadata": {"labels": {"mine": "added"}, "annotations": {"mine": "added"}}, "data": {"mine": "`+base64Of("added")+`"}}`)
		},
		func() error { return d.force(ctx, d.app(), 2) },
		func() error { return d.becomes(ctx, "Secret", "app-connection", want) },
		func() error {
			o, err := d.Get(ctx, d.exported())
			return errors.Join(err, wantText(o.GetLabels()["mine"]+o.GetAnnotations()["mine"] == "addedadded", "the label or the annotation is gone"))
		},
	)
}

func editsGeneration(ctx context.Context, d deletion) error {
	if _, err := d.begin(ctx, generating, login()); err != nil {
		return err
	}

	if err := d.Patch(ctx, d.core("Secret", "app-admin-1"), `{"data": {"password": "`+base64Of("edited")+`"}}`); err == nil {
		return errors.New("Kubernetes accepts other data")
	}

	return nil
}

func editsAnnotations(ctx context.Context, d deletion) error {
	want, err := d.begin(ctx, generating, login())
	if err != nil {
		return err
	}

	generation := d.core("Secret", "app-admin-1")

	return first(
		func() error {
			return d.Patch(ctx, generation, `{"metadata": {"annotations": {"export.fn.crossplane.io/generator": "other", "`+generationState+`": null}}}`)
		},
		func() error {
			return eventually(ctx, soon, "its annotations", func() error {
				o, err := d.Get(ctx, generation)
				if err != nil {
					return err
				}

				is, added := laws.VersionOf("MODIFIED", o, time.Now()), o.GetAnnotations()["export.fn.crossplane.io/generator"]

				return wantText(is.Adopted && added == "other", "the state is not put back")
			})
		},
		func() error { return d.says(ctx, d.app(), "Available") },
		func() error { return d.versions("app-connection", want) },
		func() error { return d.absent(ctx, d.core("Secret", "app-admin-2")) },
	)
}
