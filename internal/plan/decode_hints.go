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

// fieldsListed is the number of fields that fit on a line.
const fieldsListed = 12

// The names of fields in other tools, with the names of the same fields here.
var foreignFields = map[string]string{ //nolint:gochecknoglobals // a table
	"stringData": "data", "binaryData": "data", "ref": "matchName", "selector": "matchLabels", "labels": "matchLabels",
	"patches": "set", "special": "symbols", "overrideSpecial": "symbolCharacters", "numeric": "digits",
	"connectionDetails": "data", "expression": "value", "fromFieldPath": "value", "toFieldPath": "fieldPath",
}

// unknown refuses a field that does not exist, and suggests the field that is meant.
func (d *decoder) unknown(at *field.Path, name string, v *structpb.Value, known *jsonFields) {
	names := slices.DeleteFunc(slices.Clone(known.names), func(n string) bool {
		return (n == "apiVersion" || n == "kind") && !strings.EqualFold(n, name)
	})
	hint := ""
	meant := foreignFields[name]
	if !slices.Contains(names, meant) {
		meant = suggest.Nearest(name, names)
	}
	switch below, above := fieldBelow(name, known), d.fieldAbove(name); {
	case meant != "":
		hint = suggest.DidYouMean(meant)
		d.near[pathText(child(parentOf(d), meant))] = true
	case below != "":
		hint = suggest.DidYouMean(below)
	case above != nil:
		hint = ": the field is at a higher level: write it as " + above.String()
		d.near[above.String()] = true
	case slices.ContainsFunc(names, func(n string) bool { return v.GetStructValue().GetFields()[n] != nil }):
		hint = ": leave this level out, and write its fields one level up"
	default:
		hint = suggest.ThereAre("", slices.DeleteFunc(names, func(n string) bool { return n == "metadata" && at.String() == name }))
	}
	f := wrong(at, "is an unknown field%s", hint)
	f.Key = true
	d.refuse(at, f)
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

// isInput reports whether a type is a struct of the input. Other types have fields that the input
// does not have.
func isInput(t reflect.Type) bool {
	return t.Kind() == reflect.Struct && t.PkgPath() == reflect.TypeFor[v1beta1.Exports]().PkgPath()
}

// fieldAbove returns the field with that name in the nearest object above, or nil.
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
	named := name == "value" || name == "valueMap" || strings.HasSuffix(name, "Expression")
	return named && !strings.Contains(path, ".matchLabels[") || strings.Contains(path, ".resource.outputs[")
}

// hintEmpty returns what to write instead of an empty text.
func hintEmpty(p *field.Path, required bool) string {
	switch {
	case isExpression(p):
		return "in an expression, write an empty text as \"''\""
	case required:
		return "set a value"
	}
	return "leave it out, or set a value"
}

// hint returns how to write a value of another type as a value of type t.
func (d *decoder) hint(p *field.Path, v *structpb.Value, t reflect.Type) string {
	kind := kindOf(v)
	if kind == "null" && t.Kind() != reflect.Struct {
		return ": set a value, or leave it out"
	}
	switch t.Kind() { //nolint:exhaustive // the kinds that the input type has
	case reflect.String:
		return hintString(p, kind)
	case reflect.Bool, reflect.Uint64:
		if kind == "a string" {
			return ": leave out the quotes"
		}
	case reflect.Slice:
		return hintList(t.Elem())
	case reflect.Map, reflect.Struct:
		return d.hintObject(p, kind, t)
	}
	return ""
}

func hintString(p *field.Path, kind string) string {
	scalar := kind == "a number" || kind == "a boolean"
	switch expression := isExpression(p); {
	case expression && scalar:
		return ": it is an expression, in which text has its own quotes: write for example \"'some text'\""
	case expression && kind == "an object":
		return ": { begins an object in YAML: put the expression in quotes"
	case expression:
		return ": [ begins a list in YAML: put the expression in quotes"
	case scalar:
		return ": put it in quotes"
	}
	return ""
}

func hintList(item reflect.Type) string {
	if item.Kind() == reflect.Struct {
		return ": begin each item with a dash, as in - " + fieldsOf(item).names[0] + ": ..."
	}
	return ": write [ ] around its items"
}

func (d *decoder) hintObject(p *field.Path, kind string, t reflect.Type) string {
	var names []string
	if isInput(t) {
		names = fieldsOf(t).names
	}
	path := pathText(p)
	sibling := path[strings.LastIndexByte(path, '.')+1:] + "Expression"
	switch {
	case kind == "a string" && len(d.objects) > 0 && slices.Contains(d.objects[len(d.objects)-1].names, sibling):
		return ": write the expression in the field " + sibling
	case kind == "null":
		return ": write {} for an object without fields, or leave it out"
	case len(names) == 0 || len(names) > fieldsListed:
		return ": write its fields as name: value"
	case len(names) == 1:
		return ": its field is " + names[0]
	}
	return ": its fields are " + strings.Join(names, ", ")
}
