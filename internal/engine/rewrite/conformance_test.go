package rewrite

import (
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/crossplane-contrib/function-export/internal/engine/sensitive"
)

// A conformance case, as the header of testdata/rewrite.yaml explains it.
type conformanceCase struct {
	Name, What, Stage, Note string
	Rewrite                 []Rule
	ConversionStrategy      string
	DecodingStrategy        string
	Input, Expect           map[string]string
	Error                   bool
	ErrorNames              []string
}

func (c conformanceCase) options(t *testing.T) Options {
	t.Helper()
	o := Options{Rewrite: c.Rewrite, ConversionStrategy: c.ConversionStrategy, DecodingStrategy: c.DecodingStrategy}
	switch c.Stage {
	case "rewrite", "decode":
		o.ConversionStrategy = "None"
	case "convert", "pipeline":
	default:
		t.Fatalf("unknown stage %q", c.Stage)
	}
	return o
}

func TestConformance(t *testing.T) {
	raw, err := os.ReadFile("testdata/rewrite.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var file struct{ Cases []conformanceCase }
	if err := yaml.UnmarshalStrict(raw, &file); err != nil {
		t.Fatal(err)
	}
	if len(file.Cases) < 36 {
		t.Errorf("only %d cases were read", len(file.Cases))
	}
	for _, c := range file.Cases {
		t.Run(c.Name, func(t *testing.T) {
			got, err := run(c.options(t), keysOf("store", c.Input))
			if c.Error {
				for _, name := range append([]string{""}, c.ErrorNames...) {
					if !strings.Contains(message(err), name) || err == nil {
						t.Errorf("%s: want an error that names %q, got %q", c.What, name, message(err))
					}
				}
				return
			}
			if diff := cmp.Diff(c.Expect, texts(got)); diff != "" || err != nil {
				t.Errorf("%s: %v, -want, +got:\n%s", c.What, err, diff)
			}
		})
	}
}

// keysOf are the keys of one input.
func keysOf(input string, values map[string]string) []Key {
	var keys []Key
	for name, value := range values {
		keys = append(
			keys,
			Key{Name: name, Value: sensitive.FromString(value), Origins: []Origin{{Input: input, Key: name}}},
		)
	}
	return keys
}

// texts are the values of keys by name.
func texts(keys []Key) map[string]string {
	out := map[string]string{}
	for _, k := range keys {
		out[k.Name] = string(k.Value.Reveal())
	}
	return out
}

// run compiles and applies. It returns diagnostics as an error.
func run(o Options, in []Key) ([]Key, error) {
	r, faults := Compile(o, testKey)
	if len(faults) > 0 {
		return nil, &Failed{Path: faults[0].Path, Reason: faults[0].Message}
	}
	return r.Apply(fresh(), in)
}

func message(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}
