package render

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"github.com/google/go-cmp/cmp"

	"github.com/crossplane-contrib/function-export/internal/desk/cli/terminal"
	"github.com/crossplane-contrib/function-export/internal/engine/function/functiontest"
)

// requiredObjects are the objects of the selection tests.
const requiredObjects = `
apiVersion: v1
kind: ConfigMap
metadata: {name: b, namespace: two, labels: {app: x, tier: web}}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: b, namespace: one, labels: {app: x}}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: a, namespace: two, labels: {app: y}}
---
apiVersion: example.org/v1
kind: Region
metadata: {name: eu, labels: {app: x}}
---
apiVersion: example.org/v2
kind: Region
metadata: {name: eu2}
`

// TestRenderFetch: which objects a selector finds, and in which order.
func TestRenderFetch(t *testing.T) {
	named := func(name string) *fnv1.ResourceSelector_MatchName {
		return &fnv1.ResourceSelector_MatchName{MatchName: name}
	}
	labelled := func(l map[string]string) *fnv1.ResourceSelector_MatchLabels {
		return &fnv1.ResourceSelector_MatchLabels{MatchLabels: &fnv1.MatchLabels{Labels: l}}
	}
	in := func(ns string) *string { return &ns }

	cases := map[string]struct {
		reason string
		sel    *fnv1.ResourceSelector
		want   []string
	}{
		"Name": {
			sel:  &fnv1.ResourceSelector{ApiVersion: "v1", Kind: "ConfigMap", Namespace: in("one"), Match: named("b")},
			want: []string{"one/b"},
		},
		"NameWithoutNamespace": {
			reason: "A namespaced object is not found by its name alone.",
			sel:    &fnv1.ResourceSelector{ApiVersion: "v1", Kind: "ConfigMap", Match: named("b")},
		},
		"NameOfClusterScoped": {
			sel:  &fnv1.ResourceSelector{ApiVersion: "example.org/v1", Kind: "Region", Match: named("eu")},
			want: []string{"/eu"},
		},
		"Labels": {
			reason: "No namespace is every namespace; sorted by namespace and name.",
			sel:    &fnv1.ResourceSelector{ApiVersion: "v1", Kind: "ConfigMap", Match: labelled(map[string]string{"app": "x"})},
			want:   []string{"one/b", "two/b"},
		},
		"AllOfAKind": {
			reason: "Neither name nor labels: all of that kind, in that namespace.",
			sel:    &fnv1.ResourceSelector{ApiVersion: "v1", Kind: "ConfigMap", Namespace: in("two")},
			want:   []string{"two/a", "two/b"},
		},
		"Composite": {
			reason: "The composite is in the cluster.",
			sel:    &fnv1.ResourceSelector{ApiVersion: "example.org/v1", Kind: "App", Namespace: in("default"), Match: named("demo")},
			want:   []string{"default/demo"},
		},
		"Observed": {
			reason: "So are its observed resources.",
			sel:    &fnv1.ResourceSelector{ApiVersion: "example.org/v1", Kind: "Database"},
			want:   []string{"default/demo-db"},
		},
	}
	c := Command{Paths: []string{functiontest.Folder(t, functiontest.Files{"required.yaml": requiredObjects, "observed.yaml": functiontest.Database})}}
	inputs, err := c.load(terminal.Disk(nil))
	if err != nil {
		t.Fatal(err)
	}
	store, err := newStore(inputs)
	if err != nil {
		t.Fatal(err)
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, itemNames(store.fetch(tc.sel))); diff != "" {
				t.Errorf("%s\n%s", tc.reason, diff)
			}
		})
	}
}

// itemNames are the namespaces and names in what a function was given.
func itemNames(rs *fnv1.Resources) []string {
	var out []string
	for _, r := range rs.GetItems() {
		md, _ := r.GetResource().AsMap()["metadata"].(map[string]any)
		ns, _ := md["namespace"].(string)
		out = append(out, fmt.Sprintf("%s/%s", ns, md["name"]))
	}
	return out
}

// givenTo is what a call was given, by requirement.
func givenTo(req *fnv1.RunFunctionRequest) map[string][]string {
	out := map[string][]string{}
	for _, k := range slices.Sorted(maps.Keys(req.GetRequiredResources())) {
		out[k] = itemNames(req.GetRequiredResources()[k])
	}
	return out
}

// TestRenderRequirements: which calls a function sees until its requirements are
// stable.
func TestRenderRequirements(t *testing.T) {
	asks := func(names ...string) *fnv1.RunFunctionResponse {
		rsp := &fnv1.RunFunctionResponse{Requirements: &fnv1.Requirements{Resources: map[string]*fnv1.ResourceSelector{}}}
		for _, n := range names {
			ns := "one"
			rsp.Requirements.Resources[n] = &fnv1.ResourceSelector{
				ApiVersion: "v1", Kind: "ConfigMap", Namespace: &ns, Match: &fnv1.ResourceSelector_MatchName{MatchName: n},
			}
		}
		return rsp
	}
	bootstrap := strings.Replace(functiontest.Composition, "functionRef:", `requirements:
      requiredResources:
      - {requirementName: b, apiVersion: v1, kind: ConfigMap, name: b, namespace: one}
      - {requirementName: x, apiVersion: v1, kind: ConfigMap, matchLabels: {app: x}}
      - {requirementName: gone, apiVersion: v1, kind: ConfigMap, matchLabels: {app: none}}
    functionRef:`, 1)
	booted := map[string][]string{"b": {"one/b"}, "x": {"one/b", "two/b"}, "gone": nil}

	cases := map[string]struct {
		reason      string
		composition string
		script      func(call int, req *fnv1.RunFunctionRequest) (*fnv1.RunFunctionResponse, error)
		want        []map[string][]string
		wantErr     string
	}{
		"None": {
			reason: "A function that asks for nothing is called once.",
			script: func(int, *fnv1.RunFunctionRequest) (*fnv1.RunFunctionResponse, error) {
				return &fnv1.RunFunctionResponse{Requirements: &fnv1.Requirements{}}, nil
			},
			want: []map[string][]string{{}},
		},
		"Found": {
			reason: "Asked for in the first call, there in the second, stable.",
			script: func(int, *fnv1.RunFunctionRequest) (*fnv1.RunFunctionResponse, error) { return asks("b"), nil },
			want:   []map[string][]string{{}, {"b": {"one/b"}}},
		},
		"Grows": {
			reason: "What it reads may make it ask for more.",
			script: func(_ int, req *fnv1.RunFunctionRequest) (*fnv1.RunFunctionResponse, error) {
				if len(req.GetRequiredResources()) == 0 {
					return asks("b"), nil
				}
				return asks("b", "c"), nil
			},
			want: []map[string][]string{{}, {"b": {"one/b"}}, {"b": {"one/b"}, "c": nil}},
		},
		"Bootstrap": {
			reason:      "What the Composition requires is there from the first call on.",
			composition: bootstrap,
			script: func(int, *fnv1.RunFunctionRequest) (*fnv1.RunFunctionResponse, error) {
				return &fnv1.RunFunctionResponse{}, nil
			},
			want: []map[string][]string{booted},
		},
		"BootstrapAskedForAgain": {
			reason:      "The first call had all that it asks for: there is no second.",
			composition: bootstrap,
			script:      func(int, *fnv1.RunFunctionRequest) (*fnv1.RunFunctionResponse, error) { return asks("b"), nil },
			want:        []map[string][]string{booted},
		},
		"Fatal": {
			reason: "A fatal result ends it, whatever it asks for.",
			script: func(int, *fnv1.RunFunctionRequest) (*fnv1.RunFunctionResponse, error) {
				rsp := asks("b")
				rsp.Results = []*fnv1.Result{{Severity: fnv1.Severity_SEVERITY_FATAL}}
				return rsp, nil
			},
			want:    []map[string][]string{{}},
			wantErr: `pipeline step "export" returned a fatal result`,
		},
		"NeverStable": {
			reason: "Crossplane calls once, and five times more.",
			script: func(call int, _ *fnv1.RunFunctionRequest) (*fnv1.RunFunctionResponse, error) {
				return asks(fmt.Sprintf("n%d", call)), nil
			},
			want:    []map[string][]string{{}, {"n1": nil}, {"n2": nil}, {"n3": nil}, {"n4": nil}, {"n5": nil}},
			wantErr: `cannot run pipeline step "export": requirements didn't stabilize after the maximum number of iterations (5)`,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			files := functiontest.Files{"required.yaml": requiredObjects}
			if tc.composition != "" {
				files["composition.yaml"] = tc.composition
			}
			fn := &fakeFunction{script: tc.script}
			stdout, _, failure := rendered(t, Command{Paths: []string{functiontest.Folder(t, files)}}, fn)
			if diff := cmp.Diff(tc.wantErr, failure); diff != "" {
				t.Errorf("%s\n%s", tc.reason, diff)
			}
			if (failure != "") != (stdout == "") {
				t.Errorf("failure %q with stdout %q", failure, stdout)
			}
			var got []map[string][]string
			for _, r := range fn.requests {
				got = append(got, givenTo(r))
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s\n%s", tc.reason, diff)
			}
		})
	}
}
