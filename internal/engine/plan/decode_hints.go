package plan

import (
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"google.golang.org/protobuf/types/known/structpb"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/crossplane-contrib/function-export/input/v1beta1"
)

// fieldsListed is the number of fields that fit on a line.
const fieldsListed = 12

// isExpression reports whether the field at a path is CEL.
func isExpression(p *field.Path) bool {
	path, name := pathText(p), lastField(p)
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
		return ": " + d.hintNull(p, t)
	}
	if f, ok := foreignFields[lastField(p)]; ok && t.Kind() == reflect.Bool && kind == "a list" {
		d.near[child(parentOf(d), "data").String()] = true
		return ", as in " + f.tool + ": " + f.filled(v, d.from(nil))
	}
	switch t.Kind() { //nolint:exhaustive // the kinds that the input type has
	case reflect.String:
		return hintString(p, v)
	case reflect.Bool, reflect.Uint64:
		return hintUnquoted(v.GetStringValue(), t)
	case reflect.Slice:
		return hintList(v, t.Elem())
	case reflect.Map, reflect.Struct:
		return d.hintObject(p, v, t)
	}
	return ""
}

// lastField returns the name of the last field of a path.
func lastField(p *field.Path) string {
	path := pathText(p)
	return path[strings.LastIndexByte(path, '.')+1:]
}

func hintString(p *field.Path, v *structpb.Value) string {
	kind := kindOf(v)
	scalar := kind == "a number" || kind == "a boolean"
	switch expression := isExpression(p); {
	case expression && scalar:
		return ": it is an expression, in which text has its own quotes: write for example \"'some text'\""
	case expression && kind == "an object":
		return hintMap(p, v.GetStructValue())
	case expression:
		return hintYAMLList(p, v.GetListValue().GetValues())
	case scalar:
		return ": put it in quotes"
	}
	return ": write one text"
}

// hintYAMLList returns how to write a list of YAML as an expression. Only a value can be the joined text of a list.
func hintYAMLList(p *field.Path, items []*structpb.Value) string {
	const hint = ": YAML reads [ ] and dashes as a list: write one expression in quotes"
	if lastField(p) != "value" {
		return hint
	}
	return hint + `, as in "[` + joinedTexts(items) + `].join(',')"`
}

// joinedTexts joins the texts of a list of YAML, or returns an example if they are not expressions, or too long.
func joinedTexts(items []*structpb.Value) string {
	const most = 80
	texts := make([]string, 0, len(items))
	for _, v := range items {
		texts = append(texts, v.GetStringValue())
	}
	if list := strings.Join(texts, ", "); list != "" && len(list) <= most && !slices.Contains(texts, "") {
		return list
	}
	return "a, b"
}

// hintMap returns how to write an object of YAML as an expression.
func hintMap(p *field.Path, o *structpb.Struct) string {
	name := lastField(p)
	if k := firstName(o); k != "" && (name == "valueMap" || name == "labelsExpression" || name == "annotationsExpression") {
		return fmt.Sprintf(": it is an expression: write it in quotes, as in %s: \"{'%s': %s}\"",
			name, k, expressionOr(o.GetFields()[k]))
	}
	for _, inner := range []string{"", "format", "string"} {
		if f := at(structpb.NewStructValue(o), inner); at(f, "fmt") != nil {
			return fmt.Sprintf(": it is an expression: write for example %s: \"'text %%s'.format([%s])\"",
				name, expressionOr(at(f, "variables.0")))
		}
	}
	return ": YAML reads { } and name: value as an object: put the expression in quotes"
}

// firstName returns the first key of an object that is a name, or an empty text.
func firstName(o *structpb.Struct) string {
	for _, k := range SortedKeys(o.GetFields()) {
		if nameForm.MatchString(k) {
			return k
		}
	}
	return ""
}

// hintUnquoted returns how to write a text as a boolean or a number.
func hintUnquoted(text string, t reflect.Type) string {
	_, notNumber := strconv.ParseUint(text, 10, 64)
	isBool := t.Kind() == reflect.Bool
	switch {
	case text == "":
		return ""
	case isBool && (text == "true" || text == "false") || !isBool && notNumber == nil:
		return ": leave out the quotes"
	case !isBool:
		return ": write a whole number, without a unit"
	case slices.Contains([]string{"yes", "y", "on"}, strings.ToLower(text)):
		return ": write true"
	case slices.Contains([]string{"no", "n", "off"}, strings.ToLower(text)):
		return ": write false"
	}
	return ": write true or false without quotes"
}

// hintList returns how to write a value as a list.
func hintList(v *structpb.Value, item reflect.Type) string {
	if name := nameOr(v, ""); name != "" && item.Kind() != reflect.Struct {
		return ": write it as [" + name + "]"
	}
	if item.Kind() != reflect.Struct {
		return ": write [ ] around its items"
	}
	names, o := fieldsOf(item).names, v.GetStructValue()
	known := func(k string) bool { return slices.Contains(names, k) }
	first := firstName(o)
	switch i := slices.IndexFunc(names, func(n string) bool { return o.GetFields()[n] != nil }); {
	case i >= 0:
		return ": begin each item with a dash, as in - " + names[i] + ": ..."
	case first == "":
		return ": begin each item with a dash, as in - " + names[0] + ": ..."
	case item == reflect.TypeFor[v1beta1.EnvironmentLabelMatcher]():
		return ": begin each item with a dash, as in - {type: Value, key: " + first + ", value: ...}"
	case known("value"):
		value := quoted(expressionOr(o.GetFields()[first]))
		return fmt.Sprintf(": begin each item with a dash, as in - {%s: %s, value: %s}", names[0], first, value)
	}
	return ": begin each item with a dash, as in - " + names[0] + ": " + first
}

// pairForm is a label as text.
var pairForm = regexp.MustCompile(`^([A-Za-z0-9][-._/A-Za-z0-9]{0,127})(?:: |=)`)

func (d *decoder) hintObject(p *field.Path, v *structpb.Value, t reflect.Type) string {
	var names []string
	if isInput(t) {
		names = fieldsOf(t).names
	}
	switch kind := kindOf(v); {
	case kind == "a string" && d.hintText(p, v.GetStringValue(), t, names) != "":
		return d.hintText(p, v.GetStringValue(), t, names)
	case kind == "null" && isItem(p):
		return ": write its fields after the dash, or leave the dash out"
	case kind == "null":
		return ": write {} for an object without fields, or leave it out"
	case kind == "a list" && t.Kind() == reflect.Map:
		return ": leave out the dashes, and write each item as name: value"
	case kind == "a list" && len(v.GetListValue().GetValues()) == 1:
		return ": leave out the dash before its fields"
	case len(names) == 0 || len(names) > fieldsListed:
		return ": write its fields as name: value"
	case len(names) == 1:
		return ": its field is " + names[0]
	}
	return ": its fields are " + strings.Join(names, ", ")
}

// hintText returns how to write a text as an object with these fields, or an empty text.
func (d *decoder) hintText(p *field.Path, text string, t reflect.Type, names []string) string {
	pair := pairForm.FindStringSubmatch(text)
	sibling := lastField(p) + "Expression"
	switch {
	case pair != nil && t.Kind() == reflect.Map:
		return ": write it without quotes in a line of its own, as in " + pair[1] + ": ..."
	case len(d.objects) > 0 && slices.Contains(d.objects[len(d.objects)-1].fields.names, sibling):
		return ": write the expression in the field " + sibling
	case isItem(p) && len(names) > 0 && nameForm.MatchString(text):
		return ": write it as - " + names[0] + ": " + text
	}
	return ""
}

// isItem reports whether a path leads to an item of a list.
func isItem(p *field.Path) bool { return strings.HasSuffix(pathText(p), "]") }

// hintNull returns what to write instead of null.
func (d *decoder) hintNull(p *field.Path, t reflect.Type) string {
	write := "set a value"
	if isExpression(p) {
		return "write an expression, and no # before it, because # begins a comment in YAML"
	}
	if t.Kind() == reflect.Slice {
		write = "add an item"
	}
	if n := len(d.objects); n > 0 {
		known := d.objects[n-1].fields
		if i := slices.Index(known.names, lastField(p)); i >= 0 && known.list[i].required {
			return write
		}
	}
	return write + ", or leave it out"
}
