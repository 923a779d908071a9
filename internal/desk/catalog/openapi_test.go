package catalog

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// A document with each kind of reference.
const openAPI = `
openapi: 3.0.0
components:
  schemas:
    org.example.v1.App:
      type: object
      x-kubernetes-group-version-kind: [{group: example.org, version: v1, kind: App}]
      properties:
        spec: {description: dropped, allOf: [{$ref: "#/components/schemas/Spec"}], default: {}}
        meta: {$ref: "#/components/schemas/Meta"}
        gone: {$ref: "#/components/schemas/Gone"}
        other: {$ref: "https://example.org/schema"}
    Spec:
      type: object
      properties:
        list: {type: array, items: {$ref: "#/components/schemas/Meta"}}
        map: {type: object, additionalProperties: {$ref: "#/components/schemas/Meta"}}
        any: {type: object, additionalProperties: true}
        self: {$ref: "#/components/schemas/Spec"}
    Meta: {type: string}
    Core: {type: object, x-kubernetes-group-version-kind: [{group: "", version: v1, kind: Core}]}
    Shared: {type: object, x-kubernetes-group-version-kind: [{group: a.org, version: v1, kind: A},
      {group: b.org, version: v1, kind: A}]}
    org.example.v1.Known: {type: object, x-kubernetes-group-version-kind: [{group: rds.aws.upbound.io, version: v1beta1,
      kind: Instance}]}
`

func TestAddOpenAPI(t *testing.T) {
	c := catalog(t, "crd-rds-instance.yaml")
	defined, _ := c.Find(Kind{APIVersion: "rds.aws.upbound.io/v1beta1", Kind: "Instance"}).MarshalJSON()
	d := decoded(t, openAPI)
	if !IsOpenAPI(d) || IsOpenAPI(map[string]any{"openapi": "2.0"}) || IsOpenAPI(nil) {
		t.Error("IsOpenAPI(...): want true only for an OpenAPI document of version 3")
	}
	if err := c.AddOpenAPI(d); err != nil {
		t.Fatal(err)
	}
	const spec = `"type":"object","properties":{
		"list":{"type":"array","items":{"type":"string"}}, "map":{"type":"object","additionalProperties":{"type":"string"}},
		"any":{"type":"object","additionalProperties":true}, "self":{"type":"object"}}`
	cases := map[string]struct {
		reason string
		kind   Kind
		want   string
	}{
		"References": {
			reason: "Each reference is replaced by its schema, and by nothing if there is none.",
			kind:   Kind{APIVersion: "example.org/v1", Kind: "App"},
			want: `{"type":"object","x-kubernetes-group-version-kind":[{"group":"example.org","version":"v1","kind":"App"}],
				"properties":{"spec":{` + spec + `},"meta":{"type":"string"},"gone":{},
				"other":{"$ref":"https://example.org/schema"}}}`,
		},
		"Core": {reason: "The core group has no name.", kind: Kind{APIVersion: "v1", Kind: "Core"},
			want: `{"type":"object","x-kubernetes-group-version-kind":[{"group":"","version":"v1","kind":"Core"}]}`},
		"Shared": {reason: "Crossplane ignores a schema of several kinds.", kind: Kind{APIVersion: "a.org/v1",
			Kind: "A"}, want: "null"},
		"Defined": {reason: "A definition has precedence.", kind: Kind{APIVersion: "rds.aws.upbound.io/v1beta1",
			Kind: "Instance"}, want: string(defined)},
		"Unknown": {kind: Kind{APIVersion: "example.org/v2", Kind: "App"}, want: "null"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got := []byte("null")
			if s := c.Find(tc.kind); s != nil {
				got, _ = s.MarshalJSON()
			}
			var g, w any
			if err := json.Unmarshal([]byte(tc.want), &w); err != nil {
				t.Fatal(err)
			}
			_ = json.Unmarshal(got, &g)
			if diff := cmp.Diff(w, g); diff != "" {
				t.Errorf("%s: -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
	if err := NewCatalog().AddOpenAPI(map[string]any{"openapi": "3.0.0"}); err == nil {
		t.Error("AddOpenAPI(...): want an error for a document without schemas")
	}
}

func TestSetDefaults(t *testing.T) {
	s := NewCatalog()
	if err := s.AddOpenAPI(decoded(t, `
components:
  schemas:
    A:
      x-kubernetes-group-version-kind: [{group: "", version: v1, kind: A}]
      type: object
      properties:
        text: {type: string, default: x}
        object: {type: object, default: {}, properties: {enabled: {type: boolean, default: true}}}
        absent: {type: object, properties: {enabled: {type: boolean, default: true}}}
        list: {type: array, items: {type: object, properties: {n: {type: integer, default: 1}}}}
        map: {type: object, additionalProperties: {type: object, properties: {n: {type: integer, default: 1}}}}
        open: {type: object, x-kubernetes-preserve-unknown-fields: true}
        nullable: {type: string, nullable: true, default: x}
        none: {type: string, default: null}
`)); err != nil {
		t.Fatal(err)
	}
	cases := map[string]struct{ reason, object, want string }{
		"Empty": {"A default can have defaults, and an object that is missing stays missing.", `{}`,
			`{text: x, object: {enabled: true}, nullable: x}`},
		"Set": {"What is set stays.", `{text: y, object: {enabled: false}, nullable: y}`,
			`{text: y, object: {enabled: false}, nullable: y}`},
		"Inside": {"Items and values have defaults.", `{list: [{}, {n: 2}], map: {a: {}}, open: {a: {}}}`,
			`{text: x, object: {enabled: true}, nullable: x, list: [{n: 1}, {n: 2}], map: {a: {n: 1}}, open: {a: {}}}`},
		"Null": {"A null is a value only if it is allowed.", `{text: null, nullable: null, object: null}`,
			`{text: x, nullable: null, object: {enabled: true}}`},
		"Mismatch": {"Values of other types are not changed.", `{object: 5, list: {}, map: []}`,
			`{text: x, nullable: x, object: 5, list: {}, map: []}`},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got := decoded(t, tc.object)
			SetDefaults(got, s.Find(Kind{APIVersion: "v1", Kind: "A"}))
			if diff := cmp.Diff(decoded(t, tc.want), got); diff != "" {
				t.Errorf("%s: -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
	SetDefaults(map[string]any{}, nil)
}
