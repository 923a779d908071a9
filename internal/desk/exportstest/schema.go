package exportstest

import (
	_ "embed"
	"encoding/json"
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

//go:embed schema.yaml
var schema []byte

// Schema returns the schema of an ExportsTest. Each use of the command test shows that it can be parsed.
var Schema = sync.OnceValue(func() *definition.Schema { //nolint:gochecknoglobals // read at most once
	text, err := yaml.YAMLToJSON(schema)
	if err != nil {
		panic(err)
	}
	s, err := definition.Parse(text, ExportsTest{})
	if err != nil {
		panic(err)
	}
	return s
})

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
