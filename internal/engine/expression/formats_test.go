package expression_test

import (
	"strings"
	"testing"

	"github.com/crossplane-contrib/function-export/internal/engine/observation"
)

// Package format tests the texts. This test is about the values that CEL passes to it, and about errors.
func TestFormats(t *testing.T) {
	details := observation.Details{
		"username": []byte("ann"), "password": []byte("p'a\"ss"), "port": []byte("5432"),
		"binary": []byte("\xff\x00"),
	}
	o := &observation.Observation{
		Composite: observation.Resource{
			Object: object(
				t, `{"spec": {"port": 7000, "ratio": 1.0, "on": true, "none": null, "labels": {"b": 1, "a": "x"}}}`,
			),
			Details: details,
		},
	}
	for name, c := range map[string]struct{ reason, text, want string }{
		"Map": {"a whole map is in the order of its keys", "properties.encode(composite.spec.labels)", "a=x\nb=1\n"},
		"Kinds": {
			"observed numbers are whole",
			"dotenv.encode({'P': composite.spec.port, 'R': composite.spec.ratio, 'O': composite.spec.on, 'U': 1u, 'B': b'b'})",
			"B=b\nO=true\nP=7000\nR=1\nU=1\n",
		},
		"Optional": {"an entry that is left out", "toml.encode({'a': 1, ?'b': composite.spec.?no})", "a = 1\n"},
		"Double":   {"a double remains one", "toml.encode({'a': 1.0, 'b': 1})", "a = 1.0\nb = 1\n"},
		"Null": {
			"a null is waited for", "dotenv.encode({'A': composite.spec.none})", "waiting for composite.spec.none",
		},
		"Missing": {"", "dotenv.encode({'A': secret.token})", "waiting for secret.token"},
		"NullLiteral": {
			"", "dotenv.encode({'A': [null]})",
			"here:1:14: dotenv.encode failed: a value is not a string, bytes, a bool or a number: leave the key out, " +
				"or use json.encode",
		},
		"Binary": {
			"", "dotenv.encode({'A': base64.decode('/w==')})",
			"here:1:14: dotenv.encode failed: a text is not UTF-8: use base64.encode",
		},
		"Keys": {
			"", "toml.encode({'a': {1: 'a'}})",
			"here:1:12: there is a map whose keys are int, which JSON cannot represent: wrap them in string(...)",
		},
		"Text": {"", "toml.encode(dyn(secret.password))", "here:1:12: toml.encode failed on string"},
		"Levels": {
			"", "toml.encode(json.decode('" + strings.Repeat(`{"a":`, 101) + "1" + strings.Repeat("}", 101) + "'))",
			"here:1:12: cannot encode a value with more than 100 levels",
		},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := evaluate(t, o, c.text, "")
			if err != nil {
				got = err.Error()
			}
			if got != c.want {
				t.Errorf("%s: want %q, got %q", c.reason, c.want, got)
			}
		})
	}
}
