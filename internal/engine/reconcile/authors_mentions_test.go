package reconcile_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/crossplane-contrib/function-export/internal/engine/plan/plantest"
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
		"TextOfSecret": {"the name itself", "{spec: {secretName: shop-db}}", only("Secret", "spec.secretName")},
		"ListOfRefs": {
			"the first item with the name", "{spec: {pullSecrets: [{name: x}, {name: shop-db}, {name: shop-db}]}}",
			only("Secret", "spec.pullSecrets[1].name"),
		},
		"KindSecret": {
			"the kind beside the name", "{spec: {from: [{kind: Secret, name: shop-db}]}}",
			only("Secret", "spec.from[0].name"),
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
		"OwnName": {
			"an operator may create a Secret with the name of its resource", "{metadata: {name: shop-db}}",
			both("metadata.name"),
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
		"Text": {
			"a word of a text may refer to either kind, whatever the field",
			`{spec: {secretValues: "existingSecret: shop-db"}}`, both("spec.secretValues"),
		},
		"SureAndText": {
			"a field that certainly refers to the name is shown before others",
			`{spec: {args: [--db=shop-db], secretName: shop-db, zSecretName: shop-db}}`,
			map[string]string{"Secret": "spec.secretName", "ConfigMap": "spec.args[0]"},
		},
		"ConfigMapData": {"a program may read it", "{apiVersion: v1, kind: ConfigMap, data: {k: shop-db}}", both("data.k")},
		"SecretData": {
			"a value in a Secret is not a reference, and must not show in a message",
			"{apiVersion: v1, kind: Secret, data: {k: shop-db}, stringData: {k: shop-db}}", nil,
		},
		"SecretDataBelow": {
			"this also applies to a manifest within a resource",
			"{spec: {manifest: {apiVersion: v1, kind: Secret, data: {k: shop-db}, stringData: {k: shop-db}}}}", nil,
		},
		"Metadata": {
			"Crossplane and Kubernetes write these fields with the name of the composite",
			"{metadata: {ownerReferences: [{name: shop-db}], managedFields: [{manager: shop-db}], generateName: " +
				"shop-db, uid: shop-db}}",
			nil,
		},
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
		"Desired": {"an earlier step writes it", "desired: {other: {status: {bound: shop-db}}}", both("status.bound")},
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
	for test, c := range map[string]struct {
		reason, name string
		refers, not  []string
	}{
		"Escaped": {
			reason: "the characters of an escape are no part of a name", name: "shop-db",
			refers: []string{`x\nshop-db`, `x\u0022shop-db`, "x%2Fshop-db", `\nshop-db.`, `\u0022shop-db.`, `\nshop-db\n`},
			not:    []string{"xnshop-db", "xu0022shop-db", "x2Fshop-db", `x\2Fshop-db`, "x%nshop-db", `\n`, `\u0022`, "%2F"},
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
		"SureAfterText": {
			"a field that certainly refers to it decides", "", "a: " + text + ", b: " + sure, "", gone,
			`the composed resource "b" refers to that name in spec.secretName`,
		},
		"Generation": {
			"a generation is composed now",
			"generators: [{name: login, resource: {manifest: {apiVersion: example.org/v1, kind: Key, spec: " +
				"{secretName: shop-db}}}}]",
			"", "", gone, `the composed resource "generated/login/1" refers to that name in spec.secretName`,
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
