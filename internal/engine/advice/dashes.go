package advice

import (
	"slices"
	"strings"

	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/operators"

	"github.com/crossplane-contrib/function-export/internal/engine/celast"
	"github.com/crossplane-contrib/function-export/internal/engine/diagnostic"
	"github.com/crossplane-contrib/function-export/internal/engine/expression"
	"github.com/crossplane-contrib/function-export/internal/engine/lazy"
	"github.com/crossplane-contrib/function-export/internal/engine/limits"
	"github.com/crossplane-contrib/function-export/internal/engine/suggest"
)

// CEL parses secrets.db-0.password as secrets.db minus 0.password, and labels.example.org/x as a division.
// This file finds such names in the text of a source, because many of them do not even parse.

// A chain is a variable with the selections after it, in the text of a source.
type chain struct {
	at, end  int
	operator int    // the first operator in one of its names, or -1
	instead  string // the chain with these names in brackets
	keep     bool   // these names are meant
}

// Steps of a chain. A name may contain dashes here. A qualified name also contains dots, and one slash.
var (
	plainStep     = lazy.MustCompile(`^(\.\??)([A-Za-z_]\w*(?:-\w+)*|[0-9]\w*(?:-\w+)+)`)
	qualifiedStep = lazy.MustCompile(`^(\.\??)(\w+(?:[-.]\w+)*/\w+(?:[-.]\w+)*)`)
	indexStep     = lazy.MustCompile(`^\[\??(?:'[^'\n]*'|"[^"\n]*"|[0-9]+)\]`)
	dashedRoot    = lazy.MustCompile(`^[A-Za-z_]\w*(?:-\w+)+`)
	wordAtEnd     = lazy.MustCompile(`-\w+$`)
	numberAtEnd   = lazy.MustCompile(`-[0-9]+$`)
)

// named are the variables whose fields have names that people choose, such as the names of composed
// resources. The value is the number of these fields in a path.
var named = map[string]int{ //nolint:gochecknoglobals // a table
	expression.Secret: 1, expression.Secrets: 2, expression.Resources: 1, expression.Sources: 1, expression.Env: 1,
	expression.Generated: 2, expression.Candidate: 2, expression.Previous: 2, expression.Context: 1, expression.Revisions: 1,
}

// keyed are the fields of objects that contain such names.
var keyed = []string{"labels", "annotations", "data"} //nolint:gochecknoglobals // a table

// chains returns the chains with dashed names. variables are the names that can begin a chain, in
// addition to the names that a comprehension declares.
func (c *script) chains(variables []string) (out []chain) {
	end, roots := 0, append(c.declares(), variables...)
	for i, t := range c.tokens {
		if t.at < end || t.text != ")" && t.kind != word || i > 0 && c.tokens[i-1].text == "." {
			continue
		}
		found := chain{at: t.at, end: t.end(), operator: -1, instead: t.text}
		if t.text == ")" || slices.Contains(roots, t.text) {
			c.follow(&found, t.text)
		} else if root := dashedRoot.FindString(c.text[t.at:]); root != "" && slices.Contains(variables, expression.Resources) {
			c.followName(&found, root, variables)
		}
		if found.operator >= 0 {
			out, end = append(out, found), found.end
		}
	}
	return out
}

// declares returns the names that may be declared by comprehensions, as in list.map(x, x.name).
func (c *script) declares() (out []string) {
	for i, t := range c.tokens {
		if t.kind == word && i > 0 && c.tokens[i-1].text == "(" && i+1 < len(c.tokens) && c.tokens[i+1].text == "," {
			out = append(out, t.text)
		}
	}
	return out
}

// followName makes a chain that begins with the name of a composed resource, for example my-db.status.host.
func (c *script) followName(to *chain, root string, variables []string) {
	before, after, _ := strings.Cut(root, "-")
	if strings.HasPrefix(c.text[to.at+len(root):], ".") && !slices.Contains(variables, after) {
		to.end, to.operator, to.instead = to.at+len(root), to.at+len(before), expression.Resources+"['"+root+"']"
		c.follow(to, "")
	}
}

// follow adds the steps after the end of a chain.
func (c *script) follow(to *chain, variable string) {
	last := variable
	for depth := 0; ; depth++ {
		rest := c.text[to.end:]
		if m := indexStep.FindString(rest); m != "" {
			to.end, to.instead, last = to.end+len(m), to.instead+m, strings.Trim(m, `[?'"]`)
			continue
		}
		byName := depth < named[variable] || slices.Contains(keyed, last)
		m := nextStep(rest, byName)
		if m == nil {
			return
		}
		end := to.end + len(m[0])
		called := strings.HasPrefix(c.text[end:], "(")
		if called { // a.b-size(c) is a subtraction, and a.b.size() a method
			m[2] = wordAtEnd.ReplaceAllString(m[2], "")
			end = to.end + len(m[1]) + len(m[2])
		}
		step, selected := m[1]+m[2], strings.HasPrefix(c.text[end:], ".") || strings.HasPrefix(c.text[end:], "[")
		switch i := strings.IndexAny(m[2], "-/"); {
		case i >= 0 && (byName || selected || !numberAtEnd.MatchString(m[2])):
			if step = inBrackets(m[1], m[2], variable); to.operator < 0 {
				to.operator = to.end + len(m[1]) + i
			}
		case i >= 0 || called:
			return
		}
		to.end, to.instead, last = end, to.instead+step, m[2]
	}
}

// nextStep returns the dot and the name at the beginning of a text. byName reports whether the name may have a
// slash.
func nextStep(rest string, byName bool) []string {
	if m := qualifiedStep.FindStringSubmatch(rest); m != nil && byName {
		return m
	}
	return plainStep.FindStringSubmatch(rest)
}

// inBrackets returns a step with its name in brackets. The name of a declared variable has no dashes.
func inBrackets(dot, name, variable string) string {
	if variable == expression.Variables {
		return dot + strings.ReplaceAll(name, "-", "_")
	}
	return strings.NewReplacer(".?", "[?'", ".", "['").Replace(dot) + name + "']"
}

// edited returns a text with the chains that are kept, which are in order.
func edited(text string, chains []chain) string {
	var b strings.Builder
	done := 0
	for _, c := range chains {
		if c.keep {
			b.WriteString(text[done:c.at] + c.instead)
			done = c.end
		}
	}
	return b.String() + text[done:]
}

// dashes returns the diagnostics of a source whose names contain operators, or nothing if it has none.
// The names of a chain are meant if the source has fewer errors with them in brackets. Other mistakes are shown once
// they are.
func (m *explainer) dashes() (out diagnostic.List) {
	text := m.Source.Text
	if len(text) > limits.ExplainedCharacters {
		return nil
	}
	chains := m.text.chains(m.Environment.Names(m.Source))
	chains = chains[:min(len(chains), mostDashedNames, 1+dashedCharacters/(1+len(text)))]
	for i := range chains {
		chains[i].keep = true
	}
	least := m.errorsIn(edited(text, chains))
	for i := range chains { // leave out the names that make no difference
		chains[i].keep = false
		if without := m.errorsIn(edited(text, chains)); without > least {
			chains[i].keep = true
		} else {
			least = without
		}
	}
	for _, c := range chains {
		if c.keep {
			operator := map[byte]string{'-': "- is the minus operator here", '/': "/ is the division operator here"}
			line, column := m.text.position(c.operator)
			out = append(out, m.Source.At(line, column,
				operator[text[c.operator]]+suggest.DidYouMean(strings.TrimPrefix(c.instead, ")"))))
		}
	}
	return out
}

// dashes checks a source once for each name. These limits keep its time near that of one check of the longest
// source: composite authors can have many sources whose names contain dashes.
const (
	mostDashedNames  = 8
	dashedCharacters = 1024 // of all checks of names together
)

// errorsIn returns the number of errors in a text. A text that does not parse has more than any other, and a text
// that takes long to check has as many as any other such text.
func (m *explainer) errorsIn(text string) int {
	const unparsed = 1000
	s := m.Source
	s.Text, s.Want = text, expression.WantAny
	x, wrong := m.Environment.Try(s)
	switch {
	case wrong == nil:
		return minusOfObject(x.Tree())
	case wrong.Tree == nil && wrong.All[0].Class == expression.Syntax:
		return unparsed + len(wrong.All)
	case wrong.Tree == nil:
		return unparsed
	}
	return minusOfObject(wrong.Tree) + len(wrong.All)
}

// minusOfObject counts the subtractions from objects and labels, which fail although the type of their
// operands is not known: resources.my-resource.status is a name, although there is a variable resource.
func minusOfObject(tree *ast.AST) (n int) {
	ast.PostOrderVisit(tree.Expr(), ast.NewExprVisitor(func(e ast.Expr) {
		if !celast.IsCall(e, operators.Subtract) && !celast.IsCall(e, operators.Divide) {
			return
		}
		path := selected(e.AsCall().Args()[0])
		object := len(path) == 2 && (named[path[0]] == 2 || path[0] == expression.Resources || path[0] == expression.Sources)
		label := len(path) > 2 && path[len(path)-3] == "metadata" && slices.Contains(keyed, path[len(path)-2])
		if object || label {
			n++
		}
	}))
	return n
}
