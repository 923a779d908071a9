package main

import (
	"regexp"
	"strings"
	"unicode/utf8"
)

// noAnchor matches what is not part of an anchor.
var noAnchor = regexp.MustCompile(`[^-\w ]`)

// anchor is the anchor that GitHub gives a heading.
func anchor(heading string) string {
	return strings.ToLower(strings.ReplaceAll(noAnchor.ReplaceAllString(heading, ""), " ", "-"))
}

// spans are the code in a Markdown text.
var spans = regexp.MustCompile("``.*?``|`[^`]*`")

// space stands for a space where no line ends: in code.
const space = "\x00"

// paragraphs of a text, without lines that are too long.
func paragraphs(text string) string { return wrap(text, columns) }

// columns of a page.
const columns = 120

func wrap(text string, columns int) string {
	var out []string
	for p := range strings.SplitSeq(strings.TrimSpace(text), "\n\n") {
		line, lines := "", []string{}
		p = spans.ReplaceAllStringFunc(p, func(s string) string { return strings.Join(strings.Fields(s), space) })
		for _, word := range strings.Fields(p) {
			word = strings.ReplaceAll(word, space, " ")
			if line != "" && utf8.RuneCountInString(line+" "+word) > columns {
				line, lines = "", append(lines, line)
			}
			line = strings.TrimSpace(line + " " + word)
		}
		out = append(out, strings.Join(append(lines, line), "\n"))
	}
	return strings.Join(out, "\n\n")
}

// bullet is a paragraph as an item of a list.
func bullet(text string) string { return strings.ReplaceAll(wrap(text, columns-2), "\n", "\n  ") }

// plain escapes what has a meaning in Markdown, except in code. Links stay.
func plain(text string) string {
	end, out := 0, strings.Builder{}
	escape := strings.NewReplacer("<", "&lt;", "*", `\*`)
	for _, at := range spans.FindAllStringIndex(text, -1) {
		out.WriteString(escape.Replace(text[end:at[0]]))
		out.WriteString(text[at[0]:at[1]])
		end = at[1]
	}
	return out.String() + escape.Replace(text[end:])
}

// code is a text as code.
func code(text string) string {
	if strings.Contains(text, "`") {
		return "`` " + text + " ``"
	}
	return "`" + text + "`"
}

// codes are texts as code, in a list.
func codes(texts []string) string { return "`" + strings.Join(texts, "`, `") + "`" }
