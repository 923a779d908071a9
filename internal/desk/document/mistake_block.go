package document

import (
	"fmt"
	"strings"
)

// readBlock reads a text block.
func (s *scanner) readBlock() *mistake {
	s.value = value{is: noLines, start: s.at}
	indent, m := s.readHeader()
	if m != nil {
		return m
	}
	for blank := 0; s.at < len(s.text); s.nextLine() {
		text := pastSpaces(s.text, s.at)
		column := text - s.at
		if text == len(s.text) || breakAt(s.text, text) > 0 {
			blank = max(blank, column)
			continue
		}
		isTab := s.text[text] == '\t'
		if indent == 0 && column > s.indent() && !isTab {
			indent = max(column, blank, 1)
		}
		switch {
		case isTab && (indent == 0 || column < indent) && !isEmptyLine(s.text, text):
			return &mistake{text, tabIndents}
		case indent == 0:
			return nil
		case column < indent:
			return s.afterBlock(text, column, indent)
		}
		s.value.is = closed
	}
	return nil
}

// readHeader reads the header of a text block. It returns the indentation of the block if the header contains it,
// otherwise 0.
func (s *scanner) readHeader() (indent int, m *mistake) {
	header := s.text[s.at]
	for s.at++; s.at < len(s.text) && strings.IndexByte("+-123456789", s.text[s.at]) >= 0; s.at++ {
		if s.text[s.at] >= '1' {
			indent = max(s.indent(), 0) + int(s.text[s.at]-'0')
		}
	}
	next := pastBlanks(s.text, s.at)
	isComment := next < len(s.text) && s.text[next] == '#' && next > s.at
	if !isComment && !s.isBlankOrEnd(next) {
		return 0, &mistake{next, fmt.Sprintf("text after %c, which begins a text block: put the text in the next line, indented", header)}
	}
	s.nextLine()
	return indent, nil
}

// afterBlock returns a mistake if the line after a text block has less indentation than the block, but more than its
// key.
func (s *scanner) afterBlock(text, column, indent int) *mistake {
	if column <= s.indent() || s.text[text] == '#' || isMarker(s.text, text, "---") && column == 0 {
		return nil
	}
	if s.suspicion != nil {
		return s.suspicion
	}
	return &mistake{text, fmt.Sprintf("a line of a text block that is indented less than its first line: begin it in column %d or more", indent+1)}
}
