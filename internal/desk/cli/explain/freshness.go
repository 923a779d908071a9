package explain

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/crossplane-contrib/function-export/internal/desk/inspect"
)

// freshness prints how changes of inputs are noticed, with one line for all inputs with the same answer.
func (p *printer) freshness(ex *inspect.Explanation) {
	p.section("How changes are noticed")
	names := make([]string, 0, len(ex.Freshness))
	for i, n := range ex.Freshness {
		names = append(names, n.Input)
		if i+1 == len(ex.Freshness) || !sameAnswer(n, ex.Freshness[i+1]) {
			p.line(1, "%s", noticedText(names, n))
			names = names[:0]
		}
	}
	p.line(1, "%s", nextCallText(ex.NextCall))
}

// sameAnswer reports whether changes of both inputs are noticed in the same way, and after the same time.
func sameAnswer(a, b inspect.Noticed) bool {
	a.Input = b.Input
	return a == b
}

// noticedText says how changes of inputs are noticed, and how soon.
func noticedText(names []string, n inspect.Noticed) string {
	inputs, them := strings.Join(names, ", "), "them"
	if len(names) == 1 {
		them = "it"
	}
	switch n.How {
	case inspect.Watched:
		return fmt.Sprintf("%s: at once, because Crossplane watches %s", inputs, them)
	case inspect.Required:
		return "all objects that Crossplane must read: " + sinceText(n)
	case inspect.Declared:
		return inputs + ": " + sinceText(n)
	case inspect.FromEarlierStep:
		return inputs + " from earlier steps: at once if Crossplane watches the objects that these steps read, " +
			"otherwise " + withinText(n.Within)
	default: // scheduled
		return fmt.Sprintf("%s: at once, because the function itself changes %s, "+
			"and asks Crossplane to call again in time", inputs, them)
	}
}

// sinceText is for objects that Crossplane watches since v2.4.
func sinceText(n inspect.Noticed) string {
	return "at once if Crossplane is v2.4 or later, otherwise " + withinText(n.Older)
}

func withinText(w inspect.Within) string {
	if w == inspect.Never {
		return "never, unless Crossplane calls for another reason (ttl is 0s)"
	}
	return "after " + string(w)
}

// nextCallText says when Crossplane calls again without a change.
func nextCallText(n inspect.NextCall) string {
	others := "another step of the pipeline"
	if n.Generators {
		others = "a generator, or for " + others
	}
	if n.Within == inspect.Never {
		return "without a change, Crossplane does not call again, except for " + others
	}
	var when []string
	if n.Older != "" {
		when = append(when, "it is older than v2.4")
	}
	if n.Environment != "" {
		when = append(when, "an earlier step sets the environment")
	}
	text := string(n.Within)
	if len(when) > 0 {
		text += fmt.Sprintf(" (%s if %s)", cmp.Or(n.Older, n.Environment), strings.Join(when, ", or if "))
	}
	return fmt.Sprintf("without a change, Crossplane calls again after %s, or earlier for %s", text, others)
}
