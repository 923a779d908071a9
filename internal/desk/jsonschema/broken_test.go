package main

import (
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"
)

// A broken input is refused at the position of its error, and the function also refuses it. The e2e
// tests check the same inputs against the definition.
func TestBroken(t *testing.T) {
	paths, err := filepath.Glob("testdata/broken/*.yaml")
	if err != nil || len(paths) < 25 {
		t.Fatalf("want at least 25 inputs, got %d: %v", len(paths), err)
	}
	exports, function := compiled(t, exportsFile), takes(t)
	for _, path := range paths {
		t.Run(filepath.Base(path), func(t *testing.T) {
			var tc struct {
				Reason string `json:"reason"`
				At     string `json:"at"`
				Input  any    `json:"input"`
			}
			if err := yaml.UnmarshalStrict([]byte(read(t, path)), &tc); err != nil {
				t.Fatal(err)
			}
			want := []string{tc.At}
			if tc.At == "" {
				want = nil // only the function checks it
			}
			if diff := cmp.Diff(want, refused(exports, tc.Input)); diff != "" {
				t.Errorf("%s\n-want, +got:\n%s", tc.Reason, diff)
			}
			if function(tc.Input) == nil {
				t.Errorf("%s\nthe function takes it", tc.Reason)
			}
		})
	}
}
