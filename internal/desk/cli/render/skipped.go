package render

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"

	"github.com/crossplane-contrib/function-export/internal/desk/composition"
	"github.com/crossplane-contrib/function-export/internal/engine/advice"
	"github.com/crossplane-contrib/function-export/internal/engine/expression"
)

// saySkipped says how to pass the resources that the function waits for because the steps that compose them are
// skipped.
func (r *run) saySkipped(rsp *fnv1.RunFunctionResponse) {
	var message strings.Builder
	for _, c := range rsp.GetConditions() {
		if c.GetReason() != reasonInvalid {
			message.WriteString(c.GetMessage() + "\n")
		}
	}
	var notes []string
	for _, s := range r.skipped {
		for _, c := range s.Resources {
			if r.observed.GetResources()[c.Name] == nil && names(message.String(), c.Name) {
				notes = append(notes, r.howToPass(s.Name, c.Name))
			}
		}
	}
	isOpaque := func(s composition.Step) bool { return s.Opaque }
	if len(notes) == 0 && strings.Contains(message.String(), advice.Uncomposed) && slices.ContainsFunc(r.skipped, isOpaque) {
		notes = []string{"skipped steps compose nothing here: pass the resources that they compose with -o"}
	}
	if len(notes) > 0 {
		r.say("note", strings.Join(slices.Compact(notes), "; "))
	}
}

// withSkipped returns a message of the function, which does not see what skipped steps compose, with these steps.
func (r *run) withSkipped(message string) string {
	if !strings.Contains(message, advice.Uncomposed) {
		return message
	}
	for _, s := range r.skipped {
		for _, c := range s.Resources {
			for _, variable := range []string{expression.Resources, expression.Secrets} {
				path := expression.PathText(variable, c.Name)
				missing := regexp.MustCompile(`(` + regexp.QuoteMeta(path) + `(?:[.\[][^ ,;]*)?) \(` +
					advice.Uncomposed + `[^)]*\)`)
				message = missing.ReplaceAllString(message, fmt.Sprintf("$1 (the skipped step %s composes it)",
					strings.ReplaceAll(strconv.Quote(s.Name), "$", "$$")))
			}
		}
	}
	return message
}

// howToPass says how to pass a resource of a skipped step.
func (r *run) howToPass(step, name string) string {
	text := fmt.Sprintf("%s is composed by the skipped step %q", name, step)
	for _, d := range r.required {
		if d.resourceName() == name {
			return fmt.Sprintf("%s: pass %s with -o, not with -e", text, d.at())
		}
	}
	return text + ": add the observed object to observed.yaml, or pass it with -o"
}

// names reports whether a message says that a composed resource, or a secret of it, is missing.
func names(message, resource string) bool {
	for _, variable := range []string{expression.Resources, expression.Secrets} {
		path := expression.PathText(variable, resource)
		for rest := message; ; {
			_, after, found := strings.Cut(rest, path)
			if !found {
				break
			}
			if after == "" || strings.ContainsAny(after[:1], ".[ ,;)\n") {
				return true
			}
			rest = after
		}
	}
	return false
}
