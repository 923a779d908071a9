// Package fields says what to write instead of a field that an input does not have, or of a value of another type: the
// fields of other tools, fields in a wrong place, and habits of YAML.
package fields

import (
	"fmt"
	"slices"
	"strings"

	"github.com/crossplane-contrib/function-export/internal/engine/strict"
	"github.com/crossplane-contrib/function-export/internal/engine/wire"
)

// An Adviser says what to write instead. See [strict.Adviser].
type Adviser struct{}

// fieldsListed is the number of fields that fit on a line.
const fieldsListed = 12

// OtherType returns how to write a value of another type, as the end of a message.
func (Adviser) OtherType(n strict.Node) string {
	kind := wire.OfValue(n.Value).Kind()
	switch s := n.Schema; {
	case kind == wire.Null:
		return ": " + insteadOfNull(n)
	case s.Expression:
		return asExpression(n, kind)
	case s.Type == "string" && kind != wire.Array && kind != wire.Object:
		return ": put it in quotes"
	case s.Type == "string":
		return ": write one text"
	case s.Type == "boolean" && kind == wire.Array && n.Name == "connectionDetails":
		return ", as in " + toolPatches + ": " + foreignFields[n.Name].filled(n.Value, from(n))
	case s.Type == "boolean":
		return ": write true or false without quotes"
	case s.Type == "integer":
		return ": write a whole number, without quotes and without a unit"
	case s.Type == "array":
		return insteadOfList(n)
	}
	return insteadOfObject(n, kind)
}

// asExpression returns how to write an expression that YAML reads as another value.
func asExpression(n strict.Node, kind wire.Kind) string {
	switch kind { //nolint:exhaustive // all others are alike
	case wire.Object:
		return insteadOfMap(n)
	case wire.Array:
		return `: YAML reads [ ] and dashes as a list: write one expression in quotes, as in "[a, b].join(',')"`
	}
	return ": it is an expression, in which text has its own quotes: write for example \"'some text'\""
}

// insteadOfNull returns what to write for a value that is null.
func insteadOfNull(n strict.Node) string {
	write := "set a value"
	switch s := n.Schema; {
	case s.Expression:
		return "write an expression, and no # before it, because # begins a comment in YAML"
	case n.Item && s.Type == "object":
		return "write its fields after the dash, or leave the dash out"
	case s.Type == "object":
		return "write {} for an object without fields, or leave it out"
	case s.Type == "array":
		write = "add an item"
	}
	if n.IsRequired() {
		return write
	}
	return write + ", or leave it out"
}

// insteadOfMap returns how to write an object of YAML as an expression.
func insteadOfMap(n strict.Node) string {
	k := firstName(n.Value)
	if k != "" && slices.Contains([]string{"valueMap", "labelsExpression", "annotationsExpression"}, n.Name) {
		return fmt.Sprintf(": it is an expression: write it in quotes, as in %s: \"{'%s': %s}\"",
			n.Name, k, expressionOr(n.Fields()[k]))
	}
	for _, inner := range []string{"", "format", "string"} { // as in function-patch-and-transform
		if f := at(n.Value, inner); at(f, "fmt") != nil {
			return fmt.Sprintf(": it is an expression: write for example %s: \"'text %%s'.format([%s])\"",
				n.Name, expressionOr(at(f, "variables.0")))
		}
	}
	return ": YAML reads { } and name: value as an object: put the expression in quotes"
}

// insteadOfList returns how to write a value as a list.
func insteadOfList(n strict.Node) string {
	item, name := n.Schema.Items, nameOr(n.Value, "")
	switch {
	case item.Type != "object" && name != "":
		return ": write it as [" + name + "]"
	case item.Type != "object":
		return ": write [ ] around its items"
	}
	for _, known := range item.Names {
		if n.Fields()[known] != nil {
			return ": begin each item with a dash, as in - " + known + ": ..."
		}
	}
	key, first := item.Names[0], firstName(n.Value)
	if i := slices.IndexFunc(item.Names, func(name string) bool { return slices.Contains(item.Required, name) }); i > 0 {
		key = item.Names[i]
	}
	switch {
	case first == "":
		return ": begin each item with a dash, as in - " + key + ": ..."
	case isEntry(item):
		value := quoted(expressionOr(n.Fields()[first]))
		return fmt.Sprintf(": begin each item with a dash, as in - {%s: %s, value: %s}", key, first, value)
	}
	return ": begin each item with a dash, as in - " + key + ": " + first
}

func insteadOfObject(n strict.Node, kind wire.Kind) string {
	s, sibling := n.Schema, n.Name+"Expression"
	switch text := nameOr(n.Value, ""); {
	case kind == wire.Array && s.AdditionalProperties != nil:
		return ": leave out the dashes, and write each item as name: value"
	case kind == wire.Array && len(n.Value.GetListValue().GetValues()) == 1:
		return ": leave out the dash before its fields"
	case strings.ContainsAny(n.Value.GetStringValue(), "{('") && n.Above != nil && n.Above.Schema.Properties[sibling] != nil:
		return ": write the expression in the field " + sibling
	case n.Item && text != "":
		return ": write it as - " + s.Names[0] + ": " + text
	case len(s.Names) == 0 || len(s.Names) > fieldsListed:
		return ": write its fields as name: value"
	case len(s.Names) == 1:
		return ": its field is " + s.Names[0]
	}
	return ": its fields are " + strings.Join(s.Names, ", ")
}
