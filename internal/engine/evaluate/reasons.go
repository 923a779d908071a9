package evaluate

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/crossplane-contrib/function-export/internal/engine/expression"
	"github.com/crossplane-contrib/function-export/internal/engine/lazy"
	"github.com/crossplane-contrib/function-export/internal/engine/object"
	"github.com/crossplane-contrib/function-export/internal/engine/plan"
	"github.com/crossplane-contrib/function-export/internal/engine/wire"
)

// Failed returns the error of an expression, or of another part of the input at a path.
func Failed(path, format string, args ...any) *expression.Failed {
	return &expression.Failed{Path: path, Reason: fmt.Sprintf(format, args...)}
}

// Reasons say why something does not match the input.
type Reasons struct {
	Failed  []string
	Waiting []string // sentences about the parts that wait
	Missing []string // what the whole waits for
	See     string   // a command that shows more about the first missing input

	Required bool // an optional field also waits
}

// Add adds an error. The argument who names the part that waits; it is empty if the outcome is about that part.
func (r *Reasons) Add(who string, err error) {
	var w *expression.Waiting
	switch {
	case errors.As(err, &w):
		r.See, r.Required = cmp.Or(r.See, w.See), r.Required || w.Required
		if inputs := strings.Join(w.Inputs, ", "); who == "" {
			r.Missing = append(r.Missing, inputs)
		} else {
			r.Waiting = append(r.Waiting, who+" waits for "+inputs)
		}
	case err != nil:
		r.Failed = append(r.Failed, err.Error())
	}
}

// Because returns one error as reasons.
func Because(who string, err error) (out Reasons) {
	out.Add(who, err)
	return out
}

// Failing returns a failure as reasons.
func Failing(format string, args ...any) Reasons {
	return Reasons{Failed: []string{fmt.Sprintf(format, args...)}}
}

// WaitingFor returns a missing input as reasons.
func WaitingFor(format string, args ...any) Reasons {
	return Reasons{Missing: []string{fmt.Sprintf(format, args...)}}
}

// Empty reports whether there is no reason.
func (r *Reasons) Empty() bool { return len(r.Failed)+len(r.Waiting)+len(r.Missing) == 0 }

// Text lists all reasons.
func (r *Reasons) Text() string {
	return plan.Shorten(slices.Concat(r.Failed, r.Waiting, r.Missing), "; ")
}

// Sentence is the text of all reasons as sentences.
func (r *Reasons) Sentence() string {
	texts := slices.Concat(r.Failed, r.Waiting)
	if len(r.Missing) > 0 {
		texts = append(texts, "it waits for "+strings.Join(r.Missing, ", "))
	}
	return plan.Shorten(texts, "; ")
}

// SeeComposition returns a command that shows the Composition of a composite, or nothing if the composite does not
// name it.
func SeeComposition(xr wire.Struct) string {
	ref := xr.At("spec", "crossplane", "compositionRef")
	if !ref.Exists() {
		ref = xr.At("spec", "compositionRef")
	}
	return runnable("kubectl get composition %s --output yaml", ref.Struct().Get("name").Text())
}

// See returns a command that shows an object, without the values of a Secret.
func See(o wire.Struct) string {
	apiVersion, kind, namespace, name := object.Identity(o)
	resource := strings.ToLower(kind)
	if group := object.GroupOf(apiVersion); group != "" {
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
