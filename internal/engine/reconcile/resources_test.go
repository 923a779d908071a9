package reconcile

import (
	"encoding/base64"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/crossplane-contrib/function-export/internal/engine/observation"
	"github.com/crossplane-contrib/function-export/internal/engine/plan"
	"github.com/crossplane-contrib/function-export/internal/engine/plan/plantest"
	"github.com/crossplane-contrib/function-export/internal/engine/rotation"
	"github.com/crossplane-contrib/function-export/internal/engine/seal"
	"github.com/crossplane-contrib/function-export/internal/engine/sensitive"
	"github.com/crossplane-contrib/function-export/internal/engine/wire"
)

func TestPausedAt(t *testing.T) {
	for name, tc := range map[string]struct{ reason, conditions, want string }{
		"Paused": {
			"Crossplane sets this condition when a composite is paused",
			"[{type: Ready}, {type: Synced, reason: ReconcilePaused, lastTransitionTime: '2026-01-02T03:04:05Z'}]",
			"2026-01-02T03:04:05Z",
		},
		"Zone": {
			"the time can have another zone",
			"[{type: Synced, reason: ReconcilePaused, lastTransitionTime: '2026-01-02T03:04:05+01:00'}]",
			"2026-01-02T02:04:05Z",
		},
		"Synced": {"it is not paused", "[{type: Synced, reason: ReconcileSuccess, lastTransitionTime: '2026-01-02T03:04:05Z'}]", ""},
		"OtherType": {
			"another condition says nothing about it",
			"[{type: Ready, reason: ReconcilePaused, lastTransitionTime: '2026-01-02T03:04:05Z'}]", "",
		},
		"NoTime":      {"the time is unknown", "[{type: Synced, reason: ReconcilePaused}]", ""},
		"NoCondition": {"it was never reconciled", "[]", ""},
	} {
		t.Run(name, func(t *testing.T) {
			got := ""
			if at := compositeOf(structOf(t, "{metadata: {name: xr}, status: {conditions: "+tc.conditions+"}}")).pausedAt(); !at.IsZero() {
				got = at.Format(time.RFC3339)
			}
			if got != tc.want {
				t.Errorf("pausedAt(): %s: want %q, got %q", tc.reason, tc.want, got)
			}
		})
	}
}

func TestCompositeOf(t *testing.T) {
	for name, tc := range map[string]struct {
		reason, object string
		want           composite
		legacy         bool
	}{
		"Namespaced": {
			"its objects are in its namespace",
			"{metadata: {name: xr, namespace: team, uid: u1}, spec: {crossplane: {}}}",
			composite{name: "xr", uid: "u1", namespace: "team"}, false,
		},
		"NamespacedClaim": {
			"its author can write a claimRef, and has no claim",
			"{metadata: {name: xr, namespace: team}, spec: {claimRef: {namespace: victim}}}",
			composite{name: "xr", namespace: "team"}, false,
		},
		"Cluster": {
			"it has no namespace", "{metadata: {name: xr}, spec: {crossplane: {}}}",
			composite{name: "xr", cluster: true}, false,
		},
		"ClusterClaim": {
			"its author can write a claimRef, and has no claim",
			"{metadata: {name: xr}, spec: {crossplane: {}, claimRef: {namespace: victim}}}",
			composite{name: "xr", cluster: true}, false,
		},
		"Legacy": {
			"its objects are in the namespace of its claim",
			"{metadata: {name: xr}, spec: {claimRef: {namespace: claims}}}",
			composite{name: "xr", namespace: "claims", cluster: true}, true,
		},
		"LegacyNoClaim": {"it has no claim, and no namespace", "{metadata: {name: xr}}", composite{name: "xr", cluster: true}, true},
	} {
		t.Run(name, func(t *testing.T) {
			xr := structOf(t, tc.object)
			got := compositeOf(xr)
			diff := cmp.Diff(tc.want, got, cmp.AllowUnexported(composite{}), cmpopts.IgnoreFields(composite{}, "object"))
			if diff != "" || isLegacy(xr) != tc.legacy {
				t.Errorf("compositeOf(...): %s: want legacy %v, got %v: -want, +got:\n%s", tc.reason, tc.legacy, isLegacy(xr), diff)
			}
		})
	}
}

// structOf is an object in YAML.
func structOf(t *testing.T, text string) wire.Struct {
	t.Helper()
	return wire.Of(plantest.Parse(t, text))
}

// sealed is an object in YAML with data k: made-up, and with sealed annotations.
func sealed(t *testing.T, kind, metadata string, annotations map[string]string) wire.Struct {
	t.Helper()
	data := map[string]sensitive.Bytes{"k": sensitive.FromString("made-up")}
	var texts []string
	for k, v := range annotations {
		texts = append(texts, fmt.Sprintf("%s: '%s'", k, seal.Add(k, data, v)))
	}
	value := base64.StdEncoding.EncodeToString([]byte("made-up"))
	if kind == "ConfigMap" {
		value = "made-up"
	}
	return structOf(
		t,
		"{apiVersion: v1, kind: "+kind+", metadata: {"+metadata+", annotations: {"+strings.Join(texts, ", ")+"}}, data: {k: "+value+"}}",
	)
}

// A composed resource is an object of the composite author, a generation, or an input of expressions.
func TestSplit(t *testing.T) {
	const (
		controlled = ", ownerReferences: [{controller: true, uid: u1}]"
		marked     = `, annotations: {export.fn.crossplane.io/generator-state: '{"generator":"admin","generation":1}'}`
	)
	secret := func(metadata, rest string) wire.Struct {
		return structOf(t, "{apiVersion: v1, kind: Secret, metadata: {"+metadata+"}"+rest+"}")
	}
	seal := map[string]string{rotation.AnnotationState: `{"generator":"gone","generation":4}`}
	for name, tc := range map[string]struct {
		reason, composed string
		object           wire.Struct
		desired          bool // by an earlier step
		want             string
	}{
		"Named": {
			"the composition resource name and its own name say so", "generated/admin/1",
			secret("name: xr-admin-1, namespace: team", ""), false, "admin 1",
		},
		"OtherNumber": {
			"its own name is fixed, and its annotations can be changed", "generated/admin/2",
			secret("name: xr-admin-1, namespace: team", ""), false, "admin 1",
		},
		"Stated": {
			"another client changed its composition resource name", "other",
			secret("name: xr-admin-1, namespace: team"+marked, ""), false, "admin 1",
		},
		"Labeled": {
			"labels are for people", "other",
			secret("name: xr-admin-1, namespace: team, labels: {export.fn.crossplane.io/generator: admin}", ""),
			false, "resource",
		},
		"StatedOther": {
			"it is marked as another generator's", "other",
			secret("name: xr-admin-1, namespace: team"+strings.Replace(marked, "admin", "x", 1), ""), false,
			"resource",
		},
		"Bare": {
			"another object can have such a name", "other", secret("name: xr-admin-1, namespace: team"+controlled, ""),
			false, "resource",
		},
		"Immutable": {
			"all marks were removed, and it is still immutable", "other",
			secret("name: xr-admin-1, namespace: team"+controlled, ", immutable: true"), false, "admin 1",
		},
		"ImmutableOthers": {
			"another owner created it", "other",
			secret(
				"name: xr-admin-1, namespace: team, ownerReferences: [{controller: true, uid: u9}]",
				", immutable: true",
			),
			false, "resource",
		},
		"ImmutableStep": {
			"an earlier step composes it", "other",
			secret("name: xr-admin-1, namespace: team"+controlled, ", immutable: true"), true, "resource",
		},
		"OtherNamespace": {
			"the input may have named another namespace before", "other",
			secret("name: xr-admin-1, namespace: other"+marked, ""), false, "admin 1",
		},
		"OtherKind": {
			"the generation of a password is a Secret", "other",
			structOf(t, "{apiVersion: v1, kind: ConfigMap, metadata: {name: xr-admin-1, namespace: team"+marked+"}}"),
			false, "resource",
		},
		"Recorded": {"an export recorded its UID", "other", secret("name: x, namespace: team, uid: g3", ""), false, "user 3"},
		"RecordedFormer": {
			"an export recorded the UID of a former one", "other", secret("name: x, namespace: team, uid: g2", ""),
			false, "user 2",
		},
		"Sealed": {
			"its seal is genuine, whatever its composition resource name is", "other",
			sealed(t, "Secret", "name: xr-gone-4, namespace: team", seal), false, "gone 4",
		},
		"SealedCopy": {
			"an export with the data of a generation has a copy of its state", "other",
			sealed(t, "Secret", "name: x, namespace: team", seal), false, "resource",
		},
		"SealedNoNumber": {
			"its seal names no generation", "other",
			sealed(t, "Secret", "name: x, namespace: team", map[string]string{rotation.AnnotationState: `{"generator":"gone"}`}), false,
			"resource",
		},
		"SealedNoName": {
			"its seal names no generator", "other",
			sealed(t, "Secret", "name: x, namespace: team", map[string]string{rotation.AnnotationState: `{"generation":4}`}), false,
			"resource",
		},
		"BrokenSeal": {
			"another client set the annotations", "other",
			secret(
				"name: x, namespace: team, annotations: {export.fn.crossplane.io/generator-state: "+
					`'{"generator":"gone","generation":4,"seal":"x"}'}`,
				", data: {k: bWFkZS11cA==}",
			),
			false, "resource",
		},
		"BrokenData": {
			"its data cannot be read", "other",
			secret(
				"name: x, namespace: team, annotations: {export.fn.crossplane.io/generator-state: "+
					`'{"generator":"gone","generation":4,"seal":"x"}'}`,
				", data: {k: '!'}",
			),
			false, "resource",
		},
		"Claimed": {
			"only its composition resource name says so", "generated/admin/1", secret("name: x, namespace: team", ""),
			false, "admin 1 claimed",
		},
		"ClaimedState": {
			"its state also says so, and the generator is not in the input anymore", "generated/gone/1",
			secret("name: x, namespace: team"+strings.Replace(marked, "admin", "gone", 1), ""), false, "gone 1 claimed",
		},
		"ClaimedOwn": {
			"its state is lost, and the composite controls it", "generated/gone/1", secret("name: x, namespace: team"+controlled, ""),
			false, "gone 1 claimed",
		},
		"NotClaimed": {
			"its state names another generator", "generated/gone/1", secret("name: x, namespace: team"+marked, ""),
			false, "resource",
		},
		"NoGeneration": {"the name has no number", "generated/admin/x", secret("name: x, namespace: team", ""), false, "resource"},
		"Author": {
			"it belongs to the composite author", "fromComposite/Secret/x",
			secret("name: x, namespace: team"+marked, ""), false, "author",
		},
		"Resource": {
			"it is any resource", "db",
			structOf(t, "{apiVersion: example.org/v1, kind: DB, metadata: {name: xr-admin-1, namespace: team}}"), false,
			"resource",
		},
	} {
		t.Run(name, func(t *testing.T) {
			p, diagnostics := plantest.Compile(t, plantest.Exports("generators: [{name: other, uuid: {}}, {name: admin, password: {}}]"))
			if diagnostics != nil {
				t.Fatal(diagnostics)
			}
			export := sealed(
				t, "Secret", "name: url, namespace: team",
				map[string]string{
					rotation.AnnotationRecord: `{"generators": {"user": {"holds": "g3", "known": ` +
						`[{"generation": 2, "uid": "g2"}, {"generation": 3, "uid": "g3"}]}}}`,
				},
			)
			req := newRequest(&Request{Observation: observation.Observation{Resources: map[string]observation.Resource{
				tc.composed: {Object: tc.object}, "url": {Object: export},
			}}})
			if tc.desired {
				req.Desired = map[string]wire.Struct{tc.composed: tc.object}
			}
			composed := split(p, req, compositeOf(structOf(t, "{metadata: {name: xr, namespace: team, uid: u1}}")))
			var got []string
			if _, ok := composed.resources[tc.composed]; ok {
				got = append(got, "resource")
			}
			if _, ok := composed.authors[tc.composed]; ok {
				got = append(got, "author")
			}
			if id, ok := composed.generations[tc.composed]; ok {
				got = append(got, fmt.Sprintf("%s %d", id.generator, id.number))
				if id.claimed {
					got = append(got, "claimed")
				}
			}
			if text := strings.Join(got, " "); text != tc.want {
				t.Errorf("split(...): %s: want %q, got %q", tc.reason, tc.want, text)
			}
			if _, ok := composed.resources["url"]; !ok {
				t.Errorf("split(...): %s: the export is not a resource", tc.reason)
			}
			if names := plan.SortedKeys(req.Observation.Resources); len(names) != 2 {
				t.Errorf("split(...): %s: the request has the resources %v", tc.reason, names)
			}
		})
	}
}
