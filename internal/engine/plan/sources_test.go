package plan_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/crossplane-contrib/function-export/internal/engine/plan/plantest"
)

// No object is requested that no expression uses, above all no Secret.
func TestSourcesThatAreRead(t *testing.T) {
	const (
		data = "secrets: [{name: a, data: [{key: k, value: "
		end  = "}]}]"
	)
	for name, c := range map[string]struct {
		reason string
		uses   string
		want   []string
	}{
		"None":           {"nothing uses them", data + "composite.spec.x" + end, nil},
		"Secret":         {"its data", data + "secrets.ca.x" + end, []string{"ca"}},
		"AnySecret":      {"a computed name can be that of any Secret", data + `"secrets[composite.spec.x].y"` + end, []string{"ca", "tls"}},
		"ConfigMap":      {"one object", data + "sources.cm.data.x" + end, []string{"cm"}},
		"AnySource":      {"a computed name can be that of any object, but of no Secret", data + `"sources[composite.spec.x].y"` + end, []string{"cm", "crd"}},
		"Generated":      {"a generator can have the name of a Secret", data + "generated.ca.uuid" + end, nil},
		"Variable":       {"through a variable", "variables: [{name: v, value: secrets.ca.x}]\n" + data + "variables.v" + end, []string{"ca"}},
		"UnusedVariable": {"a variable without a user is not evaluated", "variables: [{name: v, value: secrets.ca.x}]\n" + data + "composite.spec.x" + end, nil},
		"Find":           {"a find that can reach it", "secrets: [{name: a, dataFrom: [{find: {path: ca/}}]}]", []string{"ca"}},
		"FindOfAnother":  {"a find that cannot", "secrets: [{name: a, dataFrom: [{find: {path: db/}}]}]", nil},
	} {
		t.Run(name, func(t *testing.T) {
			p, wrong := plantest.Compile(t, plantest.Exports(`
sources:
- {name: ca, apiVersion: v1, kind: Secret}
- {name: tls, apiVersion: v1, kind: Secret}
- {name: cm, apiVersion: v1, kind: ConfigMap}
- {name: crd, apiVersion: example.org/v1, kind: Secret}
generators: [{name: ca, uuid: {}}]
`+c.uses))
			if wrong != nil {
				t.Fatal(wrong)
			}
			var got []string
			for _, s := range p.Sources {
				got = append(got, s.Name)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("Sources: %s: -want, +got:\n%s", c.reason, diff)
			}
		})
	}
}

// A plan says what the outputs read, directly and through variables. The connection details of a generation are not among
// it, because they become outputs.
func TestWhatOutputsRead(t *testing.T) {
	p, wrong := plantest.Compile(t, plantest.Exports(`
variables: [{name: plain, value: composite.spec.x}, {name: v, value: environment.a + secrets.db.host}, {name: w, value: variables.v}]
generators:
- {name: user, resource: {manifest: {apiVersion: example.org/v1, kind: User}, outputs: {token: secret.token}}, readyExpression: has(secret.token)}
secrets:
- {name: a, data: [{key: k, value: secrets.db.password}, {key: l, value: variables.w}, {key: m, value: context.a}]}
- {name: b, data: [{key: k, value: generated.user.token}, {key: l, value: secrets.cache.password}, {key: m, value: composite.spec.y}]}`))
	if wrong != nil {
		t.Fatal(wrong)
	}
	want := map[string][]string{"db": {"secrets[0]"}, "cache": {"secrets[1]"}}
	if diff := cmp.Diff(want, p.Details.Inputs); diff != "" {
		t.Errorf("entries that use connection details: -want, +got:\n%s", diff)
	}
	if f := p.Freshness; !f.Context || !f.Environment {
		t.Errorf("Freshness: got %+v, want that the context and the environment are read", f)
	}
	var got []string
	for _, v := range p.Variables {
		if v.Environment {
			got = append(got, v.Name)
		}
	}
	if diff := cmp.Diff([]string{"v", "w"}, got); diff != "" || len(p.Variables) != 3 {
		t.Errorf("variables that read the environment, of %d: -want, +got:\n%s", len(p.Variables), diff)
	}
}
