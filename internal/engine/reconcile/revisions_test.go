package reconcile

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	gocmp "github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/crossplane-contrib/function-export/internal/engine/object"
	"github.com/crossplane-contrib/function-export/internal/engine/observation"
	"github.com/crossplane-contrib/function-export/internal/engine/plan"
	"github.com/crossplane-contrib/function-export/internal/engine/rotation"
	"github.com/crossplane-contrib/function-export/internal/engine/seal"
	"github.com/crossplane-contrib/function-export/internal/engine/sensitive"
	"github.com/crossplane-contrib/function-export/internal/engine/wire"
)

// TestRevisionLaw holds the law of the counter over random histories: it goes up by one for each change of our keys in
// the data that the API server has, and never otherwise.
func TestRevisionLaw(t *testing.T) {
	for _, kind := range []object.Kind{object.Secret, object.ConfigMap} {
		for seed := range uint64(50) {
			random := rand.New(rand.NewPCG(seed, 0))
			e, stored, want := plan.Export{Kind: kind, Name: "db"}, map[string]string{}, int64(0)
			var at placement
			for step := range 30 {
				data, changed := map[string]sensitive.Bytes{}, step == 0
				for _, key := range []string{"a", "b", "c"} {
					value := []string{"0", "1", "\xff", "\xfe"}[random.IntN(4)]
					if random.IntN(3) == 0 {
						value = stored[key] // the same again, or absent
					}
					if value != "" {
						data[key] = sensitive.FromString(value)
					}
					changed = changed || value != stored[key]
					stored[key] = value
				}
				if changed {
					want++
				}
				state := stateIn(e, at, nil, data)
				if got := state[annotationRevision]; got != strconv.FormatInt(want, 10) {
					t.Fatalf("%s, seed %d, step %d: revision %s, want %d", kind, seed, step, got, want)
				}
				at.observed = storedByServer(kind, state, data)
			}
		}
	}
}

// storedByServer returns the object that an API server has: with a key that another manager has added.
func storedByServer(kind object.Kind, state map[string]string, data map[string]sensitive.Bytes) wire.Struct {
	o := &object.Object{Kind: kind, Namespace: "team", Name: "xr-db", State: state, Data: map[string]sensitive.Bytes{
		"others": sensitive.FromString("of another manager"),
	}}
	applied := map[string]any{"f:data": map[string]any{}, "f:binaryData": map[string]any{}}
	for key, value := range data {
		o.Data[key] = value
		field := "f:data"
		if kind == object.ConfigMap && !utf8.Valid(value.Reveal()) {
			field = "f:binaryData"
		}
		applied[field].(map[string]any)["f:"+key] = map[string]any{}
	}
	s := o.Struct()
	managed, err := structpb.NewList([]any{map[string]any{
		"manager": "apiextensions.crossplane.io/composed/x", "operation": "Apply", "fieldsV1": applied,
	}})
	if err != nil {
		panic(err)
	}
	s.GetFields()["metadata"].GetStructValue().Fields["managedFields"] = structpb.NewListValue(managed)
	return wire.Of(s)
}

// TestNextRevision tests single steps: what the object has, what others did to it, and what is written.
func TestNextRevision(t *testing.T) {
	own := func(keys ...string) map[string]sensitive.Bytes {
		out := map[string]sensitive.Bytes{}
		for _, k := range keys {
			name, value, _ := strings.Cut(k, "=")
			out[name] = sensitive.FromString(value)
		}
		return out
	}
	cases := map[string]struct {
		reason   string
		kind     object.Kind // or a Secret
		revision string      // of the observed object
		bare     bool        // it does not have the annotation
		export   string      // that took the object over, with its kept keys
		stored   map[string]sensitive.Bytes
		tamper   func(observed *structpb.Struct)
		data     map[string]sensitive.Bytes
		left     []string
		want     string
	}{
		"Same":         {reason: "nothing changes", revision: "7", stored: own("a=1"), data: own("a=1"), want: "7"},
		"Value":        {reason: "a value changes", revision: "7", stored: own("a=1"), data: own("a=2"), want: "8"},
		"OptionalGone": {reason: "an optional key disappears", revision: "7", stored: own("a=1", "b=1"), data: own("a=1"), want: "8"},
		"Binary":       {reason: "binaryData changes", kind: object.ConfigMap, revision: "7", stored: own("a=\xff"), data: own("a=\xfe"), want: "8"},

		"NoAnnotation":   {reason: "another step created the object with the same data", bare: true, stored: own("a=1"), data: own("a=1"), want: "1"},
		"Word":           {reason: "another writer set no number", revision: "seven", stored: own("a=1"), data: own("a=1"), want: "1"},
		"Negative":       {reason: "a revision is positive", revision: "-7", stored: own("a=1"), data: own("a=1"), want: "1"},
		"Highest":        {reason: "the highest revision stays", revision: "9007199254740991", stored: own("a=1"), data: own("a=1"), want: "9007199254740991"},
		"HighestChanged": {reason: "a change is seen after the highest revision", revision: "9007199254740991", stored: own("a=1"), data: own("a=2"), want: "1"},

		"OthersValue": {
			reason: "another writer changed our key, and it is written back", revision: "7", stored: own("a=1"), data: own("a=1"), want: "8",
			tamper: func(o *structpb.Struct) { dataOf(o).Fields["a"] = structpb.NewStringValue("eA==") },
		},
		"OthersRemoval": {
			reason: "another writer removed our key, and it is written back", revision: "7", stored: own("a=1"), data: own("a=1"), want: "8",
			tamper: func(o *structpb.Struct) { delete(dataOf(o).GetFields(), "a") },
		},
		"OthersKeyTaken": {reason: "the export writes a key that another writer has added", revision: "7", stored: own("a=1"), data: own("a=1", "others=x"), want: "8"},

		"TakenOver": {
			reason: "the keys that only the object has are not those of the export", bare: true, export: "-",
			stored: own("a=1", "b=1"), data: own("a=1", "b=1"), left: []string{"b"}, want: "1",
		},
		"TakenOverChanged": {
			reason: "the export changes a key of the object that it takes over", bare: true, export: "-",
			stored: own("a=1", "b=1"), data: own("a=2", "b=1"), left: []string{"b"}, want: "2",
		},
		"KeptKey": {
			reason: "a kept key belongs to no export", revision: "7", export: "db b",
			stored: own("a=1", "b=1"), data: own("a=1", "b=1"), left: []string{"b"}, want: "7",
		},
		"KeptKeyPruned": {reason: "a kept key that is removed is not one of the export", revision: "7", export: "db b", stored: own("a=1", "b=1"), data: own("a=1"), want: "7"},
		"OwnKeyGone":    {reason: "a key of the export is not kept", revision: "7", export: "db b", stored: own("a=1", "b=1", "c=1"), data: own("a=1", "b=1"), left: []string{"b"}, want: "8"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			e := plan.Export{Kind: cmp.Or(tc.kind, object.Secret), Name: "db"}
			state := map[string]string{annotationRevision: tc.revision}
			if tc.bare {
				delete(state, annotationRevision)
			}
			at := placement{resource: "db"}
			if export, kept, _ := strings.Cut(tc.export, " "); export != "" {
				at.resource = "old"
				state[rotation.AnnotationRecord] = seal.Add(rotation.AnnotationRecord, tc.stored, fmt.Sprintf(`{"export":%q,"keptKeys":[%q]}`, export, kept))
			}
			observed := storedByServer(e.Kind, state, tc.stored).Proto()
			if tc.tamper != nil {
				tc.tamper(observed)
			}
			at.observed = wire.Of(observed)
			for range 2 {
				at.before = readTakenOver(at.observed, at.resource, e)
				got := stateIn(e, at, tc.left, tc.data)[annotationRevision]
				if got != tc.want {
					t.Fatalf("%s: revision %s, want %s", tc.reason, got, tc.want)
				}
				state[annotationRevision] = got // once more, after it was written
				at.observed = storedByServer(e.Kind, state, tc.data)
			}
		})
	}
}

func dataOf(o *structpb.Struct) *structpb.Struct { return o.GetFields()["data"].GetStructValue() }

// Each export has a revision, or a revision for each item. Only an object of the export counts.
func TestRevisionsOfExports(t *testing.T) {
	observed := func(apiVersion, kind, revision string) wire.Struct {
		return structOf(t, "{apiVersion: "+apiVersion+", kind: "+kind+", metadata: {name: x, annotations: "+
			"{export.fn.crossplane.io/revision: '"+revision+"'}}}")
	}
	secret := target{kind: object.Secret}
	p := &plan.Plan{Exports: []plan.Export{{Name: "list", ForEach: &plan.ForEach{}}, {Name: "unknown"}, {Name: "one"}}}
	placed := placements{
		exports: []plan.Export{
			{Kind: object.Secret, Name: "list/anna", Item: &observation.Item{Key: "anna"}},
			{Kind: object.Secret, Name: "one"},
			{Kind: object.Secret, Name: "with/slash"},
			{Kind: object.Secret, Name: "unlisted"},
			{Kind: object.Secret, Name: "group"},
			{Kind: object.Secret, Name: "zero"},
			{Kind: object.Secret, Name: "absent"},
		},
		at: []placement{
			{target: secret, observed: observed("v1", "Secret", "7")},
			{target: secret, observed: observed("v1", "Secret", "8")},
			{target: secret, observed: observed("v1", "Secret", "9")},
			{target: secret, observed: observed("v1", "Secret", "7"), unlisted: true},
			{target: secret, observed: observed("example.org/v1", "Secret", "7")},
			{target: secret, observed: observed("v1", "Secret", "0")},
			{target: secret},
		},
	}
	want := map[string]observation.Revision{
		"list": {Items: map[string]int64{"anna": 7}}, "unknown": {}, "one": {Number: 8}, "with/slash": {Number: 9},
		"unlisted": {}, "group": {}, "zero": {Number: 1}, "absent": {},
	}
	if diff := gocmp.Diff(want, revisions(p, placed)); diff != "" {
		t.Errorf("revisions(...): -want, +got:\n%s", diff)
	}
	if got := nextRevision(plan.Export{}, placement{}, nil); got != 1 {
		t.Errorf("nextRevision(...) of a new object without data: want 1, got %d", got)
	}
}

func stateIn(e plan.Export, at placement, left []string, data map[string]sensitive.Bytes) map[string]string {
	x := exporter{session: &session{inputs: &inputs{req: newRequest(&Request{})}}, generated: &generations{}}
	return x.stateOf(e, at, left, data)
}
