package plan_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/crossplane-contrib/function-export/internal/plan"
)

var database = plan.Kind{APIVersion: "example.org/v1", Kind: "DB"}

// typedRun calls as a Crossplane does that reads schemas, until all was read. Each call
// wants the same schemas.
func (s *scene) typedRun(t *testing.T, schemas map[plan.Kind]*structpb.Struct) (*plan.Result, error) {
	t.Helper()
	s.req.HasSchemas = true
	first, err := s.call(t)
	if err != nil {
		return nil, err
	}
	s.req.Schemas = map[plan.Kind]*structpb.Struct{}
	for _, k := range first.Schemas {
		s.req.Schemas[k] = schemas[k]
	}
	if len(first.Schemas) > 0 && !first.Unread {
		t.Error("Run(...): schemas were not read, and the result does not say so")
	}
	for _, r := range first.Requirements {
		s.req.Found[r.Key()] = s.answer(r)
	}
	second, err := s.call(t)
	if err == nil {
		if diff := cmp.Diff(first.Schemas, second.Schemas); diff != "" {
			t.Errorf("Run(...): schemas wanted by two calls of one reconcile: -first, +second:\n%s", diff)
		}
	}
	return second, err
}

func TestTypeChecking(t *testing.T) {
	const dbSchema = `
type: object
properties:
  spec: {type: object, properties: {port: {type: integer}}}
  status: {type: object, properties: {endpoint: {type: string}, address: {type: string}}}
`
	const (
		lacks    = "secrets[0].data[0].value:1:16: DB of example.org/v1 has no field status.endpiont: did you mean endpoint?"
		waits    = `Waiting nothing | Secret "out" is not created: waiting: key "k" for `
		misspelt = "secrets: [{name: out, from: db, data: [{key: k, value: resource.status.endpiont}]}]"
	)
	type want struct {
		schemas []plan.Kind
		shown   []string
		err     string
	}
	for name, c := range map[string]struct {
		reason   string
		input    string
		overlays []string
		schemas  map[plan.Kind]string
		want     want
	}{
		"Misspelt": {
			reason:  "what waits for a field that cannot come says so",
			input:   misspelt,
			schemas: map[plan.Kind]string{database: dbSchema},
			want:    want{[]plan.Kind{database}, []string{waits + "resources.db.status.endpiont", "Waiting! | " + lacks}, ""},
		},
		"NotYet": {
			reason:  "what waits for a field that may come does not",
			input:   "secrets: [{name: out, from: db, data: [{key: k, value: resource.status.address}]}]",
			schemas: map[plan.Kind]string{database: dbSchema},
			want:    want{[]plan.Kind{database}, []string{waits + "resources.db.status.address"}, ""},
		},
		"NothingWaits": {
			reason: "while nothing waits no schema is asked for: they are large",
			input:  "secrets: [{name: out, from: db, data: [{key: k, value: resource.status.endpoint}]}]",
			want:   want{nil, []string{"Available Secret team/xr-out {data: {k: db.example.org}}"}, ""},
		},
		"NotComposed": {
			reason: "nor while an object is not there: it has no fields at all",
			input:  "secrets: [{name: out, data: [{key: k, value: resources.cache.status.url + secrets.db.nope}]}]",
			want:   want{nil, []string{waits + "resources.cache, secrets.db.nope"}, ""},
		},
		"OptionalAbsent": {
			reason: "nor for what is optional",
			input:  "secrets: [{name: out, from: db, data: [{key: k, value: \"resource.status.?endpiont.orValue('x')\"}, {key: l, value: secret.nope}]}]",
			want:   want{nil, []string{`Waiting nothing | Secret "out" is not created: waiting: key "l" for secrets.db.nope`}, ""},
		},
		"OptionalKey": {
			reason: "nor for an optional key that waits: the object is made, and stays as it is wanted",
			input:  "variables: [{name: h, value: resources.db.status.hots}]\nsecrets: [{name: out, from: db, data: [{key: k, value: resource.status.endpoint}, {key: l, value: resource.status.endpiont, optional: true}, {key: m, value: variables.h, optional: true}]}]",
			want:   want{nil, []string{"Available Secret team/xr-out {data: {k: db.example.org}}"}, ""},
		},
		"Variable": {
			reason:  "through a variable as well",
			input:   "variables: [{name: s, value: resources.db.status}, {name: h, value: variables.s.hots}]\nsecrets: [{name: out, data: [{key: k, value: variables.h}]}]",
			schemas: map[plan.Kind]string{database: dbSchema},
			want:    want{[]plan.Kind{database}, []string{waits + "variables.s.hots", "Waiting! | variables[1].value:1:12: DB of example.org/v1 has no field status.hots: it has address, endpoint"}, ""},
		},
		"Status": {
			reason:  "a status field waits, too",
			input:   "status: [{fieldPath: a, value: resources.db.status.endpiont}]",
			schemas: map[plan.Kind]string{database: dbSchema},
			want:    want{[]plan.Kind{database}, []string{"Waiting a=nothing | status.a is not written: waiting: resources.db.status.endpiont", "Waiting! | status[0].value:1:20: DB of example.org/v1 has no field status.endpiont: did you mean endpoint?"}, ""},
		},
		"Composite": {
			reason:  "the composite has a schema as well",
			input:   "secrets: [{name: out, data: [{key: k, value: composite.spec.regoin}]}]",
			schemas: map[plan.Kind]string{app: "{type: object, properties: {spec: {type: object, properties: {region: {type: string}}}}}"},
			want:    want{[]plan.Kind{app}, []string{waits + "composite.spec.regoin", "Waiting! | secrets[0].data[0].value:1:15: App of example.org/v1 has no field spec.regoin: did you mean region?"}, ""},
		},
		"NoSchema": {
			reason: "a kind that the API server has no schema of is not known",
			input:  misspelt,
			want:   want{[]plan.Kind{database}, []string{waits + "resources.db.status.endpiont"}, ""},
		},
		"Strict": {
			reason:  "strictly it is refused",
			input:   "typeChecking: Strict\n" + misspelt,
			schemas: map[plan.Kind]string{database: dbSchema},
			want:    want{nil, nil, lacks},
		},
		"StrictFirstReconcile": {
			reason:   "at the first reconcile, when the resource is only desired",
			input:    "typeChecking: Strict\n" + misspelt,
			overlays: []string{"resources: {}", "desired: {db: {apiVersion: example.org/v1, kind: DB}}"},
			schemas:  map[plan.Kind]string{database: dbSchema},
			want:     want{nil, nil, lacks},
		},
		"StrictRight": {
			reason:  "what is right is not",
			input:   "typeChecking: Strict\nsecrets: [{name: out, from: db, data: [{key: k, value: resource.status.endpoint}]}]",
			schemas: map[plan.Kind]string{database: dbSchema},
			want:    want{[]plan.Kind{database, app}, []string{"Available Secret team/xr-out {data: {k: db.example.org}}"}, ""},
		},
		"StrictSource": {
			reason: "a source has a type, too, and a Secret has none",
			input: "typeChecking: Strict\nsources: [{name: cm, apiVersion: v1, kind: ConfigMap}, {name: sec, apiVersion: v1, kind: Secret}]\n" +
				"secrets: [{name: out, data: [{key: k, value: sources.cm.dta.x + secrets.sec.x}]}]",
			schemas: map[plan.Kind]string{{APIVersion: "v1", Kind: "ConfigMap"}: "{type: object, properties: {data: {type: object, additionalProperties: {type: string}}}}"},
			want:    want{nil, nil, "secrets[0].data[0].value:1:11: ConfigMap of v1 has no field dta: did you mean data?"},
		},
		"OwnExport": {
			reason: "an export that was composed before is no other resource of its name",
			input:  "typeChecking: Strict\nsecrets: [{name: out, from: db, data: [{key: k, value: resource.status.endpoint}]}, {name: two, data: [{key: k, value: resources.out.metadata.name}]}]",
			overlays: []string{`
resources:
  db: {object: {apiVersion: example.org/v1, kind: DB, metadata: {name: db-1}, status: {endpoint: db.example.org}}}
  out: {object: {apiVersion: v1, kind: Secret, metadata: {name: xr-out, namespace: team, ownerReferences: [{controller: true, uid: u1}]}, data: {}}}
`},
			schemas: map[plan.Kind]string{database: dbSchema},
			want:    want{[]plan.Kind{database, app}, []string{"Available Secret team/xr-out {data: {k: db.example.org}}", "Available Secret team/xr-two {data: {k: xr-out}}"}, ""},
		},
	} {
		t.Run(name, func(t *testing.T) {
			schemas := map[plan.Kind]*structpb.Struct{}
			for k, text := range c.schemas {
				schemas[k] = parse(t, text)
			}
			result, err := newScene(t, exports(c.input), c.overlays...).typedRun(t, schemas)
			got := want{}
			if err != nil {
				got.err = err.Error()
			} else {
				got.schemas, got.shown = result.Schemas, show(result)
			}
			if !slices.Equal(c.want.schemas, got.schemas) || c.want.err != got.err {
				t.Errorf("%s: want schemas %v and error %q, got %v and %q", c.reason, c.want.schemas, c.want.err, got.schemas, got.err)
			}
			if diff := cmp.Diff(c.want.shown, got.shown); diff != "" {
				t.Errorf("%s\n-want, +got:\n%s", c.reason, diff)
			}
		})
	}
}

// A Crossplane that reads no schemas is not asked for one.
func TestTypeCheckingWithoutSchemas(t *testing.T) {
	const misspelt = "secrets: [{name: out, from: db, data: [{key: k, value: resource.status.endpiont}]}]"
	waits := `Waiting nothing | Secret "out" is not created: waiting: key "k" for resources.db.status.endpiont`
	for mode, want := range map[string][]string{
		"Warn":   {waits},
		"Strict": {waits, "Available! | typeChecking: is Strict, but this Crossplane hands over no schemas, as v2.2 does: nothing is checked; check the input with fn check, and set it to Warn"},
	} {
		t.Run(mode, func(t *testing.T) {
			s := newScene(t, exports("typeChecking: "+mode+"\n"+misspelt))
			r := s.run(t)
			if len(r.Schemas) > 0 || r.Unread {
				t.Errorf("want no schemas, got %v, unread %t", r.Schemas, r.Unread)
			}
			if diff := cmp.Diff(want, show(r)); diff != "" {
				t.Errorf("-want, +got:\n%s", diff)
			}
		})
	}
}
