package document

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// A mistake is a mistake in YAML: the offset of the mistake in the file, and what to write instead. It never quotes
// the file.
type mistake struct {
	at  int
	why string
}

// A scanner finds the first mistake of a document that the parser refuses. The parser says at most the line at which
// it gave up, which is often after the mistake. The scanner reads only the structure: the indentation of each line,
// and where keys, quotes, brackets and text blocks begin and end.
type scanner struct {
	part
	text   string // of the file, up to the end of the document
	line   int    // start of the current line
	at     int
	blocks []block // the open lists and mappings, outermost first
	popped []block // those that the current line closed, innermost first
	value  value   // the last value before at

	anchors   map[string]bool
	suspicion *mistake // an unusual key, which is the mistake if the next line has a mistake
	explicit  bool     // the document has a key that begins with a question mark, which the scanner cannot read
}

// A block is a list or a mapping in block style.
type block struct {
	column int // of each of its items or keys, from 0
	first  int // offset of the first of them
	isList bool
}

// A value is what the scanner knows about the last value.
type value struct {
	is    state
	start int
}

type state int

const (
	wanted  state = iota // after a key or a dash: the value may be in the next lines
	plain                // may continue in the next line
	closed               // has an end
	comment              // a plain value that a comment ended
	noLines              // the header of a text block without lines
)

// mistake returns the first mistake, or nil.
func (p part) mistake() *mistake {
	s := &scanner{part: p, text: p.file.text[:p.end], at: p.start, anchors: map[string]bool{}}
	opening := true
	for s.at < len(s.text) {
		s.line = s.at
		isDirective := opening && s.text[s.at] == '%'
		line := s.text[s.at:lineEnd(s.text, s.at)]
		switch {
		case isDirective && strings.HasPrefix(line, "%YAML") && strings.TrimSpace(line[len("%YAML"):]) != "1.1":
			return &mistake{s.at, "another version of YAML than 1.1, which Kubernetes reads: remove the line"}
		case isEmptyLine(s.text, s.at), isDirective:
			if s.value.is == plain && strings.Contains(line, "#") {
				s.value.is = comment
			}
			s.nextLine()
			continue
		}
		opening = false
		before := s.suspicion
		f := s.readLine()
		if s.explicit {
			return nil
		}
		if f != nil {
			return f
		}
		if s.suspicion == before {
			s.suspicion = nil
		}
	}
	return nil
}

func (s *scanner) nextLine() { s.at = lineAfter(s.text, s.at) }

// readLine reads a line, and the next lines if its last value continues in them.
func (s *scanner) readLine() *mistake {
	if isMarker(s.text, s.at, "---") {
		s.value = value{is: wanted, start: s.at}
		s.at = pastBlanks(s.text, s.at+len("---"))
		return s.readValue(false)
	}
	s.at = pastSpaces(s.text, s.at)
	column := s.at - s.line
	if s.value.is == plain && column > s.indent() {
		s.at = pastBlanks(s.text, s.at) // the text of a plain value may have tabs around it
	}
	if f := s.notAllowed(column); f != nil {
		return f
	}
	s.close(column)
	if column > s.indent() {
		return s.readDeeper(column)
	}
	return s.readSibling(column)
}

// notAllowed returns a mistake for what cannot be at the start of a line.
func (s *scanner) notAllowed(column int) *mistake {
	rest := s.text[s.at:lineEnd(s.text, s.at)]
	if rest[0] == '\t' {
		return &mistake{s.at, tabIndents}
	}
	if f := s.oddSpace(s.at); f != nil {
		return f
	}
	for _, marker := range []string{"<<<<<<<", "|||||||", "=======", ">>>>>>>"} {
		if column == 0 && strings.HasPrefix(rest, marker) {
			return &mistake{s.at, "a marker of a merge conflict: resolve the conflict, and remove its markers"}
		}
	}
	if f := s.template(s.at); f != nil {
		return f
	}
	dashes := strings.TrimRight(rest, " \t")
	if len(dashes) > 1 && strings.Trim(dashes, "-") == "" {
		return &mistake{s.at, "a line of dashes: write exactly `---`, without indentation, to begin another document"}
	}
	return nil
}

// oddSpace returns a mistake for a character that looks like a space but is none.
func (s *scanner) oddSpace(i int) *mistake {
	r, _ := utf8.DecodeRuneInString(s.text[i:])
	if r < utf8.RuneSelf || r == utf8.RuneError || !unicode.In(r, unicode.Zs, unicode.Cf) {
		return nil
	}
	return &mistake{i, fmt.Sprintf("the character %U looks like a space, but is not one: replace it with a space", r)}
}

const template = "a template: render the file first, for example with `helm template`, or put the value in quotes if it is text"

func (s *scanner) template(i int) *mistake {
	if !strings.HasPrefix(s.text[i:], "{{") && !strings.HasPrefix(s.text[i:], "{%") {
		return nil
	}
	return &mistake{i, template}
}

// indent returns the column of the innermost block, or -1.
func (s *scanner) indent() int {
	if len(s.blocks) == 0 {
		return -1
	}
	return s.blocks[len(s.blocks)-1].column
}

// close closes the blocks that a line at the column ends.
func (s *scanner) close(column int) {
	s.popped = nil
	for s.indent() > column {
		s.pop()
	}
}

func (s *scanner) pop() {
	last := len(s.blocks) - 1
	s.popped = append(s.popped, s.blocks[last])
	s.blocks = s.blocks[:last]
}

// readDeeper reads a line that is indented more than the innermost block.
func (s *scanner) readDeeper(column int) *mistake {
	key, isKey := s.key(s.at)
	isItem := s.isItem(s.at)
	switch {
	case len(s.popped) > 0:
		return s.misplaced(isItem)
	case s.value.is == wanted && (isItem || isKey):
		return s.readEntries(true)
	case s.value.is == wanted:
		return s.readValue(false)
	case s.value.is == plain || s.value.is == comment:
		return s.readContinuation(column, key, isKey)
	case (isItem || isKey) && len(s.blocks) > 0:
		return s.misplaced(isItem)
	case s.value.is == noLines:
		return &mistake{s.at, "text after the end of a text block: indent all of its lines equally"}
	case len(s.blocks) == 0:
		return &mistake{s.at, "text after the end of the document: put a line `---` above it if it is another document"}
	}
	return &mistake{s.at, "text after the end of a value: " + instead}
}

// readContinuation reads one more line of a plain value.
func (s *scanner) readContinuation(column, key int, isKey bool) *mistake {
	start := s.value.start
	above := strings.LastIndexAny(s.text[:start], "\n\r") + 1
	first := s.text[start:lineEnd(s.text, start)]
	switch {
	case isKey && start-above == column:
		return s.notAKey(start, first)
	case isKey && isName(s.text[s.at:key]):
		return s.misplaced(false)
	case s.isItem(s.at):
		item := pastBlanks(s.text, s.at+1)
		if key, isKey := s.key(item); isKey && isName(s.text[item:key]) {
			return s.misplaced(true)
		}
	}
	if s.value.is == comment {
		return &mistake{s.at, "a comment ends a plain value, and text follows it: remove the comment, or " + instead}
	}
	if at := s.colon(s.at); at >= 0 {
		return &mistake{at, colonInPlain}
	}
	s.plainLine(start)
	return nil
}

// readSibling reads a line that continues the innermost block.
func (s *scanner) readSibling(column int) *mistake {
	_, isKey := s.key(s.at)
	isItem := s.isItem(s.at)
	top := s.blocks[len(s.blocks)-1]
	if top.isList && !isItem && len(s.blocks) > 1 && s.blocks[len(s.blocks)-2].column == column {
		s.pop() // a list may have the column of its key
		top = s.blocks[len(s.blocks)-1]
	}
	isAbove := s.value.is == wanted && len(s.popped) == 0
	switch {
	case top.isList == isItem && (isItem || isKey):
		return s.readEntries(false)
	case isItem && isAbove:
		return s.readEntries(true)
	case !top.isList && strings.HasPrefix(s.text[s.at:], "? "):
		s.explicit = true
		return nil
	}
	return s.notASibling(top.isList, isItem, isKey)
}

// notASibling returns the mistake of a line that cannot continue the list or the mapping in its column.
func (s *scanner) notASibling(inList, isItem, isKey bool) *mistake {
	switch {
	case isItem:
		m := s.misplaced(true)
		m.why = "an item of a list" + strings.TrimPrefix(m.why, "wrong indentation here or above") + ", or write the key of its list above it"
		return m
	case inList && s.text[s.at] == '-':
		return &mistake{s.at, spaceAfterDash}
	case inList && isKey:
		return s.misplaced(false)
	case inList:
		return &mistake{s.at, "not an item of the list: begin it with `- `, or indent it like the text that it continues"}
	case s.value.is == noLines && len(s.popped) == 0:
		return &mistake{s.at, fmt.Sprintf("a line of a text block must be indented more than its key: begin it in column %d", s.at-s.line+3)}
	}
	return s.notAKey(s.at, s.text[s.at:lineEnd(s.text, s.at)])
}

// notAKey returns the mistake of a line that must begin with a key.
func (s *scanner) notAKey(at int, line string) *mistake {
	if i := strings.IndexByte(line, ':'); i > 0 && isName(strings.TrimRight(line[:i], " ")) {
		if f := s.oddSpace(at + i + 1); f != nil {
			return f
		}
		return &mistake{at + i, "no space after the colon: write one if this is a key"}
	}
	if strings.HasPrefix(line, "-") {
		return &mistake{at, spaceAfterDash}
	}
	if line[0] == ':' {
		return &mistake{at, "no key before the colon: write one"}
	}
	if s.isSpecial(at) {
		return s.noKey(at)
	}
	return &mistake{at, "no colon after the key: write a colon and a space, or indent the line more if it continues the value above it"}
}

// noKey returns the mistake of a line that begins with a special character.
func (s *scanner) noKey(at int) *mistake {
	return &mistake{at, fmt.Sprintf("a key cannot begin with %c: put it in quotes, or remove the line if it is not a key", s.text[at])}
}

// misplaced returns the mistake of a key or an item that is in the wrong column.
func (s *scanner) misplaced(isItem bool) *mistake {
	if s.suspicion != nil {
		return s.suspicion
	}
	var columns []string
	suggest := func(b block) {
		what := "key"
		if b.isList {
			what = "item"
		}
		columns = append(columns, fmt.Sprintf("in column %d, like the %s in line %d", b.column+1, what, s.file.position(b.first).Line))
	}
	fits := func(b block) bool { return b.isList == isItem }
	if i := slices.IndexFunc(reversed(s.popped), fits); i >= 0 {
		suggest(reversed(s.popped)[i])
	}
	if i := slices.IndexFunc(reversed(s.blocks), fits); i >= 0 {
		suggest(reversed(s.blocks)[i])
	}
	switch {
	case len(columns) > 0:
	case isItem:
		return &mistake{s.at, "wrong indentation here or above: begin it in the column of the first item of its list"}
	default:
		return &mistake{s.at, "a key where an item of a list must be: begin the line with `- `"}
	}
	return &mistake{s.at, "wrong indentation here or above: begin it " + strings.Join(columns, ", or ")}
}

func reversed(blocks []block) []block {
	out := slices.Clone(blocks)
	slices.Reverse(out)
	return out
}
