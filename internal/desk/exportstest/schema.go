package exportstest

import (
	_ "embed"
	"encoding/json"
	"reflect"
	"strings"
	"sync"
	"time"

	"google.golang.org/protobuf/types/known/structpb"
	"sigs.k8s.io/yaml"

	"github.com/crossplane-contrib/function-export/internal/desk/world"
	"github.com/crossplane-contrib/function-export/internal/engine/advice/fields"
	"github.com/crossplane-contrib/function-export/internal/engine/definition"
	"github.com/crossplane-contrib/function-export/internal/engine/diagnostic"
	"github.com/crossplane-contrib/function-export/internal/engine/strict"
)

// A Duration is written as 24h or 1h30m.
type Duration struct{ time.Duration }

// UnmarshalJSON parses a duration.
func (d *Duration) UnmarshalJSON(text []byte) (err error) {
	d.Duration, err = time.ParseDuration(strings.Trim(string(text), `"`))
	return err //nolint:wrapcheck // the schema has refused it
}

// MarshalJSON writes a duration.
func (d Duration) MarshalJSON() ([]byte, error) { return json.Marshal(d.String()) }

// A Time is written as 2026-01-01T00:00:00Z.
type Time struct{ time.Time }

//go:embed fields.yaml
var fieldsFile []byte

// descriptions returns the descriptions of the fields, by type and name.
var descriptions = sync.OnceValue(
	func() (out map[string]map[string]string) { //nolint:gochecknoglobals // read at most once
		_ = yaml.Unmarshal(fieldsFile, &out) // the generated schema shows it
		return out
	})

// Schema returns the schema of an ExportsTest, as the definition of the input.
var Schema = sync.OnceValue(func() *definition.Schema { //nolint:gochecknoglobals // made at most once
	return schemaOf(reflect.TypeFor[ExportsTest]())
})

// schemaOf returns the schema of a Go type.
func schemaOf(t reflect.Type) *definition.Schema {
	s := &definition.Schema{GoType: t.Name()}
	switch t {
	case reflect.TypeFor[Duration](), reflect.TypeFor[Time]():
		s.Type, s.NotEmpty = "string", true
		return s
	}
	switch t.Kind() {
	case reflect.Pointer:
		return schemaOf(t.Elem())
	case reflect.Struct:
		s.Type, s.Properties = "object", map[string]*definition.Schema{}
		for f := range t.Fields() {
			addField(s, t.Name(), f)
		}
	case reflect.Map:
		if s.Type = "object"; t.Elem().Kind() == reflect.Interface {
			s.PreserveUnknown = true
		} else {
			s.AdditionalProperties = schemaOf(t.Elem())
		}
	case reflect.Slice:
		s.Type, s.Items = "array", schemaOf(t.Elem())
	case reflect.Bool:
		s.Type = "boolean"
	case reflect.String:
		s.Type = "string"
	default:
		s.PreserveUnknown = true // any value
	}
	return s
}

func addField(s *definition.Schema, of string, f reflect.StructField) {
	name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
	below := schemaOf(f.Type)
	below.Description = descriptions()[of][name]
	if values := f.Tag.Get("enum"); values != "" {
		for v := range strings.SplitSeq(values, ",") {
			below.Enum = append(below.Enum, v)
		}
	}
	if f.Tag.Get("required") != "" {
		s.Required = append(s.Required, name)
		if below.Type == "array" {
			least := 1
			below.MinItems = &least
		}
		below.NotEmpty = below.Type == "string"
	}
	s.Properties[name], s.Names = below, append(s.Names, name)
}

// Read reads an ExportsTest. It returns diagnostics in the order of the fields, with the messages of inputs.
func Read(value map[string]any) (*ExportsTest, diagnostic.List) {
	in := world.StructOf(value)
	wrong := strict.Fields(Schema(), nil, structpb.NewStructValue(in), fields.Adviser{})
	if len(wrong) > 0 {
		return nil, wrong
	}
	out := &ExportsTest{}
	text, err := in.MarshalJSON()
	if err == nil {
		err = json.Unmarshal(text, out)
	}
	if err != nil {
		return nil, diagnostic.List{{Path: "spec", Rule: diagnostic.Input, Message: "cannot be read"}}
	}
	return out, check(out)
}
