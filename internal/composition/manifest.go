package composition

import (
	"slices"
	"strings"
)

// A document of a template, line by line: it is YAML only after it was rendered.
type document struct {
	apiVersion, kind, names scalar
}

// A scalar is what a field is set to. There are several with several branches.
type scalar struct {
	literals []string
	unknown  bool // one of them is not literal
}

func (s *scalar) add(literal string, ok bool) {
	if !ok {
		s.unknown = true
		return
	}
	if !slices.Contains(s.literals, literal) {
		s.literals = append(s.literals, literal)
	}
}

// only is the one literal that the field is always set to.
func (s *scalar) only() (string, bool) {
	if s.unknown || len(s.literals) != 1 {
		return "", false
	}
	return s.literals[0], true
}

// resources that the document may become: one for each name.
func (d document) resources() []Resource {
	apiVersion, ok := d.apiVersion.only()
	kind, known := d.kind.only()
	if strings.HasPrefix(apiVersion, goTemplateMeta) {
		return nil
	}
	if !ok || !known {
		apiVersion, kind = "", ""
	}
	var out []Resource
	for _, name := range d.names.literals {
		out = append(out, Resource{Name: name, APIVersion: apiVersion, Kind: kind})
	}
	return out
}

// documents of a text whose actions were taken out.
func documents(text string) []document {
	var out []document
	var lines []string
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, space)
		if strings.HasPrefix(strings.TrimLeft(line, string(noText)), "---") {
			out = append(out, scan(lines))
			lines = nil
			continue
		}
		lines = append(lines, line)
	}
	return append(out, scan(lines))
}

// A level is a key that lines below it belong to.
type level struct {
	indent int
	key    string
	field  *scalar // nil for keys that nobody asks for
}

// scan finds the fields by their indentation, as YAML in block style has it. What
// stands in another style is not found.
func scan(lines []string) document {
	var d document
	var levels []level
	for _, line := range lines {
		indent, content := indented(line)
		for len(levels) > 0 && levels[len(levels)-1].indent >= indent && strings.Trim(content, markers+space) != "" {
			levels = levels[:len(levels)-1]
		}
		if n := len(levels); n > 0 && levels[n-1].field != nil && levels[n-1].indent < indent && content != "" {
			levels[n-1].field.unknown = true // the value goes on
		}
		if strings.Trim(content, markers+space) == "" || content[0] == '#' {
			continue
		}
		key, text := cutKey(content)
		l := level{indent: indent, key: key, field: d.field(levels, key)}
		if l.field != nil {
			l.field.add(literal(text))
		}
		levels = append(levels, l)
	}
	return d
}

// field is the one that a key below others is.
func (d *document) field(above []level, key string) *scalar {
	switch {
	case len(above) == 0 && key == "apiVersion":
		return &d.apiVersion
	case len(above) == 0 && key == "kind":
		return &d.kind
	case len(above) == 2 && above[0].key == "metadata" && above[1].key == "annotations" && key == goTemplateName:
		return &d.names
	}
	return nil
}

// indented is a line without what indents it, and without actions that leave nothing
// at its ends.
func indented(line string) (int, string) {
	content := strings.TrimLeft(line, " "+string(noText))
	indent := strings.Count(line[:len(line)-len(content)], " ")
	return indent, strings.TrimRight(content, space+string(noText))
}

// cutKey cuts a line at the colon that ends its key. The key of a line without one is
// the line.
func cutKey(line string) (key, text string) {
	for i := range len(line) {
		if line[i] == ':' && (i+1 == len(line) || line[i+1] == ' ' || line[i+1] == '\t') {
			return strings.Trim(strings.TrimRight(line[:i], space), `"'`), strings.Trim(line[i+1:], space)
		}
	}
	return line, ""
}

// literal is a scalar as YAML has it on one line, if all of it is known.
func literal(text string) (string, bool) {
	if strings.ContainsAny(text, markers) {
		return "", false
	}
	if text != "" && strings.ContainsAny(text[:1], `"'`) {
		inner, rest, closed := strings.Cut(text[1:], text[:1])
		rest = strings.Trim(rest, space)
		return inner, closed && inner != "" && (rest == "" || rest[0] == '#') && !strings.Contains(inner, `\`)
	}
	text, _, _ = strings.Cut(text, " #")
	text = strings.Trim(text, space)
	return text, text != "" && !strings.ContainsAny(text[:1], "&*!|>{}[]#%@,`?")
}
