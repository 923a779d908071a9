package migrate

import (
	"slices"

	"github.com/crossplane/crossplane-runtime/v2/pkg/fieldpath"

	"github.com/crossplane-contrib/function-export/internal/object"
)

// The types of a connection detail.
const (
	fromSecretKey = "FromConnectionSecretKey"
	fromFieldPath = "FromFieldPath"
	fromValue     = "FromValue"
)

const emptyValue = "the value is empty, and nothing empty is ever exported"

// details are the connection details of all templates, as data of one Secret.
type details struct {
	entries []*node
	count   map[string]int // entries by key
	fields  bool           // one is from a field of any type
	missing bool           // one may be missing
}

// add the connection details of a template.
func (d *details) add(t template, list []cursor) {
	for _, c := range list {
		kind := detailType(c, t.step != "")
		key := c.get("name").text()
		if kind == fromSecretKey && key == "" && t.step == "" {
			key = c.get("fromConnectionSecretKey").text() // as Crossplane v1 had it
		}
		if key == "" {
			c.get("name").needed()
		}
		e, why := d.entry(t, c, kind)
		if why == "" && object.ValidateKey(key) != nil {
			why = "no object can have this key"
		}
		n := mapping().withText("key", key).with("value", textNode(e))
		if why != "" {
			n.disable(why)
		} else {
			d.count[key]++
		}
		d.entries = append(d.entries, n)
	}
}

// detailType is the type, which Crossplane v1 worked out if it was not there.
func detailType(c cursor, required bool) string {
	kind := c.get("type")
	if required || kind.there() {
		return kind.needed()
	}
	switch {
	case c.get("name").there() && c.get("value").there():
		return fromValue
	case c.get("fromConnectionSecretKey").there():
		return fromSecretKey
	case c.get("fromFieldPath").there():
		return fromFieldPath
	}
	return fromSecretKey
}

// entry is the expression of a connection detail, or why it is for a person.
func (d *details) entry(t template, c cursor, kind string) (value, why string) {
	switch kind {
	case fromSecretKey:
		d.missing = true
		return selected("secrets", t.name, c.get("fromConnectionSecretKey").needed()), ""
	case fromFieldPath:
		return d.fromField(t, c.get("fromFieldPath").needed())
	case fromValue:
		v := c.get("value")
		if !v.there() {
			v.needed()
		}
		if v.text() == "" {
			return "''", emptyValue
		}
		return literal(v.text()), ""
	case "":
	default:
		c.get("type").fault("must be %s, %s or %s", fromSecretKey, fromFieldPath, fromValue)
	}
	return "''", ""
}

func (d *details) fromField(t template, path string) (value, why string) {
	if path == "" {
		return "''", ""
	}
	resource := selected("resources", t.name)
	segments, err := parsePath(path)
	if err != nil {
		return resource + "." + path, "fromFieldPath " + err.Error()
	}
	d.missing = true
	x := celSteps(resource, segments, false)
	base := t.get("base")
	switch {
	case base.get("apiVersion").text() == "v1" && base.get("kind").text() == "Secret" && isData(segments):
		return x, "the data of a Secret is hidden here: have it as one of sources, and read secrets.<source>"
	case isString(segments):
		return x, ""
	}
	d.fields = true
	return "string(" + x + ")", ""
}

// isData reports whether a path leads into the data of a Secret.
func isData(path fieldpath.Segments) bool {
	return path[0].Field == "data" || path[0].Field == "stringData"
}

// isString reports whether a path leads to what is a string in all objects.
func isString(path fieldpath.Segments) bool {
	switch first := path[0].Field; len(path) {
	case 1:
		return first == "apiVersion" || first == "kind"
	case 2:
		return first == "metadata" && slices.Contains([]string{"name", "namespace", "uid"}, path[1].Field)
	case 3:
		return first == "metadata" && (path[1].Field == "labels" || path[1].Field == "annotations")
	}
	return false
}

// notes on what is another than before.
func (d *details) notes() []string {
	var out []string
	if d.missing {
		out = append(out, decide+"all of these keys resolve, or there is no Secret: before, one that was missing was left out.",
			"Give optional: true to those that may be missing for good.")
	}
	if d.fields {
		out = append(out, "string(…) is for numbers and booleans: drop it around a string. An object or a list needs json.encode(…).")
	}
	return out
}

// twice are the keys that more than one entry writes, sorted.
func (d *details) twice() []string {
	var out []string
	for _, k := range sortedKeys(d.count) {
		if d.count[k] > 1 {
			out = append(out, k)
		}
	}
	return out
}
