package expression

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net/url"
	"slices"
	"strings"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
	"sigs.k8s.io/yaml"
	goyaml "sigs.k8s.io/yaml/goyaml.v2"

	"github.com/crossplane-contrib/function-export/internal/budget"
	"github.com/crossplane-contrib/function-export/internal/limits"
)

// library declares the functions that exports need and CEL's libraries do not have. Their errors only
// say which function failed, because an operand may be a secret. CEL calls an overload only with
// operands of its types.
func library() []cel.EnvOption {
	str, dyn := cel.StringType, cel.DynType
	entries := cel.MapType(cel.TypeParamType("K"), cel.TypeParamType("V"))
	return append(slices.Concat(encodingFunctions(), pemFunctions(), formatFunctions()),
		cel.Function("url.queryEscape", cel.Overload("url_query_escape", []*cel.Type{str}, str, text(queryEscape))),
		cel.Function("url.pathEscape", cel.Overload("url_path_escape", []*cel.Type{str}, str, text(url.PathEscape))),
		cel.Function("json.encode", cel.Overload("json_encode", []*cel.Type{dyn}, str, cel.UnaryBinding(encodeJSON))),
		cel.Function("json.decode", cel.Overload("json_decode", []*cel.Type{str}, dyn, cel.UnaryBinding(decodeJSON))),
		cel.Function("yaml.encode", cel.Overload("yaml_encode", []*cel.Type{dyn}, str, cel.UnaryBinding(encodeYAML))),
		cel.Function("yaml.decode", cel.Overload("yaml_decode", []*cel.Type{str}, dyn, cel.UnaryBinding(decodeYAML))),
		cel.Function("merge", // as in kro's library
			cel.MemberOverload("map_merge", []*cel.Type{entries, entries}, entries, cel.BinaryBinding(merge))),
		cel.Function("dockerconfigjson",
			cel.Overload("dockerconfigjson", []*cel.Type{str, str, str}, str, cel.FunctionBinding(dockerConfig))),
	)
}

// textOf returns the text of a string or bytes.
func textOf(v ref.Val) string {
	switch t := v.(type) {
	case types.String:
		return string(t)
	case types.Bytes:
		return string(t)
	}
	return ""
}

func text(f func(string) string) cel.OverloadOpt {
	return cel.UnaryBinding(func(v ref.Val) ref.Val { return types.String(f(textOf(v))) })
}

// queryEscape escapes everything except letters, digits and -_.~ with percent signs, so that the result
// is valid in a user name, a password and a query. Go's own function escapes a space as a plus sign,
// which only means a space in a query.
func queryEscape(s string) string {
	return strings.ReplaceAll(url.QueryEscape(s), "+", "%20")
}

func dockerConfig(args ...ref.Val) ref.Val {
	registry, username, password := textOf(args[0]), textOf(args[1]), textOf(args[2])
	type auth struct {
		Username string `json:"username"`
		Password string `json:"password"`
		Auth     string `json:"auth"`
	}
	return encoded(map[string]any{"auths": map[string]auth{
		registry: {username, password, base64.StdEncoding.EncodeToString([]byte(username + ":" + password))},
	}})
}

// encoded returns a value as JSON: keys are sorted, whole numbers are exact, and nothing is escaped for
// HTML.
func encoded(v any) ref.Val {
	s, err := marshal(v)
	if err != nil {
		return types.NewErr("cannot encode JSON")
	}
	return types.String(s)
}

func marshal(v any) (string, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return "", err
	}
	return string(bytes.TrimSuffix(b.Bytes(), []byte("\n"))), nil
}

func encodeJSON(v ref.Val) ref.Val {
	n, err := native(v, &counter{nodes: limits.ResultNodes, bytes: limits.ResultBytes})
	if err != nil {
		return types.WrapErr(err)
	}
	return encoded(n)
}

func encodeYAML(v ref.Val) ref.Val {
	encoded := encodeJSON(v)
	s, ok := encoded.(types.String)
	if !ok {
		return encoded // the error
	}
	if depth(string(s)) > limits.YAMLDepth {
		return failf("cannot encode YAML with more than %d levels", limits.YAMLDepth)
	}
	b, err := yaml.JSONToYAML([]byte(s))
	if err != nil {
		return types.NewErr("cannot encode YAML")
	}
	return types.String(b)
}

func failf(format string, args ...any) ref.Val {
	return types.WrapErr(&Failed{Reason: fmt.Sprintf(format, args...)})
}

// depth returns how deeply objects and lists nest in a JSON text.
func depth(text string) (deepest int) {
	now, quoted := 0, false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '{', c == '[':
			now++
			deepest = max(deepest, now)
		case c == '}', c == ']':
			now--
		}
	}
	return deepest
}

func decodeYAML(v ref.Val) ref.Val {
	if tooManyAliases(textOf(v)) {
		return failf("cannot decode YAML whose aliases expand to more than %d bytes", limits.ResultBytes)
	}
	b, err := yaml.YAMLToJSON([]byte(textOf(v)))
	if err != nil {
		return types.NewErr("cannot decode YAML")
	}
	return decodeJSON(types.String(b))
}

// tooManyAliases reports whether a document is too large after its aliases are expanded. The parser
// limits the number of aliases that it follows, but not the size of the text that they repeat: 64 KiB
// can become 300 MB.
func tooManyAliases(document string) bool {
	if !strings.Contains(document, "&") || !strings.Contains(document, "*") {
		return false
	}
	var v any
	if err := goyaml.Unmarshal([]byte(document), &v); err != nil {
		return false // decoding fails in the same way
	}
	return spendYAML(v, &counter{nodes: limits.ResultNodes, bytes: limits.ResultBytes}) != nil
}

func spendYAML(v any, c *counter) error {
	switch t := v.(type) {
	case string:
		return c.spend(len(t))
	case map[any]any:
		for k, e := range t {
			if err := errors.Join(spendYAML(k, c), spendYAML(e, c)); err != nil {
				return err
			}
		}
	case []any:
		for _, e := range t {
			if err := spendYAML(e, c); err != nil {
				return err
			}
		}
	}
	return c.spend(0)
}

func decodeJSON(v ref.Val) ref.Val {
	dec := json.NewDecoder(strings.NewReader(textOf(v)))
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
var errNumber = &Failed{Reason: "cannot decode a whole number over 2^63 exactly: use a string instead"}

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

// A counter limits a result while it is converted, and spends the budget for it. Without a budget it
// spends nothing, because the call that converts has already spent its cost.
type counter struct {
	nodes, bytes int
	budget       *budget.Budget
	weigh        int    // the cost of a node in units of the budget: 1 if it is not set
	function     string // that converts, for messages, if the result is not JSON
}

// cannot returns the error for a value that cannot be converted.
func (c *counter) cannot(what, hint string) error {
	if c.function == "" {
		return &Failed{Reason: "returns " + what + ", which JSON cannot represent" + hint}
	}
	return &Failed{Reason: c.function + " failed: there is " + what + hint}
}

func (c *counter) spend(bytes int) error {
	if c.budget != nil && c.budget.Spend(budget.Copied(max(1, c.weigh), bytes)) != nil {
		return &Failed{Reason: "was stopped: " + overBudget}
	}
	c.nodes--
	c.bytes -= bytes
	if c.nodes < 0 {
		return &Failed{Reason: fmt.Sprintf("returns more than %d values", limits.ResultNodes)}
	}
	if c.bytes < 0 {
		return &Failed{Reason: fmt.Sprintf("returns more than %d bytes", limits.ResultBytes)}
	}
	return nil
}

// native converts a value to a Go value that encoding/json can encode.
func native(v ref.Val, c *counter) (any, error) {
	if err := c.spend(int(textLen(v))); err != nil {
		return nil, err
	}
	switch t := v.(type) {
	case types.String:
		return string(t), nil
	case types.Bytes:
		return []byte(t), nil // base64, as in JSON of Kubernetes
	case types.Bool:
		return bool(t), nil
	case types.Int:
		return int64(t), nil
	case types.Uint:
		return uint64(t), nil
	case types.Double:
		if !isFinite(float64(t)) {
			return nil, c.cannot("a number that is infinite or not a number", "")
		}
		return float64(t), nil
	case types.Null:
		return nil, nil //nolint:nilnil // JSON's null
	case *types.Optional:
		if !t.HasValue() {
			return nil, nil //nolint:nilnil // JSON's null
		}
		return native(t.GetValue(), c)
	case *types.Err:
		return nil, t
	case traits.Mapper:
		return nativeMap(t, c)
	case traits.Lister:
		return nativeList(t, c)
	}
	return nil, c.cannot("a "+v.Type().TypeName(), cmp.Or(opaqueHint(typeOf(v)), stringHint))
}

func isFinite(f float64) bool { return !math.IsNaN(f) && !math.IsInf(f, 0) }

func nativeList(l traits.Lister, c *counter) (any, error) {
	out := make([]any, 0, min(size(l), int64(max(c.nodes, 0))))
	for it := l.Iterator(); it.HasNext() == types.True; {
		e, err := native(it.Next(), c)
		if err != nil {
			return nil, err
		}
		out = append(out, e)
	}
	return out, nil
}

func nativeMap(m traits.Mapper, c *counter) (any, error) {
	out := map[string]any{}
	for it := m.Iterator(); it.HasNext() == types.True; {
		k := it.Next()
		s, ok := k.(types.String)
		if !ok {
			return nil, c.cannot("a map whose keys are "+k.Type().TypeName(), ": wrap them in string(...)")
		}
		e, ok := m.Find(k)
		if !ok && e == nil { // otherwise it does not exist yet
			continue
		}
		if err := c.spend(len(s)); err != nil {
			return nil, err
		}
		n, err := native(e, c)
		if err != nil {
			return nil, err
		}
		out[string(s)] = n
	}
	return out, nil
}
