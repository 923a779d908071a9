package reconcile_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/crossplane-contrib/function-export/internal/engine/object"
	"github.com/crossplane-contrib/function-export/internal/engine/plan/plantest"
	"github.com/crossplane-contrib/function-export/internal/engine/reconcile"
	"github.com/crossplane-contrib/function-export/internal/engine/wire"
)

// stores are two composed resources with connection details, and one that an
// earlier step composes and that has none yet.
const stores = `
composite: {apiVersion: example.org/v1, kind: App, metadata: {name: xr, namespace: team, uid: u1}, spec: {size: 3}}
resources:
  cache:
    object: {apiVersion: example.org/v1, kind: Cache, metadata: {name: c, labels: {env: dev}}}
    details: {port: canary-6379, host: canary-host, "tls/ca": canary-ca}
  db:
    object: {apiVersion: example.org/v1, kind: DB, metadata: {name: d, labels: {env: prod}}}
    details: {port: canary-5432, config: '{"user": "canary-u", "nested": {"n": 12345678901234567890, "s": "canary-s", "l": [1.10, "<"]}}'}
environment: {region: eu, deep: {a: x, num: 5, o: {k: v}}}
`

func TestRunDataFrom(t *testing.T) {
	const (
		findable = "cluster: [{apiVersion: v1, kind: Secret, metadata: {name: s, namespace: team, labels: {env: " +
			"prod}}, data: {k: Y2FuYXJ5LXM=, port: Y2FuYXJ5LXA=}}, " +
			"{apiVersion: v1, kind: ConfigMap, metadata: {name: scm, namespace: team, labels: {env: prod}}, data: {port: '1'}}]\n"
		findSources = "sources: [{name: s, apiVersion: v1, kind: Secret}, {name: scm, apiVersion: v1, kind: ConfigMap}]\n"
	)
	unreadable := "resources:\n"
	for i := range 100 {
		unreadable += fmt.Sprintf(
			"  c%02[1]d: {object: {kind: Cache, metadata: {name: c, namespace: team, uid: u}}, details: {port: canary}}\n", i,
		)
	}
	// want is the state and the data, or the message.
	cases := map[string]struct {
		reason  string
		objects string
		input   string
		want    string
	}{
		"ExtractRewritten": {
			reason: "under other names",
			input:  `secrets: [{name: a, dataFrom: [{extract: {key: cache}, conversionStrategy: Unicode, rewrite: [{regexp: {source: '^(.*)$', target: 'REDIS_$1'}}, {transform: {keyExpression: key.upperAscii()}}]}]}]`,
			want:   `Available | REDIS_HOST=canary-host REDIS_PORT=canary-6379 REDIS_TLS_U002f_CA=canary-ca`,
		},
		"ExtractProperty": {
			reason: "the members of a JSON value, numbers as they are written",
			input:  `secrets: [{name: a, dataFrom: [{extract: {key: db, property: config.nested}}]}]`,
			want:   `Available | l=[1.10,"<"] n=12345678901234567890 s=canary-s`,
		},
		"ExtractOptional": {
			reason: "unless it is optional",
			input:  `secrets: [{name: a, dataFrom: [{extract: {key: gone}, optional: true}], data: [{key: k, value: "'v'"}]}]`,
			want:   `Available | k=v`,
		},
		"ExtractNull": {
			reason:  "a key without a value is left out, because the input does not name it",
			objects: stores + "environment: {deep: {a: x, z: null}}",
			input:   `configMaps: [{name: a, dataFrom: [{extract: {key: environment, property: deep}}]}]`,
			want:    `Available | a=x`,
		},
		"FindByPathAndName": {
			reason: "the name is matched only in keys that have the path",
			input:  `secrets: [{name: a, dataFrom: [{find: {path: db/p, name: {regexp: o}}}]}]`,
			want:   `Available | db_port=canary-5432`,
		},
		"FindToCome": {
			reason:  "connection details that an earlier step has written are waited for: a find must not shrink when a resource is away",
			objects: stores + "desired: {queue: {spec: {writeConnectionSecretToRef: {name: q}}}, other: {spec: {}}}",
			input:   `secrets: [{name: a, dataFrom: [{find: {name: {regexp: port}}}]}]`,
			want:    `Waiting | Secret "a" (team/xr-a) is not created: secrets[0].dataFrom[0] waits for secrets.queue (it does not exist yet)`,
		},
		"FindToComeOptional": {
			reason:  "even if the find is optional: that is for one which matches nothing",
			objects: stores + "desired: {queue: {spec: {writeConnectionSecretToRef: {name: q}}}}",
			input:   `secrets: [{name: a, dataFrom: [{find: {name: {regexp: port}}, optional: true}]}]`,
			want:    `Waiting | Secret "a" (team/xr-a) is not created: secrets[0].dataFrom[0] waits for secrets.queue (it does not exist yet)`,
		},
		"ExtractNotReady": {
			reason:  "before a resource is ready it may not have all of its connection details",
			objects: `resources: {cache: {object: {kind: Cache, status: {conditions: [{type: Synced, status: "False"}, {type: Ready, status: "False"}]}}, details: {port: canary}}}`,
			input:   `secrets: [{name: a, dataFrom: [{extract: {key: cache}}]}, {name: b, dataFrom: [{find: {path: ca}}]}]`,
			want:    `Waiting | Secret "a" (team/xr-a) is not created: secrets[0].dataFrom[0] waits for resources.cache to be ready (Cache)`,
		},
		"ExtractOptionalNotReady": {
			reason: "an optional entry is not left out while its resource is not ready: the Secret keeps its keys",
			objects: `resources:
  a: {object: {apiVersion: v1, kind: Secret, metadata: {name: xr-a}, type: Opaque, data: {port: Y2FuYXJ5}}}
  cache: {object: {kind: Cache, status: {conditions: [{type: Ready, status: "False"}]}}, details: {port: canary}}`,
			input: `secrets: [{name: a, dataFrom: [{extract: {key: cache}, optional: true}], data: [{key: k, value: "'v'"}]}]`,
			want:  `Held | Secret "a" (team/xr-a) is kept unchanged: secrets[0].dataFrom[0] waits for resources.cache to be ready (Cache)`,
		},
		"ExtractEnvironment": {
			reason: "a field of the environment, also for a ConfigMap",
			input:  `configMaps: [{name: a, dataFrom: [{extract: {key: environment, property: deep}}]}]`,
			want:   `Available | a=x num=5 o={"k":"v"}`,
		},
		"ExtractSourceProperty": {
			reason:  "the members of a JSON value in it",
			objects: stores + "cluster: [{apiVersion: v1, kind: ConfigMap, metadata: {name: cfg, namespace: team}, data: {app: '{\"a\": 1}'}}]",
			input:   "sources: [{name: cfg, apiVersion: v1, kind: ConfigMap}]\nconfigMaps: [{name: a, dataFrom: [{extract: {key: cfg, property: app}}]}]",
			want:    "Available | a=1",
		},
		"FindSameOrder": {
			reason:  "of several resources that cannot be read, the message always names the first",
			objects: unreadable,
			input:   `secrets: [{name: a, dataFrom: [{find: {path: c}}]}]`,
			want: `Held | Secret "a" (team/xr-a) is not created: secrets[0].dataFrom[0]: cannot use the connection ` +
				`details of resource "c00": it names no Secret for them: set its spec.writeConnectionSecretToRef`,
		},
		"ExtractOptionalSecretGone": {
			reason:  "nor while their Secret does not exist",
			objects: `resources: {cache: {object: {kind: Cache, metadata: {name: c, namespace: team, uid: u-c}, spec: {writeConnectionSecretToRef: {name: c}}}, details: {port: canary}}}`,
			input:   `secrets: [{name: a, dataFrom: [{extract: {key: cache}, optional: true}], data: [{key: k, value: "'v'"}]}]`,
			want:    `Waiting | Secret "a" (team/xr-a) is not created: secrets[0].dataFrom[0] waits for Secret team/c (connection details of resource "cache")`,
		},
		"FindSourceByName": {
			reason:  "and by the names of their keys",
			objects: stores + findable,
			input:   findSources + `secrets: [{name: a, dataFrom: [{find: {name: {regexp: "^s/port$"}}}]}]`,
			want:    `Available | s_port=canary-p`,
		},
		"FindSourceMissing": {
			reason:  "a Secret source that does not exist is waited for, and a ConfigMap source is not: a find never reads it",
			objects: stores,
			input: findSources + `
secrets: [{name: a, dataFrom: [{find: {path: s}, optional: true}], data: [{key: k, value: "'v'"}]}]
configMaps: [{name: b, data: [{key: k, value: sources.scm.data.port}]}]`,
			want: `Waiting | Secret "a" (team/xr-a) is not created: secrets[0].dataFrom[0] waits for secrets.s ` +
				`(Secret team/s does not exist)`,
		},
		"FindSourceFails": {
			reason:  "a source that cannot be used is not left out",
			objects: stores + strings.Replace(findable, "k: Y2FuYXJ5LXM=", "k: '!'", 1),
			input:   findSources + `secrets: [{name: a, dataFrom: [{find: {path: s}}]}]`,
			want: `Held | Secret "a" (team/xr-a) is not created: secrets[0].dataFrom[0]: reads secrets.s, which ` +
				`cannot be used: cannot decode key "k": its value is not what the API server returns`,
		},
		"ExtractPropertyOfNoKey": {
			reason: "the key of the property may still appear",
			input:  `secrets: [{name: a, dataFrom: [{extract: {key: db, property: nope.x}}]}]`,
			want:   `Waiting | Secret "a" (team/xr-a) is not created: secrets[0].dataFrom[0] waits for "nope" of "db"`,
		},
		"ExtractBroken": {
			reason: "a ConfigMap is not what an API server returns",
			objects: stores + "cluster: [{apiVersion: v1, kind: ConfigMap, metadata: {name: cfg, namespace: team}, " +
				"data: {mode: fast}, binaryData: {bin: '!'}}]",
			input: "sources: [{name: cfg, apiVersion: v1, kind: ConfigMap}]\nsecrets: [{name: a, dataFrom: [{extract: {key: cfg}}]}]",
			want: `Held | Secret "a" (team/xr-a) is not created: secrets[0].dataFrom[0]: cannot decode key "bin": ` +
				`its value is not what the API server returns`,
		},
		"TransformFails": {
			reason: "the message says why a key cannot be renamed",
			input: `secrets: [{name: a, dataFrom: [{extract: {key: cache}, ` +
				`rewrite: [{transform: {keyExpression: "string(1 / (key.size() - 4))"}}]}]}]`,
			want: `Held | Secret "a" (team/xr-a) is not created: secrets[0].dataFrom[0].rewrite[0].transform: cannot ` +
				`rename "host" of "cache": secrets[0].dataFrom[0].rewrite[0].transform.keyExpression:1:10: / failed on ` +
				`int and int: the divisor is zero, or an operand is not a number`,
		},
		"ConflictOfEntries": {
			reason: "also between entries",
			input:  `secrets: [{name: a, from: db, data: [{key: port, value: secret.port}], dataFrom: [{extract: {key: cache}}]}]`,
			want:   `Held | Secret "a" (team/xr-a) is not created: key "port" is written by secrets[0].dataFrom[0] (key "port" of "cache") and secrets[0].data[0].value: keep one of them, or set conflictPolicy: LastWins`,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			w := tc.objects
			if w == "" {
				w = stores
			}
			got := bulkText(newScene(t, plantest.Exports(tc.input), w).run(t).Objects[0])
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("Run(...): %s: -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

// Before Crossplane has looked, an optional source may exist: an existing Secret keeps its keys.
func TestFindUnread(t *testing.T) {
	s := newScene(t, plantest.Exports(`
sources: [{name: s, apiVersion: v1, kind: Secret, optional: true}]
secrets: [{name: a, dataFrom: [{find: {name: {regexp: port}}}]}]`), `
resources:
  a: {object: {apiVersion: v1, kind: Secret, metadata: {name: xr-a, namespace: team}, data: {s_port: Y2FuYXJ5}}}
  db: {object: {kind: DB}, details: {port: canary}}`)
	r, err := s.call(t)
	if err != nil {
		t.Fatal(err)
	}
	want := `Held | Secret "a" (team/xr-a) is kept unchanged: secrets[0].dataFrom[0] waits for secrets.s (Secret team/s)`
	if diff := cmp.Diff(want, bulkText(r.Objects[0])); diff != "" {
		t.Errorf("Run(...): -want, +got:\n%s", diff)
	}
}

// bulkText is the state, and the message or the data.
func bulkText(o reconcile.Object) string {
	if o.Message != "" {
		return o.State.String() + " | " + o.Message
	}
	data, err := object.DataOf(wire.Of(o.Desired))
	if err != nil {
		return err.Error()
	}
	var keys []string
	for _, k := range slices.Sorted(maps.Keys(data)) {
		keys = append(keys, k+"="+string(data[k].Reveal()))
	}
	return o.State.String() + " | " + strings.Join(keys, " ")
}
