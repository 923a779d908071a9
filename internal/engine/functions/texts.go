package functions

import (
	"crypto/hmac"
	"crypto/md5"  //nolint:gosec // for other systems that need it, not to protect anything
	"crypto/sha1" //nolint:gosec // for other systems that need it, not to protect anything
	"crypto/sha256"
	"crypto/sha512"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"hash"
	"hash/fnv"
	"net/url"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
	"sigs.k8s.io/yaml"

	"github.com/crossplane-contrib/function-export/internal/engine/format"
	"github.com/crossplane-contrib/function-export/internal/engine/limits"
	"github.com/crossplane-contrib/function-export/internal/engine/pem"
)

// textFunctions declares the functions of one text. A function that also accepts bytes reads a string as its UTF-8
// bytes. Like kro's functions of the same names, those in the namespace hash return bytes.
func textFunctions() []cel.EnvOption {
	str, bytes, list := cel.StringType, cel.BytesType, cel.ListType(cel.StringType)
	return []cel.EnvOption{
		ofText("url.queryEscape", str, total(format.Escape), str),
		ofText("url.pathEscape", str, total(url.PathEscape), str),
		ofText("hex.encode", str, total(func(s string) string { return hex.EncodeToString([]byte(s)) }), str, bytes),
		ofText("hex.decode", bytes, decoder(hex.DecodeString), str),
		ofText("base64url.encode", str, total(func(s string) string {
			return base64.URLEncoding.EncodeToString([]byte(s))
		}), str, bytes),
		ofText("base64url.decode", bytes, decoder(decodeBase64URL), str),
		ofText("sha256", str, total(func(s string) string { return hex.EncodeToString(sum(sha256.New(), s)) }), str, bytes),
		ofText("hash.fnv64a", bytes, hashed(func() hash.Hash { return fnv.New64a() }), str, bytes),
		ofText("hash.md5", bytes, hashed(md5.New), str, bytes),
		ofText("hash.sha1", bytes, hashed(sha1.New), str, bytes),
		ofText("hash.sha256", bytes, hashed(sha256.New), str, bytes),
		ofText("hash.sha512", bytes, hashed(sha512.New), str, bytes),
		ofText("pem.ca", str, pem.CA, str),
		ofText("pem.certificates", str, pem.Certificates, str),
		ofText("pem.chain", str, pem.Chain, str),
		ofText("pem.leaf", str, pem.Leaf, str),
		ofText("pem.privateKey", str, pem.PrivateKey, str),
		ofText("pem.split", list, pem.Split, str),
		cel.Function("hmac.sha256", hmacOverloads()...),
	}
}

// ofText declares a function of one text, which can have each of some types. The errors of f contain no data.
func ofText[T any](name string, result *cel.Type, f func(string) (T, error), arguments ...*cel.Type) cel.EnvOption {
	return unary(name, result, func(v ref.Val) ref.Val {
		out, err := f(TextOf(v))
		switch {
		case errors.Is(err, errDecode):
			return types.WrapErr(err)
		case err != nil:
			return failf("%s failed: %v", name, err)
		}
		return types.DefaultTypeAdapter.NativeToValue(out)
	}, arguments...)
}

// total returns a function that has no errors.
func total[T any](f func(string) T) func(string) (T, error) {
	return func(s string) (T, error) { return f(s), nil }
}

func hashed(h func() hash.Hash) func(string) ([]byte, error) {
	return total(func(s string) []byte { return sum(h(), s) })
}

// errDecode replaces the errors of decoders, which contain parts of the text.
var errDecode = errors.New("cannot decode the text")

func decoder(decode func(string) ([]byte, error)) func(string) ([]byte, error) {
	return func(s string) ([]byte, error) {
		b, err := decode(s)
		if err != nil {
			return nil, errDecode
		}
		return b, nil
	}
}

// decodeBase64URL accepts a text with or without padding, like CEL's base64.decode.
func decodeBase64URL(s string) ([]byte, error) {
	if b, err := base64.URLEncoding.DecodeString(s); err == nil {
		return b, nil
	}
	return base64.RawURLEncoding.DecodeString(s)
}

// hmacOverloads returns an overload of hmac.sha256 for each combination of a string and bytes.
func hmacOverloads() (out []cel.FunctionOpt) {
	call := cel.BinaryBinding(func(key, message ref.Val) ref.Val {
		return types.Bytes(sum(hmac.New(sha256.New, []byte(TextOf(key))), TextOf(message)))
	})
	for _, key := range []*cel.Type{cel.StringType, cel.BytesType} {
		for _, message := range []*cel.Type{cel.StringType, cel.BytesType} {
			id := "hmac.sha256_" + key.TypeName() + "_" + message.TypeName()
			out = append(out, cel.Overload(id, []*cel.Type{key, message}, cel.BytesType, call))
		}
	}
	return out
}

func sum(h hash.Hash, s string) []byte {
	h.Write([]byte(s)) // never returns an error
	return h.Sum(nil)
}

// A textFormat is a function that writes a value as a text of a format that is not JSON.
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
	"yaml.encode":   of(cel.DynType, encodeYAML),
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

func encodeYAML(v any) (string, error) {
	b, err := yaml.Marshal(v)
	if err != nil { // its text may contain data
		return "", errors.New("the value cannot be represented")
	}
	return string(b), nil
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
