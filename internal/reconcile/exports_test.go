package reconcile

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/testing/protocmp"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/crossplane-contrib/function-export/internal/generator"
	"github.com/crossplane-contrib/function-export/internal/limits"
	"github.com/crossplane-contrib/function-export/internal/object"
	"github.com/crossplane-contrib/function-export/internal/observation"
	"github.com/crossplane-contrib/function-export/internal/plan"
	"github.com/crossplane-contrib/function-export/internal/plan/plantest"
	"github.com/crossplane-contrib/function-export/internal/sensitive"
	"github.com/crossplane-contrib/function-export/internal/wire"
)

// sized is an object of this many bytes, all of which are connection details.
func sized(name string, bytes int) Object {
	out := Object{Name: name}
	if bytes > 0 {
		out.ConnectionDetails = map[string]sensitive.Bytes{"k": sensitive.FromString(strings.Repeat("x", bytes-len("k")))}
	}
	return out
}

// A change is the new version of an object: its bytes, and those that it has if it is kept as it was observed.
type change struct {
	name        string
	bytes, kept int
	author      bool
	created     bool // there is nothing to keep, so that it cannot add fewer bytes
	waits       bool // it is kept as it was observed in any case
}

func (c change) object() Object {
	out := sized(c.name, c.bytes)
	out.Author, out.footprint.bytes = c.author, c.bytes
	if !c.created {
		out.footprint.keep = func(why string) Object {
			kept := sized(c.name, c.kept)
			kept.Outcome = Outcome{State: Held, Message: why}
			return kept
		}
	}
	return out
}

// keptNames are the names of the objects that are kept as they were observed.
func keptNames(all []Object) string {
	var out []string
	for _, o := range all {
		if o.State == Held {
			out = append(out, o.Name)
		}
	}
	return strings.Join(out, " ")
}

// A response that is too large contains some objects as they were observed.
func TestKeep(t *testing.T) {
	for name, tc := range map[string]struct {
		reason  string
		objects []change
		excess  int
		want    string // the objects that are kept
	}{
		"Fits":    {"nothing is kept without a reason", []change{{name: "a", bytes: 100}}, 0, ""},
		"OneByte": {"one byte is enough of a reason", []change{{name: "a", bytes: 100}}, 1, "a"},
		"LargestFirst": {
			"as few objects as possible are kept",
			[]change{{name: "a", bytes: 100}, {name: "b", bytes: 300}, {name: "c", bytes: 200}}, 250, "b",
		},
		"Exactly": {
			"one object saves all", []change{{name: "a", bytes: 100}, {name: "b", bytes: 300}, {name: "c", bytes: 200}},
			300, "b",
		},
		"Two": {
			"the second largest is the next one",
			[]change{{name: "a", bytes: 100}, {name: "b", bytes: 300}, {name: "c", bytes: 200}}, 301, "b c",
		},
		"All": {
			"all together may be too few",
			[]change{{name: "a", bytes: 100}, {name: "b", bytes: 300}, {name: "c", bytes: 200}}, 9999, "a b c",
		},
		"SavesMost": {
			"a large object that was as large before saves little",
			[]change{{name: "a", bytes: 500, kept: 450}, {name: "b", bytes: 100}}, 10, "b",
		},
		"SavesNothing": {
			"an object that was as large before saves nothing",
			[]change{{name: "a", bytes: 500, kept: 500}, {name: "b", bytes: 400, kept: 401}}, 10, "",
		},
		"SavesOne": {"each saved byte counts", []change{{name: "a", bytes: 500, kept: 499}}, 10, "a"},
		"Created": {
			"an object that is not changed stays",
			[]change{{name: "a", bytes: 500, created: true}, {name: "b", bytes: 100}}, 10, "b",
		},
		"Same": {
			"of equal objects, the first ones are changed",
			[]change{{name: "a", bytes: 100}, {name: "b", bytes: 100}, {name: "c", bytes: 100}}, 150, "b c",
		},
		"Author": {
			"the objects of the composite author are kept first",
			[]change{{name: "a", bytes: 500}, {name: "b", bytes: 10, author: true}, {name: "c", bytes: 500}}, 5, "b",
		},
		"AuthorThen": {
			"and then those of the input",
			[]change{{name: "a", bytes: 500}, {name: "b", bytes: 10, author: true}, {name: "c", bytes: 600}}, 20, "b c",
		},
		"Authors": {
			"of the composite author, the largest is kept first",
			[]change{
				{name: "a", bytes: 20, author: true}, {name: "b", bytes: 500}, {name: "c", bytes: 10, author: true},
			},
			5, "a",
		},
		"AuthorsLarger": {
			"also if it is the last one", []change{
				{name: "a", bytes: 10, author: true}, {name: "b", bytes: 500}, {name: "c", bytes: 20, author: true},
			},
			5, "c",
		},
		"AuthorLast": {
			"a larger object of the input stays, also if it is before that of the composite author",
			[]change{{name: "a", bytes: 500}, {name: "b", bytes: 10, author: true}}, 5, "b",
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := &Result{}
			for _, c := range tc.objects {
				r.Objects = append(r.Objects, c.object())
			}
			kept := r.Keep(tc.excess)
			if got := keptNames(r.Objects); got != tc.want || kept != (tc.want != "") {
				t.Errorf("Keep(%d): %s: want %q to be kept, got %q, reported %v", tc.excess, tc.reason, tc.want, got, kept)
			}
			for i, c := range tc.objects {
				if o := r.Objects[i]; o.Name != c.name || o.Author != c.author {
					t.Errorf(
						"Keep(%d): %s: want the object %q of the composite author: %v, got %q, %v", tc.excess,
						tc.reason, c.name, c.author, o.Name, o.Author,
					)
				}
			}
		})
	}
}

// The message says how many bytes the object has, and how many a response can have.
func TestKeepMessage(t *testing.T) {
	r := &Result{Objects: []Object{change{name: "a", bytes: 500}.object()}}
	r.Keep(1)
	want := fmt.Sprintf("with its 500 bytes the response is larger than the %d that Crossplane accepts: "+
		"export fewer keys, or export it in another composite", limits.ResponseBytes)
	if diff := cmp.Diff(want, r.Objects[0].Message); diff != "" {
		t.Errorf("Keep(...): -want, +got:\n%s", diff)
	}
	if r.Keep(1) {
		t.Error("Keep(...): an object that was kept is kept once more")
	}
}

// An object is built once it is known that it fits into the response, so that large objects are not in memory together.
func TestAddObjects(t *testing.T) {
	const most = limits.ResponseBytes
	for name, tc := range map[string]struct {
		reason  string
		objects []change
		want    string // the objects that are kept
	}{
		"Fit": {
			"all objects together have as many bytes as a response can have",
			[]change{{name: "a", bytes: most - 10}, {name: "b", bytes: 10}}, "",
		},
		"Large": {
			"an object that is larger than a response is never built",
			[]change{{name: "a", bytes: most + 1}, {name: "b", bytes: 10}}, "a",
		},
		"LastLarger": {"the last object is the largest", []change{{name: "a", bytes: 11}, {name: "b", bytes: most - 10}}, "b"},
		"LastSmall": {
			"the last object does not fit, and another one saves more",
			[]change{{name: "a", bytes: most - 10}, {name: "b", bytes: 11}}, "a",
		},
		"Three": {
			"all objects together do not fit",
			[]change{{name: "a", bytes: most / 2}, {name: "b", bytes: most/2 - 1}, {name: "c", bytes: most / 2}}, "c",
		},
		"Waits": {
			"an object that waits is in the response as it was observed",
			[]change{{name: "a", bytes: 1000, waits: true}, {name: "b", bytes: most - 999}}, "b",
		},
		"WaitsFits": {
			"another object has the bytes that are left",
			[]change{{name: "a", bytes: 1000, waits: true}, {name: "b", bytes: most - 1000}}, "",
		},
		"Kept": {
			"what an object has while it is kept counts",
			[]change{{name: "a", bytes: most + 1, kept: 1000}, {name: "b", bytes: most - 999, kept: 100}}, "a b",
		},
	} {
		t.Run(name, func(t *testing.T) {
			var all objects
			var built []string
			for _, c := range tc.objects {
				if c.waits {
					all = all.add(sized(c.name, c.bytes))
					continue
				}
				o := Object{Name: c.name, footprint: footprint{bytes: c.bytes, keep: c.object().footprint.keep}}
				o.footprint.build = func() *structpb.Struct {
					built = append(built, c.name)
					return &structpb.Struct{}
				}
				all = all.add(o)
			}
			if got := keptNames(all); got != tc.want {
				t.Errorf("add(...): %s: want %q to be kept, got %q", tc.reason, tc.want, got)
			}
			for i, o := range all {
				if !tc.objects[i].waits && (o.State == Held) == (o.Desired != nil) || o.footprint.build != nil {
					t.Errorf("add(...): %s: want %q to be built or kept, got %v", tc.reason, o.Name, o.Desired)
				}
			}
			last := tc.objects[len(tc.objects)-1].name
			if strings.Contains(strings.Join(built, " "), last) == strings.Contains(tc.want, last) {
				t.Errorf("add(...): %s: built %q, and kept %q", tc.reason, built, tc.want)
			}
		})
	}
}

// An object that is kept has the size of what is desired and published.
func TestBytesOfObjects(t *testing.T) {
	observed, err := structpb.NewStruct(map[string]any{
		"apiVersion": "v1", "kind": "Secret", "metadata": map[string]any{"name": "a", "namespace": "team"}, "type": "Opaque",
		"data": map[string]any{"key": "bWFkZS11cA=="}, // made-up
	})
	if err != nil {
		t.Fatal(err)
	}
	e := plan.Export{Name: "a", Kind: object.Secret}
	at := placement{target: target{object.Secret, "team", "a"}, resource: "a", observed: wire.Of(observed)}
	plain := keep(e, at).bytes()
	e.Secret.ConnectionDetails = true
	published := keep(e, at).bytes()
	at.observed = wire.Struct{}
	if got, want := []int{published - plain, keep(e, at).bytes()}, []int{len("key") + len("made-up"), 0}; !cmp.Equal(got, want) {
		t.Errorf("bytes(): the connection details, and nothing: want %v, got %v", want, got)
	}
	if plain < len("apiVersion v1 kind Secret metadata name a namespace team type Opaque data key bWFkZS11cA==") {
		t.Errorf("bytes(): the object has more than %d bytes", plain)
	}
}

// An export needs the whole of its cost: with any less, its object is kept as it was observed.
func TestCostOfExport(t *testing.T) {
	var keys []string
	for i := range 50 {
		keys = append(keys, fmt.Sprintf("k%02d: %s", i, strings.Repeat("bWFkZS11cCAg", 20))) // made-up
	}
	for name, tc := range map[string]struct {
		reason, input, resource string
	}{
		"Own": {"the object of the export", `secrets: [{name: url, data: [{key: host, value: "'h'"}]}]`, "url"},
		"TakeOver": {
			"the keys that only the object has are also copied",
			`secrets: [{name: url, data: [{key: host, value: "'h'"}]}]`, "old",
		},
		"Extract": {
			"the keys of a ConfigMap are read",
			`{sources: [{name: cm, apiVersion: v1, kind: ConfigMap}], secrets: [{name: url, dataFrom: [{extract: ` +
				`{key: cm}}]}]}`,
			"url",
		},
		"Find": {"the keys of all inputs are compared", `secrets: [{name: url, dataFrom: [{find: {path: db}}]}]`, "url"},
	} {
		t.Run(name, func(t *testing.T) {
			p, diagnostics := plantest.Compile(t, plantest.Exports(tc.input))
			if diagnostics != nil {
				t.Fatal(diagnostics)
			}
			at := placement{target: target{object.Secret, "team", "xr-url"}, resource: tc.resource}
			at.observed = structOf(
				t,
				"{apiVersion: v1, kind: Secret, metadata: {name: xr-url, namespace: team}, type: "+
					"Opaque, data: {"+strings.Join(keys, ", ")+"}}",
			)
			configMap := structOf(
				t,
				"{apiVersion: v1, kind: ConfigMap, metadata: {name: cm, namespace: "+
					"team}, data: {"+strings.Join(keys, ", ")+"}}",
			)
			sees := &observation.Observation{
				Resources: map[string]observation.Resource{"db": {Details: observation.Details{"a": []byte("made-up")}}},
				Sources:   map[string]observation.Source{"cm": {Read: true, Objects: []wire.Struct{configMap}}},
			}
			decide := func(fuel int64) (out Object, left int64) {
				s := newSession(t.Context(), p, newRequest(&Request{}), composite{name: "xr", namespace: "team"}, sees)
				s.budget.Take(s.budget.Left() - fuel)
				out = exporter{session: s}.decide(p.Exports[0], at)
				return out, s.budget.Left()
			}
			_, left := decide(limits.RequestFuel)
			cost := limits.RequestFuel - left
			if out, left := decide(cost); out.State > Created || left != 0 {
				t.Errorf("decide(...): %s: with its cost, want it made, got %s: %s", tc.reason, out.State, out.Message)
			}
			for _, less := range []int64{1, 2, cost - 1, cost} {
				out, _ := decide(cost - less)
				if diff := cmp.Diff(object.Held(at.observed), out.Desired, protocmp.Transform()); out.State != Held || diff != "" {
					t.Errorf(
						"decide(...): %s: with %d of %d less, want state Held, got %s: -want, +got:\n%s", tc.reason,
						less, cost, out.State, diff,
					)
				}
			}
		})
	}
}

// An export records the generations whose values it has, and only these.
func TestGeneratedState(t *testing.T) {
	three := recordedGeneration{Reference: generator.Reference{Generation: 3, UID: "g3"}}
	from := map[string]generatedFrom{
		"admin": {recordedGeneration: three, Candidate: &recordedGeneration{Reference: generator.Reference{Generation: 4, UID: "g4"}}},
		"user":  {recordedGeneration: recordedGeneration{Reference: generator.Reference{Generation: 1, UID: "u1"}}},
		"new":   {recordedGeneration: recordedGeneration{Reference: generator.Reference{Generation: 1}}}, // it is not stored yet
	}
	for name, tc := range map[string]struct {
		reason string
		export plan.Export
		want   string
	}{
		"None": {"the export uses no generator", plan.Export{}, "{}"},
		"Used": {
			"a candidate is recorded only if the export uses it", plan.Export{Generators: []string{"admin"}},
			`{"admin":{"generation":3,"uid":"g3"}}`,
		},
		"Two": {
			"the export uses two generators", plan.Export{Generators: []string{"admin", "user"}},
			`{"admin":{"generation":3,"uid":"g3"},"user":{"generation":1,"uid":"u1"}}`,
		},
		"Candidate": {
			"the export uses only the candidate", plan.Export{Candidates: []string{"admin"}},
			`{"admin":{"candidate":{"generation":4,"uid":"g4"}}}`,
		},
		"Both": {
			"the export uses both", plan.Export{Generators: []string{"admin"}, Candidates: []string{"admin"}},
			`{"admin":{"generation":3,"uid":"g3","candidate":{"generation":4,"uid":"g4"}}}`,
		},
		"NoCandidate": {
			"there is no candidate", plan.Export{Generators: []string{"user"}, Candidates: []string{"user"}},
			`{"user":{"generation":1,"uid":"u1"}}`,
		},
		"NotStored": {
			"a generation without a UID has no values yet",
			plan.Export{Generators: []string{"new"}, Candidates: []string{"new"}}, "{}",
		},
		"Gone": {"the generator has no generation", plan.Export{Generators: []string{"gone"}, Candidates: []string{"gone"}}, "{}"},
	} {
		t.Run(name, func(t *testing.T) {
			text, err := json.Marshal(generatedState(tc.export, from))
			if diff := cmp.Diff(tc.want, string(text)); diff != "" || err != nil {
				t.Errorf("generatedState(...): %s: -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}
