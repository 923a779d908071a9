package reconcile_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/crossplane-contrib/function-export/internal/engine/plan/plantest"
)

// inUse is the result for an object of a composite author whose name a resource refers to in a field, or the result for
// an object whose name is not in use if there is no field.
func inUse(kind, field string) string {
	if field == "" {
		return fmt.Sprintf("Available %s team/shop-db {data: {k: v}}", kind)
	}
	return fmt.Sprintf(`Conflict! nothing | %s "shop-db": the composed resource "other" refers to that name in %s: `+
		`choose `+
		`another name in spec.operatorSpec.dynamic%ss[0].name`, kind, field, kind)
}

// A composite author cannot use a name that a composed resource refers to, for either kind of object. Neither the kind
// of the resource nor the field matters.
func TestAuthorsMentions(t *testing.T) {
	for test, c := range map[string]struct{ reason, other, field string }{
		"Reference": {"the name itself", "{spec: {pullSecrets: [{name: x}, {name: shop-db}, {name: shop-db}]}}",
			"spec.pullSecrets[1].name"},
		"OwnName": {"an operator may create a Secret with the name of its resource",
			"{metadata: {name: shop-db}}", "metadata.name"},
		"FieldName": {"a name of a field that is not in a schema", "{spec: {mounts: {shop-db: {path: /x}}}}",
			"spec.mounts.shop-db"},
		"Text":          {"a word of a text", `{spec: {values: "existingSecret: shop-db."}}`, "spec.values"},
		"NotAWord":      {"a part of another name", `{spec: {values: "my-shop-db shop-db-2 shop-db.x"}}`, ""},
		"ConfigMapData": {"a program may read it", "{apiVersion: v1, kind: ConfigMap, data: {k: shop-db}}", "data.k"},
		"SecretData": {
			"a value in a Secret is not a reference, and must not show in a message",
			"{apiVersion: v1, kind: Secret, data: {k: shop-db}, stringData: {k: shop-db}}", "",
		},
		"SecretDataBelow": {
			"this also applies to a manifest within a resource",
			"{spec: {manifest: {apiVersion: v1, kind: Secret, data: {k: shop-db}, stringData: {k: shop-db}}}}", "",
		},
		"Metadata": {
			"Crossplane and Kubernetes write these fields with the name of the composite",
			"{metadata: {ownerReferences: [{name: shop-db}], managedFields: [{manager: shop-db}], generateName: " +
				"shop-db, uid: shop-db, labels: {crossplane.io/composite: shop-db}}}", "",
		},
	} {
		t.Run(test, func(t *testing.T) {
			want := []string{inUse("ConfigMap", c.field), inUse("Secret", c.field)}
			for where, objects := range map[string]string{
				"desired":  "desired: {other: " + c.other + "}",
				"observed": "resources: {other: {object: " + c.other + "}}",
			} {
				s := newScene(t, plantest.Exports("fromComposite: {fieldPath: spec.operatorSpec}"), asks(
					`operatorSpec: {dynamicSecrets: [{name: shop-db, key: k, value: "'v'"}], `+
						`dynamicConfigMaps: [{name: shop-db, key: k, value: "'v'"}]}`), objects)
				if diff := cmp.Diff(want, show(s.run(t))); diff != "" {
					t.Errorf("%s: %s: -want, +got:\n%s", c.reason, where, diff)
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
