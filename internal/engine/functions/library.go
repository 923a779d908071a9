// Package functions contains the functions that exports need and CEL's own libraries do not have, and the work of each
// call of any function.
//
// A table of checks says how many nodes and bytes a call will visit, or why it may not run, from its arguments alone:
// CEL's costs are blind to values of unknown types, and its memory limit stops a call only after it ran. Errors say
// which function failed and never contain an operand, because an operand may be a secret. The package has no state.
package functions

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
	"sigs.k8s.io/yaml"
	goyaml "sigs.k8s.io/yaml/goyaml.v2"

	"github.com/crossplane-contrib/function-export/internal/engine/format"
	"github.com/crossplane-contrib/function-export/internal/engine/limits"
)

// Library declares the functions that exports need and CEL's libraries do not have. Their errors only
// say which function failed, because an operand may be a secret. CEL calls an overload only with
// operands of its types.
func Library() []cel.EnvOption {
	str, dyn := cel.StringType, cel.DynType
	entries := cel.MapType(cel.TypeParamType("K"), cel.TypeParamType("V"))
	return append(slices.Concat(ordered(), textFunctions(), formatFunctions()),
		unary("json.encode", str, encodeJSON, dyn),
		unary("json.decode", dyn, decodeJSON, str),
		unary("yaml.decode", dyn, decodeYAML, str),
		cel.Function("merge", // as in kro's library
			cel.MemberOverload("map_merge", []*cel.Type{entries, entries}, entries, cel.BinaryBinding(merge))),
		cel.Function("dockerconfigjson",
			cel.Overload("dockerconfigjson", []*cel.Type{str, str, str}, str, cel.FunctionBinding(dockerConfig))),
	)
}

// unary declares a function of one argument, which can have each of some types.
func unary(name string, result *cel.Type, call func(ref.Val) ref.Val, arguments ...*cel.Type) cel.EnvOption {
	overloads := make([]cel.FunctionOpt, 0, len(arguments))
	for _, t := range arguments {
		id := name + "_" + t.TypeName()
		overloads = append(overloads, cel.Overload(id, []*cel.Type{t}, result, cel.UnaryBinding(call)))
	}
	return cel.Function(name, overloads...)
}

// TextOf returns the text of a string or bytes.
func TextOf(v ref.Val) string {
	switch t := v.(type) {
	case types.String:
		return string(t)
	case types.Bytes:
		return string(t)
	}
	return ""
}

func dockerConfig(args ...ref.Val) ref.Val {
	registry, username, password := TextOf(args[0]), TextOf(args[1]), TextOf(args[2])
	type auth struct {
		Username string `json:"username"`
		Password string `json:"password"`
		Auth     string `json:"auth"`
	}
	return encoded(map[string]any{"auths": map[string]auth{
		registry: {username, password, base64.StdEncoding.EncodeToString([]byte(username + ":" + password))},
	}})
}

func encoded(v any) ref.Val {
	s, err := format.JSON(v)
	if err != nil {
		return types.NewErr("cannot encode JSON")
	}
	return types.String(s)
}

func encodeJSON(v ref.Val) ref.Val {
	n, err := Native(v, newConverter())
	if err != nil {
		return types.WrapErr(err)
	}
	return encoded(n)
}

func failf(format string, args ...any) ref.Val {
	return types.WrapErr(&Refusal{Reason: fmt.Sprintf(format, args...)})
}

func decodeYAML(v ref.Val) ref.Val {
	if tooManyAliases(TextOf(v)) {
		return failf("cannot decode YAML whose aliases expand to more than %d bytes", limits.ResultBytes)
	}
	b, err := yaml.YAMLToJSON([]byte(TextOf(v)))
	if err != nil {
		return types.NewErr("cannot decode YAML")
	}
	return decodeJSON(types.String(b))
}

// tooManyAliases reports whether a document is too large after its aliases are expanded. The parser
// limits the number of aliases that it follows, but not the Size of the text that they repeat: 64 KiB
// can become 300 MB.
func tooManyAliases(document string) bool {
	if !strings.Contains(document, "&") || !strings.Contains(document, "*") {
		return false
	}
	var v any
	if err := goyaml.Unmarshal([]byte(document), &v); err != nil {
		return false // decoding fails in the same way
	}
	return addYAML(v, newConverter()) != nil
}

func addYAML(v any, c *Converter) error {
	switch t := v.(type) {
	case string:
		return c.Add(len(t))
	case map[any]any:
		for k, e := range t {
			if err := errors.Join(addYAML(k, c), addYAML(e, c)); err != nil {
				return err
			}
		}
	case []any:
		for _, e := range t {
			if err := addYAML(e, c); err != nil {
				return err
			}
		}
	}
	return c.Add(0)
}

func decodeJSON(v ref.Val) ref.Val {
	dec := json.NewDecoder(strings.NewReader(TextOf(v)))
	dec.UseNumber()
	var n any
	if dec.Decode(&n) != nil || !errors.Is(dec.Decode(new(any)), io.EOF) { // or more data follows
		return types.NewErr("cannot decode JSON")
	}
	n, err := exact(n)
	if err != nil {
		return types.WrapErr(err)
	}
	return types.DefaultTypeAdapter.NativeToValue(n)
}

// errNumber refuses a whole number that neither an int nor a double can represent.
var errNumber = &Refusal{Reason: "cannot decode a whole number over 2^63 exactly: use a string instead"}

// exact converts the numbers below v: whole numbers to int64, and others to float64.
func exact(v any) (any, error) {
	var err error
	switch t := v.(type) {
	case json.Number:
		if i, err := t.Int64(); err == nil {
			return i, nil
		}
		f, err := t.Float64()
		if err != nil || (f == math.Trunc(f) && strings.Trim(t.String(), "-0123456789") == "") {
			return nil, errNumber
		}
		return f, nil
	case map[string]any:
		for k, e := range t {
			if t[k], err = exact(e); err != nil {
				return nil, err
			}
		}
	case []any:
		for i, e := range t {
			if t[i], err = exact(e); err != nil {
				return nil, err
			}
		}
	}
	return v, nil
}
