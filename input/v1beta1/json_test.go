package v1beta1_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/crossplane-contrib/function-export/input/v1beta1"
)

// A generation keeps the part of the input that made it: it must be read as it was written.
func TestJSON(t *testing.T) {
	const text = `{"name":"a","resource":{"manifest":{"b":[1, "c"]}},"gracePeriod":"1h30m0s"}`
	var in, again v1beta1.Generator
	if err := json.Unmarshal([]byte(text), &in); err != nil {
		t.Fatal(err)
	}
	out, err := json.Marshal(in)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(out, &again); err != nil || again.GracePeriod.String() != "1h30m0s" {
		t.Errorf("cannot read %s: %v", out, err)
	}
	if diff := cmp.Diff(`{"b":[1,"c"]}`, string(again.Resource.Manifest.Raw)); diff != "" {
		t.Errorf("the manifest: -want, +got:\n%s", diff)
	}
}
