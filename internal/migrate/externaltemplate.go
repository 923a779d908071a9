package migrate

import (
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/crossplane-contrib/function-export/internal/decode"
)

// placeholder is the only part of Go templates that is translated. Each value is a string here.
var placeholder = regexp.MustCompile(`\{\{ *\.([A-Za-z_][A-Za-z0-9_]*) *(?:\| *toString *)?\}\}`)

// onlyExtract returns the input of the only dataFrom, if all its keys keep their names.
func onlyExtract(spec decode.Value) string {
	list := items(spec.Get("dataFrom"))
	if len(list) != 1 || len(items(list[0].Get("rewrite"))) > 0 || list[0].Get("sourceRef", "generatorRef").Exists() {
		return ""
	}
	c := list[0].Get("extract")
	for _, f := range []struct{ name, usual string }{{"property", ""}, {"conversionStrategy", "Default"}, {"decodingStrategy", "None"}, {"metadataPolicy", "None"}} {
		if v := c.Get(f.name).Text(); v != "" && v != f.usual {
			return ""
		}
	}
	return c.Get("key").Text()
}

// value returns the expression of a key that a template reads.
func (x external) value(key string) (string, bool) {
	if v, ok := x.values[key]; ok || x.all == "" {
		return v, v != ""
	}
	return selected("secrets", x.all, key), true
}

// overwritten disables the entries that a template overwrites, if the template is a comment. It returns the
// keys of these templates.
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
				d.disable("in the ExternalSecret the template of this key overwrites it, and the template is also a comment")
			}
		}
	}
	for _, d := range dataFrom {
		if len(lost) > 0 && !d.off {
			d.disable("this entry is a comment, because in the ExternalSecret templates replace these keys, and the templates are also comments: " + strings.Join(lost, ", "))
		}
	}
	return lost
}

// templates returns the keys of target.template.
func (x external) templates(c decode.Value) []*node {
	values := texts(c.Get("data"))
	out := make([]*node, 0, len(values))
	for _, k := range slices.Sorted(maps.Keys(values)) {
		n := mapping().withText("key", k)
		switch value, ok := x.template(values[k]); {
		case values[k] == "":
			n.with("value", textNode(literal(""))).disable(emptyValue)
		case !ok:
			n.with("value", textNode(values[k])).disable("this is a Go template: write it in CEL")
		default:
			n.with("value", textNode(value))
		}
		out = append(out, n)
	}
	return out
}

// template returns the CEL of a template that only fills in single keys of data.
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
	return format(placeholder.ReplaceAllString(strings.ReplaceAll(text, "%", "%%"), "%s"), values), true
}
