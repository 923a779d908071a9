package plan

import (
	"reflect"
	"slices"
	"strings"

	"google.golang.org/protobuf/types/known/structpb"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/crossplane-contrib/function-export/input/v1beta1"
	"github.com/crossplane-contrib/function-export/internal/suggest"
)

// fieldsListed are so many that a line holds them.
const fieldsListed = 12

// What others call fields that have another name here.
var foreignFields = map[string]string{ //nolint:gochecknoglobals // a table
	"stringData": "data", "binaryData": "data", "ref": "matchName", "selector": "matchLabels", "labels": "matchLabels",
	"patches": "set", "special": "symbols", "overrideSpecial": "symbolCharacters", "numeric": "digits",
	"connectionDetails": "data", "expression": "value", "fromFieldPath": "value", "toFieldPath": "fieldPath",
}

// unknown refuses a field that there is not, and says where it belongs.
func (d *decoder) unknown(at *field.Path, name string, v *structpb.Value, known []jsonField) {
	names := make([]string, 0, len(known))
	for _, f := range known {
		if f.name != "apiVersion" && f.name != "kind" || name != "" && strings.EqualFold(f.name, name) {
			names = append(names, f.name)
		}
	}
	mend := ""
	meant := foreignFields[name]
	if !slices.Contains(names, meant) {
		meant = suggest.Nearest(name, names)
	}
	switch below, above := fieldBelow(name, known), d.fieldAbove(name); {
	case meant != "":
		mend = suggest.DidYouMean(meant)
		d.near[pathText(child(parentOf(d), meant))] = true
	case below != "":
		mend = suggest.DidYouMean(below)
	case above != nil:
		mend = ": it is one further up: write it as " + above.String()
		d.near[above.String()] = true
	case slices.ContainsFunc(sortedKeys(v.GetStructValue().GetFields()), func(k string) bool { return slices.Contains(names, k) }):
		mend = ": leave this level out, and write what is in it one level up"
	default:
		mend = suggest.ThereAre("", slices.DeleteFunc(names, func(n string) bool { return n == "metadata" && at.String() == name }))
	}
	f := invalid(at, "is an unknown field%s", mend)
	f.Type = field.ErrorTypeForbidden
	d.refuse(at, f)
}

// parentOf is the path of the object at hand.
func parentOf(d *decoder) *field.Path { return d.objects[len(d.objects)-1].path }

// fieldBelow is where a field of an object below has the name.
func fieldBelow(name string, known []jsonField) string {
	for _, f := range known {
		t := f.typ
		if t.Kind() == reflect.Pointer {
			t = t.Elem()
		}
		if t.Kind() != reflect.Struct || t.PkgPath() != inputPackage {
			continue
		}
		if slices.ContainsFunc(jsonFields(t), func(below jsonField) bool { return below.name == name }) {
			return f.name + "." + name
		}
	}
	return ""
}

// inputPackage is where the types of the input are. Others have fields that are none of
// it.
var inputPackage = reflect.TypeFor[v1beta1.Exports]().PkgPath() //nolint:gochecknoglobals // a constant that has to be computed

// fieldAbove is the field of that name of the nearest object above, or nil.
func (d *decoder) fieldAbove(name string) *field.Path {
	for i := len(d.objects) - 2; i >= 0; i-- {
		if o := d.objects[i]; slices.Contains(o.names, name) && o.path != nil {
			return o.path.Child(name)
		}
	}
	return nil
}

// isExpression reports whether the field at a path is CEL.
func isExpression(p *field.Path) bool {
	path := pathText(p)
	name := path[strings.LastIndexByte(path, '.')+1:]
	return (name == "value" || name == "valueMap" || strings.HasSuffix(name, "Expression")) && !strings.Contains(path, ".matchLabels[") || strings.Contains(path, ".resource.outputs[")
}

// mend says how a value of another type becomes one of type t.
func (d *decoder) mend(p *field.Path, v *structpb.Value, t reflect.Type) string {
	kind := kindOf(v)
	if kind == "null" && t.Kind() != reflect.Struct {
		return ": give it a value, or leave it out"
	}
	switch t.Kind() { //nolint:exhaustive // the kinds that the input type has
	case reflect.String:
		return mendString(p, kind)
	case reflect.Bool, reflect.Uint64:
		if kind == "a string" {
			return ": leave out the quotes"
		}
	case reflect.Slice:
		return mendList(t.Elem())
	case reflect.Map, reflect.Struct:
		return d.mendObject(p, kind, t)
	}
	return ""
}

func mendString(p *field.Path, kind string) string {
	scalar := kind == "a number" || kind == "a boolean"
	switch expression := isExpression(p); {
	case expression && scalar:
		return ": it is an expression, where text has quotes of its own, as in \"'some text'\""
	case expression && kind == "an object":
		return ": { begins an object in YAML: put the expression in quotes"
	case expression:
		return ": [ begins a list in YAML: put the expression in quotes"
	case scalar:
		return ": put it in quotes"
	}
	return ""
}

func mendList(item reflect.Type) string {
	if item.Kind() == reflect.Struct {
		return ": begin each item with a dash, as in - " + jsonFields(item)[0].name + ": ..."
	}
	return ": write [ ] around its items"
}

func (d *decoder) mendObject(p *field.Path, kind string, t reflect.Type) string {
	names := []string{}
	if t.Kind() == reflect.Struct && t.PkgPath() == inputPackage {
		for _, f := range jsonFields(t) {
			names = append(names, f.name)
		}
	}
	path := pathText(p)
	sibling := path[strings.LastIndexByte(path, '.')+1:] + "Expression"
	switch {
	case kind == "a string" && len(d.objects) > 0 && slices.Contains(d.objects[len(d.objects)-1].names, sibling):
		return ": write an expression into " + sibling
	case kind == "null":
		return ": write {} if it shall have no fields, or leave it out"
	case len(names) == 0 || len(names) > fieldsListed:
		return ": write its fields as name: value"
	case len(names) == 1:
		return ": its field is " + names[0]
	}
	return ": its fields are " + strings.Join(names, ", ")
}
