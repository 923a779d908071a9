package lsp

import (
	"slices"
	"strings"
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
	n := e.nameAt(offset)
	if n == nil || n.before == 0 {
		return nil
	}
	kind, steps := e.Types.Path(e.site(n.before).object())
	return v.fieldOfKind(kind, append(slices.Clone(steps), n.path[len(n.path)-1]))
}

// A name is a word of an expression that names something: a variable, a function, or a part of what is before it.
type name struct {
	token

	path          []string // with the names before it; the first one is empty if they are no path
	before, after int      // the ends of the operand before it, or 0, and of the operand with it
	called        bool
}

// nameOf returns the name that a token is, or nil.
func (e *expr) nameOf(i int) *name {
	n, end := &name{token: e.tokens[i]}, i+1
	selected := i > 1 && e.tokens[i-1].is(".", ".?")
	switch inBrackets := i > 1 && end < len(e.tokens) && e.tokens[i-1].is("[", "[?") && e.tokens[end].is("]"); {
	case n.kind == tokenText && inBrackets:
		end++
	case n.kind != tokenName:
		return nil
	}
	if selected || n.kind == tokenText {
		n.before = e.tokens[i-2].end
	}
	n.after, n.called = e.tokens[end-1].end, end < len(e.tokens) && e.tokens[end].is("(")
	if _, n.path = pathBefore(e.tokens[:end]); n.path == nil && !selected {
		return nil
	}
	if n.path == nil {
		n.path = []string{"", n.text}
	}
	return n
}

// nameAt returns the name at an offset, or nil.
func (e *expr) nameAt(offset int) *name {
	for i, t := range e.tokens {
		if (span{t.start, t.end}).has(offset) {
			if n := e.nameOf(i); n != nil {
				return n
			}
		}
	}
	return nil
}

func (v *view) here(in span) []Location { return []Location{{v.uri, v.text.rangeOf(in)}} }

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
					data, _ := v.system.ReadFile(f.Name) // the workspace has read it
					text := newText(string(data))
					return []Location{{v.uriOf(f.Name), text.rangeOf(text.spanOf(place.Key))}}
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
