package live_test

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"strings"
	"testing"

	"github.com/crossplane-contrib/function-export/internal/e2e/live"
)

// deletions are rows of the tables "What happens when I delete …?" and "… edit …?" in the troubleshooting page.
var deletions = []struct {
	name, row string
	play      func(d deletion)
}{
	{"composite", "the composite", deletesComposite},
	{"secret", "the exported Secret", deletesSecret},
	{"source", "a source, or the connection Secret of a composed resource", deletesSource},
	{"resource", "a composed resource that the Secret reads", deletesResource},
	{"in-use", "the generation in use", deletesGenerationInUse},
	{"former", "a former generation", deletesFormerGeneration},
	{"generator", "the generator and everything that uses it, from the input", deletesGenerator},
	{"value", "a value of the exported Secret", editsValue},
	{"other", "a key that you add to the exported Secret", addsKey},
}

// A deletion runs in its own namespace.
type deletion struct{ scenario }

// TestDeletions deletes or edits the object of each row, and checks what the row says.
func TestDeletions(t *testing.T) {
	page, err := os.ReadFile(root + "/example/TROUBLESHOOTING.md")
	if err != nil {
		t.Fatal(err)
	}

	for _, d := range deletions {
		t.Run(d.name, func(t *testing.T) {
			t.Parallel()

			if !strings.Contains(string(page), "\n| "+d.row+" | ") {
				t.Errorf("example/TROUBLESHOOTING.md has no row about %s", d.row)
			}

			d.play(deletion{newScenario(t, "deleted-"+d.name)})
		})
	}
}

const (
	// reading is an input that reads a source.
	reading = loginSource + `
secrets: [{name: connection, data: [
  {valueMap: "{'username': secrets.login.username, 'password': secrets.login.password}"}]}]
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

func (d deletion) generation(n int) live.Ref { return d.core("Secret", fmt.Sprintf("app-admin-%d", n)) }

func (d deletion) source() live.Ref { return d.core("Secret", "login") }

// begin applies an input, and waits until the composite is ready. It returns the data of the exported Secret.
func (d deletion) begin(input string, composed ...string) map[string]string {
	d.Helper()

	given := login()

	d.open("App", input, composed...)
	d.write("Secret", "login", given)
	d.applyApp()

	if len(composed) > 0 {
		d.provide("app-db", "app-db-details", given, readyStatus(""))
	}

	d.says(d.app(), "Available")
	d.rest() // otherwise a running reconcile could create a deleted object again

	return d.stored("app-connection")
}

// keeps deletes an object, and checks that the Secret does not change while the condition has a reason.
func (d deletion) keeps(deleted live.Ref, reason string, mentions ...string) {
	d.Helper()

	before := d.get(d.exported())

	d.remove(deleted)
	d.saysOf(before, reason, mentions...)
	d.stays(before)
}

func deletesComposite(d deletion) {
	d.begin(generating)
	d.remove(d.app())
	d.gone(d.exported(), d.generation(1))
	d.get(d.source())
}

func deletesSecret(d deletion) {
	want := d.begin(generating)
	d.remove(d.exported())
	d.becomes("Secret", "app-connection", want)
	d.says(d.app(), "Available")
	d.versions("app-connection", want)
}

func deletesSource(d deletion) {
	later := login()

	d.begin(reading)
	d.keeps(d.source(), "Held", "login")
	d.write("Secret", "login", map[string]string{"username": later["username"]})
	d.says(d.app(), "Held", "password")
	d.write("Secret", "login", later)
	d.becomes("Secret", "app-connection", later)
}

func deletesResource(d deletion) {
	later := login()

	d.begin(`
secrets: [{name: connection, from: db, data: [
  {valueMap: "{'username': secret.username, 'password': secret.password}"}]}]
`, database)

	before := d.get(d.database("app-db"))

	d.keeps(live.RefOf(before), "Held", "db")
	d.eventually("another Database", func() error {
		o, err := d.Get(d.Context(), live.RefOf(before))
		return errors.Join(err, wantText(err != nil || o.GetUID() != before.GetUID(), "it is the same"))
	})
	d.gone(d.core("Secret", "app-db-details")) // its owner was deleted
	d.provide("app-db", "app-db-details", later, readyStatus(""))
	d.becomes("Secret", "app-connection", later)
}

func deletesGenerationInUse(d deletion) {
	was := d.begin(generating)
	d.remove(d.generation(1))
	d.eventually("another value", func() error {
		made, err := d.data("Secret", "app-admin-2")
		if err != nil || made == nil {
			return fmt.Errorf("there is no other generation: %w", err)
		}

		switch is, err := d.data("Secret", "app-connection"); {
		case err != nil || is == nil:
			return brokenf("the Secret is gone: %v", err)
		case maps.Equal(is, was):
			return errors.New("it has the same value")
		case is["password"] != made["password"]:
			return brokenf("the Secret has neither value")
		}

		return nil
	})
}

func deletesFormerGeneration(d deletion) {
	was := d.begin(generating)
	d.rotate("admin", "1")

	next := d.exports(was["password"], true)
	delete(next, "former-password")

	d.says(d.app(), "Available")
	d.rest()
	d.remove(d.generation(1))
	d.becomes("Secret", "app-connection", next)
	d.get(d.generation(2))
}

func deletesGenerator(d deletion) {
	const other = "secrets: [{name: other, data: [{key: name, value: composite.metadata.name}]}]"

	was := d.begin(generating)
	d.input("App", other)
	d.gone(d.exported())
	d.get(d.generation(1))
	d.input("App", strings.Replace(generating, "1h", "3s", 1))
	d.becomes("Secret", "app-connection", was)
	d.says(d.app(), "Available")
	d.input("App", other)
	d.gone(d.generation(1))
}

func editsValue(d deletion) {
	want := d.begin(reading)
	d.patch(d.exported(), `{"data": {"password": "`+base64Of("edited")+`"}}`)
	d.becomes("Secret", "app-connection", want)
}

func addsKey(d deletion) {
	want := d.begin(reading)
	want["mine"] = "added"

	d.patch(d.exported(), `{"metadata": {"labels": {"mine": "added"}, "annotations": {"mine": "added"}}, `+
		`"data": {"mine": "`+base64Of("added")+`"}}`)
	d.force(d.app(), 2)
	d.becomes("Secret", "app-connection", want)

	if o := d.get(d.exported()); o.GetLabels()["mine"]+o.GetAnnotations()["mine"] != "addedadded" {
		d.Error("the label or the annotation is gone")
	}
}
