package laws

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/crossplane-contrib/function-export/internal/engine/rotation"
)

// TestVersionOf reads the states that the function stores. A law that reads nothing would find nothing.
func TestVersionOf(t *testing.T) {
	type seen struct {
		Number   int
		Adopted  bool
		Flagged  time.Time
		Recorded string
		Former   time.Time
	}
	since := time.Date(2026, 1, 1, 9, 0, 0, 500, time.UTC)
	for stage, want := range map[rotation.Stage]seen{
		rotation.Pending:   {},
		rotation.Current:   {Adopted: true},
		rotation.Retired:   {Adopted: true, Flagged: since},
		rotation.Previous:  {Adopted: true, Flagged: since},
		rotation.Abandoned: {Flagged: since},
	} {
		text, err := json.Marshal(rotation.State{Stage: stage, Since: since})
		if err != nil {
			t.Fatal(err)
		}
		o := &unstructured.Unstructured{Object: map[string]any{}}
		o.SetAnnotations(map[string]string{
			rotation.AnnotationState: fmt.Sprintf(`{"generator":"admin","generation":2,"state":%s}`, text),
			rotation.AnnotationRecord: fmt.Sprintf(
				`{"generators":{"admin":{"holds":"a","known":[{"uid":"b","generation":2,"state":%s}]}}}`, text),
		})
		want.Number, want.Recorded, want.Former = 2, "a", want.Flagged
		v := VersionOf("MODIFIED", o, since)
		got := seen{v.Number, v.Adopted, v.Flagged, v.generated["admin"], v.known["b"].flagged()}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("stage %d: -want +got:\n%s", stage, diff)
		}
	}
}
