package expression

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"math"
	"net/url"
	"strconv"
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

// library declares the functions that exports need and CEL's libraries lack:
//
//	url.queryEscape(string) -> string        for a user name, a password, a query
//	url.pathEscape(string) -> string         for a segment of a path
//	json.encode(dyn) -> string               sorted keys, no HTML escapes, whole numbers exact
//	json.decode(string) -> dyn
//	yaml.encode(dyn) -> string               sorted keys
//	yaml.decode(string) -> dyn               one document
//	sha256(string|bytes) -> string           in hexadecimal
//	dockerconfigjson(registry, username, password string) -> string
//
// Their errors say no more than which function failed: what they fail on may be
// a secret.
func library() cel.EnvOption {
	str, dyn := cel.StringType, cel.DynType
	fns := []cel.EnvOption{
		cel.Function("url.queryEscape", cel.Overload("url_query_escape", []*cel.Type{str}, str, text(queryEscape))),
		cel.Function("url.pathEscape", cel.Overload("url_path_escape", []*cel.Type{str}, str, text(url.PathEscape))),
		cel.Function("json.encode", cel.Overload("json_encode", []*cel.Type{dyn}, str, cel.UnaryBinding(encodeJSON))),
		cel.Function("json.decode", cel.Overload("json_decode", []*cel.Type{str}, dyn, cel.UnaryBinding(decodeJSON))),
		cel.Function("yaml.encode", cel.Overload("yaml_encode", []*cel.Type{dyn}, str, cel.UnaryBinding(encodeYAML))),
		cel.Function("yaml.decode", cel.Overload("yaml_decode", []*cel.Type{str}, dyn, cel.UnaryBinding(decodeYAML))),
		cel.Function("sha256",
			cel.Overload("sha256_string", []*cel.Type{str}, str, cel.UnaryBinding(hash)),
			cel.Overload("sha256_bytes", []*cel.Type{cel.BytesType}, str, cel.UnaryBinding(hash))),
		cel.Function("dockerconfigjson",
			cel.Overload("dockerconfigjson", []*cel.Type{str, str, str}, str, cel.FunctionBinding(dockerConfig))),
	}
	return func(e *cel.Env) (*cel.Env, error) {
		var err error
		for _, f := range fns {
			if e, err = f(e); err != nil {
				return nil, err
			}
		}
		return e, nil
	}
}

func text(f func(string) string) cel.OverloadOpt {
	return cel.UnaryBinding(func(v ref.Val) ref.Val {
		s, ok := v.(types.String)
		if !ok {
			return types.MaybeNoSuchOverloadErr(v)
		}
		return types.String(f(string(s)))
	})
}

// queryEscape escapes all but letters, digits and -_.~ in percent form, so that
// the result is good in a user name, a password and a query alike. Go's own form
// of a space, a plus sign, is a plus sign everywhere but in a query.
func queryEscape(s string) string {
	return strings.ReplaceAll(url.QueryEscape(s), "+", "%20")
}

func hash(v ref.Val) ref.Val {
	var sum [sha256.Size]byte
	switch t := v.(type) {
	case types.String:
		sum = sha256.Sum256([]byte(t))
	case types.Bytes:
		sum = sha256.Sum256(t)
	default:
		return types.MaybeNoSuchOverloadErr(v)
	}
	return types.String(hex.EncodeToString(sum[:]))
}

func dockerConfig(args ...ref.Val) ref.Val {
	var s [3]string
	for i, a := range args {
		t, ok := a.(types.String)
		if !ok {
			return types.MaybeNoSuchOverloadErr(a)
		}
		s[i] = string(t)
	}
	type auth struct {
		Username string `json:"username"`
		Password string `json:"password"`
		Auth     string `json:"auth"`
	}
	b, err := marshal(map[string]any{"auths": map[string]auth{
		s[0]: {s[1], s[2], base64.StdEncoding.EncodeToString([]byte(s[1] + ":" + s[2]))},
	}})
	if err != nil {
		return types.NewErr("cannot encode JSON")
	}
	return types.String(b)
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
	s, err := marshal(n)
	if err != nil {
		return types.NewErr("cannot encode JSON")
	}
	return types.String(s)
}

func encodeYAML(v ref.Val) ref.Val {
	encoded := encodeJSON(v)
	s, ok := encoded.(types.String)
	if !ok {
		return encoded // why it cannot be
	}
	if depth(string(s)) > limits.YAMLDepth {
		return types.WrapErr(&Failed{Reason: "cannot encode YAML nested more than " + strconv.Itoa(limits.YAMLDepth) + " deep"})
	}
	b, err := yaml.JSONToYAML([]byte(s))
	if err != nil {
		return types.NewErr("cannot encode YAML")
	}
	return types.String(b)
}

// depth of the objects and lists in a JSON text.
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
	s, ok := v.(types.String)
	if !ok {
		return types.MaybeNoSuchOverloadErr(v)
	}
	if tooManyAliases(string(s)) {
		return types.WrapErr(&Failed{Reason: "cannot decode YAML whose aliases give more than " + strconv.Itoa(limits.ResultBytes) + " bytes"})
	}
	b, err := yaml.YAMLToJSON([]byte(s))
	if err != nil {
		return types.NewErr("cannot decode YAML")
	}
	return decodeJSON(types.String(b))
}

// tooManyAliases reports whether a document is too large once its aliases are
// written out. The parser bounds how many it follows, but not how much text they
// stand for: 64 KiB can become 300 MB.
func tooManyAliases(document string) bool {
	if !strings.Contains(document, "&") || !strings.Contains(document, "*") {
		return false
	}
	var v any
	if err := goyaml.Unmarshal([]byte(document), &v); err != nil { //nolint:staticcheck // another name of what sigs.k8s.io/yaml reads with
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
	s, ok := v.(types.String)
	if !ok {
		return types.MaybeNoSuchOverloadErr(v)
	}
	dec := json.NewDecoder(bytes.NewReader([]byte(s)))
	dec.UseNumber()
	var n any
	if err := dec.Decode(&n); err != nil {
		return types.NewErr("cannot decode JSON")
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return types.NewErr("cannot decode JSON")
	}
	n, err := exact(n)
	if err != nil {
		return types.WrapErr(err)
	}
	return types.DefaultTypeAdapter.NativeToValue(n)
}

// errNumber refuses a whole number that neither an int nor a double holds.
var errNumber = &Failed{Reason: "cannot decode a whole number over 2^63 exactly: make it a string"}

// exact turns the numbers below v into int64 where they are whole, and float64
// otherwise.
func exact(v any) (any, error) {
	var err error
	switch t := v.(type) {
	case json.Number:
		if i, err := t.Int64(); err == nil {
			return i, nil
		}
		f, err := t.Float64()
		if err != nil || (f == math.Trunc(f) && isDigits(t.String())) {
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

func isDigits(s string) bool {
	for _, r := range s {
		if r != '-' && (r < '0' || r > '9') {
			return false
		}
	}
	return true
}

// A counter bounds a result while it is converted, and pays for it. It pays nothing
// without a budget: the call that converts was paid for.
type counter struct {
	nodes, bytes int
	budget       *budget.Budget
	weigh        int // a node, in things of the budget: 1 if it is not set
}

func (c *counter) spend(bytes int) error {
	if c.budget != nil && c.budget.Spend(budget.Copied(max(1, c.weigh), bytes)) != nil {
		return &Failed{Reason: "was stopped: " + overBudget}
	}
	c.nodes--
	c.bytes -= bytes
	if c.nodes < 0 {
		return &Failed{Reason: "gives more than " + strconv.Itoa(limits.ResultNodes) + " values"}
	}
	if c.bytes < 0 {
		return &Failed{Reason: "gives more than " + strconv.Itoa(limits.ResultBytes) + " bytes"}
	}
	return nil
}

// native turns a value into what encoding/json encodes.
func native(v ref.Val, c *counter) (any, error) {
	if err := c.spend(int(textLen(v))); err != nil {
		return nil, err
	}
	switch t := v.(type) {
	case types.String:
		return string(t), nil
	case types.Bytes:
		return []byte(t), nil // base64, as JSON in Kubernetes has it
	case types.Bool:
		return bool(t), nil
	case types.Int:
		return int64(t), nil
	case types.Uint:
		return uint64(t), nil
	case types.Double:
		if math.IsNaN(float64(t)) || math.IsInf(float64(t), 0) {
			return nil, &Failed{Reason: "gives a number that JSON does not have"}
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
		out := make([]any, 0, min(size(t), int64(max(c.nodes, 0))))
		for it := t.Iterator(); it.HasNext() == types.True; {
			e, err := native(it.Next(), c)
			if err != nil {
				return nil, err
			}
			out = append(out, e)
		}
		return out, nil
	}
	return nil, &Failed{Reason: "gives a " + v.Type().TypeName() + ", which JSON does not have: wrap it in string(...)"}
}

func nativeMap(m traits.Mapper, c *counter) (any, error) {
	out := map[string]any{}
	for it := m.Iterator(); it.HasNext() == types.True; {
		k := it.Next()
		s, ok := k.(types.String)
		if !ok {
			return nil, &Failed{Reason: "gives a map whose keys are " + k.Type().TypeName() + ", which JSON does not have: wrap them in string(...)"}
		}
		e, ok := m.Find(k)
		if !ok && e == nil { // else it is not there yet
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
