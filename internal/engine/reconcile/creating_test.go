package reconcile_test

import (
	"crypto/rand"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/types/known/structpb"
	"sigs.k8s.io/yaml"

	"github.com/crossplane-contrib/function-export/internal/engine/plan/plantest"
	"github.com/crossplane-contrib/function-export/internal/engine/reconcile"
	"github.com/crossplane-contrib/function-export/internal/engine/wire"
)

// Until an object is observed, it is not available. After a minute, the message says why it may still not exist.
func TestCreated(t *testing.T) {
	const (
		waits   = "\ngenerators: [{name: p, uuid: {}}]\nsecrets: [{name: a, data: [{key: k, value: generated.p.uuid}]}]"
		creates = `generation 1 of generator "p" is created in this reconcile`
		overdue = ", but it was not created before: Crossplane cannot create it, and the events of the composite say " +
			"why, or a later step of the pipeline removes it"
	)
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	type want struct {
		reason, message, see string
		warn                 bool
	}
	for name, tc := range map[string]struct {
		reason, input, objects string
		message                string // of the condition
		since                  time.Duration
		want                   want
	}{
		"WaitsLate": {
			"an export waits for a generation that should be stored", waits, "",
			"waits for generated.p (" + creates + ")", time.Minute,
			want{"Waiting", `Secret "a" (team/xr-a) is not created: key "k" waits for generated.p (` + creates +
				overdue + ")", "", false},
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newScene(t, plantest.Exports(tc.input), tc.objects)
			var status map[string]any
			if err := yaml.Unmarshal([]byte("conditions: [{type: ExportsReady, status: 'False', reason: Waiting}]"),
				&status); err != nil {
				t.Fatal(err)
			}
			condition, _ := status["conditions"].([]any)[0].(map[string]any)
			condition["message"], condition["lastTransitionTime"] = tc.message, now.Add(-tc.since).Format(time.RFC3339)
			v, err := structpb.NewValue(status)
			if err != nil {
				t.Fatal(err)
			}
			xr := s.req.Observation.Composite.Object.Proto()
			xr.Fields["status"] = v
			s.req.Observation.Composite.Object = wire.Of(xr)
			s.req.Now, s.req.Random = now, rand.Reader
			s.run(t)
			r, err := s.callOnce()
			if err != nil {
				t.Fatal(err)
			}
			o := reconcile.Outcome{}
			for _, one := range r.Objects {
				o = one.Outcome
			}
			for _, one := range r.Others {
				o = one
			}
			if diff := cmp.Diff(tc.want, want{o.State.String(), o.Message, o.See, o.Warn},
				cmp.AllowUnexported(want{})); diff != "" {
				t.Errorf("Run(...): %s: -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}
