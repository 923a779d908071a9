package advice

import (
	"regexp"
	"slices"
	"strings"

	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/operators"

	"github.com/crossplane-contrib/function-export/internal/engine/celast"
	"github.com/crossplane-contrib/function-export/internal/engine/diagnostic"
	"github.com/crossplane-contrib/function-export/internal/engine/expression"
	"github.com/crossplane-contrib/function-export/internal/engine/limits"
	"github.com/crossplane-contrib/function-export/internal/engine/suggest"
)

// CEL parses secrets.db-0.password as secrets.db minus 0.password, and labels.example.org/x as a division.
// This file finds such names in the text of a source, because many of them do not even parse.

// A chain is a variable with the selections after it, in the text of a source.
type chain struct {
	at, end int
	names   []dashedName
}

// A dashedName is a name in a chain that CEL splits at an operator.
type dashedName struct {
	at, end  int // with the dot before it
	operator int
	instead  string
	keep     bool // the name is meant
}

// Steps of a chain. A name may contain dashes here. A qualified name also contains dots, and one slash.
var (
	plainStep     = regexp.MustCompile(`^(\.\??)([A-Za-z_]\w*(?:-\w+)*|[0-9]\w*(?:-\w+)+)`)
	qualifiedStep = regexp.MustCompile(`^(\.\??)(\w+(?:[-.]\w+)*/\w+(?:[-.]\w+)*)`)
	indexStep     = regexp.MustCompile(`^\[\??(?:'[^'\n]*'|"[^"\n]*"|[0-9]+)\]`)
	dashedRoot    = regexp.MustCompile(`^[A-Za-z_]\w*(?:-\w+)+`)
	wordAtEnd     = regexp.MustCompile(`-\w+$`)
	numberAtEnd   = regexp.MustCompile(`-[0-9]+$`)
)

// named are the variables whose fields have names that people choose, such as the names of composed
// resources. The value is the number of these fields in a path.
var named = map[string]int{ //nolint:gochecknoglobals // a table
	expression.Secret: 1, expression.Secrets: 2, expression.Resources: 1, expression.Sources: 1, expression.Generated: 2, expression.Candidate: 2, expression.Previous: 2, expression.Env: 1, expression.Context: 1,
	expression.Revisions: 1,
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
		var found chain
		if t.text == ")" || slices.Contains(roots, t.text) {
			found = c.chainFrom(t)
		} else if root := dashedRoot.FindString(c.text[t.at:]); root != "" && slices.Contains(variables, expression.Resources) {
			found = c.chainFromName(t.at, root, variables)
		}
		if len(found.names) > 0 {
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

// chainFrom returns the chain that begins with a variable.
func (c *script) chainFrom(variable token) chain {
	return c.follow(chain{at: variable.at, end: variable.end()}, variable.text)
}

// chainFromName returns the chain that begins with the name of a composed resource, for example
// my-db.status.host.
func (c *script) chainFromName(at int, root string, variables []string) chain {
	end := at + len(root)
	before, after, _ := strings.Cut(root, "-")
	if !strings.HasPrefix(c.text[end:], ".") || slices.Contains(variables, after) {
		return chain{}
	}
	name := dashedName{at: at, end: end, operator: at + len(before), instead: expression.Resources + "['" + root + "']"}
	return c.follow(chain{at: at, end: end, names: []dashedName{name}}, "")
}

// follow adds the steps after the end of a chain.
func (c *script) follow(to chain, variable string) chain {
	last := variable
	for depth := 0; ; depth++ {
		rest := c.text[to.end:]
		if m := indexStep.FindString(rest); m != "" {
			to.end, last = to.end+len(m), strings.Trim(m, `[?'"]`)
			continue
		}
		byName := depth < named[variable] || slices.Contains(keyed, last)
		m := nextStep(rest, byName)
		if m == nil {
			return to
		}
		end := to.end + len(m[0])
		called := strings.HasPrefix(c.text[end:], "(")
		if called { // a.b-size(c) is a subtraction, and a.b.size() a method
			m[2] = wordAtEnd.ReplaceAllString(m[2], "")
			end = to.end + len(m[1]) + len(m[2])
		}
		selected := strings.HasPrefix(c.text[end:], ".") || strings.HasPrefix(c.text[end:], "[")
		if i := strings.IndexAny(m[2], "-/"); i >= 0 && (byName || selected || !numberAtEnd.MatchString(m[2])) {
			name := dashedName{to.end, end, to.end + len(m[1]) + i, inBrackets(m[1], m[2], variable), false}
			to.names = append(to.names, name)
		} else if i >= 0 || called {
			return to
		}
		to.end, last = end, m[2]
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

// An edit replaces a part of a source.
type edit struct {
	at, end int
	instead string
}

// edited returns the text after the edits, which are in order.
func edited(text string, edits []edit) string {
	var b strings.Builder
	done := 0
	for _, e := range edits {
		b.WriteString(text[done:e.at] + e.instead)
		done = e.end
	}
	return b.String() + text[done:]
}

// dashes returns the diagnostics of a source whose names contain operators, or nothing if it has none.
// A name is meant if the source has fewer errors with the name in brackets. Other mistakes are shown once it is.
func (m *explainer) dashes() diagnostic.List {
	c, s := m.text, m.Source
	if len(s.Text) > limits.ExplainedCharacters {
		return nil
	}
	chains := c.chains(m.Environment.Names(s))
	var names []*dashedName
	for i := range chains {
		for j := range chains[i].names {
			names = append(names, &chains[i].names[j])
		}
	}
	names = names[:min(len(names), mostDashedNames, 1+dashedCharacters/(1+len(s.Text)))]
	for _, n := range names {
		n.keep = true
	}
	least := m.errorsIn(edited(s.Text, editsOf(chains)))
	for _, n := range names { // leave out the names that make no difference
		n.keep = false
		if without := m.errorsIn(edited(s.Text, editsOf(chains))); without > least {
			n.keep = true
		} else {
			least = without
		}
	}
	edits := editsOf(chains)
	if len(edits) == 0 {
		return nil
	}
	return m.namesWithOperators(chains, edits)
}

// dashes checks a source once for each name. These limits keep its time near that of one check of the longest
// source: composite authors can have many sources whose names contain dashes.
const (
	mostDashedNames  = 8
	dashedCharacters = 1024 // of all checks of names together
)

func editsOf(chains []chain) (out []edit) {
	for _, c := range chains {
		for _, n := range c.names {
			if n.keep {
				out = append(out, edit{n.at, n.end, n.instead})
			}
		}
	}
	return out
}

// namesWithOperators returns a diagnostic for each chain that is edited.
func (m *explainer) namesWithOperators(chains []chain, edits []edit) (out diagnostic.List) {
	c := m.text
	for _, ch := range chains {
		i := slices.IndexFunc(ch.names, func(n dashedName) bool { return n.keep })
		if i < 0 {
			continue
		}
		what := "- is the minus operator here"
		if c.text[ch.names[i].operator] == '/' {
			what = "/ is the division operator here"
		}
		var within []edit
		for _, e := range edits {
			if e.at >= ch.at && e.end <= ch.end {
				within = append(within, edit{e.at - ch.at, e.end - ch.at, e.instead})
			}
		}
		line, column := c.position(ch.names[i].operator)
		meant := strings.TrimPrefix(edited(c.text[ch.at:ch.end], within), ")")
		out = append(out, m.Source.At(line, column, what+suggest.DidYouMean(meant)))
	}
	return out
}

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
		object := len(path) == 2 && slices.Contains([]string{expression.Resources, expression.Sources, expression.Secrets, expression.Generated, expression.Candidate, expression.Previous}, path[0])
		label := len(path) > 2 && path[len(path)-3] == "metadata" && slices.Contains(keyed, path[len(path)-2])
		if object || label {
			n++
		}
	}))
	return n
}
