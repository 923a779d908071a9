package migrate

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/crossplane-contrib/function-export/internal/desk/migrate/celtext"
	"github.com/crossplane-contrib/function-export/internal/desk/migrate/gotemplate"
	"github.com/crossplane-contrib/function-export/internal/engine/decode"
)

// onlyInput returns the CEL of the only entry of dataFrom, if all its keys keep their names.
func (x *external) onlyInput(entries []decode.Value, dataFrom []*node) string {
	if len(entries) != 1 || len(items(entries[0].Get("rewrite"))) > 0 {
		return ""
	}
	c := entries[0].Get("extract")
	for _, f := range []struct{ name, usual string }{{"property", ""}, {"conversionStrategy", "Default"},
		{"decodingStrategy", "None"}, {"metadataPolicy", "None"}} {
		if v := c.Get(f.name).Text(); v != "" && v != f.usual {
			return ""
		}
	}
	key := dataFrom[0].field("extract").field("key")
	switch {
	case key == nil:
		return ""
	case strings.HasPrefix(key.scalar, generatedPrefix):
		return celtext.Select("generated", strings.TrimPrefix(key.scalar, generatedPrefix))
	}
	return celtext.Select("secrets", x.lastInput)
}

// lookup returns the value of a key that a template reads.
func (x *external) lookup(path []any, _ bool) (gotemplate.Expr, error) {
	if len(path) != 1 {
		return gotemplate.Expr{}, errors.New("does not read a single key")
	}
	key, _ := path[0].(string)
	switch v, ok := x.values[key]; {
	case ok && !v.Empty():
		return v, nil
	case ok:
		return v, fmt.Errorf("reads %s, which is a comment", key)
	case x.all == "":
		return v, fmt.Errorf("reads %s, and it is not known which entry has this key", key)
	}
	return gotemplate.Of(celtext.Select(x.all, key), gotemplate.Text), nil
}

// merge leaves the entries that the Secret has besides the keys of the templates. It returns the keys of
// the templates that are comments. Entries of dataFrom may have such a key, so they are also comments.
func (x *external) merge(templates []*node, data, dataFrom *[]*node) (lost []string) {
	written := map[string]bool{}
	for _, t := range templates {
		written[keyOf(t)] = true
		if t.off {
			lost = append(lost, keyOf(t))
		}
	}
	if x.templated {
		*data, *dataFrom = onlyRead(*data, len(lost) > 0), onlyRead(*dataFrom, len(lost) > 0)
		return lost
	}
	*data = slices.DeleteFunc(*data, func(d *node) bool { return written[keyOf(d)] })
	for _, d := range *dataFrom {
		if len(lost) > 0 && !d.off {
			d.disable("in the ExternalSecret, templates replace these keys, and are also comments: " + strings.Join(lost, ", "))
		}
	}
	return lost
}

// onlyRead returns the entries that only a template reads: none of them, or comments if a template must
// be written by hand.
func onlyRead(list []*node, show bool) []*node {
	if !show {
		return nil
	}
	for _, n := range list {
		n.off = true
	}
	if len(list) > 0 {
		list[0].above = slices.Insert(list[0].above, 0, "In the ExternalSecret, only the template reads these entries.")
	}
	return list
}

// templates returns the keys of target.template.
func (x *external) templates(c decode.Value) []*node {
	values := texts(c.Get("data"))
	out := make([]*node, 0, len(values))
	for _, k := range slices.Sorted(maps.Keys(values)) {
		out = append(out, x.template(k, values[k]))
	}
	for _, from := range items(c.Get("templateFrom")) {
		out = append(out, x.templateFrom(from)...)
	}
	return out
}

// template returns a key that a template produces.
func (x *external) template(key, text string) *node {
	var notes []string
	e, err := gotemplate.Translate(text, x.templateData())
	if text, ok := e.Constant(); ok && err == nil && strings.Contains(text, "{{") {
		notes = append(notes, "The template is escaped for Helm. This is what Helm makes of it.")
		e, err = gotemplate.Translate(text, x.templateData())
	}
	switch {
	case err != nil:
		return entry(key, text).note(notes...).disable("this Go template " + err.Error() + ": write it in CEL")
	case e.Empty():
		return entry(key, celtext.Literal("")).note(notes...).disable(emptyValue)
	}
	return entry(key, e.Value(false)).note(notes...)
}

func (x *external) templateData() gotemplate.Data {
	return gotemplate.Data{Lookup: x.lookup, Strict: true}
}

// templateFrom returns the keys of templates that are not in template.data.
func (x *external) templateFrom(c decode.Value) []*node {
	if target := c.Get("target").Text(); target != "" && target != "Data" {
		if target != "Labels" && target != "Annotations" {
			return []*node{unread("templateFrom",
				"it writes a field of an object that is not a Secret: "+c.Get("literal").Text())}
		}
		x.notes = append(x.notes, decide+"templateFrom writes "+strings.ToLower(target)+", which must not depend on a "+
			"secret: write labelsExpression or annotationsExpression.")
		return nil
	}
	if text := c.Get("literal").Text(); text != "" {
		return x.keysAndValues(text)
	}
	for _, kind := range []string{"configMap", "secret"} {
		ref := c.Get(kind)
		if !ref.Exists() {
			continue
		}
		name := needed(ref.Get("name"))
		from := x.migration.configMaps[name]
		if kind == "secret" || from == nil {
			return []*node{unread(name, "its templates are in the "+kind+" "+name+": give the file of a ConfigMap along, or "+
				"write the keys that they produce in CEL")}
		}
		from.read = true
		var out []*node
		for _, item := range items(ref.Get("items")) {
			key := needed(item.Get("key"))
			text, isText := from.data[key].(string)
			switch {
			case !isText:
				out = append(out, unread(key, "the ConfigMap "+name+" has no such template"))
			case item.Get("templateAs").Text() == "KeysAndValues":
				out = append(out, x.keysAndValues(text)...)
			default:
				out = append(out, x.template(key, text))
			}
		}
		return out
	}
	return nil
}

// keysAndValues returns the keys of a template that renders YAML.
func (x *external) keysAndValues(text string) []*node {
	m, err := gotemplate.Parse(text, "", "", x.templateData())
	if err == nil && len(m.Documents) == 1 {
		err = m.Documents[0].Read()
	}
	if err != nil || len(m.Documents) != 1 {
		return []*node{unread("templateFrom", "it cannot be read as keys and values: write its keys in CEL: "+text)}
	}
	keys := m.Documents[0].Keys()
	out := make([]*node, len(keys))
	for i, k := range keys {
		out[i] = entryOf(k, false, func(cel string) string { return cel })
	}
	return out
}

// unread returns a comment for a template that is not read.
func unread(key, why string) *node {
	return entry(key, "''").disable(why)
}
