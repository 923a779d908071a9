package main

import (
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"
)

// The function refuses a broken input, and an editor marks it at the position of its error.
func TestBroken(t *testing.T) {
	paths, err := filepath.Glob("testdata/broken/*.yaml")
	if err != nil || len(paths) < 20 {
		t.Fatalf("want at least 20 inputs, got %d: %v", len(paths), err)
	}
	exports, function := compiled(t, exportsFile), takes(t)
	for _, path := range paths {
		t.Run(filepath.Base(path), func(t *testing.T) {
			var tc struct {
				Reason string `json:"reason"`
				At     string `json:"at"`
				Input  any    `json:"input"`
			}
			if err := yaml.UnmarshalStrict([]byte(text(t, path)), &tc); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff([]string{tc.At}, refused(exports, tc.Input)); diff != "" {
				t.Errorf("%s\n-want, +got:\n%s", tc.Reason, diff)
			}
			if function(tc.Input) == nil {
				t.Errorf("%s\nthe function takes it", tc.Reason)
			}
		})
	}
}
