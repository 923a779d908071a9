package plan_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/crossplane-contrib/function-export/internal/engine/plan/plantest"
)

// written is the entry that a message tells the reader to write.
var written = regexp.MustCompile(`write the entry as (?:an item of data: )?(\{.*\})`)

// An entry of another tool has one diagnostic. The entry that it tells the reader to write compiles.
func TestForeignEntries(t *testing.T) {
	const secret = "hunter2"
	data := func(from, entry string) string {
		return plantest.Exports("secrets: [{name: a, " + from + "data: [" + entry + "]}]")
	}
	status := func(entry string) string { return plantest.Exports("status: [" + entry + "]") }
	for name, c := range map[string]struct {
		reason string
		input  func(entry string) string
		entry  string
		want   string
	}{
		"ConnectionKey": {
			reason: "a key of the export's own resource",
			input:  func(e string) string { return data("from: db, ", e) },
			entry:  `{name: pw, type: FromConnectionSecretKey, fromConnectionSecretKey: password}`,
			want:   `secrets[0].data[0].fromConnectionSecretKey: is a field of function-patch-and-transform: write the entry as {key: pw, value: secret.password}`,
		},
		"ConnectionKeyOfSome": {
			reason: "the resource has no name here, so the message invents one and says so",
			input:  func(e string) string { return data("", e) },
			entry:  `{type: FromConnectionSecretKey, fromConnectionSecretKey: ca.crt}`,
			want: `secrets[0].data[0].fromConnectionSecretKey: is a field of function-patch-and-transform: write the entry as ` +
				`{key: ca.crt, value: "secrets.db['ca.crt']"}, with the name of the composed resource in place of db`,
		},
		"NotAName": {
			reason: "what is not a name may be data",
			input:  func(e string) string { return data("from: db, ", e) },
			entry:  `{name: "` + secret + ` !", type: FromConnectionSecretKey, fromConnectionSecretKey: "` + secret + ` ?"}`,
			want:   `secrets[0].data[0].fromConnectionSecretKey: is a field of function-patch-and-transform: write the entry as {key: ..., value: secret.key}`,
		},
		"Value": {
			reason: "a literal is data",
			input:  func(e string) string { return data("", e) },
			entry:  `{name: pw, type: FromValue, value: ` + secret + `}`,
			want: `secrets[0].data[0].type: is a field of function-patch-and-transform: write the entry as {key: pw, value: "'text'"}` +
				`: a text has quotes of its own in CEL`,
		},
		"Index": {
			reason: "a field path with an index and a key",
			input:  func(e string) string { return data("from: db, ", e) },
			entry:  `{name: host, type: FromFieldPath, fromFieldPath: 'status.hosts[0].labels[a.b/c]'}`,
			want: `secrets[0].data[0].fromFieldPath: is a field of function-patch-and-transform: write the entry as ` +
				`{key: host, value: "resource.status.hosts[0].labels['a.b/c']"}`,
		},
		"BadPath": {
			reason: "a field path with other text is not repeated",
			input:  func(e string) string { return data("from: db, ", e) },
			entry:  `{name: host, type: FromFieldPath, fromFieldPath: 'status[` + secret + ` !]'}`,
			want: `secrets[0].data[0].fromFieldPath: is a field of function-patch-and-transform: write the entry as ` +
				`{key: host, value: resource.status.field}`,
		},
		"PathOfCEL": {
			reason: "a path that is already CEL stays as it is",
			input:  status,
			entry:  `{type: ToCompositeFieldPath, fromFieldPath: resources.db.status.host, toFieldPath: status.a.host}`,
			want: `status[0].fromFieldPath: is a field of function-patch-and-transform: write the entry as ` +
				`{fieldPath: a.host, value: resources.db.status.host}`,
		},
		"Status": {
			reason: "the path is below status; Optional leaves a missing field out",
			input:  status,
			entry:  `{type: ToCompositeFieldPath, fromFieldPath: status.host, toFieldPath: status.a.host, policy: {fromFieldPath: Optional}}`,
			want: `status[0].fromFieldPath: is a field of function-patch-and-transform: write the entry as ` +
				`{fieldPath: a.host, value: resources.db.status.host, optional: true}, with the name of the composed resource in place of db`,
		},
		"Combine": {
			reason: "the format is the reader's",
			input:  status,
			entry: `{type: CombineFromComposite, toFieldPath: status.url, combine: {strategy: string, string: {fmt: '` + secret + `%s'}, ` +
				`variables: [{fromFieldPath: spec.host}, {fromFieldPath: spec.port}]}}`,
			want: `status[0].combine: is a field of function-patch-and-transform: write the entry as ` +
				`{fieldPath: url, value: "'%s-%s'.format([composite.spec.host, composite.spec.port])"}`,
		},
		"Transforms": {
			reason: "transforms are applied in their order",
			input:  status,
			entry: `{type: FromCompositeFieldPath, fromFieldPath: spec.a, toFieldPath: status.a, ` +
				`transforms: [{type: string, string: {type: Convert, convert: ToUpper}}, {type: map, map: {` + secret + `: b}}]}`,
			want: `status[0].fromFieldPath: is a field of function-patch-and-transform: write the entry as ` +
				`{fieldPath: a, value: "{'from': 'to'}[composite.spec.a.upperAscii()]"}`,
		},
		"CombineOfResource": {
			reason: "an entry of an export that has from reads that resource",
			input:  func(e string) string { return data("from: db, ", e) },
			entry:  `{key: url, combine: {variables: [{fromFieldPath: status.host}, {fromFieldPath: status.port}]}}`,
			want: `secrets[0].data[0].combine: is a field of function-patch-and-transform: write the entry as ` +
				`{key: url, value: "'%s-%s'.format([resource.status.host, resource.status.port])"}`,
		},
		"SecretName": {
			reason: "a key of another Secret",
			input:  func(e string) string { return data("", e) },
			entry:  `{key: a, type: FromSecret, secretName: other, keyName: b}`,
			want: `secrets[0].data[0].secretName: is a field of Pods: write the entry as {key: a, value: secrets.other.b}, ` +
				`where the Secret is a composed resource or an item of sources`,
		},
		"RemoteKeyAndName": {
			reason: "the name is the key here",
			input:  func(e string) string { return data("", e) },
			entry:  `{key: team/app, name: pw}`,
			want: `secrets[0].data[0].name: is a field of kubernetes-external-secrets: write the entry as {key: pw, value: secrets.db.key}, ` +
				`with the names of the composed resource and of its key in place of db and key`,
		},
		"ExternalRef": {
			reason: "a reference of kro, whose id is the name",
			input:  func(e string) string { return plantest.Exports("sources: [" + e + "]") },
			entry:  `{id: settings, externalRef: {apiVersion: v1, kind: ConfigMap, metadata: {name: app}}}`,
			want: `sources[0].externalRef: is a field of kro: write the entry as ` +
				`{name: settings, apiVersion: v1, kind: ConfigMap, matchName: app}`,
		},
		"Source": {
			reason: "a source of function-extra-resources",
			input:  func(e string) string { return plantest.Exports("sources: [" + e + "]") },
			entry:  `{kind: ConfigMap, into: settings, apiVersion: v1, type: Reference, ref: {name: app}}`,
			want: `sources[0].into: is a field of function-extra-resources: write the entry as ` +
				`{name: settings, apiVersion: v1, kind: ConfigMap, matchName: app}`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			_, got := plantest.Compile(t, c.input(c.entry))
			if diff := cmp.Diff([]string{c.want}, got); diff != "" {
				t.Errorf("\n%s\nCompile(...): -want, +got:\n%s", c.reason, diff)
			}
			if strings.Contains(strings.Join(got, ""), secret) {
				t.Errorf("\n%s\na message repeats a value", c.reason)
			}
			m := written.FindStringSubmatch(c.want)
			if m == nil || strings.Contains(m[1], "...") {
				return
			}
			if _, again := plantest.Compile(t, c.input(m[1])); len(again) > 0 {
				t.Errorf("\n%s\n%s does not compile: %v", c.reason, m[1], again)
			}
		})
	}
}

// Each transform of function-patch-and-transform is written as an expression that compiles.
func TestForeignTransforms(t *testing.T) {
	for name, transform := range map[string]string{
		"Format": `{type: string, string: {type: Format, fmt: '%s'}}`, "Upper": `{type: string, string: {type: Convert, convert: ToUpper}}`,
		"Lower": `{type: string, string: {type: Convert, convert: ToLower}}`, "ToBase64": `{type: string, string: {type: Convert, convert: ToBase64}}`,
		"FromBase64": `{type: string, string: {type: Convert, convert: FromBase64}}`,
		"String":     `{type: convert, convert: {toType: string}}`, "Int": `{type: convert, convert: {toType: int64}}`,
		"Float": `{type: convert, convert: {toType: float64}}`, "Bool": `{type: convert, convert: {toType: bool}}`,
		"Map": `{type: map, map: {a: b}}`, "Math": `{type: math, math: {multiply: 2}}`, "Match": `{type: match, match: {patterns: []}}`,
	} {
		t.Run(name, func(t *testing.T) {
			_, got := plantest.Compile(t, plantest.Exports(
				"status: [{type: FromCompositeFieldPath, fromFieldPath: spec.a, toFieldPath: status.a, transforms: ["+transform+"]}]"))
			m := written.FindStringSubmatch(strings.Join(got, "\n"))
			if len(got) != 1 || m == nil || !strings.Contains(m[1], "composite.spec.a") || m[1] == "{fieldPath: a, value: composite.spec.a}" {
				t.Fatalf("Compile(...): want an entry with the transform, got %v", got)
			}
			if _, again := plantest.Compile(t, plantest.Exports("status: ["+m[1]+"]")); len(again) > 0 {
				t.Errorf("%s does not compile: %v", m[1], again)
			}
		})
	}
}
