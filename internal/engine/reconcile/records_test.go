package reconcile

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/crossplane-contrib/function-export/internal/engine/credential"
	"github.com/crossplane-contrib/function-export/internal/engine/object"
	"github.com/crossplane-contrib/function-export/internal/engine/rotation"
	"github.com/crossplane-contrib/function-export/internal/engine/seal"
	"github.com/crossplane-contrib/function-export/internal/engine/sensitive"
)

// A record that the API server refuses would keep the values of an export, and so the generations that make it large.
func TestLargeRecord(t *testing.T) {
	uid := func(generator, number int) string { return fmt.Sprintf("%08d-0000-4000-8000-%012d", generator, number) }
	for name, tc := range map[string]struct {
		reason           string
		items, former    int
		want             []int // the numbers of the generations of each generator
		holds, candidate int
	}{
		"Small":     {"all generations are recorded", 10, 3, []int{1, 2, 3, 4}, 4, 0},
		"Large":     {"only the generation whose value the export has is recorded", 512, 3, []int{4}, 4, 0},
		"Candidate": {"the export also has the value of the candidate", 256, 3, []int{3, 4}, 3, 4},
	} {
		t.Run(name, func(t *testing.T) {
			rec := exportRecord{Generators: map[string]generatorRecord{}}
			for i := range tc.items {
				one := generatorRecord{Holds: uid(i, tc.holds), Code: seal.Hash("code") + seal.Hash("code")}
				if tc.candidate > 0 {
					one.Candidate = uid(i, tc.candidate)
				}
				for number := range tc.former + 1 {
					k := recordedInExport{reference: reference{UID: uid(i, number+1), Number: number + 1}}
					k.State = rotation.State{
						Stage: rotation.Current, Origin: rotation.Origin{Kind: "password", Spec: seal.Hash("x")}, Request: seal.Hash("y"),
					}
					one.Known = append(one.Known, k)
				}
				rec.Generators[fmt.Sprintf("users/user-%d", i)] = one
			}
			data := credential.Outputs{"password": sensitive.FromString("x")}
			text := rec.sealed(data)
			if !seal.Fits(rotation.AnnotationRecord, data, text) || len(text) > object.MaxMetadataBytes {
				t.Errorf("%s: the record has %d bytes, and its seal fits: %t", tc.reason, len(text),
					seal.Fits(rotation.AnnotationRecord, data, text))
			}
			var got exportRecord
			if err := json.Unmarshal([]byte(text), &got); err != nil {
				t.Fatal(err)
			}
			for name, one := range got.Generators {
				var numbers []int
				for _, k := range one.Known {
					numbers = append(numbers, k.Number)
				}
				if diff := cmp.Diff(tc.want, slices.Sorted(slices.Values(numbers))); diff != "" {
					t.Fatalf("%s: %s: -want, +got:\n%s", tc.reason, name, diff)
				}
			}
			if len(rec.Generators["users/user-1"].Known) != tc.former+1 {
				t.Errorf("%s: the record itself changed", tc.reason)
			}
		})
	}
}
