package state_test

import (
	"fmt"
	"strings"
	"testing"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/crossplane-contrib/function-export/internal/desk/state"
)

const (
	composite = `apiVersion: example.org/v1
kind: XDB
metadata: {namespace: a, name: %s, uid: u, labels: {team: x}}
spec:
  crossplane:
    compositionRef: {name: db}
    resourceRefs: [{apiVersion: v1, kind: Secret, name: s}, {apiVersion: v1, kind: Secret, name: s}]
`
	listed = `apiVersion: v1
items:
- apiVersion: v1
  kind: ConfigMap
  metadata: {namespace: a, name: one}
  data:
    text: |
      - a list in a text
- apiVersion: v1
  kind: ConfigMap
  metadata:
    namespace: a
    name: two
kind: List
metadata:
  resourceVersion: ""
`
)

func read(t *testing.T, files ...string) *state.State {
	t.Helper()
	s := state.New()
	for i, content := range files {
		if _, err := s.Read(fmt.Sprintf("file-%d", i), content); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

func TestRead(t *testing.T) {
	for name, c := range map[string]struct {
		reason, content string
		want            int
		wrong           string
	}{
		"List":      {"what kubectl get -o yaml prints", listed, 2, ""},
		"Documents": {"several documents, one of them a list", listed + "---\n" + fmt.Sprintf(composite, "orders"), 3, ""},
		"JSON": {"what kubectl get -o json prints",
			`{"apiVersion":"v1","kind":"List","items":[{"apiVersion":"v1","kind":"Secret","metadata":{"name":"a"}}]}`, 1, ""},
		"TypedList": {"items of an API server have no kind",
			`{"apiVersion":"v1","kind":"SecretList","items":[{"metadata":{"name":"a"}}]}`, 1, ""},
		"Anchor": {"an alias reaches over items", strings.Replace(listed, "metadata: {namespace: a, name: one}",
			"metadata: &m {namespace: a, name: one}", 1), 2, ""},
		"NoObject": {"another file of the folder", "values: [1]\n", 0, ""},
		"Empty":    {"nothing", "", 0, ""},
		"BrokenItem": {"the position is that in the file", strings.Replace(listed, "    name: two", "    name: two: three",
			1), 0, "file:13:14: "},
		"BrokenJSON":  {"a text of JSON is not quoted", "{\"a\":\n \"hunter2\" x}", 0, "file:2:"},
		"WindowsText": {"a file of PowerShell", "\xef\xbb\xbf" + strings.ReplaceAll(listed, "\n", "\r\n"), 2, ""},
	} {
		t.Run(name, func(t *testing.T) {
			n, err := state.New().Read("file", c.content)
			if c.wrong == "" && (err != nil || n != c.want) {
				t.Errorf("%s: want %d objects, got %d, %v", c.reason, c.want, n, err)
			}
			if c.wrong != "" && (err == nil || !strings.Contains(err.Error(), c.wrong) || strings.Contains(err.Error(),
				"hunter2")) {
				t.Errorf("%s: want %q, got %v", c.reason, c.wrong, err)
			}
		})
	}
}

// TestUnknown: which Secrets have no known data.
func TestUnknown(t *testing.T) {
	s := read(t, `{apiVersion: v1, kind: Secret, metadata: {namespace: a, name: known}, data: {k: aHVudGVyMg==, empty: `+
		`""}}`,
		`{apiVersion: v1, kind: Secret, metadata: {namespace: a, name: stars}, data: {k: "***", other: aHVudGVyMg==}}`,
		`{apiVersion: v1, kind: Secret, metadata: {namespace: a, name: encoded}, data: {k: UkVEQUNURUQ=}}`, // REDACTED
		`{apiVersion: v1, kind: Secret, metadata: {namespace: a, name: length}, stringData: {k: "[12 bytes]"}}`,
		`{apiVersion: v1, kind: Secret, metadata: {namespace: a, name: stripped}}`)
	want := map[string]string{"known": "false []", "stars": "true [k]", "encoded": "true [k]", "length": "true [k]",
		"stripped": "true []", "missing": "true []"}
	got := map[string]string{}
	for name := range want {
		r := state.Ref{APIVersion: "v1", Kind: "Secret", Namespace: "a", Name: name}
		got[name] = fmt.Sprint(s.IsUnknown(r), s.HiddenKeys(r))
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// TestComposites: which composites a change of a Composition reaches, and which revision composes them now.
func TestComposites(t *testing.T) {
	const (
		changed = `{apiVersion: apiextensions.crossplane.io/v1, kind: Composition, metadata: {name: db, labels: {channel: ` +
			`stable}}, spec: {compositeTypeRef: {apiVersion: example.org/v1, kind: XDB}}}`
		revision = `{apiVersion: apiextensions.crossplane.io/v1, kind: CompositionRevision, metadata: {name: db-1}, spec: {}}`
		xrd      = `{apiVersion: apiextensions.crossplane.io/v2, kind: CompositeResourceDefinition, metadata: {name: ` +
			`xdbs.example.org}, spec: {group: example.org, names: {kind: XDB}, defaultCompositionRef: {name: db}}}`
	)
	of := func(metadata, spec string) string {
		return fmt.Sprintf("{apiVersion: example.org/v1, kind: XDB, metadata: {name: x, %s}, spec: {%s}}", metadata, spec)
	}
	in := func(fields string) string {
		return of("namespace: a", "crossplane: {compositionRef: {name: db}, "+fields+"}")
	}
	for name, c := range map[string]struct{ reason, xr, want string }{
		"Follows": {"the usual one", in("compositionRevisionRef: {name: db-1}, compositionUpdatePolicy: Automatic"),
			"CompositionRevision db-1 pinned=false"},
		"Manual": {"it stays at its revision",
			in("compositionRevisionRef: {name: db-1}, compositionUpdatePolicy: Manual"), "CompositionRevision db-1 pinned=true"},
		"NoRevision": {"the Composition is used if the revision is not in the files", in("compositionRevisionRef: {name: " +
			"gone}"), "Composition db pinned=false"},
		"Selected": {"the revision selector selects the new labels", in("compositionRevisionSelector: {matchLabels: " +
			"{channel: stable}}"), "Composition db pinned=false"},
		"NotSelected": {"the revision selector selects other labels", in("compositionRevisionSelector: {matchLabels: " +
			"{channel: dev}}"), "Composition db pinned=true"},
		"Deleted": {"Crossplane deletes it", of("namespace: a, deletionTimestamp: x", "crossplane: {compositionRef: "+
			"{name: db}}"), "Composition db pinned=true"},
		"Paused": {"Crossplane does not reconcile it", of(`namespace: a, annotations: {crossplane.io/paused: "true"}`,
			"crossplane: {compositionRef: {name: db}}"), "Composition db pinned=true"},
		"Legacy": {"the v1 style", of("", "compositionRef: {name: db}, compositionUpdatePolicy: Manual"),
			"Composition db pinned=true"},
		"Author": {"in the v2 style, spec.compositionRef is a field of the author",
			of("namespace: a", "crossplane: {compositionRef: {name: db}}, compositionUpdatePolicy: Manual"),
			"Composition db pinned=false"},
		"Other": {"another Composition", of("namespace: a", "crossplane: {compositionRef: {name: other}}"), ""},
		"Default": {"Crossplane has not seen it yet: the definition has a default", of("namespace: a", ""),
			"Composition db pinned=false"},
	} {
		t.Run(name, func(t *testing.T) {
			var object map[string]any
			if err := yaml.Unmarshal([]byte(changed), &object); err != nil {
				t.Fatal(err)
			}
			got := ""
			for _, x := range read(t, changed, revision, xrd, c.xr).Composites(object) {
				got = fmt.Sprintf("%s %s pinned=%t", x.InUse["kind"], x.InUse["metadata"].(map[string]any)["name"], x.Pinned != "")
			}
			if got != c.want {
				t.Errorf("%s: want %q, got %q", c.reason, c.want, got)
			}
		})
	}
}

func TestSelect(t *testing.T) {
	s := read(t, listed, fmt.Sprintf(composite, "orders"), strings.ReplaceAll(fmt.Sprintf(composite, "orders"),
		"namespace: a", "namespace: b"))
	in := func(namespace string) *fnv1.ResourceSelector {
		return &fnv1.ResourceSelector{
			ApiVersion: "example.org/v1", Kind: "XDB", Namespace: &namespace,
			Match: &fnv1.ResourceSelector_MatchLabels{MatchLabels: &fnv1.MatchLabels{Labels: map[string]string{"team": "x"}}},
		}
	}
	if all, one := len(s.Select(in(""))), len(s.Select(in("b"))); all != 2 || one != 1 {
		t.Errorf("want 2 objects of all namespaces and 1 of one, got %d and %d", all, one)
	}
	named := &fnv1.ResourceSelector{ApiVersion: "v1", Kind: "ConfigMap", Namespace: new("a"),
		Match: &fnv1.ResourceSelector_MatchName{MatchName: "two"}}
	if got := s.Select(named); len(got) != 1 || got[0].Name != "two" {
		t.Errorf("want one ConfigMap, got %v", got)
	}
}
