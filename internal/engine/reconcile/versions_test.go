package reconcile_test

import (
	"strings"
	"testing"

	"github.com/crossplane-contrib/function-export/internal/engine/lookup"
	"github.com/crossplane-contrib/function-export/internal/engine/plan/plantest"
)

// A Secret that was read in two versions may be half of each credential, so an export that reads it waits.
func TestTwoVersionsOfASecret(t *testing.T) {
	const (
		changed = "Secret team/conn (it changed while Crossplane read it)"
		prefix  = lookup.Prefix
		own     = `secrets: [{name: a, from: db, data: [{key: p, value: secret.password}]}]`
		sources = `
sources: [{name: one, apiVersion: v1, kind: KIND, matchName: conn}, {name: two, apiVersion: v1, kind: KIND,
  matchLabels: {a: b}}]
secrets: [{name: a, data: [{key: p, value: FIRST}, {key: q, value: SECOND}]}]`
	)
	bothSecrets := strings.NewReplacer("KIND", "Secret", "FIRST", "secrets.one.password", "SECOND",
		"secrets.two.password").Replace(sources)
	bothConfigMaps := strings.NewReplacer(
		"KIND", "ConfigMap", "FIRST", "sources.one.data.password", "SECOND", "'sources.two[0].data.password'",
	).Replace(sources)
	stored := func(kind, name, version, value string) string {
		return "{apiVersion: v1, kind: " + kind + ", metadata: {namespace: team, name: " + name +
			", resourceVersion: '" +
			version + "', labels: {a: b}, " +
			"ownerReferences: [{kind: DB, name: db-1, uid: u2, controller: true}]}, data: {password: " + value + "}}"
	}
	details := func(sent, stored string) string {
		return `
resources: {db: {object: {apiVersion: example.org/v1, kind: DB, metadata: {name: db-1, namespace: team, uid: u2},
  spec: {writeConnectionSecretToRef: {name: conn}}}, details: ` + sent + `}}
seeded:
  ` + prefix + `v1/Secret/team/name=xr-a: []
  ` + prefix + "v1/Secret/team/name=conn: [" + stored + "]\n"
	}
	read := func(kind, first, second string) string {
		return "seeded:\n  " + prefix + "v1/Secret/team/name=xr-a: []\n" +
			"  " + prefix + "v1/" + kind + "/team/name=conn: [" + first + "]\n  " + prefix + "v1/" + kind +
			"/team/labels=a=b: [" + second + "]\n"
	}
	for name, c := range map[string]struct {
		reason, input, objects, want string
	}{
		"DetailsSame": {
			"the resource has the details of the Secret", own,
			details("{password: canary}", stored("Secret", "conn", "2", "Y2FuYXJ5")), "",
		},
		"SourcesNewer": {
			"the Secret changed before the second source read it", bothSecrets,
			read(
				"Secret", stored("Secret", "conn", "1", "Y2FuYXJ5"), stored("Secret", "conn", "2", "Y2FuYXJ5LW5ldw=="),
			),
			changed,
		},
		"SourcesLabels": {
			"only its metadata changed", bothSecrets,
			read("Secret", stored("Secret", "conn", "1", "Y2FuYXJ5"), stored("Secret", "conn", "2", "Y2FuYXJ5")), "",
		},
		"ConfigMaps": {
			"a ConfigMap has no credential", bothConfigMaps,
			read("ConfigMap", stored("ConfigMap", "conn", "1", "a"), stored("ConfigMap", "conn", "2", "b")), "",
		},
		"DetailsAndSource": {
			"a source has read another version than the connection details",
			"sources: [{name: two, apiVersion: v1, kind: Secret, matchLabels: {a: b}}]\nsecrets: [{name: a, from: " +
				"db, data: [{key: p, value: secret.password}, {key: q, value: secrets.two.password}]}]",
			details(
				"{password: canary}", stored("Secret", "conn", "2", "Y2FuYXJ5"),
			) + "  " + prefix + "v1/Secret/team/labels=a=b: [" + stored("Secret", "conn", "1", "Y2FuYXJ5LW9sZA==") +
				"]\n",
			changed,
		},
	} {
		t.Run(name, func(t *testing.T) {
			result, err := newScene(t, plantest.Exports(c.input), c.objects).call(t)
			if err != nil {
				t.Fatal(err)
			}
			o := result.Objects[0]
			if waits := strings.Contains(o.Message, changed); waits != (c.want != "") || waits && o.Desired != nil {
				t.Errorf("Run(...): %s: want a key to wait for %q, got %q", c.reason, c.want, o.Message)
			}
		})
	}
}
