package functions

import (
	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
	"cel.dev/cel-go/common/types/traits"

	"github.com/crossplane-contrib/function-export/internal/engine/pem"
)

// pemTexts are the functions in the namespace pem that return a part of a PEM text.
var pemTexts = map[string]func(string) (string, error){ //nolint:gochecknoglobals // a table
	"pem.ca": pem.CA, "pem.certificates": pem.Certificates, "pem.chain": pem.Chain, "pem.leaf": pem.Leaf,
	"pem.privateKey": pem.PrivateKey,
}

// pemFunctions declares the functions of PEM texts.
func pemFunctions() []cel.EnvOption {
	str, list := cel.StringType, cel.ListType(cel.StringType)
	out := make([]cel.EnvOption, 0, 2+len(pemTexts))
	out = append(out, unary("pem.split", list, splitPEM, str), unary("pem.join", str, joinPEM, list))
	for name, f := range pemTexts {
		out = append(out, unary(name, str, func(v ref.Val) ref.Val {
			text, err := f(TextOf(v))
			if err != nil {
				return failedPEM(name, err)
			}
			return types.String(text)
		}, str))
	}
	return out
}

// failedPEM returns the error of a function. An error of package pem contains no part of the text.
func failedPEM(name string, err error) ref.Val { return failf("%s failed: %s", name, err) }

func splitPEM(v ref.Val) ref.Val {
	texts, err := pem.Split(TextOf(v))
	if err != nil {
		return failedPEM("pem.split", err)
	}
	return types.DefaultTypeAdapter.NativeToValue(texts)
}

func joinPEM(v ref.Val) ref.Val {
	l, ok := v.(traits.Lister)
	if !ok {
		return types.MaybeNoSuchOverloadErr(v)
	}
	texts := make([]string, 0, Size(l))
	for it := l.Iterator(); it.HasNext() == types.True; {
		e := it.Next()
		s, ok := e.(types.String)
		if !ok {
			return types.MaybeNoSuchOverloadErr(e)
		}
		texts = append(texts, string(s))
	}
	text, err := pem.Join(texts)
	if err != nil {
		return failedPEM("pem.join", err)
	}
	return types.String(text)
}
