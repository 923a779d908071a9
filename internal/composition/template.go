package composition

import (
	"strconv"
	"strings"
)

const (
	goTemplateName = "gotemplating.fn.crossplane.io/composition-resource-name"
	goTemplateMeta = "meta.gotemplating.fn.crossplane.io/" // its own objects are not composed
)

// goTemplate names the manifests of an inline template that say their name without a
// template. There may be others, and none of these: it can loop, and decide.
func goTemplate(s *Step, input value, _ []Step) {
	s.Opaque = true
	left, right := input.field("delims").field("left").text(), input.field("delims").field("right").text()
	if left == "" || right == "" { // the function uses them only together
		left, right = "{{", "}}"
	}
	inline := input.field("inline")
	parts := append([]value{inline.field("template")}, inline.field("templates").list()...)
	if source := input.field("source").text(); source != "Inline" {
		return
	}
	for _, part := range parts {
		for _, doc := range documents(withoutActions(part.text(), left, right)) {
			s.Resources = append(s.Resources, doc.resources()...)
		}
	}
	s.Resources = agreed(s.Resources)
}

// agreed leaves one of each name, whose kind is unknown if there are two of it.
func agreed(resources []Resource) []Resource {
	var out []Resource
	seen := map[string]int{}
	for _, r := range resources {
		i, again := seen[r.Name]
		if !again {
			seen[r.Name] = len(out)
			out = append(out, r)
			continue
		}
		if out[i].APIVersion != r.APIVersion || out[i].Kind != r.Kind {
			out[i].APIVersion, out[i].Kind = "", ""
		}
	}
	return out
}

// What stands for an action in a text whose actions were taken out: some text that
// is not known, or none.
const (
	someText = '\x00'
	noText   = '\x01'
	markers  = "\x00\x01"
	space    = " \t\r\n"
)

// withoutActions replaces each action of a Go template by its marker, trims as the
// template does, and writes the one annotation that has a function of its own.
func withoutActions(text, left, right string) string {
	var out strings.Builder
	for {
		before, rest, found := strings.Cut(text, left)
		if !found {
			out.WriteString(text)
			return out.String()
		}
		action, after, closed := cutAction(rest, right)
		if strings.HasPrefix(action, "-") && strings.ContainsAny(action[1:min(2, len(action))], space) {
			before, action = strings.TrimRight(before, space), action[1:]
		}
		if body, ok := strings.CutSuffix(action, "-"); ok && body != "" && strings.ContainsAny(body[len(body)-1:], space) {
			after, action = strings.TrimLeft(after, space), body
		}
		out.WriteString(before)
		out.WriteString(replacement(strings.Trim(action, space)))
		if !closed {
			return out.String()
		}
		text = after
	}
}

// cutAction cuts at the delimiter that ends an action: not at one in a string or a
// comment.
func cutAction(text, right string) (action, after string, closed bool) {
	quote := byte(0)
	comment := strings.HasPrefix(strings.TrimLeft(strings.TrimPrefix(text, "-"), space), "/*")
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case comment:
			comment = !strings.HasPrefix(text[i:], "*/")
		case quote != 0 && c == '\\' && quote != '`':
			i++
		case quote != 0:
			if c == quote {
				quote = 0
			}
		case strings.HasPrefix(text[i:], right):
			return text[:i], text[i+len(right):], true
		case c == '"' || c == '`' || c == '\'':
			quote = c
		}
	}
	return text, "", false
}

func replacement(action string) string {
	word, argument, _ := strings.Cut(action, " ")
	switch word {
	case "if", "else", "end", "range", "with", "define", "break", "continue", "":
		return string(noText)
	case "setResourceNameAnnotation":
		if name, err := strconv.Unquote(strings.Trim(argument, space)); err == nil && !strings.ContainsAny(name, "\n"+markers) {
			return goTemplateName + ": " + name
		}
	}
	if strings.HasPrefix(action, "/*") || strings.HasPrefix(word, "$") && strings.HasPrefix(strings.TrimLeft(argument, space+":"), "=") {
		return string(noText)
	}
	return string(someText)
}
