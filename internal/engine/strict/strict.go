// Package strict decodes an input. It refuses fields that the definition of the input lacks, values of another type,
// and expressions in fields that are literal. An adviser says what to write instead.
//
// Crossplane does not validate the input, and encoding/json would stop at the first unknown field, without the index of
// an item and without a hint. So the package walks through the input and its definition at once, in the order of the
// definition. Only an input without a diagnostic is decoded.
package strict

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"time"

	"google.golang.org/protobuf/types/known/structpb"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/crossplane-contrib/function-export/input/v1beta1"
	"github.com/crossplane-contrib/function-export/internal/engine/definition"
	"github.com/crossplane-contrib/function-export/internal/engine/diagnostic"
	"github.com/crossplane-contrib/function-export/internal/engine/limits"
	"github.com/crossplane-contrib/function-export/internal/engine/wire"
)

// Decode an input. It returns either the input, with its literal texts that look like placeholders of another tool, or
// diagnostics in the order of the input. Without an adviser, messages only say what is wrong.
func Decode(in *structpb.Struct, a Adviser) (*v1beta1.Exports, []Placeholder, diagnostic.List) {
	d := newDecoder(a)
	d.declared = declaredSteps(in)
	return d.decode(in)
}

// DecodeValues is like Decode for an input whose texts are values of expressions, and may look like expressions.
func DecodeValues(in *structpb.Struct) (*v1beta1.Exports, diagnostic.List) {
	out, _, diagnostics := newDecoder(nil).decode(in)
	return out, diagnostics
}

func (d *decoder) decode(in *structpb.Struct) (*v1beta1.Exports, []Placeholder, diagnostic.List) {
	if in == nil {
		d.refuse(nil, "must be set: add an input of kind Exports to the pipeline step")
		return nil, nil, d.diagnostics
	}
	d.walk(Node{Schema: definition.Exports(), Value: structpb.NewStructValue(in)})
	out := &v1beta1.Exports{}
	if len(d.diagnostics) == 0 {
		fields := maps.Clone(in.GetFields())
		delete(fields, "metadata") // nothing reads it
		if raw, err := (&structpb.Struct{Fields: fields}).MarshalJSON(); err != nil || json.Unmarshal(raw, out) != nil {
			d.refuse(nil, "cannot be read as an input of kind Exports")
		}
	}
	return out, d.texts, d.diagnostics
}

// Fields returns the diagnostics of an object that has a schema of its own. Its texts are not checked.
func Fields(s *definition.Schema, at *field.Path, v *structpb.Value, a Adviser) diagnostic.List {
	d := newDecoder(a)
	d.walk(Node{Schema: s, At: at, Value: v})
	return d.diagnostics
}

type decoder struct {
	adviser     Adviser
	diagnostics diagnostic.List
	texts       []Placeholder
	declared    map[string]bool // names in the input, after their variables; nil if literal texts are not checked
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

// field returns the field of an object.
func (n *Node) field(name string, s *definition.Schema) Node {
	return Node{Above: n, At: n.At.Child(name), Name: name, Schema: s, Value: n.Fields()[name]}
}

// Fields returns the fields of an object.
func (n *Node) Fields() map[string]*structpb.Value { return n.Value.GetStructValue().GetFields() }

// An Adviser says what to write instead. Package advice/fields is one.
type Adviser interface {
	// OtherType returns the end of the message about a value of another type, and the edit that corrects it.
	OtherType(n Node) (hint string, edits []diagnostic.Edit)

	// Unknown returns the message about a field that an object does not have.
	Unknown(n Node, name string) string

	// Entry returns the field of an object that is an entry of another tool, with the message about the whole object, or
	// nothing.
	Entry(n Node) (name, message string)
}

// noAdvice only says what is wrong.
type noAdvice struct{}

func (noAdvice) OtherType(Node) (string, []diagnostic.Edit) { return "", nil }
func (noAdvice) Unknown(Node, string) string                { return "is an unknown field" }
func (noAdvice) Entry(Node) (name, message string)          { return "", "" }

func (d *decoder) walk(n Node) {
	want, ok := fits(n.Schema, n.Value)
	switch {
	case n.Schema.Type == "" && n.Schema.PreserveUnknown: // any value
	case !ok:
		hint, edits := d.adviser.OtherType(n)
		d.refuse(n.At, "must be %s, but is %s%s", want, KindText(wire.OfValue(n.Value).Kind()), hint).Edits = edits
	case n.Schema.AdditionalProperties != nil:
		for _, k := range slices.Sorted(maps.Keys(n.Fields())) {
			below := Node{Above: &n, At: n.At.Key(k), Name: n.Name, Key: k, Schema: n.Schema.AdditionalProperties}
			below.Value = n.Fields()[k]
			d.walk(below)
		}
	case n.Schema.Type == object:
		d.object(n)
	case n.Schema.Items != nil:
		for i, v := range n.Value.GetListValue().GetValues() {
			d.walk(Node{Above: &n, At: n.At.Index(i), Name: n.Name, Item: true, Schema: n.Schema.Items, Value: v})
		}
	default:
		d.scalar(n)
	}
}

func (d *decoder) scalar(n Node) {
	switch f := n.Value.GetNumberValue(); {
	case n.Schema.Type == "integer" && (f < 0 || f > maxWhole || f != math.Trunc(f)):
		d.refuse(n.At, "must be a whole number, 0 or more")
	case n.Schema.GoType == "Duration":
		if _, err := time.ParseDuration(n.Value.GetStringValue()); err != nil {
			d.refuse(n.At, "must be a duration, for example 60s or 1h30m; a day is 24h")
		}
	case n.Schema.GoType == "Time":
		if _, err := time.Parse(time.RFC3339, n.Value.GetStringValue()); err != nil {
			d.refuse(n.At, "must be a time, for example 2026-01-31T09:00:00Z")
		}
	case n.Schema.Type == "string" && d.declared != nil && !n.Schema.Expression:
		d.literal(n)
	}
}

// object is the type of an object in a schema.
const object = "object"

// maxWhole is the largest number that a Struct always holds exactly.
const maxWhole = 1 << 53

// object walks through the known fields of an object, and then refuses the other ones. Nothing reads metadata.
func (d *decoder) object(n Node) {
	if n.Schema.PreserveUnknown && d.declared != nil {
		d.manifest(n.At.String()+".", n.At, n.Value)
	}
	if n.Schema.PreserveUnknown || n.Schema.GoType == "ObjectMeta" {
		return
	}
	if name, message := d.adviser.Entry(n); name != "" {
		d.refuse(n.At.Child(name), "%s", message).Key = true
		return // its other fields are not checked
	}
	found := 0
	for _, name := range n.Schema.Names {
		if below := n.field(name, n.Schema.Properties[name]); below.Value != nil {
			found++
			d.walk(below)
		}
	}
	if found == len(n.Fields()) {
		return
	}
	for _, name := range slices.Sorted(maps.Keys(n.Fields())) {
		if n.Schema.Properties[name] == nil {
			d.refuse(n.At.Child(name), "%s", d.adviser.Unknown(n, name)).Key = true
		}
	}
}

// fits reports whether a value has the type of a schema, which is in words.
func fits(s *definition.Schema, v *structpb.Value) (want string, ok bool) {
	switch s.Type {
	case object:
		return "an object", v.GetStructValue() != nil
	case "array":
		return "a list", v.GetListValue() != nil
	case "integer":
		_, ok = v.GetKind().(*structpb.Value_NumberValue)
		return "a number", ok
	case "boolean":
		_, ok = v.GetKind().(*structpb.Value_BoolValue)
		return "true or false", ok
	}
	_, ok = v.GetKind().(*structpb.Value_StringValue)
	return "a string", ok
}

// refuse adds a diagnostic of a field, up to a limit.
func (d *decoder) refuse(at *field.Path, format string, args ...any) *diagnostic.Diagnostic {
	out := &diagnostic.Diagnostic{Path: "input", Rule: diagnostic.Input, Message: fmt.Sprintf(format, args...)}
	if at != nil {
		out.Path = at.String()
	}
	if len(d.diagnostics) < limits.Diagnostics {
		d.diagnostics = append(d.diagnostics, out)
	}
	return out
}

// KindText returns the kind of a value in words.
func KindText(k wire.Kind) string {
	switch k {
	case wire.Absent, wire.Null:
	case wire.Text:
		return "a string"
	case wire.Number:
		return "a number"
	case wire.Bool:
		return "a boolean"
	case wire.Array:
		return "a list"
	case wire.Object:
		return "an object"
	}
	return "null"
}
