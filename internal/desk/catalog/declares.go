package catalog

import (
	"strings"

	"github.com/crossplane-contrib/function-export/internal/engine/lazy"
)

// kindField matches the field kind of a YAML or JSON document, with its value.
var kindField = lazy.MustCompile(`kind["']?[ \t]*:\s*["']?([-A-Za-z0-9]+)`)

// Declares reports whether a YAML or JSON document may be a definition of a wanted kind for
// [Catalog.Add]. It only scans the text, which is much faster than decoding.
func Declares(document string, wanted func(kind string) bool) bool {
	if !strings.Contains(document, crd.Kind) && !strings.Contains(document, xrd.Kind) {
		return false
	}
	for _, m := range kindField.FindAllStringSubmatch(document, -1) {
		if wanted(m[1]) {
			return true
		}
	}
	return false
}
