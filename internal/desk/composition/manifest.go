package composition

import (
	"slices"
	"strings"
)

// An object of a template. It is YAML only after it is rendered, so it is scanned line by line.
type object struct {
	apiVersion, kind, names, object scalar
}

// A scalar holds the values of a field, one for each branch.
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

// only returns the one literal that the field is always set to.
func (s *scalar) only() (string, bool) {
	if s.unknown || len(s.literals) != 1 {
		return "", false
	}
	return s.literals[0], true
}

// resources returns the possible resources of the object: one for each name.
func (o *object) resources() []Resource {
	apiVersion, ok := o.apiVersion.only()
	kind, known := o.kind.only()
	if strings.HasPrefix(apiVersion, goTemplateMeta) {
		return nil
	}
	if !ok || !known {
		apiVersion, kind = "", ""
	}
	object, _ := o.object.only()
	out := make([]Resource, 0, len(o.names.literals))
	for _, name := range o.names.literals {
		out = append(out, Resource{Name: name, APIVersion: apiVersion, Kind: kind, Object: object})
	}
	return out
}

// objects returns the objects of a text with markers.
func objects(text string) []*object {
	var out []*object
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

// A level is a key with lines below it.
type level struct {
	indent int
	key    string
	field  *scalar // nil for keys that are not needed
}

// scan finds the fields of YAML in block style by their indentation.
func scan(lines []string) *object {
	var o object
	var levels []level
	for _, line := range lines {
		indent, content := indented(line)
		for len(levels) > 0 && levels[len(levels)-1].indent >= indent && strings.Trim(content, markers+space) != "" {
			levels = levels[:len(levels)-1]
		}
		if n := len(levels); n > 0 && levels[n-1].field != nil && levels[n-1].indent < indent && content != "" {
			levels[n-1].field.unknown = true // the value continues
		}
		if strings.Trim(content, markers+space) == "" || content[0] == '#' {
			continue
		}
		key, text := cutKey(content)
		l := level{indent: indent, key: key, field: o.field(levels, key)}
		switch l.field {
		case nil:
		case &o.object:
			l.field.add(literal(strings.ReplaceAll(text, string(composite), CompositeName)))
		default:
			l.field.add(literal(text))
		}
		levels = append(levels, l)
	}
	return &o
}

// field returns the field of a key, which depends on the keys above it.
func (o *object) field(above []level, key string) *scalar {
	switch {
	case len(above) == 0 && key == "apiVersion":
		return &o.apiVersion
	case len(above) == 0 && key == "kind":
		return &o.kind
	case len(above) == 1 && above[0].key == "metadata" && key == "name":
		return &o.object
	case len(above) == 2 && above[0].key == "metadata" && above[1].key == "annotations" && key == goTemplateName:
		return &o.names
	}
	return nil
}

// indented returns the indentation of a line, and the rest without the markers at its ends.
func indented(line string) (int, string) {
	content := strings.TrimLeft(line, " "+string(noText))
	indent := strings.Count(line[:len(line)-len(content)], " ")
	return indent, strings.TrimRight(content, space+string(noText))
}

// cutKey cuts a line at the colon that ends its key. Without a colon the line is the key.
func cutKey(line string) (key, text string) {
	for i := range len(line) {
		if line[i] == ':' && (i+1 == len(line) || line[i+1] == ' ' || line[i+1] == '\t') {
			return strings.Trim(strings.TrimRight(line[:i], space), `"'`), strings.Trim(line[i+1:], space)
		}
	}
	return line, ""
}

// literal returns the value of a scalar on one line, if all of it is known.
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
	return text, text != "" && (strings.HasPrefix(text, CompositeName) || !strings.ContainsAny(text[:1], "&*!|>{}[]#%@,`?"))
}
