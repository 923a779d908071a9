package document

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// An encoder writes a string as a YAML scalar, and notes the position of each code point. Where
// YAML has several forms, the bytes of choices select one.
type encoder struct {
	out     strings.Builder
	places  []int
	choices []byte
	nl      string // the line break of the file
	indent  int    // of the lines after the first
	cannot  bool   // The style has no way to write it.
}

// choose one of n.
func (e *encoder) choose(n int) int {
	if len(e.choices) == 0 {
		return 0
	}
	c := e.choices[0]
	e.choices = e.choices[1:]
	return int(c) % n
}

// code writes what stands for one code point.
func (e *encoder) code(source string) {
	e.places = append(e.places, e.out.Len())
	e.out.WriteString(source)
}

func (e *encoder) silent(source string) { e.out.WriteString(source) }

// newLine in a flow scalar: the blanks on both sides of it do not count.
func (e *encoder) newLine(counts bool) {
	if counts {
		e.places = append(e.places, e.out.Len())
	}
	e.silent(e.nl + strings.Repeat(" ", e.indent+e.choose(3)))
}

// isRaw says whether a code point can stand for itself.
func isRaw(r rune) bool {
	return isYAML(r) && !strings.ContainsRune("\r\n\u0085\u2028\u2029\ufeff", r)
}

// flow writes a scalar that is not a block. one writes one code point.
func (e *encoder) flow(s string, one func(r rune)) {
	blank := func(i int) bool { return i < 0 || i >= len(s) || strings.ContainsRune(" \t\n", rune(s[i])) }
	for i := 0; i < len(s); {
		r, size := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == '\n':
			k := len(s[i:]) - len(strings.TrimLeft(s[i:], "\n"))
			if i > 0 && isBlank(s[i-1]) || i+k < len(s) && isBlank(s[i+k]) {
				e.cannot = true
			}
			e.newLine(false)
			for range k {
				e.newLine(true)
			}
			i += k
			continue
		case r == ' ' && !blank(i-1) && !blank(i+1) && e.choose(4) == 1:
			e.places = append(e.places, e.out.Len()+e.pad())
			e.silent(e.nl + strings.Repeat(" ", e.indent))
		default:
			one(r)
		}
		i += size
	}
}

// pad writes blanks in front of a line break, and returns how many.
func (e *encoder) pad() int {
	n := e.choose(3)
	e.silent(strings.Repeat(" ", n))
	return n
}

func (e *encoder) plain(s string) {
	e.cannot = s == "" || strings.Trim(s, " \t\n") != s
	e.flow(s, func(r rune) {
		e.cannot = e.cannot || !isRaw(r)
		e.code(string(r))
	})
}

func (e *encoder) single(s string) {
	e.silent("'")
	e.flow(s, func(r rune) {
		e.cannot = e.cannot || !isRaw(r)
		e.code(strings.ReplaceAll(string(r), "'", "''"))
	})
	e.silent("'")
}

var named = map[rune]string{
	0: `\0`, 7: `\a`, 8: `\b`, 9: `\t`, 10: `\n`, 11: `\v`, 12: `\f`, 13: `\r`, 27: `\e`, ' ': `\ `, '"': `\"`, '\'': `\'`, '\\': `\\`,
	0x85: `\N`, 0xa0: `\_`, 0x2028: `\L`, 0x2029: `\P`,
}

func (e *encoder) double(s string) {
	e.silent(`"`)
	bare := false // whether the next blank would be lost
	for i := 0; i < len(s); {
		r, size := utf8.DecodeRuneInString(s[i:])
		if e.choose(8) == 1 {
			e.silent("\\" + e.nl + strings.Repeat(" ", e.indent))
			bare = true
		}
		escape := !isRaw(r) || strings.ContainsRune(`"\`, r) || bare && isBlank(byte(r))
		e.code(e.escaped(r, escape))
		bare = false
		i += size
	}
	e.silent(`"`)
}

func (e *encoder) escaped(r rune, must bool) string {
	choice := e.choose(6)
	switch {
	case choice == 1 && r <= 0xff:
		return fmt.Sprintf(`\x%02x`, r)
	case choice <= 2 && choice > 0 && r <= 0xffff:
		return fmt.Sprintf(`\u%04X`, r)
	case choice == 3:
		return fmt.Sprintf(`\U%08x`, r)
	case must && named[r] != "" || choice == 4 && named[r] != "":
		return named[r]
	case must:
		return fmt.Sprintf(`\U%08X`, r)
	}
	return string(r)
}

// folding writes double quotes that fold as single quotes do.
func (e *encoder) folding(s string) {
	e.silent(`"`)
	e.flow(s, func(r rune) { e.code(e.escaped(r, !isRaw(r) || strings.ContainsRune(`"\`, r))) })
	e.silent(`"`)
}

// block writes a literal or folded scalar into something that is indented by parent.
func (e *encoder) block(s string, folded bool, parent int) {
	for _, r := range s {
		e.cannot = e.cannot || r != '\n' && !isRaw(r)
	}
	body := strings.TrimRight(s, "\n")
	tail := len(s) - len(body)
	first := strings.TrimLeft(body, "\n")

	step := 1 + e.choose(9)
	e.indent = max(0, parent) + step
	e.silent(map[bool]string{true: ">", false: "|"}[folded])
	chomp := map[int]string{0: "-", 1: ""}
	if tail > 1 || body == "" && tail == 1 {
		chomp = map[int]string{tail: "+"}
	}
	number := ""
	if first != "" && isBlank(first[0]) || e.choose(2) == 1 {
		number = fmt.Sprint(step)
	}
	if e.choose(2) == 1 {
		e.silent(chomp[tail] + number)
	} else {
		e.silent(number + chomp[tail])
	}
	e.silent([]string{"", " ", " # why"}[e.choose(3)] + e.nl)
	e.blockBody(body, folded)
	for i := range tail {
		if i > 0 || body == "" {
			e.silent(strings.Repeat(" ", e.choose(e.indent+1)))
		}
		e.places = append(e.places, e.out.Len())
		e.silent(e.nl)
	}
	if tail == 0 && body != "" {
		e.silent(e.nl)
	}
}

func (e *encoder) blockBody(body string, folded bool) {
	margin := strings.Repeat(" ", e.indent)
	wasText, wasBlank := false, false // of the last line with text
	for i := 0; i < len(body); {
		rest := body[i:]
		if breaks := len(rest) - len(strings.TrimLeft(rest, "\n")); breaks > 0 {
			// Between two lines that fold there is one line break more.
			if folded && wasText && !wasBlank && !isBlank(rest[breaks]) {
				e.silent(e.nl)
			}
			for k := range breaks {
				if k > 0 || !wasText {
					e.silent(strings.Repeat(" ", e.choose(e.indent+1)))
				}
				e.places = append(e.places, e.out.Len())
				e.silent(e.nl)
			}
			i += breaks
			continue
		}
		line, _, _ := strings.Cut(rest, "\n")
		wasText, wasBlank = true, isBlank(line[0])
		e.silent(margin)
		for j, r := range line {
			inner := j > 0 && j+1 < len(line) && !isBlank(line[j-1]) && !isBlank(line[j+1])
			if folded && !wasBlank && r == ' ' && inner && e.choose(3) == 1 {
				e.places = append(e.places, e.out.Len())
				e.silent(e.nl + margin)
				continue
			}
			e.code(string(r))
		}
		i += len(line)
	}
}
