package live_test

import (
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/crossplane-contrib/function-export/internal/e2e/live"
)

// The resources that most scenarios compose, and the values of their provider and of the scenarios.
const (
	database = `{apiVersion: live.example.org/v1, kind: Database, metadata: {name: $(name)-db}, ` +
		`spec: {writeConnectionSecretToRef: {name: $(name)-db-details}}}`

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
func creates(s scenario) {
	given, ca := login(), hush()
	want := connection(given)
	want["ca"] = ca
	exported := s.core("Secret", "app-connection")

	s.open("App", `
sources: [{name: ca, apiVersion: v1, kind: Secret}]
secrets:
- name: connection
  from: db
  data:
  - valueMap: "{'username': secret.username, 'password': secret.password, 'ca': secrets.ca.crt}"
  - {key: url, value: "'app://%s:%s@%s'.format([secret.username, secret.password, resource.status.host])"}
`, database)
	s.applyApp()
	s.says(s.app(), "Waiting", "url", "username")
	s.absent(exported)
	s.provide("app-db", "app-db-details", map[string]string{"username": given["username"]}, `{"host": "db"}`)
	s.force(s.app(), 2)
	s.absent(exported)
	s.provide("app-db", "app-db-details", given, readyStatus(`"host": "db",`))
	s.says(s.app(), "Waiting", "ca")
	s.absent(exported)
	s.write("Secret", "ca", map[string]string{"crt": ca})
	s.becomes("Secret", "app-connection", want)
	s.says(s.app(), "Available")
	s.versions("app-connection", want)
}

// If a source changes, all keys of its Secret change at once.
func updates(s scenario) {
	var allowed []map[string]string

	s.open("App", connectionOfLogin)
	s.applyApp()

	for range 5 {
		given := login()
		allowed = append(allowed, connection(given))

		s.write("Secret", "login", given)
		s.becomes("Secret", "app-connection", connection(given))
	}

	s.says(s.app(), "Available")
	s.versions("app-connection", allowed...)
}

// Another owner has an object with the name. It is not changed. The Secret is created after that object is deleted.
func conflicts(s scenario) {
	given := login()

	s.open("App", connectionOfLogin)
	s.write("Secret", "login", given)
	s.write("Secret", "app-connection", map[string]string{"password": hush()})

	foreign := s.get(s.core("Secret", "app-connection"))

	s.applyApp()
	s.saysOf(foreign, "Conflict", "app-connection")
	s.force(s.app(), 3)
	s.untouched(foreign)
	s.remove(live.RefOf(foreign))
	s.becomes("Secret", "app-connection", connection(given))
	s.says(s.app(), "Available")
}

// If an input has an error, no part of it is applied, and existing objects are kept.
func refuses(s scenario) {
	given, later := login(), login()
	settings := func(value string) string {
		return connectionOfLogin + `- {name: more, data: [{key: password, value: secrets.login.password}]}
configMaps:
- {name: settings, data: [{key: name, value: ` + value + `}]}
`
	}

	s.open("App", connectionOfLogin)
	s.write("Secret", "login", given)
	s.applyApp()
	s.says(s.app(), "Available")

	before := s.get(s.core("Secret", "app-connection"))

	for value, place := range map[string]string{
		"compsite.metadata.name": "configMaps[0].data[0].value:1:1",
		"secrets.login.password": "configMaps[0].data[0].value",
	} {
		s.input("App", settings(value))
		s.saysOf(before, "InvalidInput", place)
		s.write("Secret", "login", later)
		s.stays(before)
		s.absent(s.core("Secret", "app-more"), s.core("ConfigMap", "app-settings"))
	}

	s.input("App", settings("composite.metadata.name"))
	s.becomes("Secret", "app-connection", connection(later))
	s.becomes("Secret", "app-more", map[string]string{"password": later["password"]})
	s.becomes("ConfigMap", "app-settings", map[string]string{"name": "app"})
	s.says(s.app(), "Available")
}

// A field is misspelled that the schema of the composite does not have. An export waits for it.
func namesMisspelledField(s scenario) {
	const misspelled = "configMaps[0].data[0].value:1:17: App of live.example.org/v1 has no field status.hots: " +
		"did you mean host?"

	s.open("App", "configMaps: [{name: settings, data: [{key: host, value: composite.status.hots}]}]")
	s.applyApp()
	s.says(s.app(), "Waiting", misspelled)
	s.eventually("a warning",
		func() error { return wantText(strings.Contains(events(s.ns), misspelled), "there is none") })
}

// A composite author adds an export of a Secret, makes a mistake, corrects it, and removes the export.
func exportsForAuthors(s scenario) {
	given := login()
	asks := func(value string) string {
		return fmt.Sprintf(`operatorSpec: {secretExpressions: [{name: mine, key: url, value: "%s"}], `+
			`configMapExpressions: [{name: mine, key: host, value: resources.db.status.host}]}`, value)
	}
	own := []live.Ref{s.core("Secret", "mine"), s.core("ConfigMap", "mine")}
	want := map[string]string{"url": "app://" + given["username"] + "@app"}

	s.open("App", `
fromComposite: {fieldPath: spec.operatorSpec, allow: {secrets: [db], resources: [db]}}
secrets: [{name: connection, from: db, data: [{key: password, value: secret.password}]}]
`, database)
	s.applyApp()
	s.provide("app-db", "app-db-details", given, readyStatus(`"host": "db",`))
	s.says(s.app(), "Available")
	s.absent(own...)
	s.applyApp(asks("'app://%s@%s'.format([secret.username, self.metadata.name])"))
	s.becomes("Secret", "mine", want)
	s.becomes("ConfigMap", "mine", map[string]string{"host": "db"})
	s.says(s.app(), "Available")
	s.applyApp(asks("secrt.username"))
	s.says(s.app(), "Held", "spec.operatorSpec.secretExpressions[0].value:1:1")
	s.becomes("Secret", "mine", want)
	s.applyApp()
	s.gone(own...)
	s.says(s.app(), "Available")
	s.becomes("Secret", "app-connection", map[string]string{"password": given["password"]})
}

// The Database of the composite victim will write its connection details to a Secret. Before the Secret exists, the
// author of the composite evil exports a Secret with its name. The provider of the Database does not write to a Secret
// that another object controls, but still reports that the Database is ready. Crossplane reads the Secret as if it
// belonged to the Database.
func exportsOwnConnections(s scenario) {
	given, later, victim := login(), login(), s.of("App", "victim")
	exported, forged := s.core("Secret", "victim-connection"), s.core("Secret", "victim-db-details")

	s.open("App", `
secrets: [{name: connection, from: db, data: [
  {valueMap: "{'username': secret.username, 'password': secret.password}"}]}]
fromComposite: {fieldPath: spec.operatorSpec, allow: {secrets: []}}
`, database)
	s.applyNamed("evil", `operatorSpec: {secretExpressions: [{name: victim-db-details, `+
		`value: "{'username': 'attacker', 'password': 'forged'}"}]}`)
	s.becomes("Secret", forged.Name, map[string]string{"username": "attacker", "password": "forged"})
	s.applyNamed("victim")
	s.eventually("victim's Database", func() error {
		return s.Patch(s.Context(), s.database("victim-db"), `{"status": `+readyStatus("")+`}`, "status")
	})
	s.says(victim, "Held", "db", "victim-db-details", "App evil")
	s.force(victim, 3)
	s.absent(exported)
	s.applyNamed("evil")
	s.gone(forged)
	s.connect("victim-db", forged.Name, given)
	s.becomes("Secret", exported.Name, given)
	s.says(victim, "Available")
	s.connect("victim-db", forged.Name, later)
	s.becomes("Secret", exported.Name, later)
	s.versions(exported.Name, given, later)
}

// A provider changes its Secret key by key. One export takes the keys as they are, and the other one waits until they
// match.
func exportsMatchingKeys(s scenario) {
	now := connection(login())
	allowed := []map[string]string{now}

	s.open("App", `
secrets:
- {name: plain, from: db, data: [{valueMap: "secret"}]}
- name: connection
  from: db
  data:
  - {key: username, value: secret.username}
  - key: password
    value: "secret.url == 'app://%s:%s@db'.format([secret.username, secret.password]) ?
      secret.password : secret['password that matches url']"
  - {key: url, value: secret.url}
`, database)
	s.applyApp()
	s.provide("app-db", "app-db-details", now, readyStatus(""))
	s.says(s.app(), "Available")

	for range 10 {
		given := connection(login())
		now = maps.Clone(now)

		for _, key := range []string{"username", "password", "url"} {
			time.Sleep(200 * time.Millisecond) // otherwise Crossplane may see only the last of the three changes

			now[key] = given[key]
			s.connect("app-db", "app-db-details", now)
		}

		allowed = append(allowed, given)
	}

	s.becomes("Secret", "app-connection", now)
	s.says(s.app(), "Available")
	s.versions("app-connection", allowed...)

	if everHad(s.ns, "app-plain", allowed...) == nil {
		s.Error("an export that does not wait never had values of two credentials: nothing is shown")
	}
}

// A claim has two Secrets: the exported Secret and its connection Secret.
func exportsToClaims(s scenario) {
	given, later := login(), login()
	both := func(data map[string]string) {
		s.Helper()
		s.becomes("Secret", "order-login", data)
		s.becomes("Secret", "order-details", data)
	}

	s.open("XOrder", `
sources: [{name: login, apiVersion: v1, kind: Secret, namespace: `+s.ns+`}]
secrets:
- name: connection
  metadata: {nameExpression: composite.spec.claimRef.name + '-login'}
  data: [{valueMap: "{'username': secrets.login.username, 'password': secrets.login.password}"}]
  connectionDetails: true
`)
	claim := s.applyOrder()
	s.says(claim, "Waiting", "login")
	s.absent(s.core("Secret", "order-login"))
	s.write("Secret", "login", given)
	both(given)
	s.says(claim, "Available")
	// Crossplane copies them to the claim when the composite has a new time of publication, in whole seconds.
	time.Sleep(1100 * time.Millisecond)
	s.write("Secret", "login", later)
	both(later)
	s.remove(s.core("Secret", "login"))
	s.says(claim, "Held", "login")
	both(later)
}

// An export composes one Secret for each user of the composite.
func exportsItems(s scenario) {
	given := login()
	has := func(user, role string) {
		s.Helper()
		s.becomes("Secret", "app-user-"+user,
			map[string]string{"name": user, "role": role, "password": given["password"]})
	}
	users := func(users ...string) { s.applyApp("users: [" + strings.Join(users, ", ") + "]") }
	read := func(users ...string) (out []*unstructured.Unstructured) {
		for _, user := range users {
			out = append(out, s.get(s.core("Secret", "app-user-"+user)))
		}

		return out
	}

	const anna, bert, carl = "{name: anna, role: reader}", "{name: bert, role: reader}", "{name: carl, role: reader}"

	s.open("App", loginSource+`
secrets:
- name: user
  forEachExpression: composite.spec.users
  keyExpression: item.name
  data:
  - {key: name, value: key}
  - {key: role, value: item.role}
  - {key: password, value: secrets.login.password}
`)
	s.write("Secret", "login", given)
	users(anna, bert)
	has("anna", "reader")
	has("bert", "reader")
	s.says(s.app(), "Available")

	before := read("anna", "bert")

	users(carl, anna, bert) // at the front, so that the index of the others changes
	has("carl", "reader")
	s.says(s.app(), "Available")
	s.untouched(before...)
	users(carl, bert) // an item is removed
	s.deleted("app-user-anna")
	s.says(s.app(), "Available")

	before = read("bert")

	// A key is there twice: bert's Secret stays, carl's follows its item, and a new item gets its Secret.
	users(bert, "{name: bert, role: admin}", "{name: carl, role: admin}", "{name: dora, role: admin}")
	has("carl", "admin")
	has("dora", "admin")
	s.says(s.app(), "Held", `"bert"`, "index 0 and 1", "user/bert")
	s.untouched(before...)

	before = read("bert", "carl", "dora")

	// An item without a key, while another item leaves the list: any of the Secrets may still have an item.
	users(bert, "{role: admin}")
	s.says(s.app(), "Held", "the item at index 1", "user/carl", "user/dora")
	s.untouched(before...)
	s.applyApp() // the list is missing
	s.says(s.app(), "Held", "composite.spec.users")
	s.untouched(before...)
	s.deleted("app-user-anna")
	users() // all items leave a list that is there
	s.deleted("app-user-anna", "app-user-carl", "app-user-dora", "app-user-bert")
	s.says(s.app(), "Available")
}

// deleted waits until exactly these Secrets have ever been deleted. No other Secret may have been.
func (s scenario) deleted(want ...string) {
	s.Helper()
	s.eventually("the end of Secrets", func() error {
		var got []string

		for _, e := range film.of(s.ns) {
			if e.kind == "DELETED" {
				got = append(got, e.object.GetName())
			}
		}

		diff := cmp.Diff(slices.Sorted(slices.Values(want)), slices.Sorted(slices.Values(got)))
		if len(got) > len(want) {
			return brokenf("deleted Secrets: -want, +got:\n%s", diff)
		}

		return wantText(diff == "", diff)
	})
}

// followedNames is a certificate with the name of the composite's Service, and the names that the composite has.
const followedNames = `
generators:
- name: server
  certificate:
    subject: {commonNameExpression: composite.metadata.name}
    dnsNamesExpression: "[composite.metadata.name + '.' + composite.metadata.namespace + '.svc'] +
      composite.spec.users.map(u, u.name)"
  refreshPolicy: OnChange
  gracePeriod: 1h
secrets:
- name: tls
  type: kubernetes.io/tls
  dataFrom: [{extract: {key: generated.server}}]
`

// A certificate follows the names of its composite. While they are missing or invalid, it is kept.
func followsNames(s scenario) {
	names := func(names string) { s.applyApp("users: [" + names + "]") }
	stillReady := func(reason, text string) { // the composite stays ready, because its certificate is in use
		s.Helper()
		s.eventually(reason, func() error {
			o, err := s.Get(s.Context(), s.app())
			if err != nil {
				return err
			}

			is, ready := live.ConditionOf(o, "ExportsReady"), live.ConditionOf(o, "Ready")

			return wantText(is.Reason == reason && strings.Contains(is.Message, text) && ready.Status == "True",
				fmt.Sprintf("ExportsReady is %+v, Ready is %+v", is, ready))
		})
	}

	s.open("App", followedNames)
	names("{name: a.example.org}")
	s.certified("a.example.org")
	names("{name: a_b}")
	stillReady("Held", "dnsNamesExpression: item 1 of its value")
	s.certified("a.example.org")
	s.applyApp()
	stillReady("Waiting", "composite.spec.users")
	s.certified("a.example.org")
	names("{name: b.example.org}")
	s.certified("b.example.org")
	s.says(s.app(), "Available")
}

// certified waits until the certificate is for the Service and another name.
func (s scenario) certified(name string) {
	s.Helper()
	s.eventually("a certificate for "+name, func() error {
		data, err := s.data("Secret", "app-tls")
		if err != nil {
			return err
		}

		block, _ := pem.Decode([]byte(data["tls.crt"]))
		if block == nil {
			return fmt.Errorf("there is no certificate")
		}

		cert, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			return err
		}

		return wantText(slices.Equal(cert.DNSNames, []string{"app." + s.ns + ".svc", name}),
			fmt.Sprintf("it is for %v", cert.DNSNames))
	})
}
