package document

import (
	"fmt"
	"strings"
)

// Instructions for values that YAML cannot read.
const (
	instead        = "write `|-` after the key, and the value indented in the next line"
	colonInPlain   = "a plain value cannot contain a colon and a space: " + instead
	unknownAlias   = "an alias of an anchor that is not above it: define the anchor with &, or put the value in quotes if it is text"
	tabIndents     = "a tab in the indentation: replace it with spaces"
	spaceAfterDash = "no space after the dash: write one if this is an item of a list"
)

// readEntries reads an item or a key, and those that begin in the same line: `- - a: b`. The first of them begins a
// block if it is the first of its block.
func (s *scanner) readEntries(isFirst bool) *mistake {
	for {
		isItem := s.isItem(s.at)
		key, isKey := 0, false
		if !isItem { // each dash of many in a line would read the rest of the line
			key, isKey = s.key(s.at)
		}
		if isFirst && (isItem || isKey) {
			s.blocks = append(s.blocks, block{column: s.at - s.line, first: s.at, isList: isItem})
		}
		s.value = value{is: wanted, start: s.at}
		switch {
		case isItem:
			s.at = pastSpaces(s.text, s.at+1)
			if s.at < len(s.text) && s.text[s.at] == '\t' && !isEmptyLine(s.text, s.at) {
				return &mistake{s.at, "a tab after a dash: replace it with a space"}
			}
		case isKey:
			if s.text[s.at] == '-' {
				s.suspicion = &mistake{s.at, spaceAfterDash}
			}
			s.properties()
			s.at = pastBlanks(s.text, key+1)
			return s.readValue(true)
		default:
			return s.readValue(false)
		}
		isFirst = true
	}
}

// isItem reports whether there is a dash at i that begins an item of a list.
func (s *scanner) isItem(i int) bool {
	return i < len(s.text) && s.text[i] == '-' && s.isBlankOrEnd(i+1)
}

func (s *scanner) isBlankOrEnd(i int) bool {
	return i >= len(s.text) || isBlank(s.text[i]) || breakAt(s.text, i) > 0
}

// key returns the offset of the colon of a key at i, and whether there is such a key.
func (s *scanner) key(i int) (int, bool) {
	end := lineEnd(s.text, i)
	i = s.pastProperties(i)
	if i >= end {
		return 0, false
	}
	line := *s
	line.text = s.text[:end]
	switch c := s.text[i]; {
	case c == '"' || c == '\'':
		closing, f := line.quoted(i)
		if f != nil {
			return 0, false
		}
		i = closing
	case c == '*':
		i++
		for i < end && isNameByte(s.text[i]) {
			i++
		}
	case c == '[' || c == '{':
		closing, f := line.flow(i)
		if f != nil {
			return 0, false
		}
		i = closing
	case s.isSpecial(i):
		return 0, false
	default:
		colon := s.colon(i)
		return colon, colon > i
	}
	i = pastBlanks(s.text, i)
	return i, i < end && s.text[i] == ':' && s.isBlankOrEnd(i+1)
}

// pastProperties returns the offset after anchors and tags at i.
func (s *scanner) pastProperties(i int) int {
	for i < len(s.text) && (s.text[i] == '&' || s.text[i] == '!') {
		next := i + 1
		for !s.isBlankOrEnd(next) {
			next++
		}
		if s.text[i] == '&' && strings.Trim(s.text[i+1:next], nameBytes) != "" || next == i+1 && s.text[i] == '&' {
			return i // it is no anchor
		}
		i = pastBlanks(s.text, next)
	}
	return i
}

// properties reads anchors and tags.
func (s *scanner) properties() {
	end := s.pastProperties(s.at)
	for _, word := range strings.Fields(s.text[s.at:end]) {
		if word[0] == '&' {
			s.anchors[word[1:]] = true
		}
	}
	s.at = end
}

// colon returns the offset of a colon that ends a plain value at i or later in the line, or -1.
func (s *scanner) colon(i int) int {
	for end := lineEnd(s.text, i); i < end; i++ {
		switch {
		case s.text[i] == ':' && s.isBlankOrEnd(i+1):
			return i
		case s.text[i] == '#' && i > s.line && isBlank(s.text[i-1]):
			return -1
		}
	}
	return -1
}

// readValue reads a value, which begins in this line or in one of the next lines. A block can begin in this line
// only where no key is before it.
func (s *scanner) readValue(afterKey bool) *mistake {
	start := s.at
	s.properties()
	s.value = value{is: wanted, start: s.at}
	if isEmptyLine(s.text, s.at) {
		s.nextLine()
		return nil
	}
	if f := s.template(s.at); f != nil {
		return f
	}
	s.value.is = closed
	switch c := s.text[s.at]; {
	case c == '"' || c == '\'':
		return s.readQuoted()
	case c == '[' || c == '{':
		return s.readFlow()
	case c == '|' || c == '>':
		return s.readBlock()
	case c == '*':
		return s.readAlias()
	case c == '?' && s.isBlankOrEnd(s.at+1) && !afterKey:
		s.explicit = true
		return nil
	}
	return s.readPlain(start, afterKey)
}

// readPlain reads the first line of a plain value. Its anchor or tag begins at start.
func (s *scanner) readPlain(start int, afterKey bool) *mistake {
	colon := s.colon(s.at)
	isMistake := s.isSpecial(s.at) || colon >= 0 && (afterKey || s.at > start)
	switch {
	case s.isItem(s.at) && afterKey:
		return &mistake{s.at, "a list item after a key: put it in the next line"}
	case isMistake && s.text[start] == '!':
		return s.beginsWith(start)
	case s.isSpecial(s.at) && len(s.blocks) == 0:
		return s.noKey(s.at)
	case s.isSpecial(s.at):
		return s.beginsWith(s.at)
	case isMistake:
		return &mistake{colon, colonInPlain}
	}
	s.plainLine(s.at)
	return nil
}

// plainLine reads a line of a plain value that begins at start.
func (s *scanner) plainLine(start int) {
	line := s.text[s.at:lineEnd(s.text, s.at)]
	s.value = value{is: plain, start: start}
	if strings.Contains(line, " #") || strings.Contains(line, "\t#") {
		s.value.is = comment
	}
	s.nextLine()
}

// isSpecial reports whether the character at i has a meaning in YAML, so that a plain value cannot begin with it.
func (s *scanner) isSpecial(i int) bool {
	c := s.text[i]
	return strings.IndexByte("[]{},#&*!|>'\"%@`", c) >= 0 || strings.IndexByte("-?:", c) >= 0 && s.isBlankOrEnd(i+1)
}

// beginsWith returns the mistake of a value that begins with a special character.
func (s *scanner) beginsWith(i int) *mistake {
	return &mistake{i, fmt.Sprintf("a plain value cannot begin with %c: %s", s.text[i], instead)}
}

func (s *scanner) readAlias() *mistake {
	end := s.at + 1
	for end < len(s.text) && isNameByte(s.text[end]) {
		end++
	}
	switch {
	case end == s.at+1 || !s.isBlankOrEnd(end):
		return s.beginsWith(s.at)
	case !s.anchors[s.text[s.at+1:end]]:
		return &mistake{s.at, unknownAlias}
	}
	if next := pastBlanks(s.text, end); !isEmptyLine(s.text, next) {
		return s.beginsWith(s.at)
	}
	s.nextLine()
	return nil
}

func (s *scanner) readQuoted() *mistake {
	start := s.at
	end, f := s.quoted(start)
	if f != nil {
		return f
	}
	next := pastBlanks(s.text, end)
	switch isOneLine := end <= lineEnd(s.text, start); {
	case isEmptyLine(s.text, next):
		s.at = lineAfter(s.text, next)
		return nil
	case !isOneLine:
		return &mistake{start, unclosedQuote}
	case s.text[next] == ':':
		return &mistake{next, "no space after the colon: write one if this is a key"}
	}
	return &mistake{next, "text after the closing quote: " + instead}
}

const unclosedQuote = "a quote that is not closed: write the same quote where the value ends"

// quoted returns the offset after a value in quotes, or a mistake. A value that continues in a line which looks like the
// next key or item is not closed.
func (s *scanner) quoted(start int) (int, *mistake) {
	quote := s.text[start]
	for i := start + 1; i < len(s.text); {
		switch c := s.text[i]; {
		case c == quote && quote == '\'' && strings.HasPrefix(s.text[i+1:], "'"):
			i += 2
		case c == quote:
			return i + 1, nil
		case c == '\\' && quote == '"':
			size := s.escape(i)
			if size == 0 {
				return 0, &mistake{i, "a backslash that is not part of an escape: write two backslashes, or put the value in single quotes"}
			}
			i += size
		case breakAt(s.text, i) > 0:
			i += breakAt(s.text, i)
			if s.endsFlow(i) {
				return 0, &mistake{start, unclosedQuote}
			}
		default:
			i++
		}
	}
	return 0, &mistake{start, unclosedQuote}
}

// escape returns the length of the escape at i in double quotes, or 0.
func (s *scanner) escape(i int) int {
	if i+1 >= len(s.text) {
		return 0
	}
	if n := breakAt(s.text, i+1); n > 0 {
		return 1 + n
	}
	c := s.text[i+1]
	digits := map[byte]int{'x': 2, 'u': 4, 'U': 8}[c]
	end := i + 2 + digits
	switch {
	case strings.IndexByte("0abtnvfre \t\"'\\N_LPxuU", c) < 0, end > len(s.text):
		return 0
	case strings.Trim(s.text[i+2:end], "0123456789abcdefABCDEF") != "":
		return 0
	}
	return end - i
}

// endsFlow reports whether the line at i cannot continue a value in quotes or brackets: it begins a document, or a key
// or an item of an open block.
func (s *scanner) endsFlow(i int) bool {
	if isMarker(s.text, i, "---") {
		return true
	}
	start := pastSpaces(s.text, i)
	if start >= len(s.text) || start-i > s.indent() {
		return false
	}
	if s.isItem(start) {
		return true
	}
	line := s.text[start:lineEnd(s.text, start)]
	name, rest, found := strings.Cut(line, ":")
	return found && isName(name) && (rest == "" || isBlank(rest[0]))
}

const nameBytes = "-_0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"

// isName reports whether a text looks like the name of a field or a key.
func isName(text string) bool {
	return text != "" && text[0] != '-' && strings.Trim(text, nameBytes+"./") == ""
}
