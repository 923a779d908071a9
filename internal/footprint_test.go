package internal

import (
	"os/exec"
	"strings"
	"testing"

	// The result of a test is cached as long as what it imports stays the same.
	_ "github.com/crossplane-contrib/function-export/internal/engine/collect"
	_ "github.com/crossplane-contrib/function-export/internal/engine/credential"
	_ "github.com/crossplane-contrib/function-export/internal/engine/observation"
	_ "github.com/crossplane-contrib/function-export/internal/engine/rewrite"
	_ "github.com/crossplane-contrib/function-export/internal/engine/rotation"
)

// Kubernetes' typed API is large, and every object of it registers itself at start. The
// packages of the core know none of it, however indirectly: it comes with crossplane-runtime's
// field paths and with schemas, which plan needs.
func TestFootprint(t *testing.T) {
	typed := []string{"k8s.io/api/", "k8s.io/apiextensions-apiserver/", "k8s.io/client-go/", "sigs.k8s.io/controller-runtime/"}
	machinery := []string{"k8s.io/apimachinery/pkg/apis/", "k8s.io/apimachinery/pkg/runtime"}
	for dir, refused := range map[string][]string{
		"expression":  append(machinery, typed...),
		"rewrite":     append(machinery, typed...),
		"collect":     append(machinery, typed...),
		"object":      append(machinery, typed...),
		"observation": append(machinery, typed...),
		"wire":        append(machinery, typed...),
		"credential":  typed, // a section of the input is a typed object
	} {
		out, err := exec.CommandContext(t.Context(), "go", "list", "-deps", "./engine/"+dir).Output()
		if err != nil {
			t.Fatalf("cannot list the imports of %s: %v", dir, err)
		}
		for _, path := range strings.Fields(string(out)) {
			if strings.HasPrefix(path, "k8s.io/apimachinery/pkg/runtime/serializer/cbor/") {
				continue // a quantity encodes itself with it, and it registers nothing
			}
			for _, prefix := range refused {
				if strings.HasPrefix(path, prefix) {
					t.Errorf("internal/engine/%s imports %s, directly or through others", dir, path)
				}
			}
		}
	}
}
