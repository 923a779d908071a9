package environment

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/crossplane-contrib/function-export/input/v1beta1"
	"github.com/crossplane-contrib/function-export/internal/engine/budget"
	"github.com/crossplane-contrib/function-export/internal/engine/wire"
)

// structOf is an object out of fuzzed text; whatever is none is left out.
func structOf(t *testing.T, text string) *structpb.Struct {
	t.Helper()
	s := &structpb.Struct{}
	if len(text) > 4096 || s.UnmarshalJSON([]byte(text)) != nil {
		t.Skip("no object")
	}
	return s
}

// mergedMaps is merging as this package says it is, in a few lines that copy all.
func mergedMaps(under, over map[string]any) map[string]any {
	out := maps.Clone(under)
	if out == nil {
		out = map[string]any{}
	}
	for k, v := range over {
		was, isMap := out[k].(map[string]any)
		if is, ok := v.(map[string]any); ok && isMap {
			v = mergedMaps(was, is)
		}
		out[k] = v
	}
	return out
}

func at(path string, data map[string]any) map[string]any {
	if path == "" {
		return data
	}
	return map[string]any{path: data}
}

func identified(env map[string]any) map[string]any {
	isText := func(k string) bool { s, _ := env[k].(string); return s != "" }
	if !isText("apiVersion") && !isText("kind") {
		env["apiVersion"], env["kind"] = apiVersion, kind
	}
	return env
}

func FuzzMergeLaterWinsAndLosesNoKey(f *testing.F) {
	for _, s := range [][5]string{
		{`{"a":1}`, `{"b":2}`, `{"c":3}`, "", `{"d":4}`},
		{`{"a":{"x":1}}`, `{"a":{"x":{"z":1}}}`, `{"a":{"x":5}}`, "", `{"a":{"x":{"w":2}}}`},
		{`{}`, `{}`, `{"x":{"b":{}}}`, "a", `{"a":{"x":{"b":{"c":[]}}}}`},
		{`{"kind":1}`, `{"apiVersion":""}`, `{"a":null}`, "kind", `{"a":{}}`},
		{`{"":{"":[]}}`, `{"":{"":{}}}`, `{"":null}`, "a", `{"":{"":{"":1}}}`},
	} {
		f.Add(s[0], s[1], s[2], s[3], s[4])
	}
	f.Fuzz(func(t *testing.T, defaults, before, one, path, two string) {
		in := []*structpb.Struct{structOf(t, defaults), structOf(t, before), structOf(t, one), structOf(t, two)}
		if p, err := ParsePath(path); path != "" && (err != nil || p.String() != path || len(p.segments) > 1) {
			t.Skip("no name of a field")
		}
		l := compiled(t, &v1beta1.Environment{
			DefaultData: &v1beta1.JSON{Raw: []byte(defaults)},
			EnvironmentConfigs: []v1beta1.EnvironmentSource{
				{Ref: &v1beta1.EnvironmentRef{Name: "one"}, ToFieldPath: path},
				{Ref: &v1beta1.EnvironmentRef{Name: "two"}},
			},
		})
		configs := [][]*structpb.Struct{{config(in[2])}, {config(in[3])}}
		copies := make([]*structpb.Struct, len(in))
		for i, s := range in {
			copies[i] = proto.CloneOf(s)
		}
		selectors, _ := l.Selectors(wire.Struct{}, wire.Of(in[1]))
		got, faults := l.Merge(budget.New(context.Background()), in[1], selectors, readAll(t, configs))
		if len(faults) > 0 {
			t.Fatal(faults)
		}
		if ofBytes, faults := l.Merge(budget.New(context.Background()), in[1], selectors, readAll(t, configs)); !proto.Equal(
			got,
			ofBytes,
		) || len(faults) > 0 {
			t.Errorf("over bytes: %v, %v, want %v", ofBytes, faults, got)
		}

		layers := []map[string]any{in[0].AsMap(), in[1].AsMap(), at(path, in[2].AsMap()), in[3].AsMap()}
		merged := mergedMaps(layers[0], mergedMaps(layers[1], mergedMaps(layers[2], layers[3])))
		_, hasVersion := merged["apiVersion"]
		_, hasKind := merged["kind"]
		want := identified(maps.Clone(merged))
		if diff := cmp.Diff(want, got.AsMap()); diff != "" {
			t.Errorf("-want, +got:\n%s", diff)
		}
		lastWins(t, got.AsMap(), layers)
		for i, s := range in {
			if !proto.Equal(s, copies[i]) {
				t.Errorf("what went in was changed: %v was %v", s, copies[i])
			}
		}
		if (hasVersion || hasKind) && !cmp.Equal(merged, want) {
			return // what was replaced comes back, over what replaced it
		}
		if again, _ := l.Merge(budget.New(context.Background()), got, selectors, readAll(t, configs)); !proto.Equal(
			got,
			again,
		) {
			t.Errorf("merged again: %v, once: %v", again, got)
		}
	})
}

func config(data *structpb.Struct) *structpb.Struct {
	return &structpb.Struct{Fields: map[string]*structpb.Value{"data": structpb.NewStructValue(data)}}
}

// lastWins reports keys that are lost, and those that do not have the value of the
// last layer that has them, if it is no object.
func lastWins(t *testing.T, got map[string]any, layers []map[string]any) {
	t.Helper()
	for i, layer := range layers {
		for k, v := range layer {
			g, ok := got[k]
			if !ok {
				t.Errorf("%q is lost", k)
			}
			later := slices.ContainsFunc(layers[i+1:], func(l map[string]any) bool { _, ok := l[k]; return ok })
			if _, isMap := v.(map[string]any); later || isMap || k == "apiVersion" || k == "kind" {
				continue
			}
			if diff := cmp.Diff(v, g); diff != "" {
				t.Errorf("%q is not of the last: -want, +got:\n%s", k, diff)
			}
		}
	}
}

func FuzzSetThenGet(f *testing.F) {
	for _, s := range [][4]string{
		{`{"a":{"b":1}}`, "a.b", "a.c", `"x"`}, {`{"a":[1,null,{"b":2}]}`, "a[2].b", "a[1]", `{"c":[]}`},
		{`{}`, "a[0][0].b", "a[0]", `null`},
		{`{"a":[]}`, "a[1]", "a", `1`}, {`{"a":null}`, "a['b.c']", "a.b", `[]`}, {`{"":{"0":1}}`, "a[0]", "a.0", `true`},
		{`{"a":"x"}`, "a.b", "b", `{}`},
	} {
		f.Add(s[0], s[1], s[2], s[3])
	}
	f.Fuzz(func(t *testing.T, text, path, otherPath, valueText string) {
		env, v := structOf(t, text), &structpb.Value{}
		p, err := ParsePath(path)
		other, otherErr := ParsePath(otherPath)
		if err != nil || otherErr != nil || v.UnmarshalJSON([]byte(valueText)) != nil {
			t.Skip("no path, or no value")
		}
		before := proto.CloneOf(env)
		set, err := Set(env, p, v)
		if err != nil {
			if was, _ := p.Find(wire.Of(env)); was.Exists() || set != nil {
				t.Errorf("%v, although there is %v", err, was.Proto())
			}
			return
		}
		if got, _ := p.Find(wire.Of(set)); got.Proto() != v {
			t.Errorf("set %v, got %v", v, got.Proto())
		}
		if utf8.ValidString(path) { // protobuf carries nothing else
			if got, _ := p.Find(sent(t, set)); !got.Exists() || !proto.Equal(got.Proto(), v) {
				t.Errorf("set %v, got %v over bytes", v, got.Proto())
			}
		}
		if !p.Covers(other) && !other.Covers(p) {
			was, _ := other.Find(wire.Of(env))
			if is, _ := other.Find(wire.Of(set)); is.Proto() != was.Proto() {
				t.Errorf("setting %s changed %s from %v to %v", p, other, was.Proto(), is.Proto())
			}
		}
		removed := Remove(set, p)
		if got, _ := p.Find(wire.Of(removed)); got.Proto().AsInterface() != nil {
			t.Errorf("removed, and got %v", got.Proto())
		}
		if again, err := Set(removed, p, v); err != nil || !proto.Equal(again, set) {
			t.Errorf("set again: %v, %v, want %v", again, err, set)
		}
		if !proto.Equal(env, before) {
			t.Errorf("the environment was changed: %v was %v", env, before)
		}
	})
}

// The data of an environment is in none of the messages.
func FuzzFaultsHoldNoData(f *testing.F) {
	f.Add("spec.a", "data.a", "a", uint8(0), uint8(1))
	f.Add("spec.a.b", "data[0]", "a.b[0]", uint8(2), uint8(3))
	f.Fuzz(func(t *testing.T, from, sortBy, to string, one, two uint8) {
		const secret = "hu sh"
		kinds := []any{secret, 4321.5, true, []any{secret}, map[string]any{"b": secret, "a": secret}, nil}
		env, err := structpb.NewStruct(map[string]any{
			"metadata": map[string]any{"name": "one"},
			"spec": map[string]any{
				"a": kinds[int(one)%len(kinds)],
			}, "data": map[string]any{"a": kinds[int(two)%len(kinds)]}, "a": kinds[int(two)%len(kinds)],
		})
		if err != nil {
			t.Fatal(err)
		}
		in := fromYAML[*v1beta1.Environment](t, `{environmentConfigs: [{ref: {name: one}}, {type: Selector, `+
			`selector: {mode: Multiple}}, {type: Selector, selector: {}}]}`)
		in.EnvironmentConfigs[0].ToFieldPath = to
		in.EnvironmentConfigs[1].Selector.SortByFieldPath = sortBy
		in.EnvironmentConfigs[2].Selector.MatchLabels = []v1beta1.EnvironmentLabelMatcher{
			{Key: "a", ValueFromFieldPath: from},
		}
		l, faults := Compile(section, in)
		if len(faults) == 0 {
			other := proto.CloneOf(env)
			other.Fields["data"] = structpb.NewStringValue(secret)
			asked := []*Selector{{Name: "one"}, {Labels: map[string]string{"a": "b"}}, nil}
			_, some := l.Selectors(sent(t, env), sent(t, env))
			_, more := l.Merge(
				budget.New(context.Background()),
				env,
				asked,
				readAll(t, [][]*structpb.Struct{{other}, {env, other}, nil}),
			)
			faults = append(append(faults, some...), more...)
		}
		if p, err := ParsePath(to); err == nil {
			_, err = Set(env, p, structpb.NewStringValue(secret))
			message := fmt.Sprint(err, texts(faults))
			for _, data := range []string{secret, "4321.5"} {
				if strings.Contains(message, data) && !strings.Contains(from+sortBy+to, data) {
					t.Errorf("data is in %s", message)
				}
			}
		}
	})
}
