// Package fields says what to write instead of a field that an input does not have, or of a value of another type: the
// fields of other tools, fields in a wrong place, and habits of YAML. Its texts repeat names of fields, never values,
// because values may be data.
package fields

import (
	"fmt"
	"slices"
	"strings"

	"google.golang.org/protobuf/types/known/structpb"

	"github.com/crossplane-contrib/function-export/internal/engine/definition"
	"github.com/crossplane-contrib/function-export/internal/engine/diagnostic"
	"github.com/crossplane-contrib/function-export/internal/engine/lazy"
	"github.com/crossplane-contrib/function-export/internal/engine/strict"
	"github.com/crossplane-contrib/function-export/internal/engine/suggest"
	"github.com/crossplane-contrib/function-export/internal/engine/wire"
)

// An Adviser says what to write instead. See [strict.Adviser].
type Adviser struct{}

var (
	isName  = lazy.MustCompile(`^[A-Za-z0-9_](?:[-._/A-Za-z0-9]{0,61}[A-Za-z0-9_])?$`)
	isWhole = lazy.MustCompile(`^[1-9][0-9]{0,9}$`)
)

// OtherType returns how to write a value of another type, as the end of a message, and the edit that does it.
//
//nolint:gocyclo // one flat switch over pairs of types
func (Adviser) OtherType(n strict.Node) (hint string, edits []diagnostic.Edit) {
	kind, text := wire.OfValue(n.Value).Kind(), n.Value.GetStringValue()
	edit := func(fits bool, action diagnostic.Action, with string) []diagnostic.Edit {
		if !fits {
			return nil
		}
		return []diagnostic.Edit{{Path: n.At.String(), Action: action, Text: with}}
	}
	switch s := n.Schema; {
	case kind == wire.Null && s.Expression:
		return ": write an expression, and no # before it, because # begins a comment in YAML", nil
	case kind == wire.Null:
		return ": set a value, or leave it out", nil
	case s.Expression:
		return asExpression(kind), nil
	case s.Type == "string" && kind != wire.Array && kind != wire.Object:
		return ": put it in quotes", edit(true, diagnostic.Quote, "")
	case s.Type == "string":
		return ": write one text", nil
	case s.Type == "boolean" && kind == wire.Array && n.Name == "connectionDetails":
		return ", as in " + toolPatches + ": " + foreignFields[n.Name].write, nil
	case s.Type == "boolean":
		return ": write true or false without quotes", edit(text == "true" || text == "false", diagnostic.SetValue, text)
	case s.Type == "integer":
		hint = ": write a whole number, without quotes and without a unit"
		return hint, edit(isWhole().MatchString(text), diagnostic.SetValue, text)
	case s.Type == "array" && s.Items.Type == "object":
		return ": begin each item with a dash, as in - " + firstField(n) + ": ...", nil
	case s.Type == "array":
		return ": write [ ] around its items", edit(isName().MatchString(text), diagnostic.SetValue, "["+text+"]")
	case kind == wire.Array && s.AdditionalProperties != nil:
		return ": leave out the dashes, and write each item as name: value", nil
	case kind == wire.Array:
		return ": leave out the dash before its fields", nil
	}
	if sibling := n.Name + "Expression"; n.Above != nil && n.Above.Schema.Properties[sibling] != nil &&
		strings.ContainsAny(text, "{('") {
		return ": write the expression in the field " + sibling, edit(true, diagnostic.Rename, sibling)
	}
	if len(n.Schema.Names) == 0 {
		return ": write its fields as name: value", nil
	}
	return ": its fields are " + suggest.List(n.Schema.Names), nil
}

// asExpression returns how to write an expression that YAML reads as another value.
func asExpression(kind wire.Kind) string {
	switch kind { //nolint:exhaustive // all others are alike
	case wire.Object:
		return ": YAML reads { } and name: value as an object: put the expression in quotes, as in " +
			`"{'username': secret.username}" or "'https://%s'.format([resource.status.host])"`
	case wire.Array:
		return `: YAML reads [ ] and dashes as a list: write one expression in quotes, as in "[a, b].join(',')"`
	}
	return ": it is an expression, in which text has its own quotes: write for example \"'some text'\""
}

// firstField returns the field with which the items of a list begin: one that the value has, or one that is required.
func firstField(n strict.Node) string {
	item := n.Schema.Items
	for _, known := range item.Names {
		if n.Fields()[known] != nil {
			return known
		}
	}
	return slices.Concat(item.Required, item.Names)[0]
}

// Entry returns the field of an object that is an entry of another tool, and what to write instead of the object.
//
//nolint:gocyclo // three forms, each with its own condition
func (Adviser) Entry(n strict.Node) (name, message string) {
	known := n.Schema.Properties
	isEntry := known["value"] != nil && known["value"].Expression
	table, write := entryFields, ""
	switch {
	case n.Schema.GoType == "Source":
		table, write = sourceFields, "{name: settings, apiVersion: v1, kind: ConfigMap, matchName: settings}, or "+
			"matchLabels"
	case isEntry:
		write = "the entry as {" + n.Schema.Names[0] + ": host, value: %s}"
	case known["dataFrom"] != nil:
		write = "the entry as an item of data: {key: host, value: %s}"
	default:
		return "", ""
	}
	for _, f := range table {
		isKey := f.name == "name" && n.Fields()["key"] == nil // of an entry that has no other
		if n.Fields()[f.name] != nil && known[f.name] == nil && !isKey {
			if strings.HasPrefix(n.At.String(), "environment.") { // it reads no resources
				f.value = "composite.spec.host"
			}
			return f.name, "is a field of " + f.tool + ": write for example " + strings.Replace(write, "%s", f.value, 1)
		}
	}
	for k, v := range n.Fields() { // the only field is the key that is meant, as in {username: secret.username}
		_, isText := v.GetKind().(*structpb.Value_StringValue)
		if isEntry && len(n.Fields()) == 1 && isText && known[k] == nil && renamedFields[k] == "" &&
			isName().MatchString(k) && suggest.Nearest(k, n.Schema.Names) == "" {
			return k, fmt.Sprintf("is an unknown field: write the entry as {%s: %s, value: ...}", n.Schema.Names[0], k)
		}
	}
	return "", ""
}

// Unknown returns the message about a field that an object does not have.
func (Adviser) Unknown(n strict.Node, name string) string {
	instead, known := insteadOfField[n.Schema.GoType][name], n.Schema.Properties
	switch f, isForeign := foreignFields[name]; {
	case instead != "":
		return "is an unknown field: " + instead
	case known[renamedFields[name]] != nil:
		return "is an unknown field" + suggest.DidYouMean(renamedFields[name])
	case isForeign:
		return "is a field of " + f.tool + ": " + f.write
	}
	return "is an unknown field" + meant(n, name)
}

// meant returns the field that an unknown field probably means, as the end of a message: the nearest name, or the place
// at which the name is a field.
func meant(n strict.Node, name string) string {
	names := slices.DeleteFunc(slices.Clone(n.Schema.Names), func(known string) bool {
		ofEachObject := slices.Contains([]string{"apiVersion", "kind", "metadata"}, known)
		return n.At == nil && ofEachObject && !strings.EqualFold(known, name)
	})
	if nearest := suggest.Nearest(name, names); nearest != "" {
		return suggest.DidYouMean(nearest)
	}
	if below := fieldWith(n.Schema, name); below != "" {
		return suggest.DidYouMean(below + "." + name)
	}
	for _, list := range names {
		if items := n.Schema.Properties[list].Items; items != nil && items.Properties[name] != nil {
			return fmt.Sprintf(": it is a field of the items of %s: write it in an item, as in %s: [{%s: ...}], "+
				"and indent it like the other fields of the item", list, list, name)
		}
	}
	if n.Above != nil && !n.Item {
		if beside := fieldWith(n.Above.Schema, name); beside != "" {
			return fmt.Sprintf(": it is a field of %s: write %s: {%s: ...} in place of this object", beside, beside, name)
		}
	}
	for above := n.Above; above != nil && above.At != nil; above = above.Above {
		if above.Schema.Properties[name] != nil {
			return ": the field is at a higher level: write it as " + above.At.Child(name).String()
		}
	}
	return suggest.ThereAre("", names, "it can have no fields: write {}")
}

// fieldWith returns the field that is an object with a field of that name, or an empty text.
func fieldWith(s *definition.Schema, name string) string {
	i := slices.IndexFunc(s.Names, func(known string) bool { return s.Properties[known].Properties[name] != nil })
	if i < 0 {
		return ""
	}
	return s.Names[i]
}
