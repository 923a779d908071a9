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
	// emptied is a ready resource with a connection Secret without data.
	const emptied = `
cluster: [{apiVersion: v1, kind: Secret, metadata: {namespace: team, name: c, ownerReferences: [{kind: Cache, name: c-1, uid: u-c, controller: true}]}, data: {}}]
resources: {cache: {object: {apiVersion: example.org/v1, kind: Cache, metadata: {name: c-1, namespace: team, uid: u-c}, spec: {writeConnectionSecretToRef: {name: c}}, status: {conditions: [{type: Ready, status: "True"}]}}}}
`
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
		"Extract": {
			reason: "all keys of one input; what no key can have is converted",
			input:  `secrets: [{name: a, dataFrom: [{extract: {key: cache}}]}]`,
			want:   `Available | host=canary-host port=canary-6379 tls_ca=canary-ca`,
		},
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
		"ExtractPropertyMissing": {
			reason: "which may still come",
			input:  `secrets: [{name: a, dataFrom: [{extract: {key: db, property: config.nope}}]}]`,
			want:   `Waiting | Secret "a" (team/xr-a) is not created: secrets[0].dataFrom[0] waits for "nope" in "config" of "db"`,
		},
		"ExtractPropertyNoJSON": {
			reason: "or not be there at all",
			input:  `secrets: [{name: a, dataFrom: [{extract: {key: db, property: port}}]}]`,
			want:   `Held | Secret "a" (team/xr-a) is not created: secrets[0].dataFrom[0]: the value of "port" of "db" is not a JSON object`,
		},
		"ExtractAbsent": {
			reason: "an input that is not there waits",
			input:  `secrets: [{name: a, dataFrom: [{extract: {key: gone}}]}]`,
			want:   `Waiting | Secret "a" (team/xr-a) is not created: secrets[0].dataFrom[0] waits for secrets.gone (no earlier step composes it: use one of cache, db, or compose it in an earlier step)`,
		},
		"ExtractOptional": {
			reason: "unless it is optional",
			input:  `secrets: [{name: a, dataFrom: [{extract: {key: gone}, optional: true}], data: [{key: k, value: "'v'"}]}]`,
			want:   `Available | k=v`,
		},
		"ExtractEmpty": {
			reason:  "an entry without a key also waits",
			objects: `resources: {cache: {object: {kind: Cache}}}`,
			input:   `secrets: [{name: a, dataFrom: [{extract: {key: cache}}]}]`,
			want:    `Waiting | Secret "a" (team/xr-a) is not created: secrets[0].dataFrom[0] waits for "cache" to have a key`,
		},
		"ExtractEnvironment": {
			reason: "a field of the environment, also for a ConfigMap",
			input:  `configMaps: [{name: a, dataFrom: [{extract: {key: environment, property: deep}}]}]`,
			want:   `Available | a=x num=5 o={"k":"v"}`,
		},
		"ExtractSource": {
			reason:  "the data of a ConfigMap source",
			objects: stores + "cluster: [{apiVersion: v1, kind: ConfigMap, metadata: {name: cfg, namespace: team}, data: {mode: fast}}]",
			input:   "sources: [{name: cfg, apiVersion: v1, kind: ConfigMap}]\nconfigMaps: [{name: a, dataFrom: [{extract: {key: cfg}}]}]",
			want:    `Available | mode=fast`,
		},
		"ExtractBinary": {
			reason:  "also binary data",
			objects: stores + "cluster: [{apiVersion: v1, kind: ConfigMap, metadata: {name: cfg, namespace: team}, data: {mode: fast}, binaryData: {bin: AQI=}}]",
			input:   "sources: [{name: cfg, apiVersion: v1, kind: ConfigMap}]\nsecrets: [{name: a, dataFrom: [{extract: {key: cfg}}]}]",
			want:    "Available | bin=\x01\x02 mode=fast",
		},
		"ExtractSourceProperty": {
			reason:  "the members of a JSON value in it",
			objects: stores + "cluster: [{apiVersion: v1, kind: ConfigMap, metadata: {name: cfg, namespace: team}, data: {app: '{\"a\": 1}'}}]",
			input:   "sources: [{name: cfg, apiVersion: v1, kind: ConfigMap}]\nconfigMaps: [{name: a, dataFrom: [{extract: {key: cfg, property: app}}]}]",
			want:    "Available | a=1",
		},
		"ExtractSourceAbsent": {
			reason: "a source that is not there",
			input:  "sources: [{name: cfg, apiVersion: v1, kind: ConfigMap}]\nconfigMaps: [{name: a, dataFrom: [{extract: {key: cfg}}]}]",
			want:   `Waiting | ConfigMap "a" (team/xr-a) is not created: configMaps[0].dataFrom[0] waits for sources.cfg (ConfigMap team/cfg does not exist)`,
		},
		"ExtractSourcePropertyAbsent": {
			reason: "a member of a source that is not there waits for the source",
			input: "sources: [{name: cfg, apiVersion: v1, kind: ConfigMap}]\n" +
				"configMaps: [{name: a, dataFrom: [{extract: {key: cfg, property: app}}]}]",
			want: `Waiting | ConfigMap "a" (team/xr-a) is not created: configMaps[0].dataFrom[0] waits for ` +
				`sources.cfg (ConfigMap team/cfg does not exist)`,
		},
		"ExtractComposite": {
			reason:  "the composite's own connection details, whatever resource the export is from",
			objects: stores + "details: {password: canary-composite}",
			input:   `secrets: [{name: a, from: db, dataFrom: [{extract: {key: composite}}]}]`,
			want:    `Available | password=canary-composite`,
		},
		"ExtractNull": {
			reason:  "a key without a value is left out, because the input does not name it",
			objects: stores + "environment: {deep: {a: x, z: null}}",
			input:   `configMaps: [{name: a, dataFrom: [{extract: {key: environment, property: deep}}]}]`,
			want:    `Available | a=x`,
		},
		"ExtractSecretSource": {
			reason:  "the data of a Secret source",
			objects: stores + "cluster: [{apiVersion: v1, kind: Secret, metadata: {name: s, namespace: team}, data: {k: Y2FuYXJ5LXM=}}]",
			input:   "sources: [{name: s, apiVersion: v1, kind: Secret}]\nsecrets: [{name: a, dataFrom: [{extract: {key: s}}]}]",
			want:    `Available | k=canary-s`,
		},
		"ExtractBytes": {
			reason:  "a value of a Secret that is not text stays as it is",
			objects: stores + "cluster: [{apiVersion: v1, kind: Secret, metadata: {name: s, namespace: team}, data: {k: /wE=}}]",
			input:   "sources: [{name: s, apiVersion: v1, kind: Secret}]\nsecrets: [{name: a, dataFrom: [{extract: {key: s}}]}]",
			want:    "Available | k=\xff\x01",
		},
		"Find": {
			reason: "all inputs whose keys match path, name and tags, by their path",
			input:  `secrets: [{name: a, dataFrom: [{find: {path: cache/, name: {regexp: 'port|host'}, tags: {env: dev}}, rewrite: [{regexp: {source: 'cache/(.*)', target: 'REDIS_$1'}}]}]}]`,
			want:   `Available | REDIS_host=canary-host REDIS_port=canary-6379`,
		},
		"FindByName": {
			reason: "the name is matched anywhere below the path",
			input:  `secrets: [{name: a, dataFrom: [{find: {name: {regexp: port}}}]}]`,
			want:   `Available | cache_port=canary-6379 db_port=canary-5432`,
		},
		"FindByPathAndName": {
			reason: "the name is matched only in keys that have the path",
			input:  `secrets: [{name: a, dataFrom: [{find: {path: db/p, name: {regexp: o}}}]}]`,
			want:   `Available | db_port=canary-5432`,
		},
		"FindEmptyValue": {
			reason:  "an empty value has no name in the input, and is left out",
			objects: `resources: {db: {object: {kind: DB}, details: {port: canary-5432, none: ""}}}`,
			input:   `secrets: [{name: a, dataFrom: [{find: {path: db/}}]}]`,
			want:    `Available | db_port=canary-5432`,
		},
		"FindSameOrder": {
			reason:  "of several resources that cannot be read, the message always names the first",
			objects: unreadable,
			input:   `secrets: [{name: a, dataFrom: [{find: {path: c}}]}]`,
			want: `Held | Secret "a" (team/xr-a) is not created: secrets[0].dataFrom[0]: cannot use the connection ` +
				`details of resource "c00": it names no Secret for them: set its spec.writeConnectionSecretToRef`,
		},
		"FindNothing": {
			reason: "nothing waits",
			input:  `secrets: [{name: a, dataFrom: [{find: {tags: {env: test}}}]}]`,
			want:   `Waiting | Secret "a" (team/xr-a) is not created: secrets[0].dataFrom[0] waits for a key that find matches: write its path and its name.regexp for names such as cache/<key>, db/<key>`,
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
		"FindObservedToCome": {
			reason:  "and those of an observed resource",
			objects: `resources: {cache: {object: {kind: Cache, spec: {writeConnectionSecretToRef: {name: c}}}}}`,
			input:   `secrets: [{name: a, dataFrom: [{find: {path: ca}, optional: true}]}]`,
			want:    `Waiting | Secret "a" (team/xr-a) is not created: secrets[0].dataFrom[0] waits for secrets.cache (Cache exists, and has no connection details)`,
		},
		"ExtractNotReady": {
			reason:  "before a resource is ready it may not have all of its connection details",
			objects: `resources: {cache: {object: {kind: Cache, status: {conditions: [{type: Synced, status: "False"}, {type: Ready, status: "False"}]}}, details: {port: canary}}}`,
			input:   `secrets: [{name: a, dataFrom: [{extract: {key: cache}}]}, {name: b, dataFrom: [{find: {path: ca}}]}]`,
			want:    `Waiting | Secret "a" (team/xr-a) is not created: secrets[0].dataFrom[0] waits for resources.cache to be ready (Cache)`,
		},
		"FindNotReady": {
			reason:  "nor for a find",
			objects: `resources: {cache: {object: {kind: Cache, status: {conditions: [{type: Ready, status: "False"}]}}, details: {port: canary}}}`,
			input:   `secrets: [{name: b, dataFrom: [{find: {path: ca}}]}]`,
			want:    `Waiting | Secret "b" (team/xr-b) is not created: secrets[0].dataFrom[0] waits for resources.cache to be ready (Cache)`,
		},
		"FindNotReadyElsewhere": {
			reason: "a resource that the path leaves out need not be ready",
			objects: `
resources:
  cache: {object: {kind: Cache, status: {conditions: [{type: Ready, status: "False"}]}}, details: {port: canary}}
  db: {object: {kind: DB}, details: {port: canary-5432}}`,
			input: `secrets: [{name: a, dataFrom: [{find: {path: db/}}]}]`,
			want:  `Available | db_port=canary-5432`,
		},
		"ExtractWithoutReadiness": {
			reason: "a resource without the condition Ready and with connection details is not waited for",
			objects: `resources: {cache: {object: {kind: Cache, spec: {writeConnectionSecretToRef: {name: c}}}, ` +
				`details: {port: canary}}}`,
			input: `secrets: [{name: a, dataFrom: [{extract: {key: cache}}]}]`,
			want:  `Available | port=canary`,
		},
		"ExtractReady": {
			reason:  "and then it has",
			objects: `resources: {cache: {object: {kind: Cache, status: {conditions: [{type: Ready, status: "True"}]}}, details: {port: canary, empty: ""}}}`,
			input:   `secrets: [{name: a, dataFrom: [{extract: {key: cache}}]}]`,
			want:    `Available | port=canary`,
		},
		"ExtractOptionalNotReady": {
			reason: "an optional entry is not left out while its resource is not ready: the Secret keeps its keys",
			objects: `resources:
  a: {object: {apiVersion: v1, kind: Secret, metadata: {name: xr-a}, type: Opaque, data: {port: Y2FuYXJ5}}}
  cache: {object: {kind: Cache, status: {conditions: [{type: Ready, status: "False"}]}}, details: {port: canary}}`,
			input: `secrets: [{name: a, dataFrom: [{extract: {key: cache}, optional: true}], data: [{key: k, value: "'v'"}]}]`,
			want:  `Held | Secret "a" (team/xr-a) is kept unchanged: secrets[0].dataFrom[0] waits for resources.cache to be ready (Cache)`,
		},
		"ExtractOptionalNotReadyProperty": {
			reason:  "nor are the members of one of its values",
			objects: `resources: {cache: {object: {kind: Cache, status: {conditions: [{type: Ready, status: Unknown}]}}, details: {config: '{"a": "b"}'}}}`,
			input:   `secrets: [{name: a, dataFrom: [{extract: {key: cache, property: config}, optional: true}], data: [{key: k, value: "'v'"}]}]`,
			want:    `Waiting | Secret "a" (team/xr-a) is not created: secrets[0].dataFrom[0] waits for resources.cache to be ready (Cache)`,
		},
		"ExtractOptionalObservedToCome": {
			reason:  "nor while the connection details of an observed resource do not exist",
			objects: `resources: {cache: {object: {kind: Cache, spec: {writeConnectionSecretToRef: {name: c}}, status: {conditions: [{type: Ready, status: "False"}]}}}}`,
			input:   `secrets: [{name: a, dataFrom: [{extract: {key: cache}, optional: true}], data: [{key: k, value: "'v'"}]}]`,
			want:    `Waiting | Secret "a" (team/xr-a) is not created: secrets[0].dataFrom[0] waits for resources.cache to be ready (Cache), secrets.cache (Cache is not ready, and has no connection details)`,
		},
		"ExtractOptionalSecretGone": {
			reason:  "nor while their Secret does not exist",
			objects: `resources: {cache: {object: {kind: Cache, metadata: {name: c, namespace: team, uid: u-c}, spec: {writeConnectionSecretToRef: {name: c}}}, details: {port: canary}}}`,
			input:   `secrets: [{name: a, dataFrom: [{extract: {key: cache}, optional: true}], data: [{key: k, value: "'v'"}]}]`,
			want:    `Waiting | Secret "a" (team/xr-a) is not created: secrets[0].dataFrom[0] waits for Secret team/c (connection details of resource "cache")`,
		},
		"ExtractOptionalSecretEmpty": {
			reason:  "an optional entry is left out if the resource is ready and its Secret is empty: it has no connection details",
			objects: emptied,
			input:   `secrets: [{name: a, dataFrom: [{extract: {key: cache}, optional: true}], data: [{key: k, value: "'v'"}]}]`,
			want:    `Available | k=v`,
		},
		"ExtractSecretEmpty": {
			reason:  "without optional it waits for a key",
			objects: emptied,
			input:   `secrets: [{name: a, dataFrom: [{extract: {key: cache}}], data: [{key: k, value: "'v'"}]}]`,
			want:    `Waiting | Secret "a" (team/xr-a) is not created: secrets[0].dataFrom[0] waits for "cache" to have a key`,
		},
		"ExtractOptionalEmptyNotReady": {
			reason:  "its keys may still come while it is not ready",
			objects: strings.Replace(emptied, `"True"`, `"False"`, 1),
			input:   `secrets: [{name: a, dataFrom: [{extract: {key: cache}, optional: true}], data: [{key: k, value: "'v'"}]}]`,
			want:    `Waiting | Secret "a" (team/xr-a) is not created: secrets[0].dataFrom[0] waits for resources.cache to be ready (Cache c-1), secrets.cache (Cache c-1 is not ready, and has no connection details)`,
		},
		"ExtractOptionalEmptyUnknown": {
			reason:  "also while it has no condition",
			objects: strings.Replace(emptied, "type: Ready", "type: Synced", 1),
			input:   `secrets: [{name: a, dataFrom: [{extract: {key: cache}, optional: true}], data: [{key: k, value: "'v'"}]}]`,
			want:    `Waiting | Secret "a" (team/xr-a) is not created: secrets[0].dataFrom[0] waits for secrets.cache (Cache c-1 exists, and has no connection details)`,
		},
		"ExtractOptionalReadyNoSecret": {
			reason:  "also while its Secret does not exist, because the provider creates it again",
			objects: strings.Replace(emptied, "name: c, owner", "name: other, owner", 1),
			input:   `secrets: [{name: a, dataFrom: [{extract: {key: cache}, optional: true}], data: [{key: k, value: "'v'"}]}]`,
			want:    `Waiting | Secret "a" (team/xr-a) is not created: secrets[0].dataFrom[0] waits for secrets.cache (Cache c-1 is ready, and its connection Secret does not exist yet)`,
		},
		"FindEmpty": {
			reason:  "a find does not wait for a ready resource without connection details",
			objects: emptied,
			input:   `secrets: [{name: a, dataFrom: [{find: {path: ca}, optional: true}], data: [{key: k, value: "'v'"}]}]`,
			want:    `Available | k=v`,
		},
		"FindEmptyNotReady": {
			reason:  "but before it is ready",
			objects: strings.Replace(emptied, `"True"`, `"False"`, 1),
			input:   `secrets: [{name: a, dataFrom: [{find: {path: ca}, optional: true}], data: [{key: k, value: "'v'"}]}]`,
			want:    `Waiting | Secret "a" (team/xr-a) is not created: secrets[0].dataFrom[0] waits for resources.cache to be ready (Cache c-1), secrets.cache (Cache c-1 is not ready, and has no connection details)`,
		},
		"ExtractOptionalToCome": {
			reason: "nor before a resource that an earlier step composes with connection details is observed again",
			objects: `desired: {queue: {spec: {writeConnectionSecretToRef: {name: q}}}}
resources: {a: {object: {apiVersion: v1, kind: Secret, metadata: {name: xr-a}, type: Opaque, data: {port: Y2FuYXJ5}}}}`,
			input: `secrets: [{name: a, dataFrom: [{extract: {key: queue}, optional: true}], data: [{key: k, value: "'v'"}]}]`,
			want:  `Held | Secret "a" (team/xr-a) is kept unchanged: secrets[0].dataFrom[0] waits for secrets.queue (it does not exist yet)`,
		},
		"ExtractOptionalNeverToCome": {
			reason:  "an optional entry is left out if the resource writes no connection details",
			objects: "resources: {cache: {object: {kind: Cache}}}\ndesired: {cache: {kind: Cache}, queue: {kind: Queue}}",
			input:   `secrets: [{name: a, dataFrom: [{extract: {key: cache}, optional: true}, {extract: {key: queue}, optional: true}], data: [{key: k, value: "'v'"}]}]`,
			want:    `Available | k=v`,
		},
		"ExtractOptionalReady": {
			reason:  "and added if the resource is ready",
			objects: `resources: {cache: {object: {kind: Cache, status: {conditions: [{type: Ready, status: "True"}]}}, details: {port: canary}}}`,
			input:   `secrets: [{name: a, dataFrom: [{extract: {key: cache}, optional: true}], data: [{key: k, value: "'v'"}]}]`,
			want:    `Available | k=v port=canary`,
		},
		"ExtractSourceOfOneName": {
			reason:  "a ConfigMap source does not wait for the composed resource that has its name",
			objects: `{resources: {cfg: {object: {kind: Cache, spec: {writeConnectionSecretToRef: {name: c}}, status: {conditions: [{type: Ready, status: "False"}]}}}}, cluster: [{apiVersion: v1, kind: ConfigMap, metadata: {name: cfg, namespace: team}, data: {mode: fast}}]}`,
			input:   "sources: [{name: cfg, apiVersion: v1, kind: ConfigMap}]\nsecrets: [{name: a, dataFrom: [{extract: {key: cfg}}]}]",
			want:    `Available | mode=fast`,
		},
		"FindToComeElsewhere": {
			reason:  "but not those that the path leaves out",
			objects: stores + "desired: {queue: {spec: {writeConnectionSecretToRef: {name: q}}}}",
			input:   `secrets: [{name: a, dataFrom: [{find: {path: db/p}}]}]`,
			want:    `Available | db_port=canary-5432`,
		},
		"FindToComeGeneration": {
			reason:  "but not the generations of an earlier step",
			objects: stores + "desired: {generated/db/1: {spec: {writeConnectionSecretToRef: {name: q}}}}",
			input:   `secrets: [{name: a, dataFrom: [{find: {name: {regexp: port}}}]}]`,
			want:    `Available | cache_port=canary-6379 db_port=canary-5432`,
		},
		"FindComposedAgain": {
			reason:  "a resource that an earlier step composes again is found once",
			objects: stores + "desired: {db: {spec: {writeConnectionSecretToRef: {name: q}}}}",
			input:   `secrets: [{name: a, dataFrom: [{find: {name: {regexp: port}}}]}]`,
			want:    `Available | cache_port=canary-6379 db_port=canary-5432`,
		},
		"FindSeveralToCome": {
			reason: "all missing inputs are named, in the order of their names",
			objects: "resources: {d: {object: {kind: D, spec: {writeConnectionSecretToRef: {name: d}}}}, b: {object: " +
				"{kind: B, spec: {writeConnectionSecretToRef: {name: b}}}}}\ndesired: {c: {spec: " +
				"{writeConnectionSecretToRef: {name: c}}}}",
			input: `secrets: [{name: a, dataFrom: [{find: {name: {regexp: port}}}]}]`,
			want: `Waiting | Secret "a" (team/xr-a) is not created: secrets[0].dataFrom[0] waits for secrets.b (B ` +
				`exists, and has no connection details), secrets.c (it does not exist yet), ` +
				`secrets.d (D exists, and has no connection details)`,
		},
		"FindTagsToCome": {
			reason:  "a resource without the tags is not waited for",
			objects: stores + "desired: {queue: {metadata: {labels: {env: test}}, spec: {writeConnectionSecretToRef: {name: q}}}}",
			input:   `secrets: [{name: a, dataFrom: [{find: {name: {regexp: port}, tags: {env: prod}}}]}]`,
			want:    `Available | db_port=canary-5432`,
		},
		"FindOfOthers": {
			reason:  "a find does not leave out a resource whose Secret belongs to another owner",
			objects: strings.Replace(emptied, "uid: u-c, controller", "uid: u-x, controller", 1),
			input:   `secrets: [{name: a, dataFrom: [{find: {path: ca}, optional: true}], data: [{key: k, value: "'v'"}]}]`,
			want: `Held | Secret "a" (team/xr-a) is not created: secrets[0].dataFrom[0]: cannot use the connection ` +
				`details of resource "cache": Secret team/c is controlled by "Cache c-1" of UID "u-x", ` +
				`not by Cache "c-1" of UID "u-c": wait until Kubernetes deletes it, or delete it`,
		},
		"FindSecretGone": {
			reason: "nor one whose Secret does not exist anymore",
			objects: `resources: {cache: {object: {kind: Cache, metadata: {name: c, namespace: team, uid: u-c}, ` +
				`spec: {writeConnectionSecretToRef: {name: c}}}, details: {port: canary}}}`,
			input: `secrets: [{name: a, dataFrom: [{find: {path: ca}, optional: true}], data: [{key: k, value: "'v'"}]}]`,
			want: `Waiting | Secret "a" (team/xr-a) is not created: secrets[0].dataFrom[0] waits for Secret ` +
				`team/c (connection details of resource "cache")`,
		},
		"FindSource": {
			reason:  "a find also reaches the sources of kind Secret, by their labels",
			objects: stores + findable,
			input:   findSources + `secrets: [{name: a, dataFrom: [{find: {path: s, tags: {env: prod}}}]}]`,
			want:    `Available | s_k=canary-s s_port=canary-p`,
		},
		"FindSourceOtherTags": {
			reason:  "a source without the tags is not found",
			objects: stores + strings.Replace(findable, "env: prod", "env: test", 1),
			input:   findSources + `secrets: [{name: a, dataFrom: [{find: {name: {regexp: port}, tags: {env: prod}}}]}]`,
			want:    `Available | db_port=canary-5432`,
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
		"FindSourceMissingElsewhere": {
			reason: "but not one that the path leaves out",
			input: findSources + `
secrets: [{name: a, dataFrom: [{find: {path: db/p}}]}, {name: b, data: [{key: k, value: secrets.s.k}]}]`,
			want: `Available | db_port=canary-5432`,
		},
		"FindSourceOptional": {
			reason: "nor one that is optional",
			input: strings.Replace(
				findSources, "kind: Secret", "kind: Secret, optional: true", 1,
			) + `secrets: [{name: a, dataFrom: [{find: {name: {regexp: port}}}]}]`,
			want: `Available | cache_port=canary-6379 db_port=canary-5432`,
		},
		"FindSourceFails": {
			reason:  "a source that cannot be used is not left out",
			objects: stores + strings.Replace(findable, "k: Y2FuYXJ5LXM=", "k: '!'", 1),
			input:   findSources + `secrets: [{name: a, dataFrom: [{find: {path: s}}]}]`,
			want: `Held | Secret "a" (team/xr-a) is not created: secrets[0].dataFrom[0]: reads secrets.s, which ` +
				`cannot be used: cannot decode key "k": its value is not what the API server returns`,
		},
		"FindNoInputs": {
			reason:  "there is no input with a name to show",
			objects: "resources: {generated/x/1: {object: {apiVersion: v1, kind: Secret, metadata: {name: x}}}}",
			input:   `secrets: [{name: a, dataFrom: [{find: {tags: {env: test}}}]}]`,
			want: `Waiting | Secret "a" (team/xr-a) is not created: secrets[0].dataFrom[0] waits for a key that ` +
				`find matches: write its path and its name.regexp for names such as <input>/<key>`,
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
		"ExtractEmptyValues": {
			reason: "an empty value has no name in the input, and is left out",
			objects: stores + "cluster: [{apiVersion: v1, kind: ConfigMap, metadata: {name: cfg, namespace: team}, " +
				"data: {mode: fast, none: ''}}]",
			input: "sources: [{name: cfg, apiVersion: v1, kind: ConfigMap}]\nsecrets: [{name: a, dataFrom: [{extract: {key: cfg}}]}]",
			want:  `Available | mode=fast`,
		},
		"ValueMapEmptyValue": {
			reason: "an empty value of an expression is waited for",
			input:  `secrets: [{name: a, dataFrom: [{valueMap: "{'a': '', 'b': 'b'}"}]}]`,
			want: `Waiting | Secret "a" (team/xr-a) is not created: secrets[0].dataFrom[0] waits for a value of ` +
				`key "a" that is not empty`,
		},
		"ValueMapNone": {
			reason: "no value map",
			input:  `secrets: [{name: a, dataFrom: [{valueMap: "optional.none()", rewrite: [{merge: {}}]}, {valueMap: "{'b': 'b'}"}]}]`,
			want:   `Available | b=b`,
		},
		"ValueMapNoKey": {
			reason: "a value map whose keys are all left out is waited for",
			input:  `secrets: [{name: a, dataFrom: [{valueMap: "{?'a': composite.spec.?nope}"}]}]`,
			want: `Waiting | Secret "a" (team/xr-a) is not created: secrets[0].dataFrom[0] waits for its expression ` +
				`to return a key`,
		},
		"ValueMapObject": {
			reason: "a value that is an object is not a text, and is not encoded",
			input:  `secrets: [{name: a, dataFrom: [{valueMap: "{'a': composite.spec}"}]}]`,
			want: `Held | Secret "a" (team/xr-a) is not created: secrets[0].dataFrom[0].valueMap: the value of key "a" ` +
				`must be a string, but is map: select one of its keys, use valueMap for several keys, or encode it as ` +
				`one text with json.encode(...)`,
		},
		"ValueMapSecretLiteral": {
			reason: "a key that is a literal is shown, even if the value map also reads a secret",
			input:  `secrets: [{name: a, from: db, dataFrom: [{valueMap: "{'a': '', 'b': secret.port}"}]}]`,
			want: `Waiting | Secret "a" (team/xr-a) is not created: secrets[0].dataFrom[0] waits for a value of ` +
				`key "a" that is not empty`,
		},
		"MergeNoKey": {
			reason:  "a rule does not make a key of no keys",
			objects: `resources: {cache: {object: {kind: Cache}}}`,
			input: `secrets: [{name: a, dataFrom: [{extract: {key: cache}, ` +
				`rewrite: [{merge: {into: all, strategy: JSON}}]}]}]`,
			want: `Waiting | Secret "a" (team/xr-a) is not created: secrets[0].dataFrom[0] waits for "cache" to have a key`,
		},
		"TransformFails": {
			reason: "the message says why a key cannot be renamed",
			input: `secrets: [{name: a, dataFrom: [{extract: {key: cache}, ` +
				`rewrite: [{transform: {keyExpression: "string(1 / (key.size() - 4))"}}]}]}]`,
			want: `Held | Secret "a" (team/xr-a) is not created: secrets[0].dataFrom[0].rewrite[0].transform: cannot ` +
				`rename "host" of "cache": secrets[0].dataFrom[0].rewrite[0].transform.keyExpression:1:10: / failed on ` +
				`int and int: the divisor is zero, or an operand is not a number`,
		},
		"DecodeFails": {
			reason: "the message says which value cannot be decoded, and not the value",
			input:  `secrets: [{name: a, dataFrom: [{extract: {key: db}, decodingStrategy: Base64}]}]`,
			want: `Held | Secret "a" (team/xr-a) is not created: secrets[0].dataFrom[0].decodingStrategy: the ` +
				`value of "config" of "db" is not Base64 with padding: use None or Auto, or export the key separately`,
		},
		"ValueMap": {
			reason: "a value map, with the same steps after it",
			input:  `secrets: [{name: a, from: cache, dataFrom: [{valueMap: "{'a': secret.port}", rewrite: [{transform: {template: 'X_{{ .value | upper }}'}}]}]}]`,
			want:   `Available | X_A=canary-6379`,
		},
		"Merge": {
			reason: "values that are JSON are opened up",
			input:  `secrets: [{name: a, from: db, dataFrom: [{valueMap: "{'c': '{\"x\": 1, \"y\": \"<\"}', 'd': '{\"z\": {\"b\": 1, \"a\": 2}}'}", rewrite: [{merge: {}}]}]}]`,
			want:   `Available | x=1 y=< z={"a":2,"b":1}`,
		},
		"Conflict": {
			reason: "two keys that end on one name are both named, with their input",
			input:  `secrets: [{name: a, dataFrom: [{find: {name: {regexp: port}}, rewrite: [{regexp: {source: '.*/', target: ''}}]}]}]`,
			want:   `Held | Secret "a" (team/xr-a) is not created: secrets[0].dataFrom[0].rewrite[0].regexp: produces the same name for "port" of "cache" and "port" of "db": write a target that contains what differs in them, for example a group such as $1`,
		},
		"ConflictOfEntries": {
			reason: "also between entries",
			input:  `secrets: [{name: a, from: db, data: [{key: port, value: secret.port}], dataFrom: [{extract: {key: cache}}]}]`,
			want:   `Held | Secret "a" (team/xr-a) is not created: key "port" is written by secrets[0].dataFrom[0] (key "port" of "cache") and secrets[0].data[0].value: keep one of them, or set conflictPolicy: LastWins`,
		},
		"LastWins": {
			reason: "unless the last one wins: data before dataFrom, later before earlier",
			input:  `secrets: [{name: a, from: db, conflictPolicy: LastWins, data: [{key: port, value: secret.port}], dataFrom: [{extract: {key: cache}}, {valueMap: "{'host': 'later'}"}]}]`,
			want:   `Available | host=later port=canary-5432 tls_ca=canary-ca`,
		},
		"Decode": {
			reason: "values are decoded",
			input:  `secrets: [{name: a, dataFrom: [{valueMap: "{'a': 'YmFy'}", decodingStrategy: Base64}]}]`,
			want:   `Available | a=bar`,
		},
		"IllegalKey": {
			reason: "a name that no key can have",
			input:  `secrets: [{name: a, dataFrom: [{extract: {key: cache}, conversionStrategy: None}]}]`,
			want:   `Held | Secret "a" (team/xr-a) is not created: secrets[0].dataFrom[0] (key "tls/ca" of "cache") returns an invalid key: a key must consist of at most 253 letters, digits, '-', '_' and '.', and must not be '.' or begin with '..'`,
		},
		"ComputedNames": {
			reason: "a name that was computed from a secret is not shown",
			input:  `secrets: [{name: a, from: db, dataFrom: [{valueMap: "{secret.port + '/': 'x', secret.port + '_': 'y'}"}]}]`,
			want:   `Held | Secret "a" (team/xr-a) is not created: secrets[0].dataFrom[0].conversionStrategy: produces the same name for 2 members of "(computed)": rename one of them, or use Unicode`,
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
