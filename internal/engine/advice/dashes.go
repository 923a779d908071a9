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
	wordAtEnd     = lazy.MustCompile(`-?\w+$`)
	numberAtEnd   = lazy.MustCompile(`-[0-9]+$`)
	selects       = lazy.MustCompile(`^[.\[]`)

	// dashedRoot is the name of a composed resource without its variable, as in my-db.status.host.
	dashedRoot = lazy.MustCompile(`^([A-Za-z_]\w*)(?:-\w+)+\.`)
)

// ofObjects are the variables whose fields are objects, or maps with the outputs of a generator.
var ofObjects = []string{ //nolint:gochecknoglobals // a table
	expression.Resources, expression.Sources, expression.Secrets, expression.Generated, expression.Candidate, expression.Previous,
}

// keyed are the fields of objects whose fields have names that people choose.
var keyed = []string{"labels", "annotations", "data"} //nolint:gochecknoglobals // a table

// chains returns the chains with dashed names that begin with a variable.
func (c *script) chains(variables []string) (out []chain) {
	end := 0
	for i, t := range c.tokens {
		if t.at < end || t.kind != word || i > 0 && c.tokens[i-1].text == "." {
			continue
		}
		found := c.chain(t)
		if m := dashedRoot.FindStringSubmatch(c.text[t.at:]); m != nil && !slices.Contains(variables, m[1]) {
			name := strings.TrimSuffix(m[0], ".")
			found = chain{t.at, t.at + len(name), t.end(), expression.Resources + "['" + name + "']", false}
		} else if !slices.Contains(variables, t.text) {
			continue
		}
		if found.operator >= 0 {
			out, end = append(out, found), found.end
		}
	}
	return out
}

// chain returns the chain that begins with a variable.
func (c *script) chain(variable token) chain {
	out := chain{at: variable.at, end: variable.end(), operator: -1, instead: variable.text}
	for last := variable.text; ; {
		rest := c.text[out.end:]
		if m := indexStep.FindString(rest); m != "" {
			out.end, out.instead, last = out.end+len(m), out.instead+m, strings.Trim(m, `[?'"]`)
			continue
		}
		m := plainStep.FindStringSubmatch(rest)
		if qualified := qualifiedStep.FindStringSubmatch(rest); qualified != nil && slices.Contains(keyed, last) {
			m = qualified
		}
		if m == nil {
			return out
		}
		dot, name := m[1], m[2]
		if strings.HasPrefix(rest[len(m[0]):], "(") { // a.b-size(c) is a subtraction, and a.b.size() a method
			if name = wordAtEnd.ReplaceAllString(name, ""); name == "" {
				return out
			}
		}
		step := dot + name
		if last != variable.text && numberAtEnd.MatchString(name) && !selects.MatchString(rest[len(step):]) {
			return out // a.b.c-1 is a subtraction
		}
		if i := strings.IndexAny(name, "-/"); i >= 0 {
			if step = inBrackets(dot, name, variable.text); out.operator < 0 {
				out.operator = out.end + len(dot) + i
			}
		}
		out.end, out.instead, last = out.end+len(dot+name), out.instead+step, name
	}
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
				operator[text[c.operator]]+suggest.DidYouMean(c.instead)))
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
		path := steps(e.AsCall().Args()[0])
		object := len(path) == 2 && slices.Contains(ofObjects, path[0])
		label := len(path) > 2 && path[len(path)-3] == "metadata" && slices.Contains(keyed, path[len(path)-2])
		if object || label {
			n++
		}
	}))
	return n
}
