// Package strict decodes an input. It refuses fields that the definition of the input lacks, values of another type,
// and expressions in fields that are literal, and says what to write instead.
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
// diagnostics in the order of the input.
func Decode(in *structpb.Struct) (*v1beta1.Exports, []Placeholder, diagnostic.List) {
	return (&decoder{declared: declaredSteps(in)}).decode(in)
}

// DecodeValues is like Decode for an input whose texts are values of expressions, and may look like expressions.
func DecodeValues(in *structpb.Struct) (*v1beta1.Exports, diagnostic.List) {
	out, _, diagnostics := (&decoder{}).decode(in)
	return out, diagnostics
}

func (d *decoder) decode(in *structpb.Struct) (*v1beta1.Exports, []Placeholder, diagnostic.List) {
	if in == nil {
		d.refuse(nil, "must be set: add an input of kind Exports to the pipeline step")
		return nil, nil, d.diagnostics
	}
	d.walk(node{schema: definition.Exports(), value: structpb.NewStructValue(in)})
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
func Fields(s *definition.Schema, at *field.Path, v *structpb.Value) diagnostic.List {
	d := &decoder{}
	d.walk(node{schema: s, at: at, value: v})
	return d.diagnostics
}

type decoder struct {
	diagnostics diagnostic.List
	texts       []Placeholder
	declared    map[string]bool // names in the input, after their variables; nil if literal texts are not checked
}

// A node is a value of the input at its place.
type node struct {
	above  *node
	at     *field.Path // nil for the input itself
	name   string      // of the field, or of the list or the map that contains the value
	item   bool        // of a list
	key    string      // of a map
	schema *definition.Schema
	value  *structpb.Value
}

// field returns the field of an object.
func (n *node) field(name string, s *definition.Schema) node {
	return node{above: n, at: n.at.Child(name), name: name, schema: s, value: n.fields()[name]}
}

func (n *node) fields() map[string]*structpb.Value { return n.value.GetStructValue().GetFields() }

// isRequired reports whether the object above requires the field.
func (n *node) isRequired() bool {
	return n.above != nil && slices.Contains(n.above.schema.Required, n.name)
}

func (d *decoder) walk(n node) {
	want, ok := fits(n.schema, n.value)
	switch {
	case !ok:
		d.refuse(n.at, "must be %s, but is %s%s", want, KindText(wire.OfValue(n.value).Kind()), hint(n))
	case n.schema.AdditionalProperties != nil:
		for _, k := range slices.Sorted(maps.Keys(n.fields())) {
			below := node{above: &n, at: n.at.Key(k), name: n.name, key: k, schema: n.schema.AdditionalProperties}
			below.value = n.fields()[k]
			d.walk(below)
		}
	case n.schema.Type == object:
		d.object(n)
	case n.schema.Items != nil:
		for i, v := range n.value.GetListValue().GetValues() {
			d.walk(node{above: &n, at: n.at.Index(i), name: n.name, item: true, schema: n.schema.Items, value: v})
		}
	default:
		d.scalar(n)
	}
}

func (d *decoder) scalar(n node) {
	switch f := n.value.GetNumberValue(); {
	case n.schema.Type == "integer" && (f < 0 || f > maxWhole || f != math.Trunc(f)):
		d.refuse(n.at, "must be a whole number, 0 or more")
	case n.schema.GoType == "Duration":
		if _, err := time.ParseDuration(n.value.GetStringValue()); err != nil {
			d.refuse(n.at, "must be a duration, for example 60s or 1h30m; a day is 24h")
		}
	case n.schema.Type == "string" && d.declared != nil && !n.schema.Expression:
		d.literal(n)
	}
}

// object is the type of an object in a schema.
const object = "object"

// maxWhole is the largest number that a Struct always holds exactly.
const maxWhole = 1 << 53

// object walks through the known fields of an object, and then refuses the other ones. Nothing reads metadata.
func (d *decoder) object(n node) {
	if n.schema.PreserveUnknown && d.declared != nil {
		d.manifest(n.at.String()+".", n.at, n.value)
	}
	if n.schema.PreserveUnknown || n.schema.GoType == "ObjectMeta" || d.foreignEntry(n) {
		return
	}
	found := 0
	for _, name := range n.schema.Names {
		if below := n.field(name, n.schema.Properties[name]); below.value != nil {
			found++
			d.walk(below)
		}
	}
	if found == len(n.fields()) {
		return
	}
	for _, name := range slices.Sorted(maps.Keys(n.fields())) {
		if n.schema.Properties[name] == nil {
			d.refuseKey(n.at.Child(name), "%s", unknownField(n, name))
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

func (d *decoder) refuse(at *field.Path, format string, args ...any) {
	path := "input"
	if at != nil {
		path = at.String()
	}
	if len(d.diagnostics) < limits.Diagnostics {
		message := fmt.Sprintf(format, args...)
		d.diagnostics = append(d.diagnostics, &diagnostic.Diagnostic{Path: path, Rule: diagnostic.Input, Message: message})
	}
}

// refuseKey is like refuse for the key of a field.
func (d *decoder) refuseKey(at *field.Path, format string, args ...any) {
	before := len(d.diagnostics)
	d.refuse(at, format, args...)
	for _, f := range d.diagnostics[before:] {
		f.Key = true
	}
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
