package expression_test

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/types/known/structpb"

	"github.com/crossplane-contrib/function-export/internal/engine/observation"
	"github.com/crossplane-contrib/function-export/internal/engine/wire"
)

// The law: a merged map has the keys of both maps in order, and the values of the right map for the keys that both have.
// It does not matter whether a map is observed, decoded, or the result of another merge.
func FuzzMergeIsTheUnion(f *testing.F) {
	f.Add("", "")
	f.Add("abc", "")
	f.Add("", "abc")
	f.Add("cab", "bxa")
	f.Add("é\x00a", "aé")
	object := func(keys, value string) map[string]any {
		m := map[string]any{}
		for _, k := range strings.ToValidUTF8(keys, "") {
			m[string(k)] = value
		}
		return m
	}
	f.Fuzz(func(t *testing.T, left, right string) {
		a, b := object(left, "left"), object(right, "right")
		want := maps.Clone(a)
		maps.Copy(want, b)
		text, err := json.Marshal(b)
		if err != nil {
			t.Fatal(err)
		}
		spec, err := structpb.NewStruct(map[string]any{"a": a, "b": b, "text": string(text), "keys": strings.Join(slices.Sorted(maps.Keys(want)), "")})
		if err != nil {
			t.Fatal(err)
		}
		o := &observation.Observation{Composite: observation.Resource{Object: wire.Of(spec)}}
		for _, merged := range []string{
			"self.a.merge(self.b)", "self.a.merge(json.decode(self.text))", "self.a.merge(self.b).merge(self.b)",
			"{}.merge(self.a).merge(self.b).merge({})", "self.b.merge(self.a).merge(self.b)",
		} {
			got, err := evaluate(t, o, "json.encode("+merged+")", "")
			decoded := map[string]any{}
			if err == nil {
				err = json.Unmarshal([]byte(got), &decoded)
			}
			if err != nil || !maps.Equal(want, decoded) {
				t.Fatalf("%s of %q and %q: want %v, got %v, %v", merged, left, right, want, got, err)
			}
			if got, err := evaluate(t, o, merged+".map(k, k).join() == self.keys ? 'y' : 'n'", ""); got != "y" {
				t.Fatalf("the keys of %s of %q and %q are not in order: %v", merged, left, right, err)
			}
		}
	})
}
