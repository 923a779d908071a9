package functions

import (
	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"

	"github.com/crossplane-contrib/function-export/internal/engine/format"
	"github.com/crossplane-contrib/function-export/internal/engine/limits"
)

// A textFormat is a function that writes a map or a list as a text of a format that is not JSON or YAML.
type textFormat struct {
	argument *cel.Type
	write    func(any) (string, error)
}

// textFormats are these functions by name. Package format describes them.
var textFormats = map[string]textFormat{ //nolint:gochecknoglobals // a table
	"properties.encode": ofMap(format.Properties),
	"dotenv.encode":     ofMap(format.Dotenv),
	"ini.encode":        ofMap(format.INI),
	"toml.encode":       ofMap(encodeTOML),
	"pgpass.encode":     {cel.ListType(cel.MapType(cel.StringType, cel.DynType)), encodePgpass},
	"libpq.encode":      ofMap(format.Libpq),
	"jdbc.url":          ofMap(format.JDBC),
	"mysql.dsn":         ofMap(format.MySQL),
	"amqp.url":          ofMap(format.AMQP),
	"mongodb.url":       ofMap(format.MongoDB),
	"redis.url":         ofMap(format.Redis),
}

func ofMap(write func(map[string]any) (string, error)) textFormat {
	return textFormat{cel.MapType(cel.StringType, cel.DynType), func(v any) (string, error) {
		m, _ := v.(map[string]any) // CEL calls the function only with a map
		return write(m)
	}}
}

func encodeTOML(m map[string]any) (string, error) {
	return format.TOML(m, limits.ResultBytes, limits.YAMLDepth)
}

func encodePgpass(v any) (string, error) {
	l, _ := v.([]any) // CEL calls the function only with a list
	return format.Pgpass(l)
}

// TryFormat returns the error of a function of a format for a map: the rule that was broken, but no data. It returns
// nil for another function.
func TryFormat(name string, m map[string]any) error {
	f, ok := textFormats[name]
	if !ok || f.argument.Kind() != types.MapKind {
		return nil
	}
	_, err := f.write(m)
	return err
}

// formatFunctions declares the functions of formats.
func formatFunctions() []cel.EnvOption {
	out := make([]cel.EnvOption, 0, len(textFormats))
	for name, f := range textFormats {
		call := cel.UnaryBinding(func(v ref.Val) ref.Val { return f.call(name, v) })
		id := name + "_" + f.argument.TypeName()
		out = append(out, cel.Function(name, cel.Overload(id, []*cel.Type{f.argument}, cel.StringType, call)))
	}
	return out
}

// call the function. Its error contains the name of the function and the rule that was broken, but no data.
func (f textFormat) call(name string, v ref.Val) ref.Val {
	n, err := Native(v, newConverter())
	if err != nil {
		return types.WrapErr(err)
	}
	text, err := f.write(n)
	if err != nil {
		return failf("%s failed: %v", name, err)
	}
	return types.String(text)
}
