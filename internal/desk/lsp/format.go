package lsp

import (
	"slices"
	"strings"

	"github.com/crossplane-contrib/function-export/internal/desk/document"
	"github.com/crossplane-contrib/function-export/internal/desk/files"
)

// format returns edits of the blanks in expressions: one around an operator and after a comma, and none inside of
// brackets and around a dot. Lines stay as they are, and nothing else in the file changes.
func (v *question) format() any {
	out := []TextEdit{}
	if v.repaired {
		return out
	}
	for _, e := range v.inOrder() {
		first := v.text.editor(e.letters[0]).Line
		if !v.whole && (first < v.Range.Start.Line || first > v.Range.End.Line) {
			continue
		}
		if edits := e.formatted(); len(edits) > 0 && e.staysSame(edits) {
			out = append(out, v.edits(edits)...)
		}
	}
	return out
}

// formatted returns the edits of the blanks between the tokens of an expression that are in one line.
func (e *expr) formatted() (out []document.Edit) {
	for i := 1; i < len(e.tokens); i++ {
		a, b := e.tokens[i-1], e.tokens[i]
		if a.kind == tokenUnknown || b.kind == tokenUnknown {
			return nil
		}
		in := e.rangeOf(a.end, b.start)
		want := e.between(i)
		if a.end == b.start {
			in.End = in.Position
		}
		oneLine := in.Line == in.End.Line && e.letters[a.end-1].Line == in.Line
		if oneLine && b.kind != tokenComment && want != e.text[a.end:b.start] {
			out = append(out, document.Edit{Range: in, Text: want})
		}
	}
	return out
}

// between returns the blanks between a token and the one before it.
func (e *expr) between(i int) string {
	a, b := e.tokens[i-1], e.tokens[i]
	binary := func(i int) bool { // and not a sign before its operand
		t := e.tokens[i]
		switch {
		case t.kind == tokenName:
			return t.text == "in"
		case t.is("-", "!") && (i == 0 || !endsOperand(e.tokens[i-1])):
			return false
		case t.is(":"):
			return e.ternary(i)
		}
		return t.kind == tokenOperator && !t.is("(", ")", "[", "]", "{", "}", ",", ".", ".?", "[?", "!")
	}
	switch {
	case a.is(":") && !binary(i-1), a.is(","): // of a map
		return " "
	case a.is("(", "[", "[?", "{", ".", ".?"), b.is(")", "]", "}", ",", ".", ".?"):
		return ""
	case a.is("?") && !e.chooses(i-1): // an optional entry
		return ""
	case binary(i - 1), binary(i):
		return " "
	case b.is(":"), b.is("(", "[", "[?") && endsOperand(a), a.is("-", "!"):
		return ""
	}
	return e.text[a.end:b.start]
}

// endsOperand reports whether a token ends an operand of a binary operator.
func endsOperand(t token) bool {
	return t.kind == tokenName && t.text != "in" || t.kind == tokenNumber || t.kind == tokenText || t.is(")", "]", "}")
}

// chooses reports whether a question mark belongs to a condition, and not to an optional entry.
func (e *expr) chooses(i int) bool { return i > 0 && endsOperand(e.tokens[i-1]) }

// ternary reports whether a colon belongs to a condition: there is a question mark before it in the same brackets.
func (e *expr) ternary(i int) bool {
	open := 0
	for i--; i >= 0; i-- {
		switch t := e.tokens[i]; {
		case t.is(")", "]", "}"):
			i = max(openingOf(e.tokens, i), 0)
		case t.is("(", "[", "[?", "{", ","):
			return open > 0
		case t.is("?") && e.chooses(i):
			open++
		case t.is(":"):
			open--
		}
	}
	return open > 0
}

// staysSame reports whether a file has the same values after edits, except for the blanks in the expression.
func (e *expr) staysSame(edits []document.Edit) bool {
	fix := make([][]document.Edit, 0, len(edits))
	for _, edit := range edits {
		fix = append(fix, []document.Edit{edit})
	}
	text, applied := document.Apply(e.view.text.string, fix)
	f := files.Parse(e.view.name, text)
	steps, _ := files.FindSteps(f)
	before, _ := files.FindSteps(e.view.file)
	if applied != len(edits) || len(f.Broken()) > 0 || len(steps) != len(before) {
		return false
	}
	i := slices.Index(e.view.steps, e.step)
	after, _ := steps[i].Document().At(steps[i].At(e.path...)...).(string)
	return slices.EqualFunc(tokensOf(after), e.tokens, func(a, b token) bool { return a.text == b.text }) &&
		strings.Count(after, "\n") == strings.Count(e.text, "\n")
}
