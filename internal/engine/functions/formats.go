package functions

import (
	"errors"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"

	"github.com/crossplane-contrib/function-export/internal/engine/format"
	"github.com/crossplane-contrib/function-export/internal/engine/limits"
	"github.com/crossplane-contrib/function-export/internal/engine/pem"
)

// A textFormat is a function that writes a map or a list as a text of a format that is not JSON or YAML.
type textFormat struct {
	argument *cel.Type
	write    func(any) (string, error)
}

// textFormats are these functions by name. Package format describes them.
var textFormats = map[string]textFormat{ //nolint:gochecknoglobals // a table
	"properties.encode": of(aMap, format.Properties),
	"dotenv.encode":     of(aMap, format.Dotenv),
	"ini.encode":        of(aMap, format.INI),
	"toml.encode": of(aMap, func(m map[string]any) (string, error) {
		return format.TOML(m, limits.ResultBytes)
	}),
	"pgpass.encode": of(cel.ListType(aMap), format.Pgpass),
	"libpq.encode":  of(aMap, format.Libpq),
	"jdbc.url":      of(aMap, format.JDBC),
	"mysql.dsn":     of(aMap, format.MySQL),
	"amqp.url":      of(aMap, format.AMQP),
	"mongodb.url":   of(aMap, format.MongoDB),
	"redis.url":     of(aMap, format.Redis),
	"pem.join":      of(cel.ListType(cel.StringType), joinPEM),
}

var aMap = cel.MapType(cel.StringType, cel.DynType) //nolint:gochecknoglobals // a constant

// of returns a format. CEL calls its function only with a value of the type of the argument.
func of[T any](argument *cel.Type, write func(T) (string, error)) textFormat {
	return textFormat{argument, func(v any) (string, error) {
		t, _ := v.(T)
		return write(t)
	}}
}

func joinPEM(list []any) (string, error) {
	texts := make([]string, len(list))
	for i, e := range list {
		var ok bool
		if texts[i], ok = e.(string); !ok { // of a list whose type is not known
			return "", errors.New("an element is not a string")
		}
	}
	return pem.Join(texts)
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
		out = append(out, unary(name, cel.StringType, func(v ref.Val) ref.Val { return f.call(name, v) }, f.argument))
	}
	return out
}

// call the function. Its error contains the name of the function and the rule that was broken, but no data.
func (f textFormat) call(name string, v ref.Val) ref.Val {
	n, err := Native(v, nestedConverter())
	if err != nil {
		return types.WrapErr(err)
	}
	text, err := f.write(n)
	if err != nil {
		return failf("%s failed: %v", name, err)
	}
	return types.String(text)
}
