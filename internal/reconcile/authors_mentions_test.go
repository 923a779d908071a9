package reconcile_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/crossplane-contrib/function-export/internal/plan/plantest"
)

// asksFor is the composite of base, whose author asks for a Secret and a ConfigMap with a name.
func asksFor(name string) string {
	entry := fmt.Sprintf(`[{name: %q, key: k, value: "'v'"}]`, name)
	return asks("operatorSpec: {dynamicSecrets: " + entry + ", dynamicConfigMaps: " + entry + "}")
}

// free is the result for an object of a composite author whose name is not in use.
func free(kind, name string) string {
	return fmt.Sprintf("Available %s team/%s {data: {k: v}}", kind, name)
}

// inUse is the result for an object of a composite author whose name a resource refers to in a field, or the result for
// an object whose name is not in use if there is no field.
func inUse(kind, name, composed, field string) string {
	if field == "" {
		return free(kind, name)
	}
	return fmt.Sprintf(`Conflict! nothing | %s %q: the composed resource %q refers to that name in %s: choose `+
		`another name in spec.operatorSpec.dynamic%ss[0].name`,
		kind, name, composed, field, kind)
}

// both is a field that may refer to a Secret or to a ConfigMap.
func both(field string) map[string]string {
	return map[string]string{"Secret": field, "ConfigMap": field}
}

// A composite author cannot use a name that a composed resource refers to. Neither the kind of the resource nor the
// field matters, but a reference to a Secret does not concern a ConfigMap.
func TestAuthorsMentions(t *testing.T) {
	const name = "shop-db"
	only := func(kind, field string) map[string]string { return map[string]string{kind: field} }
	for test, c := range map[string]struct {
		reason, other string
		want          map[string]string // the field, by the kind of the author's object
	}{
		"NameOfSecret": {
			"a field whose name contains secret", "{spec: {passwordSecretRef: {name: shop-db}}}",
			only("Secret", "spec.passwordSecretRef.name"),
		},
		"NameOfConfigMap": {
			"a field whose name contains configMap", "{spec: {configMapKeyRef: {name: shop-db}}}",
			only("ConfigMap", "spec.configMapKeyRef.name"),
		},
		"NameOfBoth": {
			"a field whose name contains both", "{spec: {secretOrConfigMapRef: {name: shop-db}}}",
			both("spec.secretOrConfigMapRef.name"),
		},
		"NameOfAnything":  {"any other field", "{spec: {target: {name: shop-db}}}", both("spec.target.name")},
		"TextOfSecret":    {"the name itself", "{spec: {secretName: shop-db}}", only("Secret", "spec.secretName")},
		"TextOfConfigMap": {"the name itself", "{spec: {CONFIGMAP: shop-db}}", only("ConfigMap", "spec.CONFIGMAP")},
		"TextOfAnything":  {"any other field", "{spec: {credentials: shop-db}}", both("spec.credentials")},
		"OtherFieldOfRef": {"a field other than name may be anything", "{spec: {secretRef: {id: shop-db}}}", both("spec.secretRef.id")},
		"ListOfRefs": {
			"the first item with the name", "{spec: {pullSecrets: [{name: x}, {name: shop-db}, {name: shop-db}]}}",
			only("Secret", "spec.pullSecrets[1].name"),
		},
		"ListOfNames":       {"an item is text", "{spec: {pull: [[x, shop-db]]}}", both("spec.pull[0][1]")},
		"ListOfSecretNames": {"an item is text", "{spec: {pullSecrets: [x, shop-db]}}", only("Secret", "spec.pullSecrets[1]")},
		"KindSecret": {
			"the kind beside the name", "{spec: {from: [{kind: Secret, name: shop-db}]}}",
			only("Secret", "spec.from[0].name"),
		},
		"KindConfigMap": {
			"the kind beside the name", "{spec: {from: [{kind: ConfigMap, name: shop-db}]}}",
			only("ConfigMap", "spec.from[0].name"),
		},
		"KindBeforeField": {
			"the kind beside the name takes precedence over the name of the field",
			"{spec: {secretRef: {kind: ConfigMap, name: shop-db}}}", only("ConfigMap", "spec.secretRef.name"),
		},
		"OtherKind": {
			"an object of another kind may create a Secret of its own name",
			"{spec: {secretRef: {kind: VaultSecret, name: shop-db}}}", both("spec.secretRef.name"),
		},
		"Manifest": {
			"the name of a Secret", "{spec: {manifest: {apiVersion: v1, kind: Secret, metadata: {name: shop-db}}}}",
			only("Secret", "spec.manifest.metadata.name"),
		},
		"ManifestOfConfigMap": {
			"the name of a ConfigMap",
			"{spec: {manifest: {apiVersion: v1, kind: ConfigMap, metadata: {name: shop-db}}}}",
			only("ConfigMap", "spec.manifest.metadata.name"),
		},
		"ManifestOfAnother": {
			"a Secret of another API group",
			"{spec: {manifest: {apiVersion: example.org/v1, kind: Secret, metadata: {name: shop-db}}}}",
			both("spec.manifest.metadata.name"),
		},
		"OwnName": {
			"an operator may create a Secret with the name of its resource", "{metadata: {name: shop-db}}",
			both("metadata.name"),
		},
		"OwnNamespace": {"the composite's namespace", "{spec: {ref: {namespace: team, name: shop-db}}}", both("spec.ref.name")},
		"NoNamespace": {
			"an empty namespace is the composite's own", `{spec: {ref: {namespace: "", name: shop-db}}}`,
			both("spec.ref.name"),
		},
		"OtherNamespace": {
			"an object in another namespace",
			"{spec: {ref: {namespace: other, name: shop-db}, secretRef: {namespace: other, name: shop-db}}}", nil,
		},
		"OtherNamespacesText": {
			"only the field name is in that namespace", "{spec: {ref: {namespace: other, name: x, secret: shop-db}}}",
			only("Secret", "spec.ref.secret"),
		},
		"FieldName": {
			"a name of a field that is not in a schema", "{spec: {mounts: {shop-db: {path: /x}}}}",
			both("spec.mounts.shop-db"),
		},
		"FieldNameOfSecret": {"the kind is not known", "{spec: {secrets: {shop-db: {path: /x}}}}", both("spec.secrets.shop-db")},
		"Label": {
			"a controller may read it", "{apiVersion: v1, kind: Secret, metadata: {labels: {uses: shop-db}}}",
			both("metadata.labels.uses"),
		},
		"Text": {
			"a word of a text may refer to either kind, whatever the field",
			`{spec: {secretValues: "existingSecret: shop-db"}}`, both("spec.secretValues"),
		},
		"SureAndText": {
			"a field that certainly refers to the name is shown before others",
			`{spec: {args: [--db=shop-db], secretName: shop-db, zSecretName: shop-db}}`,
			map[string]string{"Secret": "spec.secretName", "ConfigMap": "spec.args[0]"},
		},
		"FirstOfSure": {
			"of two such fields the first is shown", `{spec: {aSecret: shop-db, bSecret: shop-db}}`,
			only("Secret", "spec.aSecret"),
		},
		"FirstOfTexts":  {"of two texts the first is shown", `{spec: {a: use shop-db, b: shop-db}}`, both("spec.a")},
		"ConfigMapData": {"a program may read it", "{apiVersion: v1, kind: ConfigMap, data: {k: shop-db}}", both("data.k")},
		"OthersData": {
			"only the data of a Secret is not a reference",
			"{apiVersion: example.org/v1, kind: Secret, data: {k: shop-db}, stringData: {k: x}}", both("data.k"),
		},
		"SecretData": {
			"a value in a Secret is not a reference, and must not show in a message",
			"{apiVersion: v1, kind: Secret, data: {k: shop-db}, stringData: {k: shop-db}}", nil,
		},
		"SecretDataBelow": {
			"this also applies to a manifest within a resource",
			"{spec: {manifest: {apiVersion: v1, kind: Secret, data: {k: shop-db}, stringData: {k: shop-db}}}}", nil,
		},
		"SecretsOtherFields": {"any other field of a Secret", "{apiVersion: v1, kind: Secret, type: shop-db}", both("type")},
		"Metadata": {
			"Crossplane and Kubernetes write these fields with the name of the composite",
			"{metadata: {ownerReferences: [{name: shop-db}], managedFields: [{manager: shop-db}], generateName: " +
				"shop-db, uid: shop-db}}",
			nil,
		},
		"NotMetadata": {
			"the same fields anywhere else are references", "{spec: {ownerReferences: [{name: shop-db}]}}",
			both("spec.ownerReferences[0].name"),
		},
		"BelowMetadata": {"a label can have any name", "{metadata: {labels: {uid: shop-db}}}", both("metadata.labels.uid")},
		"Reserved": {
			"Crossplane writes these labels and annotations",
			"{metadata: {labels: {crossplane.io/composite: shop-db}, annotations: " +
				"{crossplane.io/composition-resource-name: shop-db}}}",
			nil,
		},
		"SpecialFields": {
			"a field with special characters is in brackets",
			`{spec: {"a.b": {"a/b": {"a[b": {"a]b": {"a b": {a-b: shop-db}}}}}}}`,
			both("spec[a.b][a/b][a[b][a]b][a b].a-b"),
		},
		"ShortFields":       {"the name of a field can be one character", `{a: {b: shop-db}}`, both("a.b")},
		"SpecialFieldFirst": {"this also applies to the first field", `{"a/b": shop-db}`, both("[a/b]")},
	} {
		t.Run(test, func(t *testing.T) {
			want := []string{inUse("ConfigMap", name, "other", c.want["ConfigMap"]), inUse("Secret", name, "other", c.want["Secret"])}
			for where, objects := range map[string]string{
				"desired":  "desired: {other: " + c.other + "}",
				"observed": "resources: {other: {object: " + c.other + "}}",
			} {
				s := newScene(t, plantest.Exports("fromComposite: {fieldPath: spec.operatorSpec}"), asksFor(name), objects)
				if diff := cmp.Diff(want, show(s.run(t))); diff != "" {
					t.Errorf("%s: %s: -want, +got:\n%s", c.reason, where, diff)
				}
			}
		})
	}
}

// Others write the status of an observed resource. There a text may describe the author's own object, so only a field that
// certainly refers to the name counts. An earlier step writes the status of a desired resource.
func TestAuthorsMentionsInStatus(t *testing.T) {
	const name = "shop-db"
	for test, c := range map[string]struct {
		reason, objects string
		want            map[string]string // the field, by the kind of the author's object
	}{
		"Text": {
			"it describes the object",
			"resources: {other: {object: {status: {bound: shop-db, conditions: [{message: Secret shop-db is read}], " +
				"shop-db: {ok: true}}}}}",
			nil,
		},
		"Sure": {
			"it refers to a Secret", "resources: {other: {object: {status: {binding: {secretRef: {name: shop-db}}}}}}",
			map[string]string{"Secret": "status.binding.secretRef.name"},
		},
		"NotStatus": {"a field with that name below spec", "resources: {other: {object: {spec: {status: shop-db}}}}", both("spec.status")},
		"Desired":   {"an earlier step writes it", "desired: {other: {status: {bound: shop-db}}}", both("status.bound")},
	} {
		t.Run(test, func(t *testing.T) {
			s := newScene(t, plantest.Exports("fromComposite: {fieldPath: spec.operatorSpec}"), asksFor(name), c.objects)
			want := []string{inUse("ConfigMap", name, "other", c.want["ConfigMap"]), inUse("Secret", name, "other", c.want["Secret"])}
			if diff := cmp.Diff(want, show(s.run(t))); diff != "" {
				t.Errorf("%s: -want, +got:\n%s", c.reason, diff)
			}
		})
	}
}

// A word of a text is a name if no other letter, digit, '-', '.' or '_' is beside it. A name can have the namespace beside
// it, and an escaped character before it.
func TestAuthorsMentionsInTexts(t *testing.T) {
	long := strings.Repeat("a", 253)
	for test, c := range map[string]struct {
		reason, name string
		refers, not  []string
	}{
		"Characters": {
			reason: "all other characters separate words", name: "shop-db",
			refers: []string{
				"/shop-db", ":shop-db", "@shop-db", "[shop-db", "`shop-db", "{shop-db", ",shop-db", "=shop-db",
				"\nshop-db", "äshop-db",
			},
			not: []string{"0shop-db", "9shop-db", "Ashop-db", "Zshop-db", "ashop-db", "zshop-db", "-shop-db", "_shop-db", "x.shop-db"},
		},
		"After": {
			reason: "this also applies to the characters after a name", name: "shop-db",
			refers: []string{"shop-db/", "shop-db:x", "shop-db#key", "shop-db, and others", "x\nshop-db\n"},
			not:    []string{"shop-db0", "shop-db9", "shop-dbA", "shop-dbZ", "shop-dba", "shop-dbz", "shop-db-", "shop-db_x", "shop-db.x"},
		},
		"Places": {
			reason: "the first, the last, or any other word", name: "shop-db",
			refers: []string{
				"shop-db is used", "it uses shop-db", "it uses shop-db for that", "It uses shop-db.",
				"It uses shop-db... or not", "x .shop-db",
			},
		},
		"Namespace": {
			reason: "only the composite's namespace", name: "shop-db",
			refers: []string{"x team.shop-db", "x shop-db.team", "team/shop-db"},
			not:    []string{"x other.shop-db", "x shop-db.other", "x teamshop-db", "x shop-dbteam", "x team.shop-db.team"},
		},
		"Escaped": {
			reason: "the characters of an escape are no part of a name", name: "shop-db",
			refers: []string{`x\nshop-db`, `x\u0022shop-db`, "x%2Fshop-db", `\nshop-db.`, `\u0022shop-db.`, `\nshop-db\n`},
			not:    []string{"xnshop-db", "xu0022shop-db", "x2Fshop-db", `x\2Fshop-db`, "x%nshop-db", `\n`, `\u0022`, "%2F"},
		},
		"OneCharacter": {
			reason: "a name can be short", name: "a",
			refers: []string{"x a y", `\na`},
			not:    []string{"b", "aa", "x.", `x\.`},
		},
		"Longest": {
			reason: "a name can have 253 characters", name: long,
			refers: []string{long, "x " + long},
			not:    []string{long + "a", "x " + long + "a", "x " + long[:252]},
		},
	} {
		t.Run(test, func(t *testing.T) {
			for _, all := range []struct {
				texts []string
				field string
			}{{c.refers, "spec.text"}, {c.not, ""}} {
				for _, text := range all.texts {
					objects := fmt.Sprintf("desired: {other: {spec: {text: %q}}}", text)
					s := newScene(t, plantest.Exports("fromComposite: {fieldPath: spec.operatorSpec}"), asksFor(c.name), objects)
					want := []string{inUse("ConfigMap", c.name, "other", all.field), inUse("Secret", c.name, "other", all.field)}
					if diff := cmp.Diff(want, show(s.run(t))); diff != "" {
						t.Errorf("%s: %q: -want, +got:\n%s", c.reason, text, diff)
					}
				}
			}
		})
	}
}

// Several names can be in one text, whatever their lengths.
func TestAuthorsMentionsOfSeveralNames(t *testing.T) {
	spec := asks(`operatorSpec: {dynamicSecrets: [{name: shop-db, key: k, value: "'v'"}, {name: orders-db-1, key: k, ` +
		`value: "'v'"}, {name: other, key: k, value: "'v'"}]}`)
	conflict := func(name string, i int, field string) string {
		return fmt.Sprintf(
			`Conflict! nothing | Secret %q: the composed resource "x" refers to that name in %s: choose another name `+
				`in spec.operatorSpec.dynamicSecrets[%d].name`,
			name, field, i,
		)
	}
	for test, c := range map[string]struct {
		reason, object string
		want           []string
	}{
		"OneText": {
			"both names are in it", "{spec: {args: --db=shop-db --orders=orders-db-1}}",
			[]string{
				conflict("orders-db-1", 1, "spec.args"), free("Secret", "other"), conflict("shop-db", 0, "spec.args"),
			},
		},
		"SameLength": {
			"a text that is as long as one name contains the other one", "{spec: {args: --x=shop-db}}",
			[]string{free("Secret", "orders-db-1"), free("Secret", "other"), conflict("shop-db", 0, "spec.args")},
		},
		"TwoFields": {
			"each name has its own field", "{spec: {a: orders-db-1, b: shop-db}}",
			[]string{conflict("orders-db-1", 1, "spec.a"), free("Secret", "other"), conflict("shop-db", 0, "spec.b")},
		},
	} {
		t.Run(test, func(t *testing.T) {
			s := newScene(t, plantest.Exports("fromComposite: {fieldPath: spec.operatorSpec}"), spec, "desired: {x: "+c.object+"}")
			if diff := cmp.Diff(c.want, show(s.run(t))); diff != "" {
				t.Errorf("%s: -want, +got:\n%s", c.reason, diff)
			}
		})
	}
}

// A field name without '-' and '.' is a field of a schema, so it is no reference to a name that is the same word.
func TestAuthorsMentionsInFieldNames(t *testing.T) {
	for test, c := range map[string]struct{ reason, name, other, field string }{
		"Schema": {"it is a field of a schema", "password", "{spec: {password: {length: 3}}}", ""},
		"Dash":   {"no schema has such a field", "shop-db", "{spec: {shop-db: {length: 3}}}", "spec.shop-db"},
		"Dot":    {"no schema has such a field", "shop.db", "{spec: {shop.db: {length: 3}}}", "spec[shop.db]"},
		"Longer": {"all of the field name is the name", "shop-db", "{spec: {shop-db-1: {length: 3}}}", ""},
	} {
		t.Run(test, func(t *testing.T) {
			s := newScene(
				t, plantest.Exports("fromComposite: {fieldPath: spec.operatorSpec}"), asksFor(c.name),
				"desired: {other: "+c.other+"}",
			)
			want := []string{inUse("ConfigMap", c.name, "other", c.field), inUse("Secret", c.name, "other", c.field)}
			if diff := cmp.Diff(want, show(s.run(t))); diff != "" {
				t.Errorf("%s: -want, +got:\n%s", c.reason, diff)
			}
		})
	}
}

// Resources that this input composes, or composed before, also refer to names. Objects of composite authors do not.
func TestAuthorsMentionsInThisInput(t *testing.T) {
	const name = "shop-db"
	for test, c := range map[string]struct {
		reason, input, objects string
		secret, configMap      string // the resource and the field
	}{
		"Export": {
			reason: "an exported ConfigMap can contain values of Helm",
			input:  `configMaps: [{name: values, data: [{key: k, value: "'existingSecret: shop-db'"}]}]`,
			secret: "values data.k", configMap: "values data.k",
		},
		"ExportedSecret": {
			reason: "a value in an exported Secret is no reference",
			input:  `secrets: [{name: values, data: [{key: k, value: "'shop-db'"}]}]`,
		},
		"Generation": {
			reason: "a provider writes the Secret",
			input: "generators: [{name: login, resource: {manifest: {apiVersion: example.org/v1, kind: Key, spec: " +
				"{writeConnectionSecretToRef: {name: shop-db}}}}}]",
			secret: "generated/login/1 spec.writeConnectionSecretToRef.name",
		},
		"ObservedGeneration": {
			reason: "it refers to the name until it is deleted",
			input:  "generators: [{name: login, resource: {manifest: {apiVersion: example.org/v1, kind: Key}}}]",
			objects: "resources: {generated/login/7: {object: {apiVersion: example.org/v1, kind: Key, metadata: " +
				"{name: xr-login-7, namespace: team, uid: g7}, spec: {writeConnectionSecretToRef: {name: shop-db}}}}}",
			secret: "generated/login/7 spec.writeConnectionSecretToRef.name",
		},
		"AuthorsObject": {
			reason: "an object that an earlier step composes for an author is the author's own",
			objects: "desired: {fromComposite/ConfigMap/x: {apiVersion: v1, kind: ConfigMap, metadata: {name: x}, " +
				"data: {k: shop-db, secretName: shop-db}}}",
		},
		"SecretSource": {
			reason: "the Composition reads a Secret with that name",
			input: "sources: [{name: shop-db, apiVersion: v1, kind: Secret, optional: true}]\nsecrets: [{name: " +
				"reads, data: [{key: k, optional: true, value: \"secrets['shop-db'].k\"}]}]",
			secret: "source",
		},
		"ConfigMapSource": {
			reason: "the Composition reads a ConfigMap with that name",
			input: "sources: [{name: shop-db, apiVersion: v1, kind: ConfigMap, optional: true}]\nsecrets: " +
				"[{name: reads, data: [{key: k, optional: true, value: \"sources['shop-db'].data.k\"}]}]",
			configMap: "source",
		},
		"OtherSource": {
			reason: "a source of another API group is another object",
			input: "sources: [{name: shop-db, apiVersion: example.org/v1, kind: Secret, optional: true}]\nsecrets: " +
				"[{name: reads, data: [{key: k, optional: true, value: \"sources['shop-db'].spec.k\"}]}]",
		},
	} {
		t.Run(test, func(t *testing.T) {
			s := newScene(t, plantest.Exports(c.input+"\nfromComposite: {fieldPath: spec.operatorSpec}"), asksFor(name), c.objects)
			var got []string
			for _, o := range s.run(t).Objects {
				if o.Author {
					got = append(got, withMessage(stateText(o.Outcome), o.Message))
				}
			}
			var want []string
			for _, of := range []struct{ kind, where string }{{"ConfigMap", c.configMap}, {"Secret", c.secret}} {
				composed, field, _ := strings.Cut(of.where, " ")
				switch of.where {
				case "":
					want = append(want, "Available")
				case "source":
					want = append(
						want,
						fmt.Sprintf(
							`Conflict! | %s "shop-db": a source of the Composition refers to it: choose another name `+
								`in spec.operatorSpec.dynamic%[1]ss[0].name`,
							of.kind,
						),
					)
				default:
					want = append(want, strings.Replace(inUse(of.kind, name, composed, field), "nothing ", "", 1))
				}
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s: -want, +got:\n%s", c.reason, diff)
			}
		})
	}
}

// An existing object of the author is deleted only if a resource that is composed now certainly refers to it, so that
// the resource can have it. Otherwise the object is kept unchanged.
func TestAuthorsGiveWay(t *testing.T) {
	const (
		existing = "\n  fromComposite/Secret/shop-db: {object: {apiVersion: v1, kind: Secret, metadata: {name: " +
			"shop-db, namespace: team}, type: Opaque, data: {k: b2xk}}}\n"
		gone = "nothing"
		kept = "Secret team/shop-db {data: {k: old}}"
		sure = "{spec: {secretName: shop-db}}"
		text = "{spec: {args: --db=shop-db}}"
	)
	former := generationOf(1, `flagged: "2026-01-02T00:00:00Z"`)
	former = strings.Replace(former, `"adopted":true`, `"adopted":true,"flagged":true,"retired":true`, 1)
	former = strings.Replace(former, "labels: {", "labels: {uses-secret: shop-db, ", 1)
	for test, c := range map[string]struct {
		reason, input, desired, observed string
		object, by                       string
	}{
		"Desired": {
			"it certainly refers to the Secret", "", "other: " + sure, "", gone,
			`the composed resource "other" refers to that name in spec.secretName`,
		},
		"Text": {
			"the text may be something else", "", "other: " + text, "", kept,
			`the composed resource "other" refers to that name in spec.args`,
		},
		"Observed": {
			"the resource may be about to be deleted", "", "", "other: {object: " + sure + "}", kept,
			`the composed resource "other" refers to that name in spec.secretName`,
		},
		"ObservedText": {
			"the text may be something else", "", "", "other: {object: " + text + "}", kept,
			`the composed resource "other" refers to that name in spec.args`,
		},
		"SureAfterText": {
			"a field that certainly refers to it decides", "", "a: " + text + ", b: " + sure, "", gone,
			`the composed resource "b" refers to that name in spec.secretName`,
		},
		"ObservedAfterText": {
			"a field that certainly refers to it is shown, but is not composed now", "", "a: " + text,
			"b: {object: " + sure + "}", kept, `the composed resource "b" refers to that name in spec.secretName`,
		},
		"DesiredFirst": {
			"a resource that is composed now decides", "", "b: " + sure, "a: {object: " + sure + "}", gone,
			`the composed resource "b" refers to that name in spec.secretName`,
		},
		"Export": {
			"an export is composed now", `configMaps: [{name: values, data: [{key: secretName, value: "'shop-db'"}]}]`,
			"", "", gone, `the composed resource "values" refers to that name in data.secretName`,
		},
		"Generation": {
			"a generation is composed now",
			"generators: [{name: login, resource: {manifest: {apiVersion: example.org/v1, kind: Key, spec: " +
				"{secretName: shop-db}}}}]",
			"", "", gone, `the composed resource "generated/login/1" refers to that name in spec.secretName`,
		},
		"FormerGeneration": {
			"it is deleted now, because its generator was removed before", "", "", former, kept,
			`the composed resource "generated/admin/1" refers to that name in metadata.labels.uses-secret`,
		},
		"Source": {
			"a source never shows the author's object",
			"sources: [{name: shop-db, apiVersion: v1, kind: Secret, optional: true}]\nsecrets: [{name: reads, data: " +
				"[{key: k, optional: true, value: \"secrets['shop-db'].k\"}]}]",
			"", "", kept, "a source of the Composition refers to it",
		},
	} {
		t.Run(test, func(t *testing.T) {
			objects := "desired: {" + c.desired + "}\nresources:" + existing
			if c.observed != "" {
				objects += "  " + c.observed + "\n"
			}
			s := newScene(t, plantest.Exports(c.input+"\nfromComposite: {fieldPath: spec.operatorSpec}"),
				asks(`operatorSpec: {dynamicSecrets: [{name: shop-db, key: k, value: "'v'"}]}`), objects)
			s.req.Now = time.Date(2026, 1, 3, 0, 0, 0, 0, time.UTC)
			var got []string
			for _, o := range s.run(t).Objects {
				if o.Author {
					got = append(got, withMessage(stateText(o.Outcome)+" "+showObject(o.Desired), o.Message))
				}
			}
			want := []string{
				fmt.Sprintf(
					`Conflict! %s | Secret "shop-db": %s: choose another name in `+
						`spec.operatorSpec.dynamicSecrets[0].name`,
					c.object, c.by,
				),
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s: -want, +got:\n%s", c.reason, diff)
			}
		})
	}
}
