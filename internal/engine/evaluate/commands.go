package evaluate

import (
	"fmt"
	"strings"

	"github.com/crossplane-contrib/function-export/internal/engine/lazy"
	"github.com/crossplane-contrib/function-export/internal/engine/object"
	"github.com/crossplane-contrib/function-export/internal/engine/wire"
)

// This file writes the commands that conditions show.

// See returns a command that shows an object.
func See(o wire.Struct) string { return describe(object.Identity(o)) }

// SeeComposition returns a command that shows the Composition of a composite, or nothing if the composite does not
// name it.
func SeeComposition(xr wire.Struct) string {
	ref := xr.At("spec", "crossplane", "compositionRef")
	if !ref.Exists() {
		ref = xr.At("spec", "compositionRef")
	}
	return runnable("kubectl get composition %s --output yaml", ref.Struct().Get("name").Text())
}

// describe returns a command that shows an object, without the values of a Secret.
func describe(apiVersion, kind, namespace, name string) string {
	resource := strings.ToLower(kind)
	if group, _, ok := strings.Cut(apiVersion, "/"); ok {
		resource += "." + group
	}
	if namespace == "" {
		return runnable("kubectl describe %s %s", resource, name)
	}
	return runnable("kubectl describe %s %s --namespace %s", resource, name, namespace)
}

// plainWord matches names that a shell passes on unchanged, and that are not flags.
var plainWord = lazy.MustCompile(`^[a-zA-Z0-9][a-zA-Z0-9.-]*$`)

// runnable returns a command that can be pasted into a shell, or nothing if a name has other characters.
func runnable(format string, names ...string) string {
	words := make([]any, 0, len(names))
	for _, n := range names {
		if !plainWord().MatchString(n) {
			return ""
		}
		words = append(words, n)
	}
	return fmt.Sprintf(format, words...)
}
