// Package advice turns facts into help for people: what is known about a missing input, what to do, and a command that
// shows more.
//
// The package has no state, and reads no objects. Its texts contain names and parts of the input, never data.
package advice

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/crossplane-contrib/function-export/internal/engine/expression"
)

// An adviser is the expression.Adviser of the function and of the desk.
type adviser struct{}

// NewEnvironment makes the environment of expressions whose messages give advice. An error is a defect of the program.
func NewEnvironment() (*expression.Environment, error) { return expression.NewEnvironment(adviser{}) }

// Describe returns a command that shows an object, without the values of a Secret.
func Describe(apiVersion, kind, namespace, name string) string {
	resource := strings.ToLower(kind)
	if group, _, ok := strings.Cut(apiVersion, "/"); ok {
		resource += "." + group
	}
	if namespace == "" {
		return runnable("kubectl describe %s %s", resource, name)
	}
	return runnable("kubectl describe %s %s --namespace %s", resource, name, namespace)
}

// Composition returns a command that shows a Composition.
func Composition(name string) string {
	return runnable("kubectl get composition %s --output yaml", name)
}

// plainWord matches names that a shell passes on unchanged, and that are not flags.
var plainWord = regexp.MustCompile(`^[a-zA-Z0-9][a-zA-Z0-9.-]*$`)

// runnable returns a command that can be pasted into a shell, or nothing if a name has other characters.
func runnable(format string, names ...string) string {
	words := make([]any, 0, len(names))
	for _, n := range names {
		if !plainWord.MatchString(n) {
			return ""
		}
		words = append(words, n)
	}
	return fmt.Sprintf(format, words...)
}
