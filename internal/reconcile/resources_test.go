package reconcile

import (
	"encoding/base64"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/crossplane-contrib/function-export/internal/generator"
	"github.com/crossplane-contrib/function-export/internal/observation"
	"github.com/crossplane-contrib/function-export/internal/plan"
	"github.com/crossplane-contrib/function-export/internal/plan/plantest"
	"github.com/crossplane-contrib/function-export/internal/sensitive"
	"github.com/crossplane-contrib/function-export/internal/wire"
)

func TestNumberOf(t *testing.T) {
	for name, tc := range map[string]struct {
		reason, prefix, object string
		want                   int // or 0 for none
	}{
		"Number":       {"a generation has the prefix of its generator and a number", "xr-admin-", "xr-admin-7", 7},
		"Two":          {"the number can have several digits", "xr-admin-", "xr-admin-12", 12},
		"Suffix":       {"a name that was taken has an ID as a suffix", "xr-admin-", "xr-admin-7-0123456789", 7},
		"ShortSuffix":  {"an ID has ten digits", "xr-admin-", "xr-admin-7-012345678", 0},
		"LongSuffix":   {"and no more", "xr-admin-", "xr-admin-7-01234567890", 0},
		"EmptySuffix":  {"a name cannot end with a hyphen", "xr-admin-", "xr-admin-7-", 0},
		"TwoSuffixes":  {"the key of an item is no ID", "xr-admin-", "xr-admin-7-01234-6789", 0},
		"OtherPrefix":  {"it belongs to another generator", "xr-admin-", "xr-user-7", 0},
		"NoPrefix":     {"the input chooses the names of the generations", "", "7", 0},
		"NoNumber":     {"it belongs to no generation", "xr-admin-", "xr-admin-", 0},
		"Word":         {"a generation has a number", "xr-admin-", "xr-admin-one", 0},
		"Zero":         {"the first generation has the number 1", "xr-admin-", "xr-admin-0", 0},
		"Negative":     {"a number is positive", "xr-admin-", "xr-admin--1", 0},
		"LeadingZero":  {"each generation has one name", "xr-admin-", "xr-admin-07", 0},
		"Sign":         {"each generation has one name", "xr-admin-", "xr-admin-+7", 0},
		"TooHigh":      {"no generation has such a number", "xr-admin-", "xr-admin-9999999999999", 0},
		"OtherItem":    {"a longer prefix belongs to an item", "xr-admin-", "xr-admin-alice-7", 0},
		"PrefixOnlyIn": {"the prefix is at the start", "xr-admin-", "a-xr-admin-7", 0},
	} {
		t.Run(name, func(t *testing.T) {
			number, ok := numberOf(tc.prefix, tc.object)
			if ok != (tc.want > 0) || ok && number != tc.want {
				t.Errorf("numberOf(%q, %q): %s: want %d, got %d, %v", tc.prefix, tc.object, tc.reason, tc.want, number, ok)
			}
		})
	}
}

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
		texts = append(texts, fmt.Sprintf("%s: '%s'", k, generator.Seal(k, data, v)))
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

// Exports record which generations their values belong to.
func TestReadRecords(t *testing.T) {
	record := func(text string) map[string]string {
		return map[string]string{generator.AnnotationRecord: `{"generators": ` + text + `}`}
	}
	one := record(`{"admin": {"generation": 3, "uid": "g3", "former": [{"generation": 1, "uid": "g1"}, ` +
		`{"generation": 2, "uid": "g2"}], "candidate": {"generation": 4, "uid": "g4"}, "state": {"highest": 5}}}`)
	for name, tc := range map[string]struct {
		reason  string
		objects map[string]wire.Struct
		want    map[string]string // by generator: the UIDs in use, former, candidates, the highest number, and the exports with data
	}{
		"One": {
			"an export says which generation it uses, and which others " +
				"must be kept", map[string]wire.Struct{"url": sealed(t, "Secret", "name: a", one)},
			map[string]string{"admin": "used g3=3 former g1=1 g2=2 g4=4 candidates g4 highest 5 data g3=1"},
		},
		"Two": {
			"two exports can use different generations of one generator",
			map[string]wire.Struct{
				"a": sealed(t, "Secret", "name: a", one),
				"b": sealed(t, "Secret", "name: b", record(`{"admin": {"generation": 2, "uid": "g2"}}`)),
			},
			map[string]string{"admin": "used g2=2 g3=3 former g1=1 g2=2 g4=4 candidates g4 highest 5 data g2=1 g3=1"},
		},
		"Same": {
			"two exports can use the same generation, and the highest number counts",
			map[string]wire.Struct{
				"a": sealed(t, "Secret", "name: a", record(`{"admin": {"generation": 2, "uid": "g2", "state": {"highest": 9}}}`)),
				"b": sealed(t, "Secret", "name: b", record(`{"admin": {"generation": 2, "uid": "g2", "state": {"highest": 8}}}`)),
			},
			map[string]string{"admin": "used g2=2 former candidates highest 9 data g2=2"},
		},
		"Generators": {
			"one export can use several generators", map[string]wire.Struct{
				"a": sealed(
					t, "Secret", "name: a",
					record(`{"admin": {"generation": 2, "uid": "g2"}, "user": {"generation": 1, "uid": "u1"}}`),
				),
			},
			map[string]string{
				"admin": "used g2=2 former candidates highest 0 data g2=1",
				"user":  "used u1=1 former candidates highest 0 data u1=1",
			},
		},
		"Candidate": {
			"an export can use only a candidate", map[string]wire.Struct{
				"a": sealed(t, "Secret", "name: a", record(`{"admin": {"candidate": {"generation": 4, "uid": "g4"}}}`)),
			},
			map[string]string{"admin": "used former g4=4 candidates g4 highest 0 data"},
		},
		"BadNumbers": {
			"a generation has a number and a UID", map[string]wire.Struct{
				"a": sealed(
					t, "Secret", "name: a",
					record(`{"admin": {"generation": 0, "uid": "g0", "state": {"highest": 7}, "former": [{"generation": -1, `+
						`"uid": "g1"}, {"generation": 2}]}}`),
				),
			},
			map[string]string{"admin": "used former candidates highest 0 data"},
		},
		"NoUID": {
			"a generation without a UID is not identified",
			map[string]wire.Struct{
				"a": sealed(t, "Secret", "name: a", record(`{"admin": {"generation": 2, "state": {"highest": 7}}}`)),
			},
			map[string]string{"admin": "used former candidates highest 0 data"},
		},
		"BadHighest": {
			"no generation has such a number",
			map[string]wire.Struct{
				"a": sealed(
					t, "Secret", "name: a", record(`{"admin": {"generation": 2, "uid": "g2", "state": {"highest": 99999999999}}}`),
				),
			},
			map[string]string{"admin": "used g2=2 former candidates highest 0 data g2=1"},
		},
		"Author": {
			"a composite author cannot record a generation",
			map[string]wire.Struct{"fromComposite/Secret/a": sealed(t, "Secret", "name: a", one)}, map[string]string{},
		},
		"ConfigMap": {
			"any client can seal a ConfigMap", map[string]wire.Struct{"a": sealed(t, "ConfigMap", "name: a", one)},
			map[string]string{},
		},
		"NoRecord": {
			"the export uses no generator", map[string]wire.Struct{"a": sealed(t, "Secret", "name: a", nil)},
			map[string]string{},
		},
		"NotJSON": {
			"the record cannot be read",
			map[string]wire.Struct{"a": sealed(t, "Secret", "name: a", record(`{"admin": {`))}, map[string]string{},
		},
		"BrokenSeal": {
			"another client changed the record",
			map[string]wire.Struct{
				"a": changed(t, sealed(t, "Secret", "name: a", one), `"generation": 3`, `"generation": 2`),
			},
			map[string]string{},
		},
		"ChangedData": {
			"another client changed the data",
			map[string]wire.Struct{"a": changed(t, sealed(t, "Secret", "name: a", one), "bWFkZS11cA==", "b3RoZXI=")},
			map[string]string{},
		},
	} {
		t.Run(name, func(t *testing.T) {
			resources := map[string]observation.Resource{}
			for composed, o := range tc.objects {
				resources[composed] = observation.Resource{Object: o}
			}
			got := map[string]string{}
			for name, r := range readRecords(resources) {
				got[name] = recordText(r)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("readRecords(...): %s: -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

// changed is an object with another text.
func changed(t *testing.T, o wire.Struct, before, after string) wire.Struct {
	t.Helper()
	p := o.Proto()
	for _, fields := range []map[string]string{{"annotations": generator.AnnotationRecord}, {"data": "k"}} {
		for field, key := range fields {
			in := p.GetFields()["metadata"].GetStructValue().GetFields()[field].GetStructValue()
			if field == "data" {
				in = p.GetFields()["data"].GetStructValue()
			}
			text := in.GetFields()[key].GetStringValue()
			in.Fields[key] = plantest.Parse(t, fmt.Sprintf("{x: %q}", strings.Replace(text, before, after, 1))).GetFields()["x"]
		}
	}
	return wire.Of(p)
}

func recordText(r *recorded) string {
	var out []string
	references := func(what string, refs map[string]generator.Reference) {
		out = append(out, what)
		for _, uid := range slices.Sorted(maps.Keys(refs)) {
			out = append(out, fmt.Sprintf("%s=%d", uid, refs[uid].Generation))
		}
	}
	references("used", r.used)
	references("former", r.former)
	out = append(append(out, "candidates"), slices.Sorted(maps.Keys(r.candidates))...)
	out = append(out, fmt.Sprintf("highest %d data", r.number))
	for _, uid := range slices.Sorted(maps.Keys(r.keys)) {
		out = append(out, fmt.Sprintf("%s=%d", uid, len(r.keys[uid])))
	}
	return strings.Join(out, " ")
}

// A composed resource is an object of the composite author, a generation, or an input of expressions.
func TestSplit(t *testing.T) {
	const (
		controlled = ", ownerReferences: [{controller: true, uid: u1}]"
		marked     = `, annotations: {export.fn.crossplane.io/generator-state: '{"state":{"generator":"admin"}}'}`
	)
	secret := func(metadata, rest string) wire.Struct {
		return structOf(t, "{apiVersion: v1, kind: Secret, metadata: {"+metadata+"}"+rest+"}")
	}
	seal := map[string]string{generator.AnnotationState: `{"state":{"generator":"gone","generation":4}}`}
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
			"its seal is genuine, whatever its name is", "other", sealed(t, "Secret", "name: x, namespace: team", seal),
			false, "gone 4",
		},
		"SealedConfigMap": {
			"a ConfigMap can also be a generation", "other", sealed(t, "ConfigMap", "name: x, namespace: team", seal),
			false, "gone 4",
		},
		"SealedNoNumber": {
			"its seal names no generation", "other",
			sealed(t, "Secret", "name: x, namespace: team", map[string]string{generator.AnnotationState: `{"state":{"generator":"gone"}}`}), false,
			"resource",
		},
		"SealedNoName": {
			"its seal names no generator", "other",
			sealed(t, "Secret", "name: x, namespace: team", map[string]string{generator.AnnotationState: `{"state":{"generation":4}}`}), false,
			"resource",
		},
		"BrokenSeal": {
			"another client set the annotations", "other",
			secret(
				"name: x, namespace: team, annotations: {export.fn.crossplane.io/generator-state: "+
					`'{"state":{"generator":"gone","generation":4},"seal":"x"}'}`,
				", data: {k: bWFkZS11cA==}",
			),
			false, "resource",
		},
		"BrokenData": {
			"its data cannot be read", "other",
			secret(
				"name: x, namespace: team, annotations: {export.fn.crossplane.io/generator-state: "+
					`'{"state":{"generator":"gone","generation":4},"seal":"x"}'}`,
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
					generator.AnnotationRecord: `{"generators": {"user": {"generation": 3, "uid": "g3", "former": ` +
						`[{"generation": 2, "uid": "g2"}]}}}`,
				},
			)
			req := newRequest(&Request{Observation: observation.Observation{Resources: map[string]observation.Resource{
				tc.composed: {Object: tc.object}, "url": {Object: export},
			}}})
			if tc.desired {
				req.Desired = map[string]wire.Struct{tc.composed: tc.object}
			}
			seen := split(p, req, compositeOf(structOf(t, "{metadata: {name: xr, namespace: team, uid: u1}}")))
			var got []string
			if _, ok := seen.resources[tc.composed]; ok {
				got = append(got, "resource")
			}
			if _, ok := seen.authors[tc.composed]; ok {
				got = append(got, "author")
			}
			if id, ok := seen.generations[tc.composed]; ok {
				got = append(got, fmt.Sprintf("%s %d", id.generator, id.number))
				if id.claimed {
					got = append(got, "claimed")
				}
			}
			if text := strings.Join(got, " "); text != tc.want {
				t.Errorf("split(...): %s: want %q, got %q", tc.reason, tc.want, text)
			}
			if _, ok := seen.resources["url"]; !ok {
				t.Errorf("split(...): %s: the export is not a resource", tc.reason)
			}
			if names := plan.SortedKeys(req.Observation.Resources); len(names) != 2 {
				t.Errorf("split(...): %s: the request has the resources %v", tc.reason, names)
			}
		})
	}
}
