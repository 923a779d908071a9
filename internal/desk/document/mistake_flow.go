package document

import (
	"fmt"
	"strings"
)

const (
	noComma  = "no comma before this: write one after the value or the item above"
	inQuotes = "put the whole value in quotes"
)

// A flow reads a list or a mapping in brackets.
type flow struct {
	*scanner
	at       int
	open     []int  // offsets of the open brackets, outermost first
	last     token  // what was read last
	start    int    // of the last value
	hasColon bool   // the current entry has a colon after its key
	colons   []bool // hasColon of the entries around the open brackets
	newLine  bool   // a line began after the last token
}

type token int

const (
	atValue   token = iota // a bracket, a comma or a colon: a value may follow
	afterText              // a plain value
	afterEnd               // a value in quotes, an alias, or a closed bracket
)

func (s *scanner) readFlow() *mistake {
	end, f := s.flow(s.at)
	if f != nil {
		return f
	}
	next := pastBlanks(s.text, end)
	if isEmptyLine(s.text, next) {
		s.at = lineAfter(s.text, next)
		return nil
	}
	if s.text[next] == ':' {
		return &mistake{next, "a colon after a closing bracket: " + instead}
	}
	return &mistake{next, fmt.Sprintf("text after the closing %c: %s", s.text[end-1], instead)}
}

// flow returns the offset after a value in brackets, or a mistake.
func (s *scanner) flow(start int) (int, *mistake) {
	f := &flow{scanner: s, at: start}
	for f.at < len(s.text) {
		if found := f.next(); found != nil {
			return 0, found
		}
		if len(f.open) == 0 {
			return f.at, nil
		}
	}
	return 0, f.unclosed()
}

func (f *flow) unclosed() *mistake {
	at := f.open[len(f.open)-1]
	opened := f.text[at]
	return &mistake{at, fmt.Sprintf("a %c that is not closed: write %c where the value ends; if the value is an expression, %s", opened, opened+2, instead)}
}

// next reads one token.
func (f *flow) next() *mistake {
	c := f.text[f.at]
	switch n := breakAt(f.text, f.at); {
	case n > 0:
		f.at += n
		f.newLine = true
		if f.endsFlow(f.at) {
			return f.unclosed()
		}
		return nil
	case isBlank(c):
		f.at++
		return nil
	case c == '#' && (f.newLine || isBlank(f.text[f.at-1])):
		f.at = lineEnd(f.text, f.at)
		return nil
	}
	found := f.token(c)
	f.newLine = false
	return found
}

func (f *flow) token(c byte) *mistake {
	switch {
	case c == '[' || c == '{':
		return f.bracket()
	case c == ']' || c == '}':
		return f.closing(c)
	case c == ',':
		if f.last == atValue && !f.hasColon {
			return &mistake{f.at, "a comma with no value before it: remove it"}
		}
		f.last, f.hasColon = atValue, false
		f.at++
		return nil
	case c == ':' && (f.last != afterText || f.isBlankOrEnd(f.at+1) || strings.IndexByte(",[]{}", f.text[f.at+1]) >= 0):
		return f.colonToken()
	case c == '?' && (f.last == atValue || f.last == afterText):
		return &mistake{f.at, "a question mark cannot be in a plain value in brackets: " + inQuotes}
	}
	return f.scalar(c)
}

// bracket reads an opening bracket.
func (f *flow) bracket() *mistake {
	if found := f.template(f.at); found != nil {
		return found
	}
	if f.last != atValue {
		return f.unexpected()
	}
	f.open = append(f.open, f.at)
	f.colons = append(f.colons, f.hasColon)
	f.hasColon = false
	f.at++
	return nil
}

// closing reads a closing bracket.
func (f *flow) closing(c byte) *mistake {
	at := f.open[len(f.open)-1]
	opened := f.text[at]
	if opened+2 != c { // in ASCII, a closing bracket is two after its opening bracket
		return &mistake{f.at, fmt.Sprintf("%c, but the %c in line %d is not closed: write %c before or instead of it",
			c, opened, f.file.position(at).Line, opened+2)}
	}
	f.hasColon = f.colons[len(f.colons)-1]
	f.open, f.colons = f.open[:len(f.open)-1], f.colons[:len(f.colons)-1]
	f.last = afterEnd
	f.at++
	return nil
}

// colonToken reads a colon after a key.
func (f *flow) colonToken() *mistake {
	if f.hasColon && f.last != atValue {
		line := strings.LastIndexAny(f.text[:f.at], "\n\r") + 1
		if f.start < line { // the last value ended above, and the key in this line was read as a part of it
			return &mistake{pastBlanks(f.text, line), noComma}
		}
		if word := strings.LastIndexAny(f.text[:f.at], " \t,[]{}") + 1; word > f.start && isName(f.text[word:f.at]) {
			return &mistake{word, noComma + "; or " + inQuotes}
		}
		return &mistake{f.at, "a plain value in brackets cannot contain a colon and a space: " + inQuotes}
	}
	f.last, f.hasColon = atValue, true
	f.at++
	return nil
}

// scalar reads a value that is not in brackets.
func (f *flow) scalar(c byte) *mistake {
	if f.last == afterEnd || f.last == afterText && strings.IndexByte("\"'&*!", c) >= 0 {
		return f.unexpected()
	}
	if f.last == afterText { // it continues
		f.plain()
		return nil
	}
	f.start = f.at
	switch {
	case c == '"' || c == '\'':
		end, found := f.quoted(f.at)
		f.at, f.last = end, afterEnd
		return found
	case c == '&' || c == '!' || c == '*':
		return f.property(c)
	case strings.HasPrefix(f.text[f.at:], "//"), strings.HasPrefix(f.text[f.at:], "/*"):
		return &mistake{f.at, "a comment of another language: a comment in YAML begins with #, and JSON has none"}
	case f.isItem(f.at):
		return &mistake{f.at, "a list item in brackets: leave out its dash, and separate items with commas"}
	}
	if f.isSpecial(f.at) {
		return f.beginsWith(f.at)
	}
	f.plain()
	return nil
}

// beginsWith returns the mistake of a value that begins with a special character.
func (f *flow) beginsWith(i int) *mistake {
	return &mistake{i, fmt.Sprintf("a plain value cannot begin with %c: %s", f.text[i], inQuotes)}
}

// property reads an anchor, a tag or an alias.
func (f *flow) property(c byte) *mistake {
	end := f.at + 1
	for !f.isBlankOrEnd(end) && strings.IndexByte(",[]{}", f.text[end]) < 0 {
		end++
	}
	name := f.text[f.at+1 : end]
	switch isNameOnly := name != "" && strings.Trim(name, nameBytes) == ""; {
	case c == '!':
	case !isNameOnly:
		return f.beginsWith(f.at)
	case c == '&':
		f.anchors[name] = true
	case !f.anchors[name]:
		return &mistake{f.at, unknownAlias}
	default:
		f.last = afterEnd
	}
	f.at = end
	return nil
}

// plain reads a plain value up to the end of its line.
func (f *flow) plain() {
	f.last = afterText
	for ; f.at < len(f.text) && breakAt(f.text, f.at) == 0; f.at++ { // not lineEnd: a line can have many values
		c := f.text[f.at]
		if strings.IndexByte(",[]{}?", c) >= 0 || c == ':' && f.isBlankOrEnd(f.at+1) || c == '#' && isBlank(f.text[f.at-1]) {
			return
		}
	}
}

// unexpected is the mistake of a value directly after another one.
func (f *flow) unexpected() *mistake {
	switch before := f.text[f.at-1]; {
	case f.last == afterText && before == ':':
		return &mistake{f.at - 1, "no space after the colon: write one if this is a key"}
	case f.newLine, strings.IndexByte("\"'[{", f.text[f.at]) >= 0 && isBlank(before):
		return &mistake{f.at, noComma}
	case f.last == afterText:
		return &mistake{f.at, "a bracket or a quote in a plain value in brackets: " + inQuotes}
	}
	return &mistake{f.at, "text after a closing quote or bracket: write a comma if it is another value, or " + inQuotes}
}
