package rules

import (
	"testing"

	"github.com/crossplane-contrib/function-export/internal/engine/functions"
)

// A reason about a key is a mistake of the input. A reason about a value is not, because the value of a
// sample is made up.
func TestStructural(t *testing.T) {
	for name, tc := range map[string]struct {
		argument map[string]any
		mistake  bool
	}{
		"jdbc.url":          {map[string]any{"driver": "mysql"}, true},
		"mysql.dsn":         {map[string]any{"username": unknown}, true},
		"redis.url":         {map[string]any{"port": unknown}, true},
		"amqp.url":          {map[string]any{"host": unknown, "parameters": map[string]any{"a b": unknown}}, true},
		"ini.encode":        {map[string]any{"a;b": map[string]any{}}, true},
		"dotenv.encode":     {map[string]any{"a-b": unknown}, true},
		"properties.encode": {map[string]any{"": unknown}, true},
		"libpq.encode":      {map[string]any{"A": unknown}, true},
		"mongodb.url":       {map[string]any{"host": unknown, "tls": map[string]any{}}, true},
		"toml.encode":       {map[string]any{"a": nil}, false},
	} {
		err := functions.TryFormat(name, tc.argument)
		if err == nil {
			t.Errorf("%s accepts %v", name, tc.argument)
		} else if got := structural().MatchString(err.Error()); got != tc.mistake {
			t.Errorf("%s says %q: a mistake is %t, want %t", name, err, got, tc.mistake)
		}
	}
}
