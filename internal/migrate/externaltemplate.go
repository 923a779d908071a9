package migrate

import (
	"regexp"
	"strings"
)

// placeholder is all that is translated of Go's templates. Each value is a string
// here.
var placeholder = regexp.MustCompile(`\{\{ *\.([A-Za-z_][A-Za-z0-9_]*) *(?:\| *toString *)?\}\}`)

// onlyExtract is the input that the only dataFrom takes all keys from, as they are
// called, or nothing.
func onlyExtract(spec cursor) string {
	list := spec.get("dataFrom").items()
	if len(list) != 1 || len(list[0].get("rewrite").items()) > 0 || list[0].get("sourceRef", "generatorRef").there() {
		return ""
	}
	c := list[0].get("extract")
	for _, f := range []struct{ name, usual string }{{"property", ""}, {"conversionStrategy", "Default"}, {"decodingStrategy", "None"}, {"metadataPolicy", "None"}} {
		if v := c.get(f.name).text(); v != "" && v != f.usual {
			return ""
		}
	}
	return c.get("key").text()
}

// value is the expression of a key that a template reads.
func (x external) value(key string) (string, bool) {
	if v, ok := x.values[key]; ok || x.all == "" {
		return v, v != ""
	}
	return selected("secrets", x.all, key), true
}

// overwritten makes comments of what would be exported as it is although a template
// that could not be translated goes over it there. It returns the keys of these.
func overwritten(templates, data, dataFrom []*node) []string {
	var lost []string
	for _, t := range templates {
		if !t.off {
			continue
		}
		key := t.field("key").scalar
		lost = append(lost, key)
		for _, d := range data {
			if !d.off && d.field("key").scalar == key {
				d.disable("there the template of this key goes over it, which is a comment, too")
			}
		}
	}
	for _, d := range dataFrom {
		if len(lost) > 0 && !d.off {
			d.disable("there templates that are comments go over keys of it: without them it would give these as they are: " + strings.Join(lost, ", "))
		}
	}
	return lost
}

// templates are the keys of target.template.
func (x external) templates(c cursor) []*node {
	texts := c.get("data").texts()
	out := make([]*node, 0, len(texts))
	for _, k := range sortedKeys(texts) {
		n := mapping().withText("key", k)
		switch value, ok := x.template(texts[k]); {
		case texts[k] == "":
			n.with("value", textNode(literal(""))).disable(emptyValue)
		case !ok:
			n.with("value", textNode(texts[k])).disable("this is a Go template: write it in CEL")
		default:
			n.with("value", textNode(value))
		}
		out = append(out, n)
	}
	return out
}

// template is the CEL of one that fills in nothing but single keys of data.
func (x external) template(text string) (string, bool) {
	var values []string
	for _, p := range placeholder.FindAllStringSubmatch(text, -1) {
		v, ok := x.value(p[1])
		if !ok {
			return "", false
		}
		values = append(values, v)
	}
	rest := placeholder.ReplaceAllString(text, "")
	switch {
	case strings.Contains(rest, "{{"):
		return "", false
	case len(values) == 0:
		return literal(text), true
	case rest == "" && len(values) == 1:
		return values[0], true
	}
	format := placeholder.ReplaceAllString(strings.ReplaceAll(text, "%", "%%"), "%s")
	return literal(format) + ".format([" + strings.Join(values, ", ") + "])", true
}
