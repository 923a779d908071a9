package lsp

// format returns edits of the blanks in expressions: one around an operator and after a comma, and none inside of
// brackets and around a dot. Lines and the blanks around the signs of a condition, of a map and of an optional entry
// stay as they are, because YAML gives some of them a meaning. Nothing else in the file changes.
func (v *question) format() any {
	out := []TextEdit{}
	if v.broken {
		return out
	}
	for _, e := range v.inOrder() {
		out = append(out, e.formatted()...)
	}
	return out
}

// formatted returns the edits of the blanks between the tokens of an expression that are in one line.
func (e *expr) formatted() (out []TextEdit) {
	for i := 1; i < len(e.tokens); i++ {
		a, b := e.tokens[i-1], e.tokens[i]
		if a.kind == tokenUnknown || b.kind == tokenUnknown {
			return nil
		}
		in := e.view.text.rangeOf(span{e.span(a.start, a.end).end, e.letters[b.start]})
		if want := e.between(i); in.Start.Line == in.End.Line && want != e.text[a.end:b.start] {
			out = append(out, TextEdit{in, want})
		}
	}
	return out
}

// between returns the blanks between a token and the one before it.
func (e *expr) between(i int) string {
	a, b := e.tokens[i-1], e.tokens[i]
	binary := func(i int) bool { // and not a sign before its operand
		t := e.tokens[i]
		if t.is("-") {
			return i > 0 && endsOperand(e.tokens[i-1])
		}
		return t.kind == tokenName && t.text == "in" ||
			t.is("+", "*", "/", "%", "==", "!=", "<", "<=", ">", ">=", "&&", "||")
	}
	switch {
	case b.kind == tokenComment, a.is("?", ":"), b.is("?", ":"):
		return e.text[a.end:b.start]
	case a.is("(", "[", "[?", "{", ".", ".?"), b.is(")", "]", "}", ",", ".", ".?"):
		return ""
	case a.is(","), binary(i - 1), binary(i):
		return " "
	case b.is("(", "[", "[?") && endsOperand(a), a.is("-", "!"):
		return ""
	}
	return e.text[a.end:b.start]
}

// endsOperand reports whether a token ends an operand of a binary operator.
func endsOperand(t token) bool {
	return t.kind == tokenName && t.text != "in" || t.kind == tokenNumber || t.kind == tokenText || t.is(")", "]", "}")
}
