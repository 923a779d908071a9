package main

import (
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"
)

// The function refuses a broken input. An editor marks it at the position of its error, or not at all. The e2e
// tests check the same inputs against the definition.
func TestBroken(t *testing.T) {
	paths, err := filepath.Glob("testdata/broken/*.yaml")
	if err != nil || len(paths) < 25 {
		t.Fatalf("want at least 25 inputs, got %d: %v", len(paths), err)
	}
	exports, function, marked := compiled(t, exportsFile), takes(t), 0
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
			got := refused(exports, tc.Input) // or only the function checks it
			if diff := cmp.Diff([]string{tc.At}, got); got != nil && diff != "" {
				t.Errorf("%s\n-want, +got:\n%s", tc.Reason, diff)
			}
			if got != nil {
				marked++
			}
			if function(tc.Input) == nil {
				t.Errorf("%s\nthe function takes it", tc.Reason)
			}
		})
	}
	if marked < 30 {
		t.Errorf("want at least 30 inputs that an editor marks, got %d", marked)
	}
}
