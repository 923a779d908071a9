package lsp

import (
	"slices"
	"strings"

	"github.com/crossplane-contrib/function-export/internal/desk/document"
)

// definition returns where the name at the position is declared: a variable, a generator, a source, an export, the step
// that composes a resource, or the field of a definition.
func (v *question) definition() any {
	if s, o := v.occurrenceAt(v.at); o != nil {
		if in, ok := s.definition(o.symbol); ok {
			return v.here(in)
		}
		return nil
	}
	e, offset := v.expr(v.at)
	if e == nil {
		return nil
	}
	t, path, ok := e.pathAt(offset)
	if !ok || len(path) < 2 {
		return nil
	}
	s := e.site(e.beforeName(t))
	kind, steps := e.Types.Path(s.object())
	return v.fieldOfKind(kind, append(slices.Clone(steps), path[len(path)-1]))
}

// pathAt returns the name at an offset with the path that leads to it.
func (e *expr) pathAt(offset int) (token, []string, bool) {
	for i, t := range e.tokens {
		if t.isName() && t.start <= offset && offset <= t.end {
			_, path, ok := operandBefore(e.tokens, i+1)
			if !ok {
				return t, []string{"", t.text}, i > 0 && e.tokens[i-1].is(".", ".?")
			}
			return t, path, true
		}
		if text, closed := t.textValue(); t.kind == tokenText && closed && t.start < offset && offset < t.end &&
			i > 1 && e.tokens[i-1].is("[", "[?") {
			_, path, ok := operandBefore(e.tokens, i-1)
			return t, append(path, text), ok
		}
	}
	return token{}, nil, false
}

// beforeName returns the end of the operand from which a name is selected.
func (e *expr) beforeName(name token) int {
	end := 0
	for i, t := range e.tokens {
		if t.start == name.start && i > 1 {
			end = e.tokens[i-2].end
		}
	}
	return end
}

func (v *view) here(in document.Range) []Location { return []Location{{v.uri, v.text.editorRange(in)}} }

// fieldOfKind returns where a definition in the workspace declares a field of a kind.
func (v *view) fieldOfKind(kind string, steps []string) []Location {
	for _, f := range v.workspace.Files() {
		for _, o := range f.Objects() {
			object, _ := o.Value.(map[string]any)
			spec, _ := object["spec"].(map[string]any)
			names, _ := spec["names"].(map[string]any)
			claims, _ := spec["claimNames"].(map[string]any)
			versions, _ := spec["versions"].([]any)
			for i, version := range versions {
				m, _ := version.(map[string]any)
				of := " of " + textOf(spec["group"]) + "/" + textOf(m["name"])
				if kind != textOf(names["kind"])+of && kind != textOf(claims["kind"])+of {
					continue
				}
				path := []any{"spec", "versions", i, "schema", "openAPIV3Schema"}
				for _, s := range steps {
					switch above, _ := o.Doc.At(append(o.At, path...)...).(map[string]any); {
					case s != "[]":
						path = append(path, "properties", s)
					case above["items"] != nil:
						path = append(path, "items")
					default:
						path = append(path, "additionalProperties")
					}
				}
				if place, exact := o.Doc.Find(append(o.At, path...)...); exact {
					return []Location{{v.uriOf(f.Name), v.textOf(f.Name).editorRange(place.Key)}}
				}
			}
		}
	}
	return nil
}

// references returns all places in the file that name what is at the position.
func (v *question) references() any {
	var out []Location
	if s, o := v.occurrenceAt(v.at); o != nil {
		for _, r := range s.all(o.symbol) {
			if v.Context.IncludeDeclaration || !r.declares {
				out = append(out, v.here(r.in)...)
			}
		}
	}
	return out
}

// isField reports whether the name of a symbol can be one that a dot selects.
func isField(name string) bool {
	return isIdentifier().MatchString(name) && !strings.Contains(reserved, " "+name+" ")
}

// reserved are the words that CEL reserves. They cannot be selected without quotes.
const reserved = " as break const continue else false for function if import in let loop namespace null package " +
	"return true var void while "
