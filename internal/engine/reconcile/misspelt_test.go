package reconcile_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/crossplane-contrib/function-export/internal/engine/plan"
	"github.com/crossplane-contrib/function-export/internal/engine/plan/plantest"
	"github.com/crossplane-contrib/function-export/internal/engine/reconcile"
	"github.com/crossplane-contrib/function-export/internal/engine/wire"
)

var database = plan.Kind{APIVersion: "example.org/v1", Kind: "DB"}

// typedRun calls as a Crossplane does that reads schemas, until all was read. Each call
// wants the same schemas.
func (s *scene) typedRun(t *testing.T, schemas map[plan.Kind]*structpb.Struct) (*reconcile.Result, error) {
	t.Helper()
	s.req.HasSchemas = true
	first, err := s.call(t)
	if err != nil {
		return nil, err
	}
	s.req.Schemas = map[plan.Kind]wire.Struct{}
	for _, k := range first.Schemas {
		s.req.Schemas[k] = wire.Of(schemas[k])
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

func TestMisspelt(t *testing.T) {
	const dbSchema = `
type: object
properties:
  spec: {type: object, properties: {port: {type: integer}}}
  status: {type: object, properties: {endpoint: {type: string}, address: {type: string}}}
`
	const appSchema = `
type: object
properties:
  spec: {type: object, properties: {zone: {type: string}}}
  status: {type: object, properties: {endpoint: {type: string}, zone: {type: string}}}
`
	const (
		lacksStatus = "Held! | status[0].fieldPath: App of example.org/v1 has no field status.enpoint: did you mean " +
			"endpoint?"

		lacks    = "secrets[0].data[0].value:1:16: DB of example.org/v1 has no field status.endpiont: did you mean endpoint?"
		waits    = `Waiting nothing | Secret "out" (team/xr-out) is not created: key "k" waits for `
		misspelt = "secrets: [{name: out, from: db, data: [{key: k, value: resource.status.endpiont}]}]"
	)
	type want struct {
		schemas []plan.Kind
		shown   []string
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
			want: want{[]plan.Kind{database}, []string{waits + "resources.db.status.endpiont (DB db-1 is not ready)",
				"Waiting! | " + lacks}},
		},
		"NotYet": {
			reason:  "what waits for a field that may come does not",
			input:   "secrets: [{name: out, from: db, data: [{key: k, value: resource.status.address}]}]",
			schemas: map[plan.Kind]string{database: dbSchema},
			want: want{[]plan.Kind{database}, []string{waits +
				"resources.db.status.address (DB db-1 is not ready)"}},
		},
		"NothingWaits": {
			reason: "while nothing waits no schema is asked for: they are large",
			input:  "secrets: [{name: out, from: db, data: [{key: k, value: resource.status.endpoint}]}]",
			want:   want{nil, []string{"Available Secret team/xr-out {data: {k: db.example.org}}"}},
		},
		"StatusOfComposite": {
			reason:  "Crossplane cannot write a status field that the composite does not have",
			input:   "status: [{fieldPath: enpoint, value: resources.db.status.endpoint}]",
			schemas: map[plan.Kind]string{plantest.App: appSchema},
			want:    want{[]plan.Kind{plantest.App}, []string{"Available enpoint=db.example.org", lacksStatus}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			schemas := map[plan.Kind]*structpb.Struct{}
			for k, text := range c.schemas {
				schemas[k] = plantest.Parse(t, text)
			}
			result, err := newScene(t, plantest.Exports(c.input), c.overlays...).typedRun(t, schemas)
			if err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(c.want.schemas, result.Schemas) {
				t.Errorf("%s: want schemas %v, got %v", c.reason, c.want.schemas, result.Schemas)
			}
			if diff := cmp.Diff(c.want.shown, show(result)); diff != "" {
				t.Errorf("%s\n-want, +got:\n%s", c.reason, diff)
			}
		})
	}
}
