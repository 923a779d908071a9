package migrate

import (
	"maps"
	"slices"

	"github.com/crossplane-contrib/function-export/internal/desk/catalog"
	"github.com/crossplane-contrib/function-export/internal/desk/migrate/celtext"
	"github.com/crossplane-contrib/function-export/internal/engine/decode"
	"github.com/crossplane-contrib/function-export/internal/engine/object"
)

// The types of a connection detail.
const (
	fromSecretKey = "FromConnectionSecretKey"
	fromFieldPath = "FromFieldPath"
	fromValue     = "FromValue"
)

const emptyValue = "the value is empty, and empty values are never exported"

// details are the connection details of all templates, which become the data of one Secret.
type details struct {
	entries []*node
	count   map[string]int // entries by key
	fields  bool           // a detail is from a field of unknown type
	missing bool           // a detail may be missing
	catalog *catalog.Catalog
}

// add adds the connection details of a template.
func (d *details) add(t template, list []decode.Value) {
	for _, c := range list {
		kind := detailType(c, t.step != "")
		key := c.Get("name").Text()
		if kind == fromSecretKey && key == "" && t.step == "" {
			key = c.Get("fromConnectionSecretKey").Text() // as in Crossplane v1
		}
		if key == "" {
			needed(c.Get("name"))
		}
		e, why := d.entry(t, c, kind)
		if why == "" && object.ValidateKey(key) != nil {
			why = "no Secret can have this key"
		}
		n := entry(key, e)
		if why != "" {
			n.disable(why)
		} else {
			d.count[key]++
		}
		d.entries = append(d.entries, n)
	}
}

// addTemplated adds entries of CompositeConnectionDetails.
func (d *details) addTemplated(entries []*node) {
	for _, n := range entries {
		if !n.off {
			d.count[n.field("key").value]++
		}
		d.missing = true
		d.entries = append(d.entries, n)
	}
}

// detailType returns the type. Crossplane v1 derived it if it was not set.
func detailType(c decode.Value, required bool) string {
	switch kind := c.Get("type"); {
	case required || kind.Exists():
		return needed(kind)
	case c.Get("name").Exists() && c.Get("value").Exists():
		return fromValue
	case c.Get("fromConnectionSecretKey").Exists():
		return fromSecretKey
	case c.Get("fromFieldPath").Exists():
		return fromFieldPath
	}
	return fromSecretKey
}

// entry returns the expression of a connection detail, and the reason why a person must change it.
func (d *details) entry(t template, c decode.Value, kind string) (value, why string) {
	switch kind {
	case fromSecretKey:
		d.missing = true
		return celtext.Select("secrets", t.name, needed(c.Get("fromConnectionSecretKey"))), ""
	case fromFieldPath:
		return d.fromField(t, needed(c.Get("fromFieldPath")))
	case fromValue:
		v := c.Get("value").Required().Text()
		if v == "" {
			return "''", emptyValue
		}
		return celtext.Literal(v), ""
	case "":
	default:
		c.Get("type").Refuse("must be %s, %s or %s", fromSecretKey, fromFieldPath, fromValue)
	}
	return "''", ""
}

func (d *details) fromField(t template, path string) (value, why string) {
	if path == "" {
		return "''", ""
	}
	resource := celtext.Select("resources", t.name)
	list, err := parsePath(path)
	if err != nil {
		return resource + "." + path, "fromFieldPath " + err.Error()
	}
	d.missing = true
	x := celtext.Path(resource, list, false)
	base := t.Get("base")
	switch {
	case base.Get("apiVersion").Text() == "v1" && base.Get("kind").Text() == "Secret" &&
		(list[0] == "data" || list[0] == "stringData"):
		return x, "the data of a Secret is hidden here: add the Secret to sources, and read secrets.<source>"
	case isText(list):
		return x, ""
	}
	k := catalog.Kind{APIVersion: base.Get("apiVersion").Text(), Kind: base.Get("kind").Text()}
	switch typeAt(d.catalog.Find(k), list...) {
	case "string":
		return x, ""
	case "object", "array":
		return "json.encode(" + x + ")", ""
	case "integer", "number", "boolean":
		return "string(" + x + ")", ""
	}
	d.fields = true
	return "string(" + x + ")", ""
}

// isText reports whether a path leads to a string in all objects.
func isText(path []any) bool {
	switch len(path) {
	case 1:
		return path[0] == "apiVersion" || path[0] == "kind"
	case 2:
		return path[0] == "metadata" && slices.Contains([]any{"name", "namespace", "uid"}, path[1])
	case 3:
		return path[0] == "metadata" && (path[1] == "labels" || path[1] == "annotations")
	}
	return false
}

// notes returns comments on changes in behavior.
func (d *details) notes() []string {
	var out []string
	if d.missing {
		out = append(out, decide+"the Secret is created only if all of these keys resolve. Previously a missing key was "+
			"left out.",
			"Set optional: true on keys that may be missing permanently.")
	}
	if d.fields {
		out = append(out, "string(…) converts numbers and booleans: remove it around a string. An object or a list needs "+
			"json.encode(…).")
	}
	return out
}

// twice returns the keys that more than one entry writes, sorted.
func (d *details) twice() []string {
	maps.DeleteFunc(d.count, func(_ string, n int) bool { return n < 2 })
	return slices.Sorted(maps.Keys(d.count))
}
