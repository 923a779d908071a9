package render

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/crossplane-contrib/function-export/internal/desk/composition"
	"github.com/crossplane-contrib/function-export/internal/engine/advice"
	"github.com/crossplane-contrib/function-export/internal/engine/expression"
)

// withSkipped returns a message of the function, which does not see what skipped steps compose, with these steps. It
// notes how to pass the missing resources.
func (r *run) withSkipped(message string) string {
	if !strings.Contains(message, advice.Uncomposed) {
		return message
	}
	unknown := true
	for _, s := range r.skipped {
		composes := fmt.Sprintf("$1 (the skipped step %s composes it)", strings.ReplaceAll(strconv.Quote(s.Name), "$", "$$"))
		for _, c := range s.Resources {
			missing := missingResource(c.Name)
			if missing.MatchString(message) {
				message, unknown = missing.ReplaceAllString(message, composes), false
				r.notes = append(r.notes, r.howToPass(s.Name, c.Name))
			}
		}
	}
	if unknown && slices.ContainsFunc(r.skipped, func(s composition.Step) bool { return s.Opaque }) {
		r.notes = append(r.notes, "skipped steps compose nothing here: pass the resources that they compose with --observed-resources")
	}
	return message
}

// missingResource matches a field or a secret of a composed resource that no step composes, as a message names it.
func missingResource(name string) *regexp.Regexp {
	paths := regexp.QuoteMeta(expression.PathText(expression.Resources, name)) + "|" +
		regexp.QuoteMeta(expression.PathText(expression.Secrets, name))
	return regexp.MustCompile(`((?:` + paths + `)(?:[.\[][^ ,;]*)?) \(` + advice.Uncomposed + `[^)]*\)`)
}

// howToPass says how to pass a resource of a skipped step.
func (r *run) howToPass(step, name string) string {
	text := fmt.Sprintf("%s is composed by the skipped step %q", name, step)
	for _, d := range r.required {
		if d.resourceName() == name {
			return fmt.Sprintf("%s: pass %s with --observed-resources, not with -e", text, d.at())
		}
	}
	return text + ": add the observed object to observed.yaml, or pass it with --observed-resources"
}

// sayNotes prints how to pass the missing resources, each once.
func (r *run) sayNotes() {
	slices.Sort(r.notes)
	if notes := slices.Compact(r.notes); len(notes) > 0 {
		r.say("note", strings.Join(notes, "; "))
	}
	r.notes = nil
}
