package plan

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"unicode"

	"google.golang.org/protobuf/types/known/structpb"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/crossplane-contrib/function-export/input/v1beta1"
	"github.com/crossplane-contrib/function-export/internal/engine/diagnostic"
	"github.com/crossplane-contrib/function-export/internal/engine/limits"
	"github.com/crossplane-contrib/function-export/internal/engine/suggest"
)

// The names of fields in other tools that differ only in the name from fields here.
var renamedFields = map[string]string{ //nolint:gochecknoglobals // a table
	"labels": "matchLabels", "patches": "set",
	"special": "symbols", "overrideSpecial": "symbolCharacters", "override_special": "symbolCharacters", "numeric": "digits",
	"expression": "value", "cel": "value", "name": "key", "id": "name", "path": "fieldPath",
}

// unknown refuses a field that does not exist, and suggests the field that is meant.
func (d *decoder) unknown(at *field.Path, name string, v *structpb.Value, known *jsonFields) {
	message, meant := d.foreign(name, v), renamedFields[name]
	instead := insteadOfField[known.of][name]
	switch {
	case instead != "":
		message = "is an unknown field: " + instead
	case slices.Contains(known.names, meant):
		message = "is an unknown field" + suggest.DidYouMean(meant)
	case message != "":
		meant = "data"
	default:
		var hint string
		if hint, meant = d.hintUnknown(at, name, v, known); hint == "" {
			return // another field of the same item was refused
		}
		message = "is an unknown field" + hint
	}
	if meant != "" {
		d.near[pathText(child(parentOf(d), meant))] = true
	}
	f := wrong(at, "%s", message)
	f.Key = true
	d.refuse(at, f)
}

// hintUnknown returns the hint for an unknown field, and the field of the same object that it probably
// means.
func (d *decoder) hintUnknown(at *field.Path, name string, v *structpb.Value, known *jsonFields) (hint, meant string) {
	names := slices.DeleteFunc(slices.Clone(known.names), func(n string) bool {
		return (n == "apiVersion" || n == "kind") && !strings.EqualFold(n, name)
	})
	if strings.IndexFunc(name, isOddSpace) == 0 {
		d.wrong = append(d.wrong, pathText(nil)) // they do not indent, so the field is missing where it belongs
		return ": the characters before it look like spaces, but are not: replace them with spaces", ""
	}
	if meant = suggest.Nearest(name, names); meant != "" {
		return suggest.DidYouMean(meant), meant
	}
	if below := fieldBelow(name, known); below != "" {
		return suggest.DidYouMean(below), ""
	}
	if lists := listsOf(name, known); len(lists) > 0 {
		if d.near[child(parentOf(d), lists[0]).String()] {
			return "", ""
		}
		return d.hintItem(name, v, lists), lists[0]
	}
	if beside := d.fieldBeside(name); beside != "" {
		return fmt.Sprintf(": it is a field of %s: write %s: {%s} in place of this object", beside, beside, d.fieldsWith(name, beside)), ""
	}
	if above := d.fieldAbove(name); above != nil {
		d.near[above.String()] = true
		return ": the field is at a higher level: write it as " + above.String(), ""
	}
	if slices.ContainsFunc(names, func(n string) bool { return v.GetStructValue().GetFields()[n] != nil }) {
		return ": leave this level out, and write its fields one level up", ""
	}
	if meant = meantByFields(v, known); meant != "" {
		return suggest.DidYouMean(meant), meant
	}
	names = slices.DeleteFunc(names, func(n string) bool { return n == "metadata" && at.String() == name })
	return suggest.ThereAre("", names, "it can have no fields: write {}"), ""
}

// parentOf is the path of the current object.
func parentOf(d *decoder) *field.Path { return d.objects[len(d.objects)-1].path }

// fieldBelow returns the path of a field with that name one level below, or an empty text.
func fieldBelow(name string, known *jsonFields) string {
	for _, n := range known.names {
		if t := known.typeOf(n); isInput(t) && slices.Contains(fieldsOf(t).names, name) {
			return n + "." + name
		}
	}
	return ""
}

// isOddSpace reports whether a character looks like a space but is none, so that it does not indent in YAML.
func isOddSpace(r rune) bool { return r > ' ' && unicode.In(r, unicode.Zs, unicode.Cf) }

// meantByFields returns the field that has an object with these fields, or a list of such objects. If
// several fields can have an object with one field, it returns an empty text.
func meantByFields(v *structpb.Value, known *jsonFields) string {
	keys := SortedKeys(v.GetStructValue().GetFields())
	kind := reflect.Struct
	if v.GetListValue() != nil {
		keys, kind = SortedKeys(at(v, "0").GetStructValue().GetFields()), reflect.Slice
	}
	var meant []string
	for _, n := range known.names {
		t := known.typeOf(n)
		if t.Kind() != kind || len(keys) == 0 {
			continue
		}
		if kind == reflect.Slice {
			t = t.Elem()
		}
		other := func(k string) bool { return !slices.Contains(fieldsOf(t).names, k) }
		if t.Kind() == reflect.Struct && isInput(t) && !slices.ContainsFunc(keys, other) {
			meant = append(meant, n)
		}
	}
	if len(meant) == 1 || len(meant) > 1 && len(keys) > 1 {
		return meant[0]
	}
	return ""
}

// isInput reports whether a type is a struct of the input. Other types have fields that the input
// does not have.
func isInput(t reflect.Type) bool {
	return t.Kind() == reflect.Struct && t.PkgPath() == reflect.TypeFor[v1beta1.Exports]().PkgPath()
}

// fieldAbove returns the field with that name in the nearest object above, or nil.
func (d *decoder) fieldAbove(name string) *field.Path {
	for i := len(d.objects) - 2; i >= 0; i-- {
		if o := d.objects[i]; slices.Contains(o.fields.names, name) && o.path != nil {
			return o.path.Child(name)
		}
	}
	return nil
}

// fieldBeside returns the field beside the current object whose value has a field with that name, or an empty text.
func (d *decoder) fieldBeside(name string) string {
	n := len(d.objects)
	if n < 2 || isItem(parentOf(d)) {
		return ""
	}
	return strings.TrimSuffix(fieldBelow(name, d.objects[n-2].fields), "."+name)
}

// fieldsWith returns the required fields of a field beside the current object, and one more.
func (d *decoder) fieldsWith(name, beside string) string {
	text := ""
	for _, f := range fieldsOf(d.objects[len(d.objects)-2].fields.typeOf(beside)).list {
		if f.required && f.name != name {
			text += f.name + ": ..., "
		}
	}
	return text + name + ": ..."
}

// listsOf returns the fields that are lists of objects with a field of that name.
func listsOf(name string, known *jsonFields) (lists []string) {
	for _, n := range known.names {
		t := known.typeOf(n)
		if t.Kind() == reflect.Slice && t.Elem().Kind() == reflect.Struct && slices.Contains(fieldsOf(t.Elem()).names, name) {
			lists = append(lists, n)
		}
	}
	return lists
}

// hintItem returns the hint for a field that belongs to the items of one of some lists.
func (d *decoder) hintItem(name string, v *structpb.Value, lists []string) string {
	self := d.objects[len(d.objects)-1]
	for _, n := range lists {
		items := self.object.GetFields()[n].GetListValue().GetValues()
		for i := range min(len(items), limits.Diagnostics) {
			d.near[child(self.path, n).Index(i).Child(name).String()] = true
		}
		if len(items) > 0 {
			return ": it is a field of the items of " + n + ": indent it like the other fields of its item"
		}
	}
	item := name + ": ..."
	if name == "data" && v.GetStructValue() != nil {
		item = "name: ..., data: [" + dataItem(v, "") + "]"
	}
	if key, value := self.object.GetFields()["key"], self.object.GetFields()["value"]; key != nil && value != nil {
		item = "key: " + nameOr(key, unknown) + ", value: " + quoted(expressionOr(value))
	}
	return fmt.Sprintf(": it is a field of the items of %s: write it in an item, as in %s: [{%s}]", lists[0], lists[0], item)
}

// dedented refuses an item of a list if its fields belong to a list of an earlier item, its owner. That
// list is null, because YAML ends it where the indentation ends.
func (d *decoder) dedented(p *field.Path, items []*structpb.Value, owner, i int, t reflect.Type) bool {
	fields := items[i].GetStructValue().GetFields()
	if t.Kind() != reflect.Struct || len(fields) == 0 || len(d.refused) == limits.Diagnostics {
		return false
	}
	known := fieldsOf(t)
	for name, v := range items[owner].GetStructValue().GetFields() {
		inner := known.typeOf(name)
		_, null := v.GetKind().(*structpb.Value_NullValue)
		if !null || inner == nil || inner.Kind() != reflect.Slice || inner.Elem().Kind() != reflect.Struct {
			continue
		}
		names := fieldsOf(inner.Elem()).names
		other := func(f string) bool { return !slices.Contains(names, f) }
		if slices.ContainsFunc(SortedKeys(fields), other) {
			continue
		}
		if list := p.Index(owner).Child(name); owner == i-1 {
			d.diagnostics = slices.DeleteFunc(d.diagnostics, func(o *diagnostic.Diagnostic) bool { return o.Path == list.String() })
			d.refuse(p.Index(i), wrong(p.Index(i), "is an item of %s: indent it below %s", list, name))
		}
		d.refused = append(d.refused, p.Index(i).String())
		return true
	}
	return false
}
