package diff_test

import (
	"fmt"
	"testing"
	"time"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/crossplane-contrib/function-export/internal/desk/composition"
	"github.com/crossplane-contrib/function-export/internal/desk/diff"
	"github.com/crossplane-contrib/function-export/internal/desk/pipeline"
	"github.com/crossplane-contrib/function-export/internal/desk/world"
)

var began = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// settled returns a composite with an input.
func settled(t *testing.T, input string) *diff.End {
	t.Helper()
	engine, err := pipeline.NewEngine()
	if err != nil {
		t.Fatal(err)
	}
	w := world.New(world.StructOf(map[string]any{
		"apiVersion": "example.org/v1", "kind": "App", "metadata": map[string]any{"name": "app", "namespace": "team",
			"uid": "1"},
	}))
	w.Now, w.Meta = began, &fnv1.RequestMeta{Capabilities: world.Capabilities()}
	fields := map[string]any{}
	if err := yaml.Unmarshal([]byte("apiVersion: export.fn.crossplane.io/v1beta1\nkind: Exports\n"+input),
		&fields); err != nil {
		t.Fatal(err)
	}
	s := engine.Simulate(w, [32]byte{})
	s.Compose(pipeline.New(&composition.Composition{Steps: []composition.Step{{Input: fields}}}), pipeline.Options{})
	if err := s.Settle(t.Context()); err != nil || world.FatalOf(s.Response) != "" {
		t.Fatal(err, world.FatalOf(s.Response))
	}
	return &diff.End{Simulation: s}
}

func TestForecast(t *testing.T) {
	const export = "\nsecrets: [{name: conn, data: [{key: k, value: generated.admin.password}]}]"

	cases := map[string]struct {
		reason, input string
		hours         int
		want          []string
	}{
		"CreatedOnce": {"such a password never rotates", "generators: [{name: admin, password: {}}]" + export, 9000, nil},
		"Periodic": {
			"each interval begins with a creation, and a grace period when the export has the next value",
			"generators: [{name: admin, refreshPolicy: Periodic, refreshInterval: 240h, gracePeriod: 24h, password: {}}]" +
				export, 600,
			[]string{"240 rotates admin 2", "264 retires admin 1", "480 rotates admin 3", "504 retires admin 2"},
		},
		"Window": {
			"January 11 is a Sunday, and the window opens on Saturday, January 17",
			"generators: [{name: admin, refreshPolicy: Periodic, refreshInterval: 240h, rotationWindow: {schedule: '0 2 * * " +
				"6', duration: 2h}, password: {}}]" + export, 500,
			[]string{"386 rotates admin 2", "386 retires admin 1"},
		},
		"Certificate": {
			"it is renewed before it ends, or it ends",
			`generators:
- {name: renewed, gracePeriod: 1h, refreshPolicy: OnChange, certificate: {subject: {commonName: a}, duration: 240h,
    renewBefore: 40h}}
- {name: once, certificate: {subject: {commonName: a}, duration: 100h}}
secrets: [{name: tls, data: [{key: tls.crt, value: "generated.once['tls.crt']"}, {key: b, value: "generated.renewed['tls.crt']"}]}]`, 300,
			[]string{"100 expires tls.crt", "200 rotates renewed 2", "201 retires renewed 1"},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			s := settled(t, tc.input)
			until := s.Now.Add(time.Duration(tc.hours) * time.Hour)

			events, complete, err := s.Forecast(t.Context(), until, nil)
			if err != nil || !complete.Equal(until) {
				t.Fatalf("complete until %s, %v", complete, err)
			}

			var got []string

			for _, e := range events {
				line := fmt.Sprintf("%d %s %s", int(e.At.Sub(began).Hours()), e.Kind, e.Generator+e.Key)
				if e.Generation > 0 {
					line += fmt.Sprint(" ", e.Generation)
				}

				got = append(got, line)
			}

			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s: -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}
