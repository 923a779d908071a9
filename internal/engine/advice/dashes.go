package advice

import (
	"slices"
	"strings"

	"github.com/crossplane-contrib/function-export/internal/engine/diagnostic"
	"github.com/crossplane-contrib/function-export/internal/engine/expression"
	"github.com/crossplane-contrib/function-export/internal/engine/lazy"
	"github.com/crossplane-contrib/function-export/internal/engine/suggest"
)

// CEL parses secrets.db-0.password as secrets.db minus 0.password, and labels.example.org/x as a division.
// This file finds such names in the text of a source, because many of them do not even parse.

// A chain is a variable with the selections after it, in the text of a source.
type chain struct {
	at, end  int
	operator int    // the first operator in one of its names, or -1
	instead  string // the chain with these names in brackets
}

// Steps of a chain. A name may contain dashes here. A qualified name also contains dots, and one slash.
var (
	plainStep     = lazy.MustCompile(`^(\.\??)([A-Za-z_]\w*(?:-\w+)*|[0-9]\w*(?:-\w+)+)`)
	qualifiedStep = lazy.MustCompile(`^(\.\??)(\w+(?:[-.]\w+)*/\w+(?:[-.]\w+)*)`)
	dividedKey    = lazy.MustCompile(`^(\.\??)(\w+(?:[-.]\w+)*/([A-Za-z_]\w*)(?:-\w+)*)`)
	dividedName   = lazy.MustCompile(`^(\.\??)(\w+(?:-\w+)*/([A-Za-z_]\w*)(?:-\w+)*)`)
	indexStep     = lazy.MustCompile(`^\[\??(?:'[^'\n]*'|"[^"\n]*"|[0-9]+)\]`)
	wordAtEnd     = lazy.MustCompile(`-?\w+$`)
	numberAtEnd   = lazy.MustCompile(`-[0-9]+$`)
	selects       = lazy.MustCompile(`^[.\[]`)

	// dashedRoot is a name with dashes that begins a path.
	dashedRoot = lazy.MustCompile(`^([A-Za-z_]\w*)(?:-\w+)+\.`)
)

// ofObjects are the variables whose fields are objects, or maps with the outputs of a generator: nothing is subtracted
// from them.
var ofObjects = []string{ //nolint:gochecknoglobals // a table
	expression.Resources, expression.Sources, expression.Secrets, expression.Generated, expression.Candidate,
	expression.Previous,
}

// hasKeys are the variables whose values have keys that people choose, by the number of the step that is a key. Keys
// have dots and slashes, and the names of resources before them only slashes.
var hasKeys = map[string]int{ //nolint:gochecknoglobals // a table
	expression.Env: 0, expression.Context: 0, expression.Secret: 0, expression.Resources: 1, expression.Sources: 1,
	expression.Secrets: 1, expression.Generated: 1, expression.Candidate: 1, expression.Previous: 1,
}

// keyed are the fields of objects whose fields have names that people choose.
var keyed = []string{"labels", "annotations", "data"} //nolint:gochecknoglobals // a table

// dashes returns the diagnostics of names that contain operators.
func (m *explainer) dashes() (out diagnostic.List) {
	operators := map[byte]string{'-': "- is the minus operator here", '/': "/ is the division operator here"}
	if !strings.ContainsAny(m.Source.Text, "-/") {
		return nil
	}
	variables := m.Environment.Names(m.Source)
	for end, i := 0, 0; i < len(m.script().tokens) && len(out) < mostReviewed; i++ {
		t := m.script().tokens[i]
		if t.at < end || t.kind != word || m.script().token(i-1).text == "." {
			continue
		}
		c := m.script().chain(t, variables)
		if c.operator < 0 {
			continue
		}
		end = c.end
		hint := m.script().replace(c.at, c.end, c.instead, suggest.DidYouMean(c.instead))
		out = append(out, m.wrong(c.operator, operators[m.Source.Text[c.operator]]+hint))
	}
	return out
}

// chain returns the chain that begins with a word.
func (c *script) chain(t token, variables []string) chain {
	out := chain{t.at, t.end(), -1, t.text}
	if !slices.Contains(variables, t.text) {
		return c.withoutVariable(out, variables)
	}
	for last, n := t.text, 0; ; n++ {
		rest := c.text[out.end:]
		if m := indexStep().FindString(rest); m != "" {
			out.end, out.instead, last = out.end+len(m), out.instead+m, strings.Trim(m, `[?'"]`)
			continue
		}
		dot, name := nextStep(rest, last)
		if key := c.divided(rest, t.text, n, variables); key != nil {
			dot, name = key[1], key[2]
		}
		i := strings.IndexAny(name, "-/")
		ofObject := last == t.text && slices.Contains(ofObjects, last)
		switch {
		case name == "" || i >= 0 && !ofObject && !c.isName(name, rest[len(dot+name):], variables):
			return out
		case i >= 0:
			if out.operator < 0 {
				out.operator = out.end + len(dot) + i
			}
			out.instead += inBrackets(dot, name, t.text)
		default:
			out.instead += dot + name
		}
		out.end, last = out.end+len(dot+name), name
	}
}

// divided returns the step with a slash, after n steps of a variable, at the beginning of a text. A slash before a
// variable or a call is a division, except in the keys of the context.
func (c *script) divided(rest, variable string, n int, variables []string) []string {
	at, known := hasKeys[variable]
	pattern := dividedKey
	if n < at {
		pattern = dividedName
	}
	key := pattern().FindStringSubmatch(rest)
	isNamed := slices.Contains([]string{expression.Resources, expression.Sources}, variable) // below them are fields
	switch {
	case !known || n > at || n == at && isNamed || key == nil || strings.HasPrefix(rest[len(key[0]):], "("):
		return nil
	case variable == expression.Context && strings.Contains(key[2], "."):
	case slices.Contains(variables, key[3]) || c.isLocal(key[3]):
		return nil
	}
	return key
}

// withoutVariable returns the chain of a composed resource without its variable, as in my-db.status.host. Other chains
// that begin with no variable are returned unchanged.
func (c *script) withoutVariable(out chain, variables []string) chain {
	m := dashedRoot().FindStringSubmatch(c.text[out.at:])
	if m == nil || c.isLocal(m[1]) || !slices.Contains(variables, expression.Resources) {
		return out
	}
	name := strings.TrimSuffix(m[0], ".")
	return chain{out.at, out.at + len(name), out.end, expression.Resources + "['" + name + "']"}
}

// nextStep returns the dot and the name at the beginning of a text that follows a field.
func nextStep(rest, last string) (dot, name string) {
	m := plainStep().FindStringSubmatch(rest)
	if qualified := qualifiedStep().FindStringSubmatch(rest); qualified != nil && slices.Contains(keyed, last) {
		m = qualified
	}
	switch {
	case m == nil:
		return "", ""
	case strings.HasPrefix(rest[len(m[0]):], "("): // a.b-size(c) is a subtraction, and a.b.size() a method
		return m[1], wordAtEnd().ReplaceAllString(m[2], "")
	}
	return m[1], m[2]
}

// isName reports whether the operators in a name are not meant as such, because what follows them is no variable, or is
// a number with a selection after it.
func (c *script) isName(name, after string, variables []string) bool {
	if numberAtEnd().MatchString(name) {
		return selects().MatchString(after)
	}
	return strings.Contains(name, "/") || slices.ContainsFunc(strings.Split(name, "-")[1:], func(operand string) bool {
		return !slices.Contains(variables, operand) && !c.isLocal(operand)
	})
}

// isLocal reports whether a macro may declare a name, as in list.map(x, x.name).
func (c *script) isLocal(name string) bool {
	return slices.ContainsFunc(c.tokens, func(t token) bool {
		before := strings.TrimRight(c.text[:t.at], " \n")
		return t.text == name && (strings.HasSuffix(before, "(") || strings.HasSuffix(before, ",")) &&
			strings.HasPrefix(strings.TrimLeft(c.text[t.end():], " \n"), ",")
	})
}

// inBrackets returns a step with its name in brackets. The name of a declared variable has no dashes.
func inBrackets(dot, name, variable string) string {
	if variable == expression.Variables {
		return dot + strings.ReplaceAll(name, "-", "_")
	}
	return strings.NewReplacer(".?", "[?'", ".", "['").Replace(dot) + name + "']"
}
