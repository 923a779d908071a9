package migrate

import (
	"encoding/json"
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
func (x *external) onlyInput(entries []decode.Value) string {
	if len(entries) != 1 || len(items(entries[0].Get("rewrite"))) > 0 || entries[0].Get("find").Exists() ||
		len(foreign(entries[0].Get("extract"),
			"key conversionStrategy=Default decodingStrategy=None metadataPolicy=None")) > 0 {
		return ""
	}
	return x.lastInput
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
		e, err := gotemplate.Translate(values[k], x.templateData())
		switch {
		case err != nil:
			out = append(out, entry(k, values[k]).disable("this Go template "+err.Error()+": write it in CEL"))
		case e.Empty():
			out = append(out, entry(k, celtext.Literal("")).disable(emptyValue))
		default:
			out = append(out, entry(k, e.Value(false)))
		}
	}
	for _, from := range items(c.Get("templateFrom")) {
		out = append(out, x.keysAndValues(from)...)
	}
	return out
}

func (x *external) templateData() gotemplate.Data {
	return gotemplate.Data{Lookup: x.lookup, Strict: true}
}

// keysAndValues returns the keys of a literal template that renders YAML.
func (x *external) keysAndValues(from decode.Value) []*node {
	text := from.Get("literal").Text()
	m, err := gotemplate.Parse(text, "", "", x.templateData())
	if err != nil || len(foreign(from, "literal target=Data")) > 0 || len(m.Documents) != 1 ||
		m.Documents[0].Read() != nil {
		original, _ := json.Marshal(from.Raw) //nolint:errchkjson // it was JSON
		return []*node{entry("templateFrom", string(original)).disable("it is not translated: write its keys in CEL")}
	}
	var out []*node
	for _, k := range m.Documents[0].Keys() {
		out = append(out, entryOf(k, false, func(cel string) string { return cel }))
	}
	return out
}
