package advice

import (
	"slices"
	"strings"

	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/types"

	"github.com/crossplane-contrib/function-export/internal/engine/celast"
	"github.com/crossplane-contrib/function-export/internal/engine/diagnostic"
	"github.com/crossplane-contrib/function-export/internal/engine/expression"
	"github.com/crossplane-contrib/function-export/internal/engine/lazy"
)

// This file corrects sources, where a message says exactly what to write.

// A correction is the whole source after a mistake is corrected.
type correction struct {
	hint string // the part of a message that tells it
	text string
}

// replace notes how the mistake of a message that contains a hint is corrected: a text in place of a part of the
// source. It returns the hint.
func (c *script) replace(from, to int, text, hint string) string {
	if from >= 0 && from <= to && to <= len(c.text) && len(c.corrections) < mostReviewed {
		c.corrections = append(c.corrections, correction{hint, c.text[:from] + text + c.text[to:]})
	}
	return hint
}

// correct adds the edit that corrects the mistake to a diagnostic, if its message tells one.
func (m *explainer) correct(d *diagnostic.Diagnostic) {
	if m.text == nil {
		return
	}
	for _, c := range m.text.corrections {
		if c.hint != "" && strings.Contains(d.Message, c.hint) {
			d.Edits = []diagnostic.Edit{{Path: m.Source.Path, Text: c.text}}
		}
	}
	m.text.corrections = nil
}

// instead notes that a text is written in place of a node. It returns the hint.
func (m *explainer) instead(e ast.Expr, text, hint string) string {
	from, to := m.extent(e)
	return m.script().replace(from, to, text, hint)
}

// extent returns the offsets of the text of a node.
func (m *explainer) extent(e ast.Expr) (from, to int) {
	c, last, depth := m.script(), 0, 0
	from = len(c.text)
	ast.PostOrderVisit(e, ast.NewExprVisitor(func(n ast.Expr) {
		if _, ok := m.Tree.SourceInfo().GetOffsetRange(n.ID()); ok {
			from, last = min(from, m.offset(n)), max(last, m.offset(n))
		}
	}))
	if strings.HasPrefix(c.text[from:], "(") { // CEL places a call at its bracket
		from = calledAtEnd().FindStringIndex(c.text[:from])[0]
	}
	for _, t := range c.tokens {
		switch {
		case t.at < from:
			continue
		case t.is(opening):
			depth++
		case t.is(closing):
			depth--
		}
		if t.at >= last && depth <= 0 && !slices.Contains([]string{".", "?", "-", "!"}, t.text) {
			return from, t.end()
		}
	}
	return from, len(c.text)
}

// TextOf returns the text of a node of an expression.
func TextOf(x *expression.Expression, e ast.Expr) string { return explainerOf(x).sourceOf(e) }

// Instead returns the edit that writes a text in place of a node of an expression.
func Instead(x *expression.Expression, e ast.Expr, text string) []diagnostic.Edit {
	from, to := explainerOf(x).extent(e)
	source := x.Source().Text
	return []diagnostic.Edit{{Path: x.Source().Path, Text: source[:from] + text + source[to:]}}
}

// explainerOf returns an explainer of an expression that compiles.
func explainerOf(x *expression.Expression) *explainer {
	return newExplainer(&expression.Errors{Source: x.Source(), Environment: x.Environment(), Tree: x.Tree()})
}

// sourceOf returns the text of a node.
func (m *explainer) sourceOf(e ast.Expr) string {
	from, to := m.extent(e)
	return m.script().text[from:to]
}

var calledAtEnd = lazy.MustCompile(`[\w.]*$`)

// conversionHint matches the end of a message that tells to write a call or quotes around a value.
var conversionHint = lazy.MustCompile(
	`: (?:wrap (?:it|the [\w ]+) in (string|int|double)\(\.\.\.\)|write it in (quotes), '[^']*')(?: \(.*\))?$`)

// converted notes how the message of a call or a result corrects the only operand that does not fit. The result of an
// operator on numbers may be meant as a text, as in 2026-01-31.
func (m *explainer) converted(message string, operands []ast.Expr, have []*types.Type) {
	hint := conversionHint().FindStringSubmatch(message)
	if hint == nil {
		return
	}
	before, after := hint[1]+"(", ")"
	if hint[2] != "" {
		before, after = "'", "'"
	}
	toText := hint[1] == "string" || hint[2] != ""
	var wrong []ast.Expr
	for i, e := range operands {
		isCondition := len(operands) == 3 && i == 0 && celast.IsKind(have[i], types.BoolKind)
		isText := i < len(have) && celast.IsKind(celast.WithoutOptional(have[i]), types.StringKind)
		if !isCondition && isText != toText && (hint[2] == "" || e.Kind() == ast.LiteralKind) {
			wrong = append(wrong, e)
		}
	}
	if len(wrong) == 1 && (wrong[0].Kind() != ast.CallKind || !isOperator(wrong[0].AsCall().FunctionName())) {
		m.instead(wrong[0], before+m.sourceOf(wrong[0])+after, message)
	}
}

// tokenHint matches the end of a message that tells what to write in place of a token, or to leave it out.
var tokenHint = lazy.MustCompile(`: (?:write ([=!<>&|'"]+|:|\d+|'\w+'|a plain space|a comma)` +
	`(?: before the value| between a key and its value| between two entries)?|leave (?:it|the dot) out)$`)

// correctToken notes how the message about a token, or about two tokens that are an operator elsewhere, corrects it.
func (c *script) correctToken(at int, message string) {
	m := tokenHint().FindStringSubmatch(message)
	i := slices.IndexFunc(c.tokens, func(t token) bool { return t.at == at })
	if i < 0 || m == nil {
		return
	}
	to := c.tokens[i].end()
	if foreignOperators[c.tokens[i].text+c.token(i+1).text] != "" && c.tokens[i].text != "." {
		to = c.token(i + 1).end()
	}
	c.replace(at, to, strings.NewReplacer("a plain space", " ", "a comma", ",").Replace(m[1]), message)
}
