package plan

import (
	"fmt"
	"strings"

	"github.com/crossplane-contrib/function-export/internal/generator"
	"github.com/crossplane-contrib/function-export/internal/object"
)

// rotateAnnotation of a composite asks for another generation:
// <generator>=<anything new>, and as many of these as there shall be.
const rotateAnnotation = object.StatePrefix + "rotate"

// readTokens of the composite's annotation.
func (g *generating) readTokens() {
	g.tokens = map[string]string{}
	text := metadataOf(g.Observation.Composite.Object).At("annotations", rotateAnnotation).Text()
	wrong := ""
	for pair := range strings.FieldsFuncSeq(text, func(r rune) bool { return r == ',' || r == ' ' || r == '\n' }) {
		name, token, ok := strings.Cut(pair, "=")
		m := g.plan.maker(name)
		switch {
		case m != nil && m.totp == nil && token != "":
			g.tokens[name] = generator.Hash(g.salt(), name, token)
		case !ok || token == "":
			wrong = fmt.Sprintf("the composite's annotation %s must be <generator>=<anything new>, for example %s=1", rotateAnnotation, g.example())
		case m != nil && m.totp != nil:
			wrong = fmt.Sprintf("the composite's annotation %s names %s, which is a totp and has no generations", rotateAnnotation, m)
		case len(g.plan.makers) > 0 && !g.Elsewhere[name] && len(g.have[name]) == 0:
			wrong = fmt.Sprintf("the composite's annotation %s names a generator that this step does not have: it has %s", rotateAnnotation, shorten(namesOf(g.plan.makers), ", "))
		}
		if wrong != "" { // one is enough to say
			g.warn(wrong)
			return
		}
	}
}

func (g *generating) example() string {
	if len(g.plan.makers) == 0 {
		return "admin"
	}
	return g.plan.makers[0].name
}
