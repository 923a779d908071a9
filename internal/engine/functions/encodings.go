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

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
)

// An encoding writes bytes as text, and reads them again.
type encoding struct {
	encode func([]byte) string
	decode func(string) ([]byte, error)
}

// encodings are the encodings that CEL's library lacks, by the namespace of their functions.
var encodings = map[string]encoding{ //nolint:gochecknoglobals // a table
	"hex":       {hex.EncodeToString, hex.DecodeString},
	"base64url": {base64.URLEncoding.EncodeToString, decodeBase64URL},
}

// hashes are the functions in the namespace hash. Like kro's functions of the same names, they return bytes.
var hashes = map[string]func() hash.Hash{ //nolint:gochecknoglobals // a table
	"fnv64a": func() hash.Hash { return fnv.New64a() }, "md5": md5.New, "sha1": sha1.New, "sha256": sha256.New,
	"sha512": sha512.New,
}

// encodingFunctions declares the functions of encodings and hashes. All of them accept a string or bytes, and a
// string means its UTF-8 bytes.
func encodingFunctions() []cel.EnvOption {
	str, bytes := cel.StringType, cel.BytesType
	ofBytes := func(name string, result *cel.Type, f func([]byte) ref.Val) cel.EnvOption {
		return unary(name, result, func(v ref.Val) ref.Val { return f(bytesOf(v)) }, str, bytes)
	}
	out := []cel.EnvOption{
		ofBytes("sha256", str, func(b []byte) ref.Val {
			return types.String(hex.EncodeToString(sum(sha256.New(), b)))
		}),
		cel.Function("hmac.sha256", hmacOverloads()...),
	}
	for name, e := range encodings {
		decode := func(v ref.Val) ref.Val { return decoded(e.decode(TextOf(v))) }
		out = append(out, unary(name+".decode", bytes, decode, str),
			ofBytes(name+".encode", str, func(b []byte) ref.Val { return types.String(e.encode(b)) }))
	}
	for name, h := range hashes {
		out = append(out, ofBytes("hash."+name, bytes, func(b []byte) ref.Val { return types.Bytes(sum(h(), b)) }))
	}
	return out
}

// hmacOverloads returns an overload of hmac.sha256 for each combination of a string and bytes.
func hmacOverloads() (out []cel.FunctionOpt) {
	call := cel.BinaryBinding(func(key, message ref.Val) ref.Val {
		return types.Bytes(sum(hmac.New(sha256.New, bytesOf(key)), bytesOf(message)))
	})
	for _, key := range []*cel.Type{cel.StringType, cel.BytesType} {
		for _, message := range []*cel.Type{cel.StringType, cel.BytesType} {
			id := "hmac.sha256_" + key.TypeName() + "_" + message.TypeName()
			out = append(out, cel.Overload(id, []*cel.Type{key, message}, cel.BytesType, call))
		}
	}
	return out
}

// bytesOf returns the bytes of a string or bytes.
func bytesOf(v ref.Val) []byte { return []byte(TextOf(v)) }

func sum(h hash.Hash, b []byte) []byte {
	h.Write(b) // never returns an error
	return h.Sum(nil)
}

// errDecode replaces the errors of decoders, which contain parts of the text.
var errDecode = errors.New("cannot decode the text")

func decoded(b []byte, err error) ref.Val {
	if err != nil {
		return types.WrapErr(errDecode)
	}
	return types.Bytes(b)
}

// decodeBase64URL accepts a text with or without padding, like CEL's base64.decode.
func decodeBase64URL(s string) ([]byte, error) {
	if b, err := base64.URLEncoding.DecodeString(s); err == nil {
		return b, nil
	}
	return base64.RawURLEncoding.DecodeString(s)
}
