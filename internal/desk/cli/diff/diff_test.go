package diff

import (
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write the golden files")

// with returns the input of the tests with changes: pairs of a text in it and another one.
func with(t testing.TB, changes ...string) string {
	t.Helper()
	out := input
	for i := 0; i < len(changes); i += 2 {
		if !strings.Contains(out, changes[i]) {
			t.Fatalf("the input has no %q", changes[i])
		}
		out = strings.Replace(out, changes[i], changes[i+1], 1)
	}
	return out
}

// linesAbout returns the lines of an output about a composite, without their indentation and repeated blanks.
func linesAbout(out string) (lines []string) {
	for _, l := range strings.Split(out, "\n") {
		if strings.HasPrefix(l, "  ") && !strings.Contains(l, " | ") {
			l = regexp.MustCompile(`label \w{8} → \w{8}`).ReplaceAllString(l, "label … → …") // random
			lines = append(lines, strings.Join(strings.Fields(l), " "))
		}
	}
	return lines
}

const unready = "! PostgreSQL loses its readiness: the composite is not ready until this is resolved"

// TestEffects: what a change of the input does to a composite.
func TestEffects(t *testing.T) {
	dump := cluster(t, composed(input), instance("team-a", "orders"))
	for name, c := range map[string]struct {
		reason  string
		changes []string
		want    []string
	}{
		"Nothing": {"the same", nil, nil},
		"Key": {
			"one key is renamed",
			[]string{"{key: host,", "{key: PGHOST,"},
			[]string{"~ Secret orders-url host is removed, PGHOST is added"},
		},
		"Value": {
			"only the new value is known to be different", []string{"'postgres://'", "'postgresql://'"},
			[]string{"~ Secret orders-url DATABASE_URL changes (74 → 76 bytes)"},
		},
		"Rename": {
			"the default name of the object has the name of the export",
			[]string{"name: conn", "name: connection"},
			[]string{
				`- Secret orders-conn is deleted: its export was renamed to "connection": set metadata.name to orders-conn to ` +
					`keep the object`,
				"+ Secret orders-connection is created: it replaces Secret team-a/orders-conn, which is deleted",
			},
		},
		"RenamePinned": {
			"the same object under another name in the pipeline",
			[]string{"name: conn", "name: connection\n  metadata: {nameExpression: composite.metadata.name + '-conn'}"},
			[]string{`= Secret orders-conn is taken over: the same object, as "connection" in place of "conn"`},
		},
		"ObjectName": {
			"Crossplane does not rename objects",
			[]string{"name: conn", "name: conn\n  metadata: {name: other}"},
			[]string{"! Secret orders-conn is held: keeps the name team-a/orders-conn, because a composed resource cannot be " +
				"renamed: delete it to have it created as team-a/other"},
		},
		"Removed": {
			"an export is removed",
			[]string{"\n- name: conn\n  from: db\n  data: [{key: user, value: secret.username}]", ""},
			[]string{"- Secret orders-conn is deleted: no step composes it anymore"},
		},
		"NewExport": {
			"", []string{"secrets:", "secrets:\n- name: new\n  data: [{key: k, value: resources.db.status.endpoint}]"},
			[]string{"+ Secret orders-new is created"},
		},
		"Waits": {
			"a new export reads something that does not exist",
			[]string{"secrets:", "secrets:\n- name: new\n  data: [{key: k, value: resources.db.status.port}]"},
			[]string{`! Secret orders-new is not created: key "k" waits for resources.db.status.port ` +
				`(Instance orders-db exists)`, unready},
		},
		"Held": {
			"an export reads another key", []string{"secret.username}]", "secret.user}]"},
			[]string{`! Secret orders-conn is held: key "user" waits for secrets.db.user (Instance orders-db exists, and has ` +
				`the keys password, username)`, unready},
		},
		"Kind": {
			"an export is a ConfigMap now",
			[]string{
				"\n- name: conn\n  from: db\n  data: [{key: user, value: secret.username}]",
				"\nconfigMaps:\n- name: conn\n  data: [{key: user, value: resources.db.status.endpoint}]",
			},
			[]string{
				"! ConfigMap orders-conn is in conflict: the composed resource with that name has the kind Secret: give the " +
					"ConfigMap another name in configMaps[0].name", unready,
			},
		},
		"Invalid": {
			"nothing is applied", []string{"secret.username}]", "secret.username +}]"},
			[]string{"x PostgreSQL is refused: invalid input: secrets[1].data[0].value:1:18: ends too early: a value is " +
				"missing after +"},
		},
		"Length": {
			"the rotation takes several reconciles", []string{"length: 24", "length: 32"},
			[]string{
				"! generator admin rotates now: length 24 → 32 (refreshPolicy OnChange); generation 1 is kept until " +
					"2026-01-04T00:00:03Z",
				"~ Secret orders-url DATABASE_URL changes (74 → 82 bytes)",
			},
		},
		"Later": {
			"the interval counts from the creation of the generation", []string{"OnChange", "Periodic\n  refreshInterval: 720h"},
			[]string{"! generator admin rotates at 2026-01-31T00:00:00Z: refreshInterval none → 720h, refreshPolicy OnChange " +
				"→ Periodic (refreshPolicy Periodic)"},
		},
		"Due": {
			"the interval is over", []string{"OnChange", "Periodic\n  refreshInterval: 24h"},
			[]string{
				"! generator admin rotates now: refreshInterval none → 24h, refreshPolicy OnChange → Periodic (refreshPolicy " +
					"Periodic); generation 1 is kept until 2026-01-04T00:00:03Z",
				"~ Secret orders-url DATABASE_URL changes (74 bytes, label … → …)",
			},
		},
		"Policy": {"nothing happens until something else changes", []string{"OnChange", "CreatedOnce"}, nil},
		"Grace":  {"no generation is in its grace period", []string{"24h", "0s"}, nil},
		"RemovedGenerator": {
			"", []string{"+ generated.admin.password +", "+ 'x' +", "generators:\n- name: admin\n  password: {length: 24}\n  " +
				"refreshPolicy: OnChange\n  gracePeriod: 24h\n", ""},
			[]string{
				"~ Secret orders-url DATABASE_URL changes (74 → 51 bytes)",
				"! generator admin generation 1 retires: the generator left the input, and it is deleted at 2026-01-04T00:00:01Z",
			},
		},
		"NewGenerator": {
			"", []string{"generators:", "generators:\n- name: other\n  uuid: {}"},
			[]string{"+ Secret orders-other-1 is created: the first generation"},
		},
		"Reads": {
			"a new optional input", []string{
				"generators:", "sources:\n- {name: ca, apiVersion: example.org/v1, kind: Bundle, matchName: ca, optional: " +
					"true}\ngenerators:",
				"secret.username}]", "\"secret.username + sources.?ca.data.k.orValue('')\"}]",
			},
			[]string{"> Bundle ca is read, and was not read before: Crossplane needs the rights get, list and watch for " +
				"bundles of example.org"},
		},
		"Status": {"", []string{"fieldPath: endpoint", "fieldPath: host"}, []string{"~ PostgreSQL status.endpoint " +
			"changes, status.host changes"}},
		"Labels": {"", []string{"name: conn\n", "name: conn\n  metadata: {labels: {team: a}}\n"},
			[]string{"~ Secret orders-conn metadata.labels.team is added"}},
		"Environment": {"", []string{"generators:", "environment: {defaultData: {region: eu}}\ngenerators:"},
			[]string{"~ PostgreSQL environment.region changes"}},
	} {
		t.Run(name, func(t *testing.T) {
			out, code := run(t, Command{Output: "text"}, composed(with(t, c.changes...)), dump)
			if diff := cmp.Diff(c.want, linesAbout(out)); diff != "" {
				t.Errorf("%s\n-want, +got:\n%s\n%s", c.reason, diff, out)
			}
			if (code == 0) != (len(c.want) == 0) {
				t.Errorf("exit code %d", code)
			}
		})
	}
}

// TestPipelines: what changes of other steps, of the whole pipeline, or of composites of the v1 style do.
func TestPipelines(t *testing.T) {
	const secret = "      - {name: conn, base: {apiVersion: v1, kind: Secret, metadata: {name: orders-conn}, " +
		"stringData: {user: x}}}\n"
	withoutConn := with(t, "\n- name: conn\n  from: db\n  data: [{key: user, value: secret.username}]", "")
	const configs = "apiVersion: apiextensions.crossplane.io/v1beta1\nkind: EnvironmentConfig\nmetadata: {name: one}\n" +
		"data: {region: eu}\n---\n" +
		"apiVersion: apiextensions.crossplane.io/v1beta1\nkind: EnvironmentConfig\nmetadata: {name: two}\ndata: {region: " +
		"u}\n---\n"
	reads := composed(with(t, "secret.username}]", "secret.username + environment.region}]"))
	environment := strings.Replace(reads, "  - step: exports\n", `  - step: environment
    functionRef: {name: function-environment-configs}
    input:
      apiVersion: environmentconfigs.fn.crossplane.io/v1beta1
      kind: Input
      spec: {environmentConfigs: [{type: Reference, ref: {name: NAME}}]}
  - step: exports
`, 1)
	resources := "size: 1}}}\n"
	plain := composed(input)
	legacy := func(text string) string {
		return strings.NewReplacer("  namespace: team-a\n  name: orders\n  uid: xr-", "  name: orders\n  uid: xr-",
			"  crossplane:\n    compositionRef", "  compositionRef",
			"    resourceRefs:", "  resourceRefs:", "kind: Instance, name: orders-db}]", "kind: Instance, namespace: team-a, "+
				"name: orders-db}]\n  writeConnectionSecretToRef: {name: orders, namespace: team-a}",
			"spec: {size: 1, writeConnectionSecretToRef: {name: orders-db}}",
			"spec: {size: 1, writeConnectionSecretToRef: {name: orders-db, namespace: team-a}}").Replace(text)
	}
	published := strings.Replace(strings.ReplaceAll(input, "  from: db\n",
		"  metadata: {namespace: team-a}\n  from: db\n"), "name: conn\n", "name: conn\n  connectionDetails: true\n", 1)
	published = strings.Replace(published, "gracePeriod: 24h", "gracePeriod: 24h\n  namespace: team-a", 1)
	for name, c := range map[string]struct {
		reason       string
		inUse        string
		changed, was string // the instance
		want         []string
	}{
		"TakenOver": {
			"a Secret that function-patch-and-transform composed, as it is observed", strings.Replace(composed(withoutConn),
				resources, resources+secret, 1), plain, "",
			[]string{"~ Secret orders-conn user changes (1 → 19 bytes)", "= Secret orders-conn is taken over: the same " +
				"object, which another step composed"},
		},
		"Returned": {
			"the way back", plain, strings.Replace(composed(withoutConn), resources, resources+secret, 1), "",
			[]string{"~ Secret orders-conn user changes (19 → 1 bytes)", "= Secret orders-conn is taken over: the same " +
				"object, which another step composes"},
		},
		"ResourceRemoved": {"a resource of another step", plain, strings.Replace(plain, "      - {name: db, ",
			"      - {name: other, ", 1), "", []string{
			`- Instance orders-db is deleted: no step composes it anymore; composed resource "db" of another step`,
			"! PostgreSQL is held: status.endpoint is kept unchanged: it waits for resources.db (no earlier step composes it: " +
				"use other, or compose it in an earlier step)",
			`! Secret orders-conn is held: key "user" waits for resources.db (no earlier step composes it: use other, or ` +
				`compose it in an earlier step)`,
			`! Secret orders-url is held: key "DATABASE_URL" and key "host" wait for resources.db (no earlier step composes ` +
				`it: use other, or compose it in an earlier step)`,
			unready,
			`+ Instance orders-06c9bd9f6024 is created: composed resource "other" of another step`,
		}},
		"EnvironmentStep": {
			"function-environment-configs looks another object up", strings.Replace(environment, "NAME", "one", 1),
			strings.Replace(environment, "NAME", "two", 1),
			instance("team-a", "orders") + configs,
			[]string{
				"~ Secret orders-conn user changes (21 → 20 bytes)", "~ PostgreSQL environment.region changes",
				"> EnvironmentConfig two is read, and was not read before: Crossplane's default role permits that",
			},
		},
		"NoStep": {"this function is removed", plain, plain[:strings.Index(plain, "  - step: exports")], "", []string{
			"- Secret orders-admin-1 is deleted: no step composes it anymore",
			"- Secret orders-conn is deleted: no step composes it anymore",
			"- Secret orders-url is deleted: no step composes it anymore", "~ PostgreSQL status.endpoint changes",
		}},
		"NoInput": {"its input is missing", plain, plain[:strings.Index(plain, "    input:\n      apiVersion: export")], "",
			[]string{
				"x PostgreSQL is refused: invalid input: input: must be set: add an input of kind Exports to the pipeline step",
			}},
		"Legacy": {"connection details of a composite of the v1 style", composed(published),
			composed(strings.Replace(published, "{key: user,", "{key: login,", 1)), legacy(instance("team-a", "orders")),
			[]string{
				"~ Secret team-a/orders-conn user is removed, login is added", "~ Secret team-a/orders login is added",
			}},
		"Claim": {"its claim is not in the files", composed(published),
			composed(strings.Replace(published, "{key: user,", "{key: login,", 1)),
			strings.Replace(legacy(instance("team-a", "orders")), "spec:\n  composition", "spec:\n  claimRef: {apiVersion: "+
				"example.org/v1, kind: Postgres, namespace: team-a, name: shop}\n  composition", 1), []string{
				"~ Secret team-a/orders-conn user is removed, login is added", "~ Secret team-a/orders login is added",
			}},
	} {
		t.Run(name, func(t *testing.T) {
			if c.was == "" {
				c.was = instance("team-a", "orders")
			}
			out, _ := run(t, Command{Output: "text"}, c.changed, cluster(t, c.inUse, c.was))
			if diff := cmp.Diff(c.want, linesAbout(out)); diff != "" {
				t.Errorf("%s\n-want, +got:\n%s\n%s", c.reason, diff, out)
			}
		})
	}
}

// TestMistakesHavePlaces: a mistake in the changed Composition is printed with its place, as check prints it.
func TestMistakesHavePlaces(t *testing.T) {
	dump := cluster(t, composed(input), instance("team-a", "orders"))
	out, _ := run(t, Command{Output: "text"}, composed(with(t, "secret.username}]", "secret.username +}]")), dump)
	place := regexp.MustCompile(`(?m)^composition\.yaml:\d+:\d+: secrets\[1\]\.data\[0\]\.value: ends too early`)
	if !place.MatchString(out) {
		t.Errorf("want a line that matches %s:\n%s", place, out)
	}
}

// TestForeignKeys: what other clients add to an object is no effect of a change.
func TestForeignKeys(t *testing.T) {
	dump := strings.ReplaceAll(cluster(t, composed(input), instance("team-a", "orders")),
		"      export.fn.crossplane.io/revision:",
		"      example.org/note: x\n      export.fn.crossplane.io/revision:")
	dump = strings.ReplaceAll(dump, "\n    name: orders-conn\n", "\n    labels: {argocd.argoproj.io/instance: x}\n    "+
		"name: orders-conn\n")
	dump = strings.ReplaceAll(dump, "\n    user: ", "\n    other: eA==\n    user: ")
	held := []string{`! Secret orders-conn is held: key "user" waits for secrets.db.user (Instance orders-db exists, ` +
		`and has the keys password, username)`, unready}
	for name, c := range map[string]struct{ changes, want []string }{
		"Nothing": {nil, nil}, "Held": {[]string{"secret.username}]", "secret.user}]"}, held},
		"Key": {[]string{"{key: user,", "{key: login,"}, []string{"~ Secret orders-conn user is removed, login is added"}},
	} {
		out, _ := run(t, Command{Output: "text"}, composed(with(t, c.changes...)), dump)
		if diff := cmp.Diff(c.want, linesAbout(out)); diff != "" {
			t.Errorf("%s: -want, +got:\n%s\n%s", name, diff, out)
		}
	}
}

// TestOutputs: the formats, with several composites, one of which stays at its revision.
func TestOutputs(t *testing.T) {
	pinned := strings.Replace(instance("team-b", "old"), "{name: postgresql}", "{name: postgresql}\n    "+
		"compositionUpdatePolicy: Manual", 1)
	dump := cluster(t, composed(input), instance("team-a", "orders"), instance("team-b", "billing"), pinned)
	changed := composed(with(t, "length: 24", "length: 32", "name: conn", "name: connection"))
	for name, c := range map[string]struct {
		command Command
		code    int
	}{
		"text":     {Command{Output: "text"}, 1},
		"json":     {Command{Output: "json"}, 1},
		"markdown": {Command{Output: "markdown"}, 1},
		"github":   {Command{Output: "github"}, 1},
		"summary":  {Command{Output: "text", Summary: true}, 1},
		"only":     {Command{Output: "text", Only: []string{"deletes", "holds"}}, 1},
		"fail-on":  {Command{Output: "text", Only: []string{"notAffected"}, FailOn: []string{"holds", "conflicts"}}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			golden, err := filepath.Abs("testdata/" + name + ".txt")
			if err != nil {
				t.Fatal(err)
			}
			out, code := run(t, c.command, changed, dump)
			if code != c.code {
				t.Errorf("want the exit code %d, got %d", c.code, code)
			}
			if *update {
				if err := os.WriteFile(golden, []byte(out), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if diff := cmp.Diff(string(want), out); err != nil || diff != "" {
				t.Errorf("-want, +got: %v\n%s", err, diff)
			}
		})
	}
}
