package advice

import (
	"slices"
	"strings"

	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/operators"
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
		from = calledAtEnd.FindStringIndex(c.text[:from])[0]
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

// Hints that tell how to convert a value: with a call around it, with quotes, or with a method after it.
var (
	wrapHint   = lazy.MustCompile(`: wrap (?:it|the [\w ]+) in ([\w.]+)\(\.\.\.\)( \(.*\))?$`)
	quoteHint  = lazy.MustCompile(`: write it in quotes, ('[^']*')( \(.*\))?$`)
	methodHint = lazy.MustCompile(`: (?:convert .* with|write) (\.(?:optMap|map|transformMap)\(.*\))( \(.*\))?$`)
)

// converted notes how the message of a call or a result corrects the only operand that does not fit.
func (m *explainer) converted(message string, operands []ast.Expr, have []*types.Type) {
	before, after, isWrong := conversionIn(message)
	wrong := make([]ast.Expr, 0, len(operands))
	for i, e := range operands {
		isCondition := len(operands) == 3 && i == 0 && celast.IsKind(have[i], types.BoolKind)
		isText := i < len(have) && celast.IsKind(celast.WithoutOptional(have[i]), types.StringKind)
		if !isCondition && isWrong(e, isText) {
			wrong = append(wrong, e)
		}
	}
	if len(wrong) == 1 && !isComputed(wrong[0]) {
		m.instead(wrong[0], before+m.sourceOf(wrong[0])+after, message)
	}
}

// conversionIn returns what a message tells to write before and after an operand, and which operand that is.
func conversionIn(message string) (before, after string, isWrong func(e ast.Expr, isText bool) bool) {
	noText := func(_ ast.Expr, isText bool) bool { return !isText }
	switch wrap, method := wrapHint.FindStringSubmatch(message), methodHint.FindStringSubmatch(message); {
	case wrap != nil && wrap[1] == "hex.encode":
		return "hex.encode(", ")", func(e ast.Expr, _ bool) bool { return isHash(e) }
	case wrap != nil && wrap[1] == "string":
		return "string(", ")", noText
	case wrap != nil:
		return wrap[1] + "(", ")", func(_ ast.Expr, isText bool) bool { return isText }
	case quoteHint.MatchString(message):
		return "'", "'", func(e ast.Expr, isText bool) bool { return e.Kind() == ast.LiteralKind && !isText }
	case method != nil:
		return "", method[1], noText
	}
	return "", "", func(ast.Expr, bool) bool { return false }
}

// isComputed reports whether a value is the result of an operator on numbers. It may be meant as a text, as in
// 2026-01-31.
func isComputed(e ast.Expr) bool {
	return e.Kind() == ast.CallKind && slices.Contains([]string{operators.Add, operators.Subtract, operators.Multiply, operators.Divide,
		operators.Modulo, operators.Negate}, e.AsCall().FunctionName())
}

// callForm matches the form of a function or a method that a hint tells.
var callForm = lazy.MustCompile(`^write (?:(text|list|value)\.)?([a-z][\w.]*)\(((?:\w+(?:, )?)*)\)(?: around the value)?$`)

// recalled notes how a call is written with the function or the method of a hint, if that takes the same operands.
func (m *explainer) recalled(e ast.Expr, name, hint string) string {
	form, operands := callForm.FindStringSubmatch(hint), celast.Operands(e.AsCall())
	if name != e.AsCall().FunctionName() { // its target is a namespace
		operands = e.AsCall().Args()
	}
	if form == nil || len(operands) == 0 {
		return hint
	}
	count := len(strings.Fields(form[3]))
	if form[1] != "" {
		count++
	}
	if count == len(operands) {
		return m.called(e, operands, form[2], form[1] != "", hint)
	}
	return hint
}

// rewritten notes how a call of a function is written as a method, or the reverse.
func (m *explainer) rewritten(e ast.Expr, fn string, method bool, hint string) string {
	return m.called(e, celast.Operands(e.AsCall()), fn, method, hint)
}

// called notes how a call with some operands is written in place of another one.
func (m *explainer) called(e ast.Expr, operands []ast.Expr, fn string, method bool, hint string) string {
	texts := make([]string, 0, len(operands))
	for _, o := range operands {
		texts = append(texts, m.sourceOf(o))
	}
	switch isPath := m.pathOf(operands[0]) == texts[0]; {
	case !method:
		return m.instead(e, fn+"("+strings.Join(texts, ", ")+")", hint)
	case !isPath && operands[0].Kind() == ast.CallKind && isOperator(operands[0].AsCall().FunctionName()):
		return hint // it would need brackets
	}
	return m.instead(e, texts[0]+"."+fn+"("+strings.Join(texts[1:], ", ")+")", hint)
}

// schemaHint matches the name that a schema suggests for a field.
var schemaHint = lazy.MustCompile(` has no field (\S+): did you mean ([\w.]+)\?$`)

// renamed notes how a selection is written with the field that a schema suggests.
func (m *explainer) renamed(e ast.Expr, message string) string {
	names := schemaHint.FindStringSubmatch(message)
	if names == nil {
		return message
	}
	if !strings.Contains(names[2], ".") { // it is the last step
		names[1] = names[1][strings.LastIndex(names[1], ".")+1:]
	}
	from, to := m.extent(e)
	if text := m.script().text[from:to]; strings.HasSuffix(text, "."+names[1]) || strings.HasSuffix(text, "?"+names[1]) {
		m.script().replace(to-len(names[1]), to, names[2], message)
	}
	return message
}

// tokenHint matches the end of a message that tells what to write in place of a token, or to leave it out.
var tokenHint = lazy.MustCompile(
	`: (?:write ([=!<>&|'"]+|:|\d+|'\w+'|a plain space|a comma)(?: before the value| between a key and its value| between two entries)?|leave (?:it|the dot) out)$`)

// unclosedHint matches the end of a message about a bracket that is not closed.
var unclosedHint = lazy.MustCompile(`is not closed: write ([)\]}]) before [)\]}]$`)

// correctToken notes how the message about a token, or about two tokens that are an operator elsewhere, corrects it.
func (c *script) correctToken(at int, message string) {
	if m := unclosedHint.FindStringSubmatch(message); m != nil {
		c.replace(at, at, m[1], message)
	}
	m := tokenHint.FindStringSubmatch(message)
	i := slices.IndexFunc(c.tokens, func(t token) bool { return t.at == at })
	if i < 0 || m == nil {
		return
	}
	to := c.tokens[i].end()
	if foreignOperators[c.tokens[i].text+c.token(i+1).text] != "" && c.tokens[i].text != "." {
		to = c.token(i + 1).end()
	}
	if quotes := strings.NewReplacer("‘", "'", "’", "'", "“", `"`, "”", `"`); quotes.Replace(c.tokens[i].text) != c.tokens[i].text {
		c.replace(0, len(c.text), quotes.Replace(c.text), message)
		return
	}
	c.replace(at, to, strings.NewReplacer("a plain space", " ", "a comma", ",").Replace(m[1]), message)
}
