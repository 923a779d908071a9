// Package strict reads an input. It refuses unknown fields, values of another type or outside of their bounds, broken
// rules of the definition, and expressions in fields that are literal. An adviser says what to write instead.
//
// Crossplane does not validate inputs: it passes an input as it is in the Composition. And encoding/json would stop at
// the first unknown field, without the index of an item and without a hint. So the package walks once through the input
// and its definition, in the order of the definition. Only an input without a diagnostic is decoded.
//
// No mistake is reported as the cause of another one: with an unknown field or a value of another type, bounds and
// rules are not reported, and a rule is not checked if it reads a field that has a diagnostic of its own.
package strict

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"google.golang.org/protobuf/types/known/structpb"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/crossplane-contrib/function-export/input/v1beta1"
	"github.com/crossplane-contrib/function-export/internal/engine/definition"
	"github.com/crossplane-contrib/function-export/internal/engine/diagnostic"
	"github.com/crossplane-contrib/function-export/internal/engine/limits"
	"github.com/crossplane-contrib/function-export/internal/engine/wire"
)

// Decode an input. It returns either the input, with warnings about literal texts that look like placeholders of
// another tool, or diagnostics in the order of the input. Without an adviser, messages only say what is wrong.
func Decode(in *structpb.Struct, a Adviser) (out *v1beta1.Exports, warnings, wrong diagnostic.List) {
	d := newDecoder(a)
	d.declared = declaredSteps(in)
	if in == nil {
		return nil, nil, d.wrong(field.NewPath("input"), "must be set: add an input of kind Exports to the "+
			"pipeline step")
	}
	out, wrong = &v1beta1.Exports{}, d.check(Node{Schema: definition.Exports(), Value: structpb.NewStructValue(in)})
	if len(wrong) == 0 {
		fields := maps.Clone(in.GetFields())
		delete(fields, "metadata") // nothing reads it
		if raw, err := (&structpb.Struct{Fields: fields}).MarshalJSON(); err != nil || json.Unmarshal(raw, out) != nil {
			wrong = d.wrong(field.NewPath("input"), "cannot be read as an input of kind Exports")
		}
	}
	return out, d.warnings, wrong
}

// Fields returns the diagnostics of an object that has a schema of its own. Its texts may look like expressions.
func Fields(s *definition.Schema, at *field.Path, v *structpb.Value, a Adviser) diagnostic.List {
	return newDecoder(a).check(Node{Schema: s, At: at, Value: v})
}

type decoder struct {
	adviser  Adviser
	refused  diagnostic.List // unknown fields, values of another type, and expressions in literal fields
	count    int             // of the other diagnostics
	warnings diagnostic.List
	declared map[string]bool // names in the input, after their variables; nil if literal texts are not checked
}

func newDecoder(a Adviser) *decoder {
	if a == nil {
		a = noAdvice{}
	}
	return &decoder{adviser: a}
}

// A Node is a value of the input at its place.
type Node struct {
	Above  *Node
	At     *field.Path // nil for the input itself
	Name   string      // of the field, or of the list or the map that contains the value
	Item   bool        // of a list
	Key    string      // of a map
	Schema *definition.Schema
	Value  *structpb.Value
}

// Fields returns the fields of an object.
func (n *Node) Fields() map[string]*structpb.Value { return n.Value.GetStructValue().GetFields() }

// An Adviser says what to write instead. Package advice/fields is one.
type Adviser interface {
	// OtherType returns the end of the message about a value of another type, and the edit that corrects it.
	OtherType(n Node) (hint string, edits []diagnostic.Edit)

	// Unknown returns the message about a field that an object does not have.
	Unknown(n Node, name string) string

	// Entry returns the field of an object that is an entry of another tool, with the message about the whole object,
	// or nothing.
	Entry(n Node) (name, message string)
}

// noAdvice only says what is wrong.
type noAdvice struct{}

func (noAdvice) OtherType(Node) (string, []diagnostic.Edit) { return "", nil }
func (noAdvice) Unknown(Node, string) string                { return "is an unknown field" }
func (noAdvice) Entry(Node) (name, message string)          { return "", "" }

var (
	// kinds are the values that have a type of a schema.
	kinds = map[string]wire.Kind{ //nolint:gochecknoglobals // a table
		"object": wire.Object, "array": wire.Array, "integer": wire.Number, "boolean": wire.Bool, "string": wire.Text,
	}

	// words are the kinds of values in words.
	words = map[wire.Kind]string{ //nolint:gochecknoglobals // a table
		wire.Object: "an object", wire.Array: "a list", wire.Number: "a number", wire.Bool: "a boolean",
		wire.Text: "a string", wire.Null: "null", wire.Absent: "null",
	}
)

func (d *decoder) check(n Node) diagnostic.List {
	if _, found := d.value(n); len(d.refused) == 0 {
		return found
	}
	return d.refused
}

// value returns a value in the form that rules read, and the bounds and rules that are broken.
//
//nolint:gocyclo // one case for each type
func (d *decoder) value(n Node) (self any, found diagnostic.List) {
	kind, want := wire.OfValue(n.Value).Kind(), kinds[n.Schema.Type]
	switch {
	case n.Schema.Type == "" && n.Schema.PreserveUnknown: // any value
		return n.Value.AsInterface(), nil
	case kind != want:
		hint, edits := d.adviser.OtherType(n)
		must := strings.Replace(words[want], "a boolean", "true or false", 1)
		d.refuse(n.At, "must be %s, but is %s%s", must, words[kind], hint).Edits = edits
		return nil, nil
	case kind == wire.Object && (n.Schema.PreserveUnknown || n.Schema.GoType == "ObjectMeta"):
		if d.declared != nil && n.Schema.PreserveUnknown {
			d.manifest(n.At.String()+".", n.At, n.Value)
		}
		return n.Value.AsInterface(), nil
	case kind == wire.Object && n.Schema.AdditionalProperties != nil:
		return d.object(n, slices.Sorted(maps.Keys(n.Fields())))
	case kind == wire.Object:
		return d.fields(n)
	case kind == wire.Array:
		self, found = d.list(n)
	default:
		self, found = n.Value.AsInterface(), d.scalar(n)
	}
	for _, r := range n.Schema.Rules {
		if len(found) == 0 && !r.Holds(self) {
			found = d.wrong(n.At, "%s", r.Message)
		}
	}
	return self, found
}

// fields checks an object with fixed fields. The unknown ones are last.
func (d *decoder) fields(n Node) (any, diagnostic.List) {
	if name, message := d.adviser.Entry(n); name != "" {
		d.refuse(n.At.Child(name), "%s", message).Key = true // its other fields are not checked
		return nil, nil
	}
	self, found := d.object(n, n.Schema.Names)
	for _, name := range slices.Sorted(maps.Keys(n.Fields())) {
		if n.Schema.Properties[name] == nil {
			d.refuse(n.At.Child(name), "%s", d.adviser.Unknown(n, name)).Key = true
		}
	}
	return self, found
}

// object checks the members of an object with these names, and its rules.
func (d *decoder) object(n Node, names []string) (any, diagnostic.List) {
	s, self := n.Schema, make(map[string]any, len(n.Fields())+1) // see definition.Rule
	var refused []string
	below := make([]diagnostic.List, len(names)) // for each name, so that rules add to them in order
	for i, name := range names {
		v := n.Fields()[name]
		switch {
		case v != nil && s.AdditionalProperties != nil:
			self[name], below[i] = d.value(Node{
				Above: &n, At: n.At.Key(name), Name: n.Name, Key: name, Schema: s.AdditionalProperties, Value: v})
		case v != nil:
			self[name], below[i] = d.value(Node{
				Above: &n, At: n.At.Child(name), Name: name, Schema: s.Properties[name], Value: v})
		case slices.Contains(s.Required, name):
			below[i] = d.wrong(n.At.Child(name), "must be set%s", example(s.Properties[name]))
		}
		if len(below[i]) > 0 {
			refused = append(refused, name)
		}
	}
	whole := d.size(n, len(n.Fields()), s.MinProperties, s.MaxProperties, "")
	for _, r := range s.Rules {
		reads := func(name string) bool { return slices.Contains(refused, name) }
		if n.At == nil || slices.ContainsFunc(r.Fields(), reads) || r.Holds(self) {
			continue // the rule of the whole input compares lists: the plan does so, and names the items
		}
		path, message := r.Broken(n.At, self)
		found := d.wrong(path, "%s", message)
		name, _, _ := strings.Cut(strings.TrimPrefix(r.FieldPath, "."), ".")
		if i := slices.Index(names, name); i < 0 {
			whole = append(whole, found...)
		} else if len(below[i]) == 0 {
			below[i] = found
		}
	}
	return self, slices.Concat(whole, slices.Concat(below...))
}

func (d *decoder) list(n Node) (any, diagnostic.List) {
	s, items := n.Schema, n.Value.GetListValue().GetValues()
	const instead = ": split the input into several pipeline steps"
	found := d.size(n, len(items), s.MinItems, s.MaxItems, instead)
	if len(found) > 0 {
		return nil, found
	}
	self, first := make([]any, 0, len(items)), map[string]int{}
	for i, item := range items {
		v, wrong := d.value(Node{Above: &n, At: n.At.Index(i), Name: n.Name, Item: true, Schema: s.Items, Value: item})
		self, found = append(self, v), append(found, wrong...)
		name, _ := v.(string)
		if len(s.ListMapKeys) == 1 {
			fields, _ := v.(map[string]any)
			name, _ = fields[s.ListMapKeys[0]].(string)
		}
		other, twice := first[name]
		switch {
		case name == "" || s.ListType != "set" && s.ListType != "map":
		case !twice:
			first[name] = i
		case s.ListType == "set":
			found = append(found, d.wrong(n.At.Index(i), "%q is listed twice", name)...)
		default:
			key := s.ListMapKeys[0]
			found = append(found, d.wrong(n.At.Index(i).Child(key), "%q is also the %s of %s: rename one of them",
				name, key, n.At.Index(other))...)
		}
	}
	return self, found
}

// refuse reports a value that has no place in the input, up to a limit.
func (d *decoder) refuse(at *field.Path, format string, args ...any) *diagnostic.Diagnostic {
	out := diagnosed(at, format, args...)
	if len(d.refused) < limits.Diagnostics {
		d.refused = append(d.refused, out)
	}
	return out
}

// wrong returns the diagnostic of a value that breaks a bound or a rule.
func (d *decoder) wrong(at *field.Path, format string, args ...any) diagnostic.List {
	if d.count++; d.count > limits.Diagnostics {
		return nil
	}
	return diagnostic.List{diagnosed(at, format, args...)}
}

func diagnosed(at *field.Path, format string, args ...any) *diagnostic.Diagnostic {
	return &diagnostic.Diagnostic{Path: at.String(), Rule: diagnostic.Input, Message: fmt.Sprintf(format, args...)}
}

// KindText returns the kind of a value in words.
func KindText(k wire.Kind) string { return words[k] }
